"""A server at the address of a cache or a queue that answers garbage, a byte at a time, or without end."""

import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat

import pytest

from localllm.base.errors import ResearchError
from localllm.integrations.task_queue import redis_server
from localllm.integrations.task_queue.job_board import JobBoard
from localllm.integrations.task_queue.redis_server import QueueServer
from localllm.web import search_cache
from localllm.web.engines.base import SearchAnswer
from localllm.web.search_cache import MemoryCache, RedisCache, SearchCache
from tests.support.web_engines import FOUND

pytest.importorskip("redis")  # imported late otherwise, in the time that is measured

ASKED = (b"\nGET\r", b"HGETALL", b"HVALS", b"XREAD")
GARBAGE = {
    "a number": b":5\r\n",
    "lists without end": b"*1\r\n" * 200_000,
    "messages without end": b">2\r\n+a\r\n+b\r\n" * 100_000,
    "a length of many digits": b"$9999999999999999999999\r\n",
    "no protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


def dripped() -> Iterator[bytes]:
    yield b"$1000000\r\n"
    for _ in range(100):
        time.sleep(0.05)
        yield b"x"


def endless() -> Iterator[bytes]:
    yield b"$4000000000\r\n"
    yield from repeat(b"x" * 100_000, 4_000)


@contextmanager
def server(answer: Callable[[], Iterator[bytes]]) -> Generator[str]:
    """Serve as a Redis would, but for what is asked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                while request := client.recv(65_536):
                    if b"HELLO" in request:
                        client.sendall(b"%1\r\n+proto\r\n:3\r\n")
                    elif any(word in request for word in ASKED):
                        for part in answer():
                            client.sendall(part)
                    else:
                        client.sendall(b"+OK\r\n" * max(1, request.count(b"SETINFO")))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search_cache, redis_server):
        monkeypatch.setattr(module, "_SECONDS", 0.5)
        monkeypatch.setattr(module, "_LONGEST", 1.0)
        monkeypatch.setattr(module, "_LARGEST", 5_000_000)


@contextmanager
def board(answer: Callable[[], Iterator[bytes]]) -> Generator[JobBoard]:
    with server(answer) as url:
        opened = JobBoard(QueueServer(url, {}))
        yield opened
        opened.client.close()


ANSWERS: dict[str, Callable[[], Iterator[bytes]]] = {
    **{name: lambda data=data: iter([data]) for name, data in GARBAGE.items()},
    "drip": dripped,
    "no end": endless,
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", ANSWERS)
async def test_no_search_fails_by_it(name: str) -> None:
    async def ask() -> SearchAnswer:
        return FOUND

    with server(ANSWERS[name]) as url:
        cache = SearchCache(RedisCache(url, 3_600.0), MemoryCache(3_600.0))
        began = time.monotonic()
        answer = await cache.answer("key", ask)
        assert time.monotonic() - began < 10.0
    assert answer == FOUND
    failure = cache.take_failure()
    assert failure is not None
    assert failure.key == "cache_failed"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_queue_says_that_it_cannot_be_used(name: str) -> None:
    with board(ANSWERS[name]) as jobs:
        for request in (lambda: jobs.job("a" * 32), lambda: jobs.rows("a" * 32), lambda: jobs.watch("a", "0", 0.0)):
            began = time.monotonic()
            with pytest.raises(ResearchError) as caught:
                request()
            assert caught.value.key in ("queue_server", "queue_damaged")
            assert time.monotonic() - began < 10.0


@pytest.mark.parametrize("fields", [b"+status\r\n+lost\r\n", b"+worker\r\n+\xff\r\n", b"+failure\r\n+{\r\n"])
def test_a_job_of_another_form_is_damaged(fields: bytes) -> None:
    answer = b"%2\r\n+run\r\n+2026-0001\r\n" + fields
    with board(lambda: iter([answer])) as jobs, pytest.raises(ResearchError) as caught:
        jobs.job("a" * 32)
    assert caught.value.key == "queue_damaged"


def test_a_message_that_is_no_event_is_passed_over() -> None:
    with board(lambda: iter([b"%1\r\n+events\r\n*1\r\n*2\r\n+1-0\r\n*2\r\n+other\r\n+x\r\n"])) as jobs:
        assert jobs.watch("a", "0", 0.0) == ([], "1-0")


def test_the_names_in_a_job_are_of_one_line() -> None:
    name = "x\nlocalllm: all is well \x1b[31m" + "y" * 1_000
    failure = json.dumps({"code": name, "what": {"text": "It failed."}})
    fields = b"".join(
        b"$%d\r\n%s\r\n" % (len(text), text.encode())
        for text in ("run", name, "worker", name, "status", "failed", "failure", failure)
    )
    with board(lambda: iter([b"%4\r\n" + fields])) as jobs:
        job = jobs.job("a" * 32)
    assert job
    assert job.failure
    for shown in (job.run, job.worker, job.failure.code):
        assert shown.isprintable()
        assert len(shown) < 300
