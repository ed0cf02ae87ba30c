"""Memoise a function, limited by bytes."""

from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """A cache of `compute`'s results, which must not be None.

    functools.lru_cache limits the number of entries; texts of any length need a limit in bytes. `size` returns the
    bytes of an argument with its value; together they take at most `most`. Entries are evicted in two generations: what
    was not requested while the newer half was filled is dropped.
    """

    share: ClassVar[float] = 1.0
    """Fraction of its limit that each instance may use; lower in processes with few repeated requests."""

    def __init__(self, compute: Callable[[K], V], size: Callable[[K, V], int], most: int) -> None:
        self._compute = compute
        self._size = size
        self._most = most
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._bytes = 0
        """Size of the new generation."""

    def __call__(self, key: K) -> V:
        """Return the value for `key`, computed if necessary."""
        value = self._new.get(key)
        if value is None:
            value = self._old.pop(key, None)
            value = self._compute(key) if value is None else value
            self._keep(key, value)
        return value

    def _keep(self, key: K, value: V) -> None:
        size = self._size(key, value)
        most = self._most * Memo.share / 2
        if size > most:
            return
        if self._bytes + size > most:
            self._old, self._new, self._bytes = self._new, {}, 0
        self._new[key] = value
        self._bytes += size
