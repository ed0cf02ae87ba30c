"""Handle Ctrl+C and other signals: interrupt a run, and force the process to end."""

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TextIO

from localllm.base.unfinished_work import wait_for_the_rest

SECONDS = 3.0
"""Seconds from a repeated interrupt to a forced end. The conversation is in the session's log by then; the next start
closes it."""

_LAST_WORDS = 1.0  # seconds for the work before: an unread pipe would take them all
_MOST_UNFINISHED = 60.0  # seconds for work that must not be interrupted
_SPARE = 1.0  # seconds more, before the process is ended without the interpreter


class ForcedEnd:
    """A timer that ends the process, unless it ends by itself or the timer is cancelled."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        """`before`: called first, for example to restore the terminal."""
        self._before = before
        self._timer: threading.Timer | None = None
        self._nowhere: TextIO | None = None

    def begin(self, code: int, seconds: float = SECONDS) -> None:
        """End the process with this exit code after `seconds`, or at an earlier set time; after work that is
        `unfinished`, which gets at most a minute. Some seconds later it ends with 1 even if the interpreter is blocked,
        for example by a regular expression."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._end, [code])
            self._timer.daemon = True
            self._timer.start()
            self.arm(seconds)

    def arm(self, seconds: float = SECONDS) -> None:
        """End the process somewhat later than `seconds`, even if the interpreter is blocked until then."""
        if self._nowhere is None:
            self._nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115 - closed when it is called off
            self._expect_the_end(seconds)

    def _expect_the_end(self, seconds: float) -> None:
        if self._nowhere is not None:  # it waits in a system thread that needs no interpreter
            seconds += _LAST_WORDS + 2 * _SPARE
            faulthandler.dump_traceback_later(seconds, exit=True, file=self._nowhere)

    def call_off(self) -> None:
        """Cancel the forced end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._nowhere is not None:
            faulthandler.cancel_dump_traceback_later()
            self._nowhere.close()
            self._nowhere = None

    def _end(self, code: int) -> None:
        deadline = time.monotonic() + _MOST_UNFINISHED
        while not wait_for_the_rest(_SPARE) and time.monotonic() < deadline and self._nowhere is not None:
            self._expect_the_end(_SPARE)
        last_words = threading.Thread(target=self._say, daemon=True)
        last_words.start()
        last_words.join(_LAST_WORDS)
        os._exit(code)

    def _say(self) -> None:
        with suppress(Exception):  # the process ends in any case
            self._before()
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


_ENDING = frozenset({"SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"})


@contextmanager
def signal_handlers(handlers: Mapping[str, Callable[[], object]], unheard: Callable[[], object]) -> Generator[None]:
    """Install handlers by signal name in the running event loop. Unsupported signals are skipped. `unheard` is as in
    `add_handlers`; on Windows it is not called.

    Afterwards signals that end programs do nothing until the loop is closed: a closed terminal sends several, and what
    commands have changed where they must not is put back meanwhile. ForcedEnd has to bound that.
    """
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        numbers = {signal.Signals[name]: call for name, call in handlers.items() if hasattr(signal, name)}
        before = {
            number: signal.signal(number, lambda *_, call=call: loop.call_soon_threadsafe(call))
            for number, call in numbers.items()
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return
    add_handlers(handlers, unheard)
    try:
        yield
    finally:
        for name in handlers:
            if name in _ENDING:
                loop.add_signal_handler(signal.Signals[name], lambda: None)
            else:
                loop.remove_signal_handler(signal.Signals[name])


def add_handlers(handlers: Mapping[str, Callable[[], object]], unheard: Callable[[], object]) -> None:
    """Install handlers in the running event loop. Raises NotImplementedError on Windows.

    `unheard` is called outside of the loop, which may be blocked, for example by a regular expression or a file that
    is opened: for a signal that ends programs, and for a second SIGINT before the loop has handled the first.
    """
    loop = asyncio.get_running_loop()
    waiting = 0

    def hear(call: Callable[[], object]) -> None:
        nonlocal waiting
        waiting = 0
        call()

    def receive(number: int, _: object) -> None:
        nonlocal waiting
        waiting += 1
        if number != signal.SIGINT or waiting > 1:
            unheard()

    for name, call in handlers.items():
        number = signal.Signals[name]
        loop.add_signal_handler(number, hear, call)
        if name in _ENDING:  # the loop is still notified, by its file descriptor
            signal.signal(number, receive)  # which also interrupts system calls: one may wait for good
