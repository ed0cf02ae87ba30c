"""Trying again after a passing failure, as the server asks or with exponential waits."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from localllm.base.errors import LLMConnectionError

if TYPE_CHECKING:
    from tenacity import RetryCallState

LONGEST_WAIT = 60.0
"""Seconds: a server that asks to wait longer is not waited for."""

LONGEST_LOADING = 180.0
"""Seconds a server is given to load its model: tens of gigabytes from a slow disk take so long."""

_LOOK_AGAIN = 3.0
"""Seconds between two looks at a server that loads its model."""

_RESTART = 1.0
"""Seconds before the first look at a server that restarts; each wait is twice the one before."""

_ASKED_ONCE_MORE = frozenset({"llm_bad_call", "llm_empty"})
"""What the model itself did wrong: it may do better at once, or never."""

Kind = Literal["loading", "restart", "model", "server"]

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
    pause: Callable[[float], Awaitable[None]],
) -> T:
    """What `request` gives, called again after it has failed once with `after`; up to `retries` times, but once only
    where the model is at fault, and as often as it takes while a model is being loaded.

    `on_retry` is told each failure (of loading the first) and the seconds until the next attempt; `pause` waits them.
    The last failure is raised.
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
    """How often, and for how long, each kind of failure is waited for. `failed` counts them."""

    def __init__(self, retries: int) -> None:
        from tenacity import wait_random_exponential

        self.failed: Counter[Kind] = Counter()
        self._retries = retries
        self._backoff = wait_random_exponential(multiplier=0.5, max=8)

    def wait(self, state: "RetryCallState") -> float:
        """Seconds until the next attempt."""
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
        """Whether the failure is the last one of its kind to be waited for. Asked after `wait`."""
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
        case key if key in _ASKED_ONCE_MORE:
            return "model"
        case _:
            return "server"


def _error(state: "RetryCallState") -> LLMConnectionError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, LLMConnectionError)  # noqa: S101 - only these are tried again
    return error
