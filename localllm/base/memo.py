"""What a function has given for an argument, remembered within a bound of bytes."""

from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """`compute`, which is called once for what is asked for again and again, and must not give None.

    functools.lru_cache bounds the number of what it remembers; texts of any length need a bound of bytes. `size` tells
    those of an argument and its value; of all together there are at most `most`. What was not asked for since half as
    many new ones came is forgotten.
    """

    share: ClassVar[float] = 1.0
    """Of its bound, what each may use: a process in which little is asked for again needs less."""

    def __init__(self, compute: Callable[[K], V], size: Callable[[K, V], int], most: int) -> None:
        self._compute = compute
        self._size = size
        self._most = most
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._bytes = 0
        """Of the new ones."""

    def __call__(self, key: K) -> V:
        """The value for `key`."""
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
