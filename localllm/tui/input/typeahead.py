"""Read keys and lines that are typed during a run.

Meanwhile the terminal is in non-canonical mode without echo; signals such as Ctrl+C still work.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from localllm.tui.bracketed_paste import PASTE_OFF, PASTE_ON, PASTE_SECONDS, PasteReader
from localllm.tui.input.pastes import inserted
from localllm.tui.terminal_keys import ESCAPE_SECONDS, Key, KeyName, KeyReader, edited

_READ_SIZE = 4096
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
        pastes: PasteReader | None = None,
        later: Callable[[float, Callable[[], None]], Timer] = _in_loop,
    ) -> None:
        """`modes_before`: the terminal modes to restore, if they were changed already. `write` writes to the terminal.
        `on_paste` is told of each pasted text; `pastes` is shared with what else reads the terminal. `later` schedules
        a call after so many seconds."""
        self._stream = stream
        self._write = write
        self._later = later
        self._on_paste = on_paste
        self._pastes = pastes or PasteReader()
        self._keys = KeyReader(on_paste, pastes=self._pastes)
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
        self._insert([*reader.read(raw), *reader.flush()])

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

    def end_stalled_paste(self) -> None:
        """End a paste of which nothing has come for long, on Ctrl+C: its end mark is lost."""
        if self._pastes.is_stalled:
            self._do(self._keys.end_paste())

    def pause(self) -> None:
        """Read the pending input, then release the keyboard. A sequence is read to its end, and a paste if it comes in
        time; its rest is still a paste for the next reader."""
        if sys.platform == "win32" or not self._reading:
            return
        import select

        asyncio.get_running_loop().remove_reader(self._stream.fileno())
        while select.select([self._stream.fileno()], [], [], self._patience())[0] and self._read():
            pass
        self._flush()
        self._reading = False

    async def settle(self, quiet: float) -> None:
        """Read what is still typed after `pause`, until no key has arrived for `quiet` seconds. A paste is read to
        its end, however long it takes."""
        if sys.platform == "win32" or self._modes_before is None:
            return
        import select

        fd = self._stream.fileno()
        until = time.monotonic() + quiet
        try:
            while (is_key := bool(select.select([fd], [], [], 0)[0])) or time.monotonic() < until or self._keys.pasting:
                if is_key:
                    if not (data := _bytes_at(fd)):
                        break
                    self._insert(self._keys.feed(data))
                    until = time.monotonic() + quiet
                await asyncio.sleep(0 if is_key else _POLL_SECONDS)  # Ctrl+C is handled meanwhile
        finally:
            self._insert(self._keys.flush())

    def stop(self) -> None:
        """Restore the terminal. An incomplete paste ends."""
        self.pause()
        self._do(self._keys.end_paste())
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

    def _insert(self, keys: list[Key]) -> None:
        """Insert text only: Enter is a new line."""
        for key in keys:
            self._edit(Key("newline") if key.name in ("enter", "queue") else key)

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
        is_pasted = key.name == "paste"
        self._line = self._line + inserted(key.text, self._line) if is_pasted else edited(self._line, key)


def _bytes_at(fd: int) -> bytes:
    """Read available bytes; empty at the end."""
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""
