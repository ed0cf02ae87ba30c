"""End a run of the command line on signals: gracefully at first, forcibly when repeated."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import click

from localllm.tui.signals import ForcedEnd, add_handlers

_SECONDS_TO_CLOSE = 10.0

T = TypeVar("T")

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


class InterruptedRun(click.exceptions.Exit):
    """A signal has ended the work; `exit_code` is the program's then."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` in a new event loop, until it ends or a signal arrives. Raises InterruptedRun."""
    forced_end = ForcedEnd()
    interruption: Interruption | None = None

    async def interruptible() -> T:
        nonlocal interruption
        task = asyncio.ensure_future(work())
        interruption = Interruption(task.cancel, forced_end)
        interruption.listen()
        try:
            return await task
        except asyncio.CancelledError:
            if not interruption.number:
                raise
            forced_end.begin(128 + interruption.number, _SECONDS_TO_CLOSE)  # threads are waited for after this
            raise InterruptedRun(interruption.number) from None

    try:
        return asyncio.run(interruptible())
    finally:
        forced_end.call_off()
