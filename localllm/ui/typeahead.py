"""What a person types while nobody is asking. It is kept for the next prompt and never answers a question.

Meanwhile the terminal does not echo and hands over every key at once; Ctrl+C and its like still work.
"""

import asyncio
import codecs
import contextlib
import os
import re
import sys
from typing import Any, TextIO

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_READ_SIZE = 4096


def typed_text(raw: str) -> str:
    """What a line editor would have made of the keys `raw`: backspace, Ctrl+U and Ctrl+W work, cursor keys do not."""
    text = ""
    for key in _SEQUENCE.sub("", raw).replace("\r", "\n"):
        match key:
            case "\x7f" | "\b":
                text = text[:-1]
            case "\x15":
                text = ""
            case "\x17":
                text = re.sub(r"\S*\s*\Z", "", text)
            case _ if key.isprintable() or key == "\n":
                text += key
            case _:
                pass
    return text


class TypeAhead:
    """Reads the terminal `stream` while nobody else does. Does nothing where it is no (POSIX) terminal.

    From `start` to `stop` the terminal does not echo; a prompt in between (after `pause`) sets its own modes and
    gives these back, so that there is no moment in which a key would appear on the screen.
    """

    def __init__(self, stream: TextIO, modes_before: list[Any] | None = None) -> None:
        """`modes_before`: the terminal's modes to give back, where somebody has changed them already."""
        self._stream = stream
        self._raw = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._modes_before = modes_before
        self._reading = False

    def text(self) -> str:
        """What was typed so far."""
        return typed_text(self._raw)

    def keep(self, raw: str) -> None:
        """Add keys somebody else has read too early."""
        self._raw += raw

    def take(self) -> str:
        """What was typed, without line ends at its end; the next call begins anew."""
        text = self.text().rstrip("\n")
        self._raw = ""
        return text

    def start(self) -> None:
        """Echo off, read on."""
        if sys.platform == "win32" or self._reading or not self._stream.isatty():
            return
        import termios

        if self._modes_before is None:
            self._modes_before = termios.tcgetattr(self._stream.fileno())
        asyncio.get_running_loop().add_reader(self._stream.fileno(), self._read)
        self._reading = True
        self.refresh()

    def refresh(self) -> None:
        """Set the terminal anew while reading: after a suspension the shell's modes are in force."""
        if sys.platform == "win32" or not self._reading:
            return
        import termios

        quiet = termios.tcgetattr(self._stream.fileno())
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, quiet)

    def pause(self) -> None:
        """Take what is there, then leave the keyboard to somebody else."""
        if sys.platform == "win32" or not self._reading:
            return
        import select

        asyncio.get_running_loop().remove_reader(self._stream.fileno())
        while select.select([self._stream.fileno()], [], [], 0)[0] and self._read():
            pass
        self._reading = False

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self.pause()
        if sys.platform == "win32" or self._modes_before is None:
            return
        import termios

        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, self._modes_before)
        self._modes_before = None

    def _read(self) -> bool:
        """Take what can be read at once; false at the terminal's end."""
        try:
            data = os.read(self._stream.fileno(), _READ_SIZE)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._stream.fileno())
        self._raw += self._decoder.decode(data)
        return bool(data)
