"""Cache open shards for a moment after a search: loading a large one takes half a second.

A thread polls whether another process waits for a shard, and closes it then.
"""

import threading
import time
from typing import NamedTuple, Protocol

_SECONDS = 3.0
_LOOK = 0.1
"""Seconds between two polls."""


class Held(Protocol):
    """A resource that may stay open."""

    def is_wanted(self) -> bool:
        """Whether another process waits for it."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class _Kept(NamedTuple):
    held: Held
    until: float


class OpenShards:
    """Open resources that are not in use, by name. Thread-safe."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def take(self, name: str) -> Held | None:
        """Take the resource open under this name out of the cache; None if there is none."""
        with self._lock:
            kept = self._kept.pop(name, None)
        return kept.held if kept else None

    def keep(self, name: str, held: Held) -> None:
        """Cache a resource that is no longer in use."""
        with self._lock:
            older = self._kept.pop(name, None)
            self._kept[name] = _Kept(held, time.monotonic() + self._seconds)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="open-shards", daemon=True)
                self._watcher.start()
        if older:
            older.held.close()

    def close(self) -> None:
        """Close all."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for one in kept.values():
            one.held.close()

    def _watch(self) -> None:
        """Close resources that expire or that another process waits for; end when the cache is empty."""
        while True:
            time.sleep(_LOOK)
            with self._lock:
                now = time.monotonic()
                over = [name for name, one in self._kept.items() if now > one.until or one.held.is_wanted()]
                closing = [self._kept.pop(name) for name in over]
                if not self._kept:
                    self._watcher = None
            for one in closing:
                one.held.close()
            if self._watcher is not threading.current_thread():
                return
