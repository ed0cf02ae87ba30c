"""Retry requests with backoff, and wait for servers that load a model or restart."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.base import Chunk, MessageAssembler, Provider, TextChunk, ThinkingChunk, ToolCallChunk

if TYPE_CHECKING:
    from tenacity import RetryCallState


class Stopwatch:
    """Measures when the chunks of one answer arrive, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._asked = self._first = self._last = clock()
        self._pieces = 0

    def start(self) -> None:
        """Restart the measurement of an answer, discarding the chunks so far."""
        self._asked = self._first = self._last = self._clock()
        self._pieces = 0

    def note(self, chunk: Chunk) -> None:
        """Record a chunk; only text, thinking and tool calls count."""
        if isinstance(chunk, TextChunk | ThinkingChunk | ToolCallChunk):
            self._last = self._clock()
            self._first = self._first if self._pieces else self._last
            self._pieces += 1

    @property
    def first(self) -> float:
        """Seconds from the answered request to the first chunk; 0 if none came."""
        return self._first - self._asked

    @property
    def generation(self) -> float:
        """Seconds from the first chunk to the last; 0 for an answer in one chunk, whose speed is unknown."""
        return self._last - self._first

    @property
    def total(self) -> float:
        """Seconds from the first request until now."""
        return self._clock() - self._began


async def opened(
    stream: AsyncGenerator[Chunk], watch: Stopwatch, empty: Callable[[MessageAssembler], LLMConnectionError | None]
) -> AsyncGenerator[Chunk]:
    """Return `stream` once it has visible text or thinking, or is complete: failures until then can be retried. White
    space is not visible. Tool calls are useless before they are complete, so they are awaited as well.

    Raises what the stream raises, and the error `empty` returns, if any, for an answer with neither text nor a call.
    """
    held: list[Chunk] = []
    watch.start()
    try:
        while (chunk := await anext(stream, None)) is not None:
            watch.note(chunk)
            held.append(chunk)
            if isinstance(chunk, TextChunk | ThinkingChunk) and chunk.text.strip():
                return _rejoined(held, stream, watch)
    except BaseException:
        await stream.aclose()
        raise
    if not any(isinstance(chunk, ToolCallChunk) for chunk in held) and (error := empty(_gathered(held))):
        raise error
    return _rejoined(held, stream, watch)


def _gathered(chunks: list[Chunk]) -> MessageAssembler:
    gathered = MessageAssembler()
    for chunk in chunks:
        gathered.add(chunk)
    return gathered


async def _rejoined(held: list[Chunk], rest: AsyncGenerator[Chunk], watch: Stopwatch) -> AsyncGenerator[Chunk]:
    async with aclosing(rest):
        for chunk in held:
            yield chunk
        async for chunk in rest:
            watch.note(chunk)
            yield chunk


LONGEST_WAIT = 60.0
"""Maximum retry delay in seconds that is accepted from a server."""

LONGEST_LOADING = 180.0
"""Maximum seconds a server may take to load its model: tens of gigabytes from a slow disk take this long."""

_LOOK_AGAIN = 3.0
"""Seconds between two polls of a server that loads its model."""

_RESTART = 1.0
"""Seconds before the first poll of a restarting server; the delay doubles each time."""

ASKED_ONCE_MORE = frozenset({"llm_bad_call", "llm_empty"})
"""Errors caused by the model, retried once: it succeeds at once or never."""

SCHEMA_ERRORS = frozenset({"llm_bad_call", "llm_bad_request", "llm_parameter_refused"})
"""Errors that a schema may cause: the server could not parse its own answer (llama.cpp, at times), or takes none, or
none together with tools."""

Kind = Literal["loading", "restart", "model", "server"]

T = TypeVar("T")


def is_passing(error: BaseException) -> bool:
    """Return whether the error is transient: the same request may succeed after an acceptable wait."""
    return isinstance(error, LLMConnectionError) and error.retryable and (error.retry_after or 0) <= LONGEST_WAIT


