"""A question on the terminal before the chat's line editor is loaded, and without an event loop."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

QUIET_SECONDS = 0.25
"""Somebody who was typing when a question appeared has stopped when no key came for so long."""

_READ_SIZE = 4096


def ask_line(stream: TextIO, show: Callable[[], None], keep: Callable[[str], None]) -> str:
    """Show a question and give the line typed after it on the terminal `stream`, which the terminal lets one edit.

    What was typed before the question was on the screen, and whatever follows on its heels, is no answer: it goes to
    `keep`, as raw keys. EOFError for the end of input, KeyboardInterrupt for Ctrl+C. The modes are left as they were.
    """
    if sys.platform == "win32":
        return _ask_console(stream, show, keep)
    import termios

    fd = stream.fileno()
    before = termios.tcgetattr(fd)
    hushed, edited = [*before], [*before]
    hushed[3] &= ~(termios.ECHO | termios.ICANON)  # without ICANON, an unfinished line can be read as well
    edited[0] |= termios.ICRNL
    edited[3] |= termios.ECHO | termios.ICANON | termios.ISIG
    try:
        termios.tcsetattr(fd, termios.TCSANOW, hushed)
        typed = _waiting_keys(fd, 0)
        show()
        typed += _waiting_keys(fd, QUIET_SECONDS if typed else 0)
        keep(typed.decode("utf-8", "replace"))
        termios.tcsetattr(fd, termios.TCSANOW, edited)
        return _line(fd)
    finally:
        with suppress(termios.error):  # the terminal has gone
            termios.tcsetattr(fd, termios.TCSANOW, before)


def _waiting_keys(fd: int, patience: float) -> bytes:
    """What was typed, until no key comes for `patience` seconds."""
    import select

    typed = b""
    while select.select([fd], [], [], patience)[0] and (more := _read(fd)):
        typed += more
    return typed


def _line(fd: int) -> str:
    line = b""
    while not line.endswith(b"\n"):
        more = _read(fd)
        if not more:
            raise EOFError
        line += more
    return line.decode("utf-8", "replace").rstrip("\n")


def _read(fd: int) -> bytes:
    """Some bytes; none at the end, also where the terminal has gone."""
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""


def _ask_console(stream: TextIO, show: Callable[[], None], keep: Callable[[str], None]) -> str:
    """On Windows."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            keep(msvcrt.getwch())
    show()
    line = stream.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")
