"""What Ctrl+C and its like do while the chat is open."""

import asyncio
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager


@contextmanager
def signal_handlers(handlers: Mapping[str, Callable[[], object]]) -> Generator[None]:
    """Call these, by the signal's name, in the running event loop. Names this system has not are left out."""
    loop = asyncio.get_running_loop()
    numbers = {signal.Signals[name]: call for name, call in handlers.items() if hasattr(signal, name)}
    if sys.platform == "win32":
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
    for number, call in numbers.items():
        loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
