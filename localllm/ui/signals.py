"""What Ctrl+C and its like do while the program works."""

import asyncio
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

_ENDING = frozenset({"SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"})


@contextmanager
def signal_handlers(handlers: Mapping[str, Callable[[], object]], unheard: Callable[[], object]) -> Generator[None]:
    """Call these, by the signal's name, in the running event loop. Names this system has not are left out. `unheard`
    is as in `add_handlers`; on Windows it is not called."""
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
            loop.remove_signal_handler(signal.Signals[name])


def add_handlers(handlers: Mapping[str, Callable[[], object]], unheard: Callable[[], object]) -> None:
    """Call these in the running event loop. NotImplementedError on Windows.

    `unheard` is called without the loop, which hears nothing while a search for a pattern, say, holds its thread: when
    a signal that ends programs comes, and of SIGINT, which asks for less, the second before the loop has heard one.
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
        if name in _ENDING:  # the loop hears of it as before, by its file descriptor
            signal.signal(number, receive)
            signal.siginterrupt(number, False)  # noqa: FBT003 - it has no name
