"""Delay the end of the process until critical work is completed."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

_at_work: set[object] = set()
_changed = threading.Condition()


@contextmanager
def unfinished() -> Generator[None]:
    """Delay the end of the process while this context is open, in any thread."""
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
    """Wait until all such contexts are closed, at most `seconds`; return whether they are."""
    with _changed:
        return _changed.wait_for(lambda: not _at_work, seconds)
