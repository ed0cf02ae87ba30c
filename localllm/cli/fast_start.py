"""Show the chat's first line before heavy imports, with the terminal's echo off from then on.

Imports only modules that Python has loaded anyway; `termios` is a small C module.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any

from localllm import __version__

CHAT_FLAGS = frozenset({"-c", "--continue", "--trust-project", "--i-accept-no-sandbox", "--offline", "--debug"})
CHAT_OPTIONS = frozenset({"-m", "--model", "--provider", "--base-url", "--script", "--lang", "--mode", "--resume"})
"""Options of the root command allowed with a chat: those without a value, and those with one."""

_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"  # bracketed paste


class Opening:
    """A chat whose first line is shown, with bracketed paste enabled, so that a line end in a paste is no Enter.
    `modes` are the terminal's original modes; None if they cannot be set."""

    def __init__(self) -> None:
        self._marks_pastes = os.environ.get("TERM") != "dumb"
        marks = _PASTE_ON if self._marks_pastes else ""
        os.write(sys.stdout.fileno(), f"{marks}localllm {__version__}\n".encode())
        self.modes = _quieten()

    def close(self) -> None:
        """Restore the terminal."""
        if sys.platform == "win32" or self.modes is None:
            return
        import termios

        try:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self.modes)
            if self._marks_pastes:
                os.write(sys.stdout.fileno(), _PASTE_OFF.encode())
        except (termios.error, OSError, ValueError):  # the terminal is gone
            self.modes = None


def open_chat(arguments: Sequence[str]) -> Opening | None:
    """Show the first line if the command line `arguments` start a chat on a terminal; otherwise return None."""
    if not (_begins_a_chat(arguments) and _is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return None
    return Opening()


def _begins_a_chat(arguments: Sequence[str]) -> bool:
    rest = iter(arguments)
    for argument in rest:
        name, has_value, _ = argument.partition("=")
        if argument in CHAT_FLAGS or (has_value and name.startswith("--") and name in CHAT_OPTIONS):
            continue
        if argument not in CHAT_OPTIONS or next(rest, None) is None:
            return False
    return True


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # closed or missing
        return False


def _quieten() -> list[Any] | None:
    """Switch the terminal's echo off: what is typed early belongs to the prompt. So is its editing of lines, which
    would erase the mark of a paste at a control character, or cut a long line with the mark at its end."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        before = termios.tcgetattr(sys.stdin.fileno())
        quiet = [*before]
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
    except termios.error:
        return None
    return before
