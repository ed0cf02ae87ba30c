"""What a person types while nobody is asking: a line he writes meanwhile, and the keys that do something with it.

Meanwhile the terminal does not echo and hands over every key at once; Ctrl+C and its like still work.
"""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from localllm.text.sanitising import clusters
from localllm.tui.input.keys import PASTE_OFF, PASTE_ON, Key, KeyName, KeyReader

_READ_SIZE = 4096
_LONGEST_SIGN = 16  # characters; what a terminal shows as one sign seldom has more

ESCAPE_SECONDS = 0.2
"""An Escape that nothing follows so long is the key; over a slow line the rest of a sequence comes a little later."""

PASTE_SECONDS = 2.0
"""A paste of which nothing came for so long has ended."""


class Timer(Protocol):
    """Something that will be called, and need not be."""

    def cancel(self) -> None:
        """Do not call it."""
        ...


def _in_loop(seconds: float, call: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, call)


class TypeAhead:
    """Reads the terminal `stream` while nobody else does. Does nothing where it is no (POSIX) terminal.

    From `start` to `stop` the terminal does not echo; a prompt in between (after `pause`) sets its own modes and
    gives these back, so that there is no moment in which a key would appear on the screen.
    """

    def __init__(
        self,
        stream: TextIO,
        modes_before: list[Any] | None = None,
        *,
        write: Callable[[str], None] = lambda _: None,
        later: Callable[[float, Callable[[], None]], Timer] = _in_loop,
    ) -> None:
        """`modes_before`: the terminal's modes to give back, where somebody has changed them already. `write` writes on
        the terminal's screen. `later` calls something after so many seconds."""
        self._stream = stream
        self._write = write
        self._later = later
        self._keys = KeyReader()
        self._line = ""
        self._modes_before = modes_before
        self._reading = False
        self._timer: Timer | None = None
        self.on_key: Callable[[KeyName], None] | None = None
        """Who is told of Enter, Escape and other keys that do something; while it is nobody, Enter is a new line."""

    def text(self) -> str:
        """What was typed so far."""
        return self._line

    def keep(self, raw: str) -> None:
        """Add keys somebody else has read too early. They only write: what they would send waits for another Enter."""
        reader = KeyReader()
        for key in [*reader.read(raw), *reader.flush()]:
            self._edit(Key("newline") if key.name in ("enter", "queue") else key)

    def put(self, text: str) -> None:
        """Write `text` before what was typed so far."""
        self._line = "\n".join(filter(None, (text, self._line)))

    def take(self) -> str:
        """What was typed, without line ends at its end; the next call begins anew."""
        text, self._line = self._line.rstrip("\n"), ""
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
        quiet[0] &= ~termios.ICRNL  # Enter and Ctrl+J are two keys
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, quiet)
        self._write(PASTE_ON)

    def pause(self) -> None:
        """Take what is there, then leave the keyboard to somebody else. A paste, or a sequence, is taken to its end:
        the rest of it would be an answer to whatever is asked next."""
        if sys.platform == "win32" or not self._reading:
            return
        import select

        asyncio.get_running_loop().remove_reader(self._stream.fileno())
        while select.select([self._stream.fileno()], [], [], self._patience())[0] and self._read():
            pass
        self._flush()
        self._reading = False

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self.pause()
        if sys.platform == "win32" or self._modes_before is None:
            return
        import termios

        with contextlib.suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, self._modes_before)
            self._write(PASTE_OFF)
        self._modes_before = None

    def _read(self) -> bool:
        """Take what can be read at once; false at the terminal's end."""
        try:
            data = os.read(self._stream.fileno(), _READ_SIZE)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._stream.fileno())
        self._cancel_timer()
        for key in self._keys.feed(data):
            self._press(key)
        if seconds := self._patience():
            self._timer = self._later(seconds, self._flush)
        return bool(data)

    def _patience(self) -> float:
        """How long what has begun may take to go on; 0 where nothing has."""
        if self._keys.pasting:
            return PASTE_SECONDS
        return ESCAPE_SECONDS if self._keys.held else 0

    def _flush(self) -> None:
        self._cancel_timer()
        for key in self._keys.flush():
            self._press(key)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _press(self, key: Key) -> None:
        continues = key.name == "enter" and self._line.endswith("\\") and not self._line.endswith("\\\\")
        if continues or (key.name == "enter" and self.on_key is None):
            self._line = self._line.removesuffix("\\") if continues else self._line
            self._edit(Key("newline"))
        elif key.name in ("enter", "queue", "escape", "up", "mode"):
            if self.on_key is not None:
                self.on_key(key.name)
        else:
            self._edit(key)

    def _edit(self, key: Key) -> None:
        match key.name:
            case "text":
                self._line += key.text
            case "newline":
                self._line += "\n"
            case "backspace":
                self._line = _without_last(self._line)
            case "erase_line":
                self._line = ""
            case "erase_word":
                self._line = re.sub(r"\S*\s*\Z", "", self._line)
            case _:
                pass


def _without_last(text: str) -> str:
    """`text` without its last sign, of however many characters."""
    if text[-2:].isascii():
        return text[:-1]
    rest, end = text[:-_LONGEST_SIGN], text[-_LONGEST_SIGN:]
    *_, (start, _, _) = clusters(end)
    return rest + end[:start]
