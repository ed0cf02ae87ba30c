"""Trying again after a passing failure, as the server asks or with exponential waits."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from localllm.base.errors import LLMConnectionError

if TYPE_CHECKING:
    from tenacity import RetryCallState

LONGEST_WAIT = 60.0
"""Seconds: a server that asks to wait longer is not waited for."""

T = TypeVar("T")


def is_passing(error: BaseException) -> bool:
    """Whether the same request may succeed soon enough to wait for."""
    return isinstance(error, LLMConnectionError) and error.retryable and (error.retry_after or 0) <= LONGEST_WAIT


async def try_again(
    request: Callable[[], Awaitable[T]],
    *,
    after: LLMConnectionError,
    retries: int,
    on_retry: Callable[[LLMConnectionError, float], None],
) -> T:
    """What `request` gives, called up to `retries` times after it has failed once with `after`.

    `on_retry` is told each failure and the seconds until the next attempt. The last failure is raised.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    known: list[LLMConnectionError] = [after]
    backoff = wait_random_exponential(multiplier=0.5, max=8)

    async def attempt() -> T:
        if known:
            raise known.pop()
        return await request()

    def wait(state: "RetryCallState") -> float:
        asked = _error(state).retry_after
        return backoff(state) if asked is None else asked

    def tell(state: "RetryCallState") -> None:
        on_retry(_error(state), state.upcoming_sleep)

    retrying = AsyncRetrying(
        retry=retry_if_exception(is_passing),
        stop=stop_after_attempt(retries + 1),
        wait=wait,
        before_sleep=tell,
        reraise=True,
    )
    return await retrying(attempt)


def _error(state: "RetryCallState") -> LLMConnectionError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, LLMConnectionError)  # noqa: S101 - only these are tried again
    return error
