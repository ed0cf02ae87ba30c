"""Who is asked: found out, changed by the person, and what is said of those who cannot be asked."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings
from localllm.llm.client import LLMClient
from localllm.llm.discovery.scan import discover
from localllm.llm.discovery.servers import Server
from localllm.llm.factory import make_client
from localllm.llm.selection import Look, Selection
from tests.support import peers
from tests.support.peers import closed_ports, serving

pytestmark = pytest.mark.anyio

LONG = 20.0
"""Seconds no test needs, so that time plays no part."""

NEAR = partial(discover, also=(), within=LONG)


class Desk:
    """A client and its selection, over the servers at these addresses."""

    def __init__(self, closed: str, *, look: Look = NEAR, recent: float = 1.0, **settings: Any) -> None:
        urls = {name: settings.pop(name, closed) for name in ("lmstudio", "ollama", "openai")}
        self.settings = LLMSettings(
            lmstudio=LMStudioSettings(base_url=urls["lmstudio"]),
            ollama=OllamaSettings(base_url=urls["ollama"]),
            openai=OpenAISettings(base_url=urls["openai"]),
            max_retries=0,
            **settings,
        )
        self.client: LLMClient = make_client(self.settings, Path(), {})
        self.selection = Selection(self.client, self.settings, Path(), {}, look=look, recent=recent)

    @property
    def asked(self) -> tuple[str, str]:
        return self.client.provider.name, self.client.model

    async def close(self) -> None:
        await self.selection.aclose()
        await self.client.aclose()


@pytest.fixture
def closed() -> Iterator[str]:
    with closed_ports(1) as (url,):
        yield url


@asynccontextmanager
async def desk_over(closed: str, **settings: Any) -> AsyncIterator[Desk]:
    """LM Studio with qwen/qwen3-8b and phi-4, Ollama with qwen3:8b."""
    async with serving(peers.lm_studio()) as one, serving(peers.ollama()) as two:
        desk = Desk(closed, lmstudio=one, ollama=two, **settings)
        yield desk
        await desk.close()


def failed(desk: Desk) -> str:
    return desk.selection.failure.key if desk.selection.failure else ""


class TestFinding:
    async def test_the_first_server_and_its_loaded_model(self, closed: str) -> None:
        async with desk_over(closed) as desk:
            assert desk.asked == ("embedded", "")
            desk.selection.begin()
            assert desk.selection.searching
            await desk.selection.ready()
            assert desk.asked == ("lmstudio", "qwen/qwen3-8b")
            assert desk.client.context_window == 4096
            assert [desk.selection.in_use(server) for server in desk.selection.servers] == [True, False, False]

    async def test_a_model_that_is_set_leads_to_its_server(self, closed: str) -> None:
        async with desk_over(closed, model="qwen3:8b") as desk:
            await desk.selection.ready()
            assert desk.asked == ("ollama", "qwen3:8b")
            assert desk.client.is_model_chosen

    async def test_a_model_nobody_has(self, closed: str) -> None:
        async with desk_over(closed, model="gemma") as desk:
            with pytest.raises(LLMConnectionError) as raised:
                await desk.selection.ready()
            assert raised.value.key == "llm_model_nowhere"
            assert "phi-4" in raised.value.why
            assert failed(desk) == "llm_model_nowhere"

    async def test_nobody_is_there_and_somebody_comes(self, closed: str) -> None:
        async with serving(peers.vllm()) as url:
            there = False

            async def look(settings: LLMSettings, environ: Mapping[str, str], **_limits: float) -> list[Server]:
                return await discover(settings, environ, also=[url] if there else [], within=LONG)

            desk = Desk(closed, look=look, recent=0)
            await desk.selection.ready()
            assert (desk.asked, failed(desk)) == (("embedded", "embedded"), "")
            there = True
            await desk.selection.ready()
            assert desk.asked == ("openai", "Qwen/Qwen3-8B")
            await desk.close()

    async def test_a_person_who_asks_waits_for_a_server_that_is_busy(self, closed: str) -> None:
        site, free = peers.lm_studio(), asyncio.Event()

        async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await free.wait()
            await site(reader, writer)

        async with serving(busy) as url:
            desk = Desk(closed, look=partial(discover, also=(), within=0.5), lmstudio=url)
            assert next(server.state for server in await desk.selection.look()) == "silent"
            asyncio.get_running_loop().call_later(0.7, free.set)
            assert next(server.state for server in await desk.selection.look_patiently()) == "ready"
            await desk.close()

    async def test_a_server_that_is_busy_when_it_is_looked_for_is_found(self, closed: str) -> None:
        site, free = peers.lm_studio(), asyncio.Event()

        async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await free.wait()
            await site(reader, writer)

        async with serving(busy) as url:
            desk = Desk(closed, look=partial(discover, also=(), within=0.5), lmstudio=url)
            asyncio.get_running_loop().call_later(0.7, free.set)
            await desk.selection.ready()
            assert desk.asked == ("lmstudio", "qwen/qwen3-8b")
            await desk.close()

    async def test_one_that_never_answers_is_waited_for_once(self, closed: str) -> None:
        limits: list[float] = []

        async def look(_settings: LLMSettings, _environ: Mapping[str, str], *, within: float = 0.3) -> list[Server]:
            limits.append(within)
            return [Server(base_url=closed, provider="lmstudio", state="silent")]

        desk = Desk(closed, look=look, recent=0)
        for _ in range(2):
            await desk.selection.ready()
        assert limits == [0.3, 3.0, 0.3]
        assert desk.asked == ("embedded", "embedded")
        await desk.close()

    async def test_a_search_that_has_just_ended_is_not_made_again(self, closed: str) -> None:
        site = peers.lm_studio()
        async with serving(site) as url:
            desk = Desk(closed, lmstudio=url, model="gemma")
            await desk.selection.settled()
            asked = len(site.asked)
            with pytest.raises(LLMConnectionError):
                await desk.selection.ready()
            assert len(site.asked) == asked
            await desk.close()

    async def test_leaving_while_searching(self, closed: str) -> None:
        async with serving(peers.hangs) as url:
            desk = Desk(closed, lmstudio=url)
            desk.selection.begin()
            await asyncio.sleep(0)
            await desk.close()
            assert not desk.selection.searching


class TestWhoIsSet:
    async def test_nothing_is_asked_before_it_is_wanted(self, closed: str) -> None:
        site = peers.lm_studio()
        async with serving(site) as url:
            desk = Desk(closed, lmstudio=url, provider="lmstudio")
            await desk.selection.settled()
            await desk.selection.ready()
            assert site.asked == []
            desk.selection.begin()
            await desk.selection.settled()
            assert desk.asked == ("lmstudio", "qwen/qwen3-8b")
            await desk.close()

    async def test_it_is_not_there(self, closed: str) -> None:
        desk = Desk(closed, provider="lmstudio", model="m")
        desk.selection.begin()
        await desk.selection.settled()
        assert failed(desk) == "llm_refused"
        await desk.selection.ready()
        await desk.close()

    async def test_it_does_not_list_the_model(self, closed: str) -> None:
        async with desk_over(closed, provider="lmstudio", model="gemma") as desk:
            desk.selection.begin()
            await desk.selection.settled()
            assert failed(desk) == "llm_model_unlisted"
            assert desk.asked == ("lmstudio", "gemma")


class TestChanging:
    @pytest.mark.parametrize(
        ("name", "asked"),
        [
            ("phi-4", ("lmstudio", "phi-4")),
            ("phi", ("lmstudio", "phi-4")),
            ("qwen3:8b", ("ollama", "qwen3:8b")),
            ("qwen/", ("lmstudio", "qwen/qwen3-8b")),
        ],
    )
    async def test_to_a_model_of_any_server(self, closed: str, name: str, asked: tuple[str, str]) -> None:
        async with desk_over(closed) as desk:
            await desk.selection.ready()
            assert not desk.client.is_model_chosen
            await desk.selection.use_model(name)
            assert desk.asked == asked
            assert desk.client.is_model_chosen
            await desk.selection.use_provider("auto")
            assert not desk.client.is_model_chosen

    @pytest.mark.parametrize(("name", "key"), [("w", "llm_model_ambiguous"), ("gemma", "llm_model_nowhere")])
    async def test_to_no_model(self, closed: str, name: str, key: str) -> None:
        async with desk_over(closed, provider="scripted") as desk:
            with pytest.raises(LLMConnectionError) as raised:
                await desk.selection.use_model(name)
            assert raised.value.key == key
            assert "qwen3:8b" in str(raised.value)
            assert desk.asked == ("scripted", "")

    async def test_while_it_is_still_looking(self, closed: str) -> None:
        async with desk_over(closed) as desk:
            desk.selection.begin()
            await desk.selection.use_model("qwen3:8b")
            await desk.selection.settled()
            assert desk.asked == ("ollama", "qwen3:8b")

    async def test_to_other_providers_and_back(self, closed: str) -> None:
        async with desk_over(closed) as desk:
            seen: list[tuple[str, str]] = []
            for name in ("ollama", "embedded", "scripted", "lmstudio", "auto"):
                await desk.selection.use_provider(name)
                seen.append(desk.asked)
                assert desk.selection.automatic is (name == "auto")
            assert [provider for provider, _ in seen] == ["ollama", "embedded", "scripted", "lmstudio", "lmstudio"]

    async def test_to_a_provider_that_is_not_there(self, closed: str) -> None:
        async with desk_over(closed) as desk:
            await desk.selection.ready()
            with pytest.raises(LocalLLMError) as raised:
                await desk.selection.use_provider("openai")
            assert raised.value.key == "llm_refused"
            assert desk.asked == ("lmstudio", "qwen/qwen3-8b")

    async def test_to_whoever_there_is_where_nobody_is(self, closed: str) -> None:
        desk = Desk(closed, provider="scripted")
        await desk.selection.use_provider("auto")
        assert desk.asked == ("embedded", "")
        await desk.close()


class TestAnAddress:
    async def test_the_server_there_answers_from_now_on(self, closed: str) -> None:
        async with desk_over(closed) as desk, serving(peers.lm_studio()) as url:
            await desk.selection.settled()
            await desk.selection.use_address(url)
            assert desk.asked == ("openai", "phi-4")
            assert desk.client.provider.address.startswith(url)
            await desk.selection.ready()
            assert desk.asked == ("openai", "phi-4")

    async def test_where_nobody_answers_nothing_is_changed(self, closed: str) -> None:
        async with desk_over(closed) as desk:
            await desk.selection.settled()
            before = desk.asked
            for url in (closed, "http://", "http://a b"):
                with pytest.raises(LocalLLMError):
                    await desk.selection.use_address(url)
            assert desk.asked == before
