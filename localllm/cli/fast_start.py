"""The chat's first line: on the screen before anything heavy is loaded, with the keyboard quiet from then on.

Imports nothing but what Python has loaded anyway; `termios` is a few kilobytes of C.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any

from localllm import __version__

CHAT_FLAGS = frozenset({"-c", "--continue", "--trust-project", "--i-accept-no-sandbox", "--offline", "--debug"})
CHAT_OPTIONS = frozenset({"-m", "--model", "--provider", "--base-url", "--script", "--lang", "--mode", "--resume"})
"""Options of the root command that go with a chat: those without a value, and those with one."""

_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"  # bracketed paste


class Opening:
    """A chat whose first line is shown, and whose pastes are marked as such: a line end in one is no Enter. `modes` are
    the terminal's as they were; None where it cannot be set."""

    def __init__(self) -> None:
        self._marks_pastes = os.environ.get("TERM") != "dumb"
        marks = _PASTE_ON if self._marks_pastes else ""
        os.write(sys.stdout.fileno(), f"{marks}localllm {__version__}\n".encode())
        self.modes = _quieten()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if sys.platform == "win32" or self.modes is None:
            return
        import termios

        try:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self.modes)
            if self._marks_pastes:
                os.write(sys.stdout.fileno(), _PASTE_OFF.encode())
        except (termios.error, OSError, ValueError):  # the terminal has gone
            self.modes = None


def open_chat(arguments: Sequence[str]) -> Opening | None:
    """Show the first line if the command line `arguments` begin a chat on a terminal; None otherwise."""
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
    except (AttributeError, ValueError):  # closed, or none at all
        return False


def _quieten() -> list[Any] | None:
    """Stop the terminal from echoing: what is typed before the prompt is there belongs to the prompt."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        before = termios.tcgetattr(sys.stdin.fileno())
        quiet = [*before]
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
    except termios.error:
        return None
    return before
