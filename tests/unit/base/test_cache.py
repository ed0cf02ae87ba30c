"""The caches: how long, how much, and never what is not true any more."""

import os
import threading
from pathlib import Path

import pytest

from localllm.base.cache import CacheInfo, CacheManager, TTLCache


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_is_too_old_is_not_given_back(clock: Clock) -> None:
    cache: TTLCache[str, int] = TTLCache(10, 60, clock=clock)
    cache.put("a", 1)
    clock.now = 59.9
    assert cache.get("a") == 1
    clock.now = 60
    assert cache.get("a") is None
    assert cache.info == CacheInfo(hits=1, misses=1, entries=0, size=0)


def test_what_was_used_longest_ago_goes_first(clock: Clock) -> None:
    cache: TTLCache[str, int] = TTLCache(2, 60, clock=clock)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_what_is_too_old_goes_before_what_is_not(clock: Clock) -> None:
    cache: TTLCache[str, int] = TTLCache(2, 60, clock=clock)
    cache.put("new", 1)
    clock.now = 50
    cache.put("old", 2)
    cache.put("new", 3)
    clock.now = 20
    cache.put("older", 4)
    assert [cache.get(key) for key in ("new", "older")] == [3, 4]


def test_a_value_made_from_something_else_is_not_given_back(clock: Clock) -> None:
    cache: TTLCache[str, int] = TTLCache(2, 60, clock=clock)
    cache.put("a", 1, "digest 1")
    assert cache.get("a", "digest 1") == 1
    assert cache.get("a", "digest 2") is None
    assert cache.get("a", "digest 1") is None, "it was not forgotten"


def test_bytes_are_bounded(clock: Clock) -> None:
    cache: TTLCache[str, bytes] = TTLCache(10, 60, max_bytes=100, clock=clock)
    cache.put("a", b"", size=60)
    cache.put("b", b"", size=60)
    assert cache.info == CacheInfo(hits=0, misses=0, entries=1, size=60)
    cache.put("b", b"", size=101)
    assert cache.info == CacheInfo(hits=0, misses=0, entries=0, size=0)


def test_put_again_counts_once(clock: Clock) -> None:
    cache: TTLCache[str, int] = TTLCache(10, 60, max_bytes=100, clock=clock)
    cache.put("a", 1, size=10)
    cache.put("a", 2, size=20)
    assert (cache.get("a"), cache.info.size) == (2, 20)
    cache.forget("a")
    cache.forget("a")
    assert cache.info.size == 0


def test_threads_share_it() -> None:
    cache: TTLCache[int, int] = TTLCache(50, 60, max_bytes=1_000)

    def work() -> None:
        for number in range(2_000):
            cache.put(number % 97, number, size=number % 40)
            cache.get(number % 89)
            if number % 11 == 0:
                cache.forget(number % 13)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    info = cache.info
    assert info.hits + info.misses == 8_000
    assert info.entries <= 50
    assert 0 <= info.size <= 1_000
    for number in range(97):
        cache.forget(number)
    assert cache.info[2:] == (0, 0)


def test_the_three_caches_have_the_sizes_they_are_known_for(clock: Clock) -> None:
    caches = CacheManager(clock)
    found = [(cache.maxsize, cache.ttl) for cache in (caches.file_cache, caches.analysis_cache, caches.llm_cache)]
    assert found == [(100, 300), (50, 600), (200, 1_800)]


def test_a_file_that_was_just_made_is_read_each_time(tmp_path: Path) -> None:
    caches, path = CacheManager(), tmp_path / "a.txt"
    for data in (b"one", b"two"):  # of the same size, perhaps in the same tick of the file system's clock
        path.write_bytes(data)
        assert caches.read_file(path) == data
    assert caches.file_cache.info.entries == 0


def test_a_settled_file_is_read_once() -> None:
    caches, path = CacheManager(), Path(os.__file__)
    assert caches.read_file(path) == caches.read_file(path) == path.read_bytes()
    assert caches.file_cache.info == CacheInfo(hits=1, misses=1, entries=1, size=path.stat().st_size)
    caches.clear()
    assert caches.file_cache.info.entries == 0


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing", "."):
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on what is there
            CacheManager().read_file(tmp_path / name)
