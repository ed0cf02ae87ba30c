"""End a run of the command line on signals: gracefully at first, forcibly when repeated."""

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from localllm.tui.signals import ForcedEnd, add_handlers

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
"""Before any of these ends the program, protected files a command has changed are restored."""


class Interruption:
    """Handle signals during a run: it ends gracefully, and forcibly after a second SIGINT, or another signal, if
    something hangs. `number` is the received signal, 0 for none."""

    def __init__(self, interrupt: Callable[[], object], forced_end: ForcedEnd) -> None:
        self._interrupt = interrupt
        self._forced_end = forced_end
        self.number = 0

    def listen(self) -> None:
        """Install the handlers in the running event loop. On Windows Ctrl+C ends the program."""
        with suppress(NotImplementedError):
            add_handlers({each.name: partial(self.take, each) for each in _ENDING}, self._forced_end.arm)

    def take(self, number: int) -> None:
        """Handle a signal."""
        if self.number or number != signal.SIGINT:
            self._forced_end.begin(128 + number)
        self.number = number
        self._interrupt()
