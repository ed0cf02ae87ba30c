"""Work that the end of the process waits for, as what is half done would stay so."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

_at_work: set[object] = set()
_changed = threading.Condition()


@contextmanager
def unfinished() -> Generator[None]:
    """Have the end of the process wait while this is open, in any thread."""
    work = object()
    with _changed:
        _at_work.add(work)
    try:
        yield
    finally:
        with _changed:
            _at_work.discard(work)
            _changed.notify_all()


def wait_for_the_rest(seconds: float) -> bool:
    """Wait till nothing is open any more, at most so long; whether that came."""
    with _changed:
        return _changed.wait_for(lambda: not _at_work, seconds)
