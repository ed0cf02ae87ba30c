"""The program without its screen: who answers a request, also when that changes, and how waiting for it ends."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.app import LocalLLMCode
from localllm.base.config.loading import Loaded
from localllm.base.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings, Settings
from localllm.base.events import AgentEvent, Notice, RunFinished, RunStarted
from localllm.sandbox.levels import LEVELS
from localllm.ui.headless import HeadlessConfirmer
from tests.support import peers
from tests.support.peers import closed_ports, serving
from tests.support.wire_server import WireServer, says

pytestmark = pytest.mark.anyio


class Nobody:
    """A front end without a person."""

    confirmer = HeadlessConfirmer(approve_all=False)

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> None: ...

    async def interact(self, chat: LocalLLMCode) -> int:
        return 0


@asynccontextmanager
async def app_over(tmp_path: Path, url: str = "", **llm: str) -> AsyncIterator[LocalLLMCode]:
    """The program with one server for LM Studio's, and nobody at the other addresses."""
    with closed_ports(2) as (closed, other):
        settings = LLMSettings(
            lmstudio=LMStudioSettings(base_url=url or closed),
            ollama=OllamaSettings(base_url=closed),
            openai=OpenAISettings(base_url=closed),
            max_retries=0,
            **llm,  # pyright: ignore[reportArgumentType] - names of settings
        )
        environ = {"LOCALLLM_ALSO_LOOK_AT": other}
        app = LocalLLMCode(tmp_path, Loaded(settings=Settings(llm=settings)), Nobody(), environ=environ)
        await app.initialize()
        try:
            yield app
        finally:
            await app.cleanup()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state folder, and a log there that nobody goes on writing to."""
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    root = logging.getLogger("localllm")
    before = root.handlers[:]
    yield
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()


async def played(app: LocalLLMCode, query: str) -> list[AgentEvent]:
    return [event async for event in app.run(query)]


async def test_a_request_waits_until_it_is_known_who_answers(tmp_path: Path) -> None:
    with WireServer([says("Here I am.")]) as server:
        async with app_over(tmp_path, server.url) as app:
            app.begin_connecting()
            assert app.connecting
            events = await played(app, "hello")
            assert isinstance(events[0], RunStarted)
            assert events[-1].answer == "Here I am."  # type: ignore[attr-defined] - RunFinished
            assert not any(isinstance(event, Notice) for event in events)
            assert app.introduction().who.startswith("OpenAI-compatible · http://127.0.0.1:")


async def test_that_another_answers_is_told_once(tmp_path: Path) -> None:
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url) as app:
            assert "embedded engine" in app.introduction().warnings[0]  # before anybody was looked for
            events = await played(app, "hello")
            assert [event.text for event in events if isinstance(event, Notice)] == [
                f"From now on OpenAI-compatible · {server.url} · m · 8,192 tokens assumed answers."
            ]
            assert not any(isinstance(event, Notice) for event in await played(app, "again"))


async def test_a_change_the_person_made_is_no_news(tmp_path: Path) -> None:
    with WireServer([says("one")], models=("m", "n")) as server:
        async with app_over(tmp_path, server.url) as app:
            app.introduction()
            await app.use_model("n")
            assert not any(isinstance(event, Notice) for event in await played(app, "hello"))
            assert server.bodies()[-1]["model"] == "n"


async def test_waiting_can_be_broken_off(tmp_path: Path) -> None:
    async with serving(peers.hangs) as url, app_over(tmp_path, url) as app:
        run = asyncio.create_task(played(app, "hello"))
        while not app.connecting:
            await asyncio.sleep(0)
        app.interrupt()
        started, finished = await run
        assert isinstance(started, RunStarted)
        assert isinstance(finished, RunFinished)
        assert finished.status == "interrupted"


async def test_a_model_nobody_has_ends_the_run(tmp_path: Path) -> None:
    async with app_over(tmp_path, model="gemma") as app:
        started, finished = await played(app, "hello")
        assert isinstance(started, RunStarted)
        assert isinstance(finished, RunFinished)
        assert (finished.status, finished.error_code) == ("error", "E2019")


async def test_the_sandbox_is_probed_when_it_is_wanted(tmp_path: Path) -> None:
    async with app_over(tmp_path) as app:
        assert app.sandbox_level == ""
        await app.probe_sandbox()
        assert app.sandbox_level in (*LEVELS, "none")
