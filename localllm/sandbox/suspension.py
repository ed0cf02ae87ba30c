"""Stop the running commands when the user stops the program (Ctrl+Z), and let them go on with it.

Otherwise they would go on alone, and nobody would look at what they lay at protected names.
"""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Protocol

from localllm.base import logs


class Suspendable(Protocol):
    """A running command."""

    async def suspend(self) -> None:
        """Stop it, and undo what it has changed that it must not change."""
        ...

    def resume(self) -> None:
        """Let it go on, if it is stopped."""
        ...


_running: list[Suspendable] = []
_suspending: set[asyncio.Task[None]] = set()
_NUMBER = getattr(signal, "SIGTSTP", None)


@contextmanager
def suspended_with_program(command: Suspendable) -> Generator[None]:
    """Have the command stopped whenever the user stops the program, in a `with` block in the event loop."""
    _running.append(command)
    if len(_running) == 1:
        _listen()
    try:
        yield
    finally:
        _running.remove(command)
        if not _running and not _suspending:
            _stop_listening()


def _listen() -> None:
    """Handle the signal, if it would stop the program and this is its main thread."""
    if _NUMBER is not None and signal.getsignal(_NUMBER) is signal.SIG_DFL:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().add_signal_handler(_NUMBER, _suspend)


def _stop_listening() -> None:
    if _NUMBER is not None:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            asyncio.get_running_loop().remove_signal_handler(_NUMBER)


def _suspend() -> None:
    if _suspending:  # the user does not want to wait for the look
        _stop_program()
        for task in _suspending:
            task.cancel()
        return
    task = asyncio.ensure_future(_suspend_all())
    _suspending.add(task)
    task.add_done_callback(_suspending.discard)


async def _suspend_all() -> None:
    suspended: list[Suspendable] = []
    try:
        while new := [command for command in _running if command not in suspended]:
            suspended += new
            for result in await asyncio.gather(*(command.suspend() for command in new), return_exceptions=True):
                if isinstance(result, Exception):  # of whatever a command has written
                    logs.of("SANDBOX").warning("not all could be looked at before the stop: %r", result)
        _stop_program()
    finally:
        for command in suspended:
            command.resume()
        if not _running:
            _stop_listening()


def _stop_program() -> None:
    """Stop this process as the signal does by itself; return when it goes on. Without a shell that could let it go on,
    the kernel ignores the signal."""
    if _NUMBER is not None:
        _stop_listening()
        signal.raise_signal(_NUMBER)  # to this thread: it is stopped before the call returns
        _listen()
