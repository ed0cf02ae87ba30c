"""LLMClient: what it learns from failures, and what it does about them."""

from base64 import b64encode
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.rate_limit import RateLimiter
from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.overflow import Overflow, overflow_of
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.base import Provider
from localllm.llm.providers.gemini import Gemini
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.wire_server import Reply, WireServer, delta, fails, says, sse

pytestmark = pytest.mark.anyio

HELLO = (UserMessage("Hello"),)
LONG = (UserMessage("All work and no play makes Jack a dull boy. " * 800),)  # about 9,800 tokens
TOO_LONG = fails(400, "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it")
NO_ROOM = fails(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9024 tokens (832 in the messages, 8192 "
    "in the completion). Please reduce the length of the messages or completion.",
)
EMPTY = Reply(sse(delta("stop"), "[DONE]"))


def counting(prompt_tokens: int) -> Reply:
    usage = {"choices": [], "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1}}
    return Reply(sse(delta(content="x"), delta("stop"), usage, "[DONE]"))


def window(tokens: int) -> dict[str, Reply]:
    """A server that tells its window."""
    listed = b'{"data": [{"id": "m", "max_model_len": %d}]}' % tokens
    return {"/v1/models": Reply((listed,), headers={"content-type": "application/json"})}


async def test_the_list_of_models_is_asked_for_once() -> None:
    with WireServer([says("one"), says("two"), says("three")]) as server:
        async with Asked(server, model="") as asked:
            for _ in range(3):
                await asked.ask()
    assert server.asked.count("GET /v1/models") == 1


class Asked:
    """A client of a server, and what it did. Time passes only while it waits."""

    def __init__(self, server: WireServer, *, per_minute: int = 0, **options: Any) -> None:
        self.waits: list[float] = []
        self.notices: list[str] = []
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        limiter = RateLimiter(per_minute, clock=lambda: sum(self.waits), pause=self.pause)
        self.client = LLMClient(provider, limiter=limiter, pause=self.pause, **{"model": "m", **options})

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, messages: tuple[UserMessage, ...] = HELLO) -> str:
        return (await self.client.complete(messages, on_notice=self.notices.append)).message.text

    async def failure(self, messages: tuple[UserMessage, ...] = HELLO) -> LLMConnectionError:
        with pytest.raises(LLMConnectionError) as caught:
            await self.ask(messages)
        return caught.value

    async def __aenter__(self) -> "Asked":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()


class TestOverflow:
    async def test_the_window_is_what_the_server_told_in_refusing(self) -> None:
        with WireServer([TOO_LONG, says("x")]) as server:
            async with Asked(server, context_window=32_768) as asked:
                error = await asked.failure()
                assert overflow_of(error) == Overflow(9000, 4096)
                assert (asked.client.context_window, asked.client.assumes_window) == (4096, False)
                assert await asked.ask() == "x"  # who makes the conversation shorter can go on
                assert asked.client.context_window == 4096

    async def test_of_another_model_nothing_was_told(self) -> None:
        with WireServer([TOO_LONG]) as server:
            async with Asked(server) as asked:
                await asked.failure()
                await asked.client.use(asked.client.provider, "n")
                assert asked.client.assumes_window

    async def test_where_only_the_answer_has_no_room_the_limit_goes_for_good_the_second_time(self) -> None:
        with WireServer([NO_ROOM, says("x"), says("x"), NO_ROOM, says("x")]) as server:
            async with Asked(server, max_tokens=8192) as asked:
                for _ in range(4):
                    assert await asked.ask() == "x"
        limits = [bool({"max_tokens", "max_completion_tokens"} & set(body)) for body in server.bodies()]
        assert limits == [True, False, True, True, False, False]

    async def test_a_server_that_still_refuses_is_believed(self) -> None:
        with WireServer([NO_ROOM]) as server:
            async with Asked(server, max_tokens=8192) as asked:
                assert (await asked.failure()).key == "llm_context_overflow"
        assert len(server.requests) == 2

    async def test_an_empty_answer_to_a_prompt_beyond_the_window_is_one(self) -> None:
        with WireServer([EMPTY], routes=window(4096)) as server:
            async with Asked(server) as asked:
                error = await asked.failure(LONG)
                assert (await asked.failure(HELLO)).key == "llm_empty"
        told = overflow_of(error)
        assert told
        assert told.n_ctx == 4096
        assert told.n_prompt_tokens > 9000

    async def test_more_than_a_minutes_allowance_is_not_asked_for_again(self) -> None:
        words = "Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 43205."
        with WireServer([fails(429, words, {"retry-after": "1"})]) as server:
            async with Asked(server) as asked:
                assert overflow_of(await asked.failure()) == Overflow(43_205, 30_000)
                assert asked.client.context_window == 30_000
        assert (len(server.requests), asked.waits) == (1, [])

    async def test_what_a_refusal_told_is_forgotten_when_the_model_is_chosen_anew(self) -> None:
        with WireServer([TOO_LONG]) as server:
            async with Asked(server) as asked:
                await asked.failure()
                await asked.client.use(asked.client.provider, "m")
                assert asked.client.assumes_window


class TestDropping:
    async def test_the_window_is_what_the_server_evidently_reads(self) -> None:
        with WireServer([counting(4090), counting(4093), says("x")], routes=window(65_536)) as server:
            async with Asked(server, context_window=32_768) as asked:
                await asked.ask(LONG)
                assert asked.client.context_window == 32_768
                await asked.ask(LONG + HELLO)
                assert asked.client.context_window == 4096
                assert len(asked.notices) == 1
                await asked.client.use(asked.client.provider, "m")
                assert asked.client.context_window == 32_768

    async def test_a_prompt_that_was_cut_to_fit_is_told_once(self) -> None:
        with WireServer([counting(4090)], routes=window(4096)) as server:
            async with Asked(server) as asked:
                await asked.ask(LONG)
                await asked.ask(LONG)
        assert [notice for notice in asked.notices if "4,090 tokens" in notice] == asked.notices
        assert len(asked.notices) == 1

    async def test_counts_calibrate_the_estimates(self) -> None:
        with WireServer([counting(7000)], routes=window(65_536)) as server:
            async with Asked(server) as asked:
                before = asked.client.estimate_tokens(LONG[0].text)
                for _ in range(5):
                    await asked.ask(LONG)
                after = asked.client.estimate_tokens(LONG[0].text)
        assert before > 9000
        assert after == pytest.approx(7000, rel=0.05)
        assert asked.notices == []


class TestRestarting:
    async def test_a_server_that_answered_before_is_waited_for(self) -> None:
        with WireServer([says("x")]) as server, WireServer([says("y")]) as gone:
            asked = Asked(server, max_retries=2)
            await asked.ask()
        async with asked:
            asked.client.provider.address = f"{gone.url}/v1"  # where nobody is any more
            assert (await asked.failure()).key == "llm_refused"
            assert asked.waits == [1, 2]

    async def test_one_that_never_did_is_not(self) -> None:
        with WireServer([says("x")]) as server:
            pass
        asked = Asked(server, max_retries=2)
        assert (await asked.failure()).key == "llm_refused"
        assert asked.waits == []

    async def test_after_a_restart_the_model_is_described_anew(self) -> None:
        with WireServer([says("x")], routes=window(4096)) as server:
            async with Asked(server) as asked:
                await asked.ask()
                server.routes = window(2048)
                assert await asked.client.auto_reconnect()
                await asked.ask()
                assert asked.client.context_window == 2048


class TestRateLimits:
    async def test_requests_wait_their_turn_and_say_so(self) -> None:
        with WireServer([says("x")]) as server:
            async with Asked(server, per_minute=6) as asked:
                for _ in range(3):
                    await asked.ask()
        assert asked.waits == [pytest.approx(10), pytest.approx(10)]
        assert [notice.split(" s ")[0] for notice in asked.notices] == ["Waiting 10"] * 2

    async def test_what_the_server_asked_for_holds_for_every_request(self) -> None:
        busy = fails(429, headers={"retry-after": "20"})
        with WireServer([busy, says("x")]) as server:
            async with Asked(server, max_retries=0) as asked:
                assert (await asked.failure()).key == "llm_rate_limited"
                assert await asked.ask() == "x"
        assert asked.waits == [20]

    async def test_a_wait_of_a_day_is_told_and_keeps_nobody(self) -> None:
        with WireServer([fails(429, headers={"retry-after": "86400"}), says("x")]) as server:
            async with Asked(server) as asked:
                error = await asked.failure()
                assert await asked.ask() == "x"
        assert "86,400 s" in error.fix
        assert asked.waits == []


class TestAsThePapersHaveIt:
    async def test_a_whole_answer(self) -> None:
        with WireServer([says("one two three")]) as server:
            async with Asked(server) as asked:
                answer = await asked.client.chat_completion([{"role": "user", "content": "count"}], stream=False)
        assert answer == "one two three"
        assert server.bodies()[0]["messages"] == [{"role": "user", "content": "count"}]

    async def test_an_answer_in_pieces(self) -> None:
        with WireServer([says("one two three")]) as server:
            async with Asked(server) as asked:
                pieces = await asked.client.chat_completion([{"role": "user", "content": "count"}])
                assert isinstance(pieces, AsyncGenerator)
                came = [piece async for piece in pieces]
        assert "".join(came) == "one two three"
        assert len(came) > 1

    async def test_health(self) -> None:
        with WireServer([says("x")]) as server:
            async with Asked(server) as asked:
                health = await asked.client.health_check()
        assert (health["status"], health["connected"], health["model"]) == ("healthy", True, "m")
        assert health["latency"] > 0


KEY = "zq7Kp/tHeKeY-93hfVx81LmQ"
BASIC = b64encode(f"me:{KEY}".encode()).decode()
REPEATED = f"{'Unauthorized. ' * 20}Incorrect key: {KEY} {quote(KEY, safe='')} {BASIC}"


@pytest.mark.parametrize(
    "reply",
    [
        *[fails(status, REPEATED) for status in (400, 401, 404, 429, 500)],
        Reply((REPEATED.encode(),), 502, {"content-type": "text/plain"}),
        Reply((f"<html>{REPEATED}</html>".encode(),), 200, {"content-type": "text/html"}),
        Reply((b"",), 307, {"location": f"http://{REPEATED[-80:]}"}),
        Reply((b"x",), 200, {"content-encoding": KEY}),
        Reply(sse({"error": {"message": REPEATED, "code": KEY}})),
    ],
)
@pytest.mark.parametrize("kind", ["openai", "password", "azure", "gemini"])
async def test_no_error_repeats_the_key(kind: str, reply: Reply) -> None:
    with WireServer([reply] * 4) as server:
        provider = with_key(kind, server.url)
        with pytest.raises(LLMConnectionError) as caught:
            async for _ in provider.stream(CompletionRequest(model="m", messages=HELLO)):
                pass
        await provider.aclose()
    said = f"{caught.value.lines()} {caught.value.params}"
    assert not any(KEY[:length] in said for length in (8, len(KEY)))
    assert BASIC not in said or kind != "password"


async def test_a_placeholder_for_a_key_hides_no_name_that_begins_with_it() -> None:
    said = "No model lm-studio-community/qwen for the key lm-studio."
    with WireServer([fails(400, said)] * 4) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5, api_key="lm-studio")
        with pytest.raises(LLMConnectionError) as caught:
            async for _ in provider.stream(CompletionRequest(model="m", messages=HELLO)):
                pass
        await provider.aclose()
    assert "No model lm-studio-community/qwen for the key …" in str(caught.value)


def with_key(kind: str, url: str) -> Provider:
    match kind:
        case "azure":
            return Azure(url, timeout=5, idle_timeout=5, deployment="m", api_key=KEY)
        case "gemini":
            return Gemini(url, timeout=5, idle_timeout=5, api_key=KEY)
        case "password":
            url = url.replace("://", f"://me:{quote(KEY, safe='')}@")
            return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)
        case _:
            return OpenAICompatible("openai", url, timeout=5, idle_timeout=5, api_key=KEY)
