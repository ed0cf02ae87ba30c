"""Research from within a chat: what it searches, where its report is, and how a stopped run is gone on with."""

import asyncio
from pathlib import Path

import pytest

from localllm.app.chat_research import ChatResearch
from localllm.app.research_setup import ResearchParts
from localllm.base.errors import ResearchUsageError
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings, WebSettings
from localllm.llm.client import LLMClient
from localllm.research.run_events import ResearchEvent, StageBegun
from tests.support.brains import Brain
from tests.support.research_parts import PAGES, QUESTION, FakeReader, Say, playing

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path_factory.mktemp("state")))


def documents(folder: Path) -> Path:
    """The pages as documents in a folder."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for number, text in enumerate(PAGES.values()):
        (docs / f"{number}.txt").write_text(text)
    return docs


async def nothing() -> None:
    """The model is there."""


def chat(folder: Path, *, web: bool = False, offline: bool = False, **answers: Say) -> tuple[ChatResearch, Brain]:
    docs = () if web or offline else (str(documents(folder)),)
    settings = Settings(
        research=ResearchSettings(docs=docs, min_validation=0, max_validation=0, query_count=2),
        web=WebSettings(enabled=web),
        offline=offline,
    )
    client, brain = playing(answers)
    environ = {"LOCALLLM_DATA_DIR": str(folder / "data")}
    return ChatResearch(settings, folder, environ, client, nothing, parts=ResearchParts(FakeReader)), brain


async def test_documents_are_searched_and_the_report_is_in_the_history(tmp_path: Path) -> None:
    desk, brain = chat(tmp_path)
    options = desk.options("fast")
    assert (options.use_web, options.query_count, options.max_validation) == (False, 2, 1)
    events: list[ResearchEvent] = []
    found = await desk.run(QUESTION, desk.options(), events.append)
    assert found.report.is_relative_to(tmp_path / "data" / "history" / "2026-0001") or found.report.is_file()
    assert "1998" in found.report.read_text()
    assert found.state.next == "done"
    assert [event for event in events if isinstance(event, StageBegun)]
    assert brain.requests
    measured = await desk.forecast(desk.options())
    assert measured.most_requests > 0


async def test_a_stopped_run_goes_on_and_asks_nothing_again(tmp_path: Path) -> None:
    desk, brain = chat(tmp_path)
    stopped = asyncio.Event()

    def stop(event: ResearchEvent) -> None:
        if isinstance(event, StageBegun) and event.stage == "process":
            stopped.set()
            task.cancel()

    task = asyncio.ensure_future(desk.run(QUESTION, desk.options(), stop))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    name = next((tmp_path / "data" / "history").iterdir()).name
    asked = len(brain.requests)
    found = await desk.resume(name, lambda _event: None)
    assert (found.state.id, found.state.next) == (name, "done")
    texts = [request.messages for request in brain.requests]
    assert all(texts.count(text) == 1 for text in texts)
    assert len(texts) > asked


@pytest.mark.parametrize("offline", [False, True])
async def test_without_web_and_documents_it_is_said_what_to_do(tmp_path: Path, offline: bool) -> None:
    client, _brain = playing({})
    settings = Settings(web=WebSettings(enabled=offline), offline=offline)
    desk = ChatResearch(settings, tmp_path, {"LOCALLLM_DATA_DIR": str(tmp_path)}, client, nothing)
    with pytest.raises(ResearchUsageError) as caught:
        desk.options()
    assert caught.value.key == "research_chat_off"
    assert "web.enabled" in caught.value.fix
    documents(tmp_path)
    options = desk.options(docs=("docs",))
    assert options.docs == (str(tmp_path / "docs"),)
    assert not options.use_web


async def test_a_run_of_the_web_is_not_gone_on_with_where_the_web_is_off_now(tmp_path: Path) -> None:
    desk, _brain = chat(tmp_path, web=True, brief="{}", queries="{}")
    task = asyncio.ensure_future(desk.run(QUESTION, desk.options(), lambda _event: task.cancel()))
    with pytest.raises(asyncio.CancelledError):
        await task
    name = next((tmp_path / "data" / "history").iterdir()).name
    off, _brain = chat(tmp_path, offline=True)
    with pytest.raises(ResearchUsageError) as caught:
        off.stored_options(name)
    assert caught.value.key == "research_chat_off"


def test_a_client_is_not_needed_to_know_what_is_searched(tmp_path: Path) -> None:
    client, _brain = playing({})
    assert isinstance(client, LLMClient)
    desk = ChatResearch(Settings(web=WebSettings(enabled=True)), tmp_path, {}, client, nothing)
    assert desk.options().use_web
