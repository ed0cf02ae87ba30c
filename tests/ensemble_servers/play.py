"""How a model of a loopback worker behaves."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODEL = "qwen3:8b"
"""The model a server has unless others are named."""

_PATIENCE = 20.0
"""Seconds a test waits at most for what must happen."""


class Gate:
    """Holds every request that reaches it until it is opened; `waiting` is how many it holds, `reached` how many ever
    came. Opened from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_open = False
        self._held: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self.reached = 0

    @property
    def waiting(self) -> int:
        return len(self._held)

    def open(self) -> None:
        """Let all go on, and all that are still to come."""
        with self._lock:
            self._is_open = True
            held = list(self._held)
        for loop, event in held:
            loop.call_soon_threadsafe(event.set)

    async def passed(self) -> None:
        """Return when it is open; awaited by the server for each request."""
        place = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self.reached += 1
            if self._is_open:
                return
            self._held.append(place)
        try:
            await place[1].wait()
        finally:
            with self._lock:
                self._held.remove(place)

    async def holds(self, number: int) -> None:
        """Wait until it holds so many requests at the same time. Raises AssertionError where that never happens."""
        await until(lambda: self.waiting >= number, f"{number} requests at the gate")

    def wait_until_it_holds(self, number: int) -> None:
        """As `holds`, for tests that are not asynchronous."""
        deadline = time.monotonic() + _PATIENCE
        while self.waiting < number:
            assert time.monotonic() < deadline, f"{self.waiting} requests at the gate instead of {number}"
            time.sleep(0.002)


async def until(is_so: Callable[[], bool], what: str = "it") -> None:
    """Wait until something is so in another thread. Raises AssertionError where it never is."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: never"
        await asyncio.sleep(0.002)


@dataclass
class Play:
    """What a model answers, and how. All of it may be changed while the server runs.

    answer: the text, or what makes it of the request's body. A list is used up one by one, its last for good.
    thinking: said before it, as thinking. pieces: lines of a streamed answer. tool_call: the name of a tool it calls.
    gate: holds the request before anything is sent. delay: seconds before anything is sent; between: before each
    further piece. drip: seconds between single bytes of the body, 0 for none.
    fails: so many requests are answered by `status` and `error` first, -1 for all. cut_after: pieces after which the
    connection is reset, -1 for none; ends_after: the same, but politely, without the end of the answer.
    error_after: pieces after which an error stands in the stream. raw: the whole body instead, whatever it is.
    location: where a redirect leads. filler: so many bytes are sent instead of the answer.
    window, maximum, parameters: what /api/ps and /api/show tell. is_loaded: whether /api/ps lists it.
    """

    answer: str | Callable[[dict[str, Any]], str] | list[str] = "An answer."
    thinking: str = ""
    pieces: int = 3
    tool_call: str = ""
    gate: Gate | None = None
    delay: float = 0.0
    between: float = 0.0
    drip: float = 0.0
    fails: int = 0
    status: int = 500
    error: str = "the model failed to generate a response"
    cut_after: int = -1
    ends_after: int = -1
    error_after: int = -1
    raw: bytes | None = None
    location: str = ""
    filler: int = 0
    window: int = 16_384
    maximum: int = 40_960
    parameters: str = "8.2B"
    is_loaded: bool = True
    done_reason: str = "stop"

    def text(self, body: dict[str, Any]) -> str:
        """The answer to a request."""
        if isinstance(self.answer, list):
            return self.answer.pop(0) if len(self.answer) > 1 else self.answer[0]
        return self.answer if isinstance(self.answer, str) else self.answer(body)

    def has_failed(self) -> bool:
        """Whether this request fails; it is counted."""
        if self.fails > 0:
            self.fails -= 1
            return True
        return self.fails < 0
