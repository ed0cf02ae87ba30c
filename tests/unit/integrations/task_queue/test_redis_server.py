"""The address of a queue: what is one, what of it is shown, and what is said where a package is missing."""

import importlib.util

import pytest

from localllm.base import offline
from localllm.base.errors import ResearchUsageError
from localllm.base.offline import Guard
from localllm.integrations.task_queue import redis_server
from localllm.integrations.task_queue.redis_server import QueueServer
from tests.support.each import each


@each(
    "address, url, shown",
    [
        ("redis://h", "redis://h", "redis://h"),
        ("redis://h:6380/2", "redis://h:6380/2", "redis://h:6380/2"),
        ("valkey://h:1/0", "redis://h:1/0", "redis://h:1/0"),
        ("valkeys://h/0", "rediss://h/0", "rediss://h/0"),
        ("redis://me:word@h:1/0", "redis://me:word@h:1/0", "redis://h:1/0"),
        ("rediss://h:1/0?password=word&x=1", "rediss://h:1/0?password=word&x=1", "rediss://h:1/0"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
        ("unix://me:word@/run/redis.sock", "unix://me:word@/run/redis.sock", "unix:///run/redis.sock"),
        (" redis://[::1]:1/0 ", "redis://[::1]:1/0", "redis://[::1]:1/0"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, url: str, shown: str) -> None:
    server = QueueServer(address, {})
    assert (server.url, server.shown) == (url, shown)
    assert "word" not in server.shown


@each(
    "address",
    [
        "",
        "localhost:6379",
        "http://h/",
        "redis://",
        "redis://h:port",
        "redis://:secret@",
        "redis://:sec/ret@h",
        "redis:h?password=secret",
        "unix://",
        "x",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ResearchUsageError) as caught:
        QueueServer(address, {})
    assert caught.value.key == "queue_address"
    assert caught.value.exit_code == 2
    assert "sec" not in str(caught.value)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(redis_server, "find_spec", lambda name: None if name == "dramatiq" else real(name))
    with pytest.raises(ResearchUsageError) as caught:
        QueueServer("redis://h", {}).connect()
    assert caught.value.key == "queue_no_package"
    assert "localllm[queue]" in caught.value.fix


def test_a_queue_that_is_named_in_the_own_network_is_reached_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard([])
    monkeypatch.setattr(offline._Process, "guard", guard)
    QueueServer("redis://:word@10.1.2.3/0", {})
    QueueServer("rediss://queue.home:7000/0", {})
    assert guard.places == ("10.1.2.3:6379", "queue.home:7000")