async def try_again(
    request: Callable[[], Awaitable[T]],
    *,
    after: LLMConnectionError,
    retries: int,
    on_retry: Callable[[LLMConnectionError, float], None],
    pause: Callable[[float], Awaitable[None]],
) -> T:
    """Retry `request`, which has failed with `after`, up to `retries` times, and return its result.
    Once only if the model caused the error, and until a timeout while a model is loading.

    `on_retry` is called with each failure (of loading only the first) and the seconds until the next attempt; `pause`
    waits them. Raises the last failure.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    known: list[LLMConnectionError] = [after]
    patience = _Patience(retries)

    async def attempt() -> T:
        if known:
            raise known.pop()
        return await request()

    def tell(state: "RetryCallState") -> None:
        error = _error(state)
        if patience.failed[_kind(error)] == 1 or _kind(error) != "loading":
            on_retry(error, state.upcoming_sleep)

    retrying = AsyncRetrying(
        retry=retry_if_exception(is_passing),
        stop=patience.is_at_an_end,
        wait=patience.wait,
        before_sleep=tell,
        sleep=pause,
        reraise=True,
    )
    return await retrying(attempt)


class _Patience:
    """The retry policy per kind of failure. `failed` counts them."""

    def __init__(self, retries: int) -> None:
        from tenacity import wait_random_exponential

        self.failed: Counter[Kind] = Counter()
        self._retries = retries
        self._backoff = wait_random_exponential(multiplier=0.5, max=8)

    def wait(self, state: "RetryCallState") -> float:
        """Return the seconds until the next attempt."""
        error = _error(state)
        kind = _kind(error)
        self.failed[kind] += 1
        if error.retry_after is not None:
            return error.retry_after
        match kind:
            case "loading":
                return _LOOK_AGAIN
            case "restart":
                return _RESTART * 2 ** (self.failed[kind] - 1)
            case "model":
                return 0.0
            case "server":
                return self._backoff(state)

    def is_at_an_end(self, state: "RetryCallState") -> bool:
        """Return whether to stop retrying this kind of failure. Called after `wait`."""
        kind = _kind(_error(state))
        match kind:
            case "loading":
                return self.failed[kind] * _LOOK_AGAIN > LONGEST_LOADING
            case "model":
                return self.failed[kind] > min(1, self._retries)
            case "restart" | "server":
                return self.failed[kind] > self._retries


def _kind(error: LLMConnectionError) -> Kind:
    match error.key:
        case "llm_loading":
            return "loading"
        case "llm_refused":
            return "restart"
        case key if key in ASKED_ONCE_MORE:
            return "model"
        case _:
            return "server"


def _error(state: "RetryCallState") -> LLMConnectionError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, LLMConnectionError)  # noqa: S101 - only these are retried
    return error


SECONDS_TO_ANSWER = 5.0
"""Seconds after which a server that has not listed its models is unhealthy."""

ATTEMPTS = 3
FIRST_WAIT = 1.0
"""Seconds before the second health check; the delay doubles each time."""

NOT_THERE = frozenset({"llm_refused", "llm_unreachable", "llm_cut"})
"""Errors of an unreachable server. After any other it has at least answered."""


class Health(msgspec.Struct, frozen=True):
    """A server's health. `latency`: milliseconds to list its models; `error`: what is wrong, in words."""

    status: Literal["healthy", "loading", "unhealthy"]
    connected: bool
    latency: float
    provider: str
    address: str
    model: str
    error: str = ""


async def look_at(provider: Provider, model: str, *, clock: Callable[[], float] = time.perf_counter) -> Health:
    """Check the health of `provider` with the cheapest request, its list of models. `model`: the one in use."""
    began = clock()
    error: LLMConnectionError | None = None
    try:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            await provider.list_models()
    except TimeoutError:
        error = LLMConnectionError("llm_silent", url=provider.address, seconds=SECONDS_TO_ANSWER)
    except LLMConnectionError as failure:
        error = failure
    return Health(
        status=_status(error),
        connected=error is None or error.key not in NOT_THERE,
        latency=round((clock() - began) * 1000, 1),
        provider=provider.name,
        address=provider.address,
        model=model,
        error=error.what if error else "",
    )


async def wait_for(
    provider: Provider,
    *,
    attempts: int = ATTEMPTS,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> bool:
    """Return whether the server is healthy, checked up to `attempts` times with exponential backoff."""
    for attempt in range(attempts):
        if attempt:
            await pause(FIRST_WAIT * 2 ** (attempt - 1))
        if (await look_at(provider, "")).status == "healthy":
            return True
    return False


def _status(error: LLMConnectionError | None) -> Literal["healthy", "loading", "unhealthy"]:
    if error is None:
        return "healthy"
    return "loading" if error.key == "llm_loading" else "unhealthy"
