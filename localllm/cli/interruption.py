"""Ctrl+C and its like end a run of the command line in good order, and with force where they come again."""

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from localllm.tui.signals import ForcedEnd, add_handlers

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
"""What a command had changed where it must not is put back before any of these ends the program."""


class Interruption:
    """What signals do to a run: it ends in good order, and with force where SIGINT comes twice, or another one, and
    something hangs. `number` is the signal that came, 0 as long as none has."""

    def __init__(self, interrupt: Callable[[], object], forced_end: ForcedEnd) -> None:
        self._interrupt = interrupt
        self._forced_end = forced_end
        self.number = 0

    def listen(self) -> None:
        """Hear signals in the running event loop. On Windows Ctrl+C ends the program."""
        with suppress(NotImplementedError):
            add_handlers({each.name: partial(self.take, each) for each in _ENDING}, self._forced_end.arm)

    def take(self, number: int) -> None:
        """The signal has arrived."""
        if self.number or number != signal.SIGINT:
            self._forced_end.begin(128 + number)
        self.number = number
        self._interrupt()
