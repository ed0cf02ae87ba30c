"""Read keys and lines that are typed during a run.

Meanwhile the terminal is in non-canonical mode without echo; signals such as Ctrl+C still work.
"""

import asyncio
import codecs
import contextlib
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from typing import Any, Literal, Protocol, TextIO

import msgspec

from localllm.text.sanitising import clusters
from localllm.tui.bracketed_paste import PASTE_BEGINS, PASTE_ENDS, PASTE_OFF, PASTE_ON, PASTE_SECONDS
from localllm.tui.input.pastes import inserted

KeyName = Literal[
    "text",
    "paste",
    "enter",
    "newline",
    "queue",
    "escape",
    "backspace",
    "erase_line",
    "erase_word",
    "up",
    "mode",
    "other",
]


class Key(msgspec.Struct, frozen=True):
    """A key, or a piece of `text`: typed characters, or a whole `paste` with its line ends."""

    name: KeyName
    text: str = ""


_ESCAPE = "\x1b"
# A complete sequence: CSI or SS3, also with Alt; else Alt and a character.
_SEQUENCE = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*[@-~]|O.)|\x1b[^\x1b\[O]", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*|O)?\Z")
_LONGEST_SEQUENCE = 64  # characters; a longer one without an end is invalid

_CONTROLS: dict[str, KeyName] = {
    "\r": "enter",
    "\n": "newline",
    "\t": "queue",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x15": "erase_line",
    "\x17": "erase_word",
}
# Besides the common sequences, those of xterm's modifyOtherKeys and of the kitty keyboard protocol.
_SEQUENCES: dict[str, KeyName] = {
    "\x1b\r": "queue",
    "\x1b\n": "queue",
    "\x1b[13;3u": "queue",
    "\x1b[27;3;13~": "queue",
    "\x1b[13;2u": "newline",
    "\x1b[27;2;13~": "newline",
    "\x1b[13u": "enter",
    "\x1b[27u": "escape",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[Z": "mode",
    "\x1b\x7f": "erase_word",
    "\x1b\b": "erase_word",
}


class KeyReader:
    """Decode keys from bytes. A possible prefix is `held` until it is complete or `flush`ed."""

    def __init__(self, on_paste: Callable[[str], None] = lambda _: None) -> None:
        """`on_paste` is told of each pasted text."""
        self._on_paste = on_paste
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._pasted: str | None = None

    @property
    def held(self) -> bool:
        """Whether an Escape, or a partial sequence, waits for more input."""
        return bool(self._rest) and self._pasted is None

    @property
    def pasting(self) -> bool:
        """Whether a paste is incomplete."""
        return self._pasted is not None

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys completed by `data`."""
        return self.read(self._decoder.decode(data))

    def read(self, text: str) -> list[Key]:
        """As `feed`, for text."""
        self._rest += text
        keys: list[Key] = []
        while (key := self._next()) is not None:
            keys.append(key)
        return _joined(keys)

    def flush(self) -> list[Key]:
        """End the input: an Escape alone is the key, another prefix is dropped; a paste ends."""
        rest, self._rest = self._rest, ""
        if self._pasted is not None:
            pasted, self._pasted = self._pasted, None
            return [self._pasted_key(pasted + rest)]
        return [Key("escape")] * len(rest) if set(rest) == {_ESCAPE} else []

    def _next(self) -> Key | None:
        """Take the next complete key; None if more input is needed."""
        if self._pasted is not None:
            return self._paste()
        if not self._rest:
            return None
        if not self._rest.startswith(_ESCAPE):
            return self._take(1, _CONTROLS.get(self._rest[0], "text" if _is_text(self._rest[0]) else "other"))
        if self._rest.startswith(PASTE_BEGINS):
            self._rest, self._pasted = self._rest.removeprefix(PASTE_BEGINS), ""
            return self._paste()
        if found := _SEQUENCE.match(self._rest):
            return self._take(found.end(), _SEQUENCES.get(found[0], "other"))
        if _UNFINISHED.match(self._rest) and len(self._rest) < _LONGEST_SEQUENCE:
            return None
        return self._take(1, "escape")

    def _take(self, length: int, name: KeyName) -> Key:
        text, self._rest = self._rest[:length], self._rest[length:]
        return Key(name, text if name == "text" else "")

    def _paste(self) -> Key | None:
        inside, end, after = self._rest.partition(PASTE_ENDS)
        if not end:  # a possible prefix of the end mark stays
            cut = max(len(inside) - len(PASTE_ENDS) + 1, 0)
            self._pasted, self._rest = (self._pasted or "") + inside[:cut], inside[cut:]
            return None
        text = (self._pasted or "") + inside
        self._pasted, self._rest = None, after
        return self._pasted_key(text)

    def _pasted_key(self, text: str) -> Key:
        key = Key("paste", _lines(text))
        self._on_paste(key.text)
        return key


def _lines(text: str) -> str:
    """Normalise line ends of pasted text, and remove non-text characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "".join(character for character in text if _is_text(character) or character == "\n")


def _is_text(character: str) -> bool:
    """Whether a character is text, including the ideographic space, and the joiners in emoji and words of some
    scripts."""
    return character.isprintable() or character in "\u200c\u200d" or unicodedata.category(character) == "Zs"


def _joined(keys: list[Key]) -> list[Key]:
    """Merge adjacent pieces of typed text."""
    joined: list[Key] = []
    for key in keys:
        if key.name == "text" and joined and joined[-1].name == "text":
            joined[-1] = Key("text", joined[-1].text + key.text)
        elif key.name != "other" and key != Key("paste"):
            joined.append(key)
    return joined


_READ_SIZE = 4096
_LONGEST_SIGN = 16  # characters; a grapheme seldom has more

ESCAPE_SECONDS = 0.2
"""Seconds after which an Escape without a continuation is the key; sequences may be delayed on a slow connection."""

_POLL_SECONDS = 0.02


class Timer(Protocol):
    """A cancellable call."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


def _in_loop(seconds: float, call: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, call)


class TypeAhead:
    """Read the terminal `stream` while no one else does. Does nothing unless it is a POSIX terminal.

    From `start` to `stop` the terminal does not echo; a prompt in between (after `pause`) sets and restores its own
    modes, so that no key is ever echoed.
    """

    def __init__(
        self,
        stream: TextIO,
        modes_before: list[Any] | None = None,
        *,
        write: Callable[[str], None] = lambda _: None,
        on_paste: Callable[[str], None] = lambda _: None,
        later: Callable[[float, Callable[[], None]], Timer] = _in_loop,
    ) -> None:
        """`modes_before`: the terminal modes to restore, if they were changed already. `write` writes to the terminal.
        `on_paste` is told of each pasted text. `later` schedules a call after so many seconds."""
        self._stream = stream
        self._write = write
        self._later = later
        self._on_paste = on_paste
        self._keys = KeyReader(on_paste)
        self._line = ""
        self._modes_before = modes_before
        self._reading = False
        self._timer: Timer | None = None
        self.on_key: Callable[[KeyName], None] | None = None
        """Receives Enter, Escape and other control keys; without it, Enter is a new line."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after keys were read and processed."""

    def text(self) -> str:
        """Return the text typed so far."""
        return self._line

    def keep(self, raw: str) -> None:
        """Add keys someone else has read. They only insert text: sending them requires another Enter."""
        reader = KeyReader(self._on_paste)
        for key in [*reader.read(raw), *reader.flush()]:
            self._edit(Key("newline") if key.name in ("enter", "queue") else key)

    def press(self, raw: str) -> None:
        """Process keys read by a prompt after the submitted line, including sending."""
        reader = KeyReader(self._on_paste)
        for key in [*reader.read(raw), *reader.flush()]:
            self._press(key)

    def put(self, text: str) -> None:
        """Insert `text` before the typed text."""
        self._line = "\n".join(filter(None, (text, self._line)))

    def take(self) -> str:
        """Take the typed text, without trailing line ends."""
        text, self._line = self._line.rstrip("\n"), ""
        return text

    def start(self) -> None:
        """Switch echo off and start reading."""
        if sys.platform == "win32" or self._reading or not self._stream.isatty():
            return
        import termios

        modes = termios.tcgetattr(self._stream.fileno())
        self._modes_before = self._modes_before or modes
        asyncio.get_running_loop().add_reader(self._stream.fileno(), self._read)
        self._reading = True
        self.refresh()
        if modes[0] & termios.ICRNL:
            self._read_earlier()

    def refresh(self) -> None:
        """Set the terminal modes again after a suspension, which restored the shell's."""
        if sys.platform == "win32" or not self._reading:
            return
        import termios

        quiet = termios.tcgetattr(self._stream.fileno())
        quiet[0] &= ~termios.ICRNL  # distinguishes Enter from Ctrl+J
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, quiet)
        self._write(PASTE_ON)

    def pause(self) -> None:
        """Read the pending input, then release the keyboard. A paste or a sequence is read to its end: the rest would
        answer the next question."""
        if sys.platform == "win32" or not self._reading:
            return
        import select

        asyncio.get_running_loop().remove_reader(self._stream.fileno())
        while select.select([self._stream.fileno()], [], [], self._patience())[0] and self._read():
            pass
        self._flush()
        self._reading = False

    async def settle(self, quiet: float, *, is_typing: bool = False) -> None:
        """Read what is still being typed after `pause`: if keys arrive, a line is begun or the user `is_typing`, until
        none arrives for `quiet` seconds."""
        if sys.platform == "win32" or self._modes_before is None:
            return
        import select

        fd, typed = self._stream.fileno(), b""
        until = time.monotonic() + (quiet if self._line or is_typing else 0)
        try:
            while (is_key := bool(select.select([fd], [], [], 0)[0])) or time.monotonic() < until:
                if is_key:
                    if not (data := _bytes_at(fd)):
                        break
                    typed += data
                    until = time.monotonic() + quiet
                await asyncio.sleep(0 if is_key else _POLL_SECONDS)  # Ctrl+C is handled meanwhile
        finally:
            self.keep(typed.decode("utf-8", "replace"))

    def stop(self) -> None:
        """Restore the terminal."""
        self.pause()
        if sys.platform == "win32" or self._modes_before is None:
            return
        import termios

        with contextlib.suppress(termios.error, OSError):  # the terminal is gone
            termios.tcsetattr(self._stream.fileno(), termios.TCSANOW, self._modes_before)
            self._write(PASTE_OFF)
        self._modes_before = None

    def _read_earlier(self) -> None:
        """Read what was typed while the terminal still translated Enter to a newline."""
        import select

        while select.select([self._stream.fileno()], [], [], 0)[0] and self._read(enter=b"\n"):
            pass

    def _read(self, enter: bytes = b"\r") -> bool:
        """Read available input, in which `enter` is the Enter key; false at the end."""
        data = _bytes_at(self._stream.fileno()).replace(enter, b"\r")
        if not data:
            asyncio.get_running_loop().remove_reader(self._stream.fileno())
        self._cancel_timer()
        self._do(self._keys.feed(data))
        if seconds := self._patience():
            self._timer = self._later(seconds, self._flush)
        return bool(data)

    def _patience(self) -> float:
        """Return how long to wait for the continuation of a sequence; 0 if there is none."""
        if self._keys.pasting:
            return PASTE_SECONDS
        return ESCAPE_SECONDS if self._keys.held else 0

    def _flush(self) -> None:
        self._cancel_timer()
        self._do(self._keys.flush())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _do(self, keys: list[Key]) -> None:
        for key in keys:
            self._press(key)
        if keys:
            self.on_change()

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
            case "paste":
                self._line += inserted(key.text, self._line)
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


def _bytes_at(fd: int) -> bytes:
    """Read available bytes; empty at the end."""
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""


def _without_last(text: str) -> str:
    """Remove the last grapheme."""
    if text[-2:].isascii():
        return text[:-1]
    rest, end = text[:-_LONGEST_SIGN], text[-_LONGEST_SIGN:]
    *_, (start, _, _) = clusters(end)
    return rest + end[:start]
