"""Trying again: how often, and after how long."""

from collections.abc import Sequence

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.openai_errors import ErrorReader
from localllm.llm.retry import is_passing, try_again

pytestmark = pytest.mark.anyio


def failure(key: str = "llm_server_failed", *, retry_after: float | None = None, passing: bool = True):
    params = {"url": "u", "status": 500, "reason": "", "seconds": 1.0, "provider": "p", "start": "s"}
    return LLMConnectionError(key, retryable=passing, retry_after=retry_after, **params)


class Server:
    """Fails in turn with each of `failures`, then answers."""

    def __init__(self, failures: Sequence[LLMConnectionError]) -> None:
        self.failures = list(failures)
        self.waits: list[float] = []
        self.told: list[str] = []

    async def answer(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        return "answer"

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def tried(self, retries: int = 3) -> str:
        return await try_again(
            self.answer,
            after=self.failures.pop(0),
            retries=retries,
            on_retry=lambda error, _: self.told.append(error.key),
            pause=self.pause,
        )


async def test_growing_waits_with_chance_in_them() -> None:
    server = Server([failure()] * 3)
    assert await server.tried() == "answer"
    assert all(0 <= wait <= most for wait, most in zip(server.waits, (0.5, 1, 2), strict=True))
    assert len(server.told) == 3


async def test_the_last_failure_is_raised() -> None:
    last = failure()
    server = Server([failure(), failure(), last, failure()])
    with pytest.raises(LLMConnectionError) as caught:
        await server.tried(retries=2)
    assert caught.value is last


async def test_the_wait_the_server_asks_for() -> None:
    server = Server([failure("llm_rate_limited", retry_after=7.0), failure("llm_rate_limited", retry_after=0.6)])
    assert await server.tried() == "answer"
    assert server.waits == [7.0, 0.6]


@pytest.mark.parametrize("key", ["llm_bad_call", "llm_empty"])
async def test_what_the_model_did_wrong_is_asked_for_once_more_and_at_once(key: str) -> None:
    server = Server([failure(key)])
    assert await server.tried() == "answer"
    assert server.waits == [0.0]
    with pytest.raises(LLMConnectionError):
        await Server([failure(key), failure(key)]).tried()


async def test_a_restart_is_given_more_time() -> None:
    server = Server([failure("llm_refused")] * 3)
    assert await server.tried() == "answer"
    assert server.waits == [1, 2, 4]


async def test_loading_is_waited_for_and_told_once() -> None:
    server = Server([failure("llm_loading")] * 30)
    assert await server.tried() == "answer"
    assert server.waits == [3.0] * 30
    assert server.told == ["llm_loading"]


async def test_loading_is_not_waited_for_for_ever() -> None:
    server = Server([failure("llm_loading")] * 1000)
    with pytest.raises(LLMConnectionError):
        await server.tried()
    assert sum(server.waits) == 180


async def test_each_kind_of_failure_is_counted_for_itself() -> None:
    server = Server([*[failure("llm_loading")] * 5, *[failure()] * 3, failure("llm_bad_call")])
    assert await server.tried(retries=3) == "answer"


async def test_a_failure_that_will_not_pass_ends_it() -> None:
    server = Server([failure(), failure("llm_unauthorized", passing=False), failure()])
    with pytest.raises(LLMConnectionError) as caught:
        await server.tried()
    assert caught.value.key == "llm_unauthorized"


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after": "60", "retry-after-ms": "600"}, 0.6),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"x-ratelimit-reset-tokens": "1m30s"}, 90.0),
    ],
)
def test_the_headers_of_a_rate_limit(headers: dict[str, str], waits: float | None) -> None:
    error = ErrorReader("p", "u", "KEY").of_status(429, headers, b"{}")
    assert error.retry_after == waits


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "86400"},
        {"retry-after": "61"},
        {"retry-after": "inf"},
        {"retry-after-ms": "1e300"},
        {"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"},
    ],
)
def test_an_absurd_wait_is_told_instead_of_waited_for(headers: dict[str, str]) -> None:
    error = ErrorReader("p", "u", "KEY").of_status(429, headers, b"{}")
    assert not is_passing(error)
    assert error.fix


@pytest.mark.parametrize(("header", "passing"), [("false", False), (" False", False), ("true", True), ("", True)])
@pytest.mark.parametrize("status", [429, 500, 502])
def test_a_server_may_say_that_asking_again_is_of_no_use(status: int, header: str, passing: bool) -> None:
    error = ErrorReader("openai", "u", "").of_status(status, {"X-Should-Retry": header}, b"{}")
    assert is_passing(error) is passing
