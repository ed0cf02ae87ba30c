"""The agent that answers from collections alone, over the real engine and a server that plays a model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.app.knowledge_chat import KnowledgeChat
from localllm.base.events import Notice, RunFinished, ToolFinished
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.sessions.ipo_log import IpoLog
from tests.support.wire_server import Reply, WireServer, calls, fails, says
from tests.unit.app.test_app import app_over, state

__all__ = ["state"]
pytestmark = pytest.mark.anyio

SEARCH = calls(("search_rag_knowledge_base", {"query": "warranty of the pump", "collection": "Manuals"}))


@asynccontextmanager
async def chat_over(
    tmp_path: Path, turns: list[Reply], ipo: IpoLog | None = None, description: str = ""
) -> AsyncIterator[KnowledgeChat]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pump.md").write_text("# Pump\n\n## Warranty\n\nThe pump has a warranty of two years.\n")
    with WireServer(turns, models=("qwen3-8b",)) as server:
        async with app_over(tmp_path, server.url, provider="lmstudio") as app:
            knowledge = KnowledgeBase(app.settings, tmp_path, {"LOCALLLM_STATE_DIR": str(tmp_path / "state")})
            await knowledge.ingest([docs], "manuals", description=description)
            again = app.knowledge()
            assert again is not None
            app.clear()  # a conversation that begins with the collection
            yield KnowledgeChat(app.llm_client, app.tool_system, again, settings=app.settings.agent, ipo=ipo)


async def ended(chat: KnowledgeChat, question: str) -> RunFinished:
    last = [event async for event in chat.run(question)][-1]
    assert isinstance(last, RunFinished)
    return last


async def test_an_answer_keeps_the_references_that_point_to_passages(tmp_path: Path) -> None:
    said = "Two years [docs/pump.md:1-5]. For ever [docs/other.md:3]."
    async with chat_over(tmp_path, [SEARCH, says(said)]) as chat:
        finished = await ended(chat, "How long is the warranty?")
    assert finished.answer == "Two years [docs/pump.md:1-5]. For ever."
    assert "docs/other.md:3" in finished.unverified[0]


async def test_a_reference_without_a_passage_is_named_once(tmp_path: Path) -> None:
    said = ["Two years [docs/other.md:3].", "Two years [docs/more.md:7]."]
    async with chat_over(tmp_path, [SEARCH, *map(says, said)]) as chat:
        events = [event async for event in chat.run("How long is the warranty?")]
    assert not [event for event in events if isinstance(event, Notice)]
    assert isinstance(events[-1], RunFinished)
    assert "; ".join(events[-1].unverified).count("docs/more.md:7") == 1


async def test_where_nothing_is_found_the_model_is_told_what_there_is_and_in_which_language(tmp_path: Path) -> None:
    ask = calls(("search_rag_knowledge_base", {"query": "Garantie der Maschine"}))
    turns = [ask, SEARCH, says("Two years [docs/pump.md:1-5].")]
    ipo = IpoLog(tmp_path / "ipo.log")
    async with chat_over(tmp_path, turns, ipo, description="ポンプの説明書") as chat:
        assert (await ended(chat, "Wie lange?")).answer == "Two years [docs/pump.md:1-5]."
    said = next(line for line in ipo.lines_file.read_text("utf-8").splitlines() if '"tool_result"' in line)
    assert "Collections: manuals (Japanese)" in said
    assert "Search again in other words" in said


async def test_what_tools_were_used_is_told_where_it_is_asked(tmp_path: Path) -> None:
    async with chat_over(tmp_path, [SEARCH, says("Two years [pump.md:5]."), says("Again."), says("Again.")]) as chat:
        answer = await chat.run_agent_turn("How long?", return_tool_info=True)
        assert answer[0] == "Two years [pump.md:5]."
        assert [(use.name, use.success) for use in answer[1]] == [("search_rag_knowledge_base", True)]  # type: ignore[union-attr]
        assert "two years" in str(answer[1][0].payload["results"])  # type: ignore[union-attr]
        assert await chat.run_agent_turn("And now?") == "Again."


async def test_an_answer_without_a_search_is_sent_back_once(tmp_path: Path) -> None:
    async with chat_over(tmp_path, [says("Ten years."), SEARCH, says("Two years [docs/pump.md:5].")]) as chat:
        assert (await ended(chat, "How long?")).answer == "Two years [docs/pump.md:5]."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_rag_knowledge_base", {"question": "warranty of the pump", "top_k": 3}),
        ("rag_search", {"keywords": "pump warranty", "collection_name": "manuals"}),
    ],
)
async def test_other_names_of_the_search_and_its_arguments_are_understood(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with chat_over(tmp_path, [calls((tool, arguments)), says("Two years [docs/pump.md:1-5].")]) as chat:
        finished = await ended(chat, "How long?")
    assert (finished.answer, finished.steps) == ("Two years [docs/pump.md:1-5].", 2)


async def test_for_a_model_that_does_not_search_the_question_is_searched_for(tmp_path: Path) -> None:
    wrong = calls(("search_rag_knowledge_base", {"about": "warranty"}))
    turns = [wrong, says("Ten years."), wrong, says("Ten years."), says("Two years [docs/pump.md:1-5].")]
    async with chat_over(tmp_path, turns) as chat:
        finished = await ended(chat, "How long is the warranty of the pump?")
    assert finished.answer == "Two years [docs/pump.md:1-5]."
    assert finished.unverified == ()


async def test_passages_searched_for_are_said_to_be_out_of_date(tmp_path: Path) -> None:
    turns = [says("Ten years."), says("Ten years."), says("Two years [docs/pump.md:1-5].")]
    ipo = IpoLog(tmp_path / "ipo.log")
    async with chat_over(tmp_path, turns, ipo) as chat:
        (tmp_path / "docs/pump.md").write_text("# Pump\n\n## Warranty\n\nThree years.\n")
        finished = await ended(chat, "How long is the warranty of the pump?")
    assert finished.unverified == ("changed or deleted since the ingest: docs/pump.md",)
    assert "[Changed or deleted since they were indexed: docs/pump.md" in ipo.file.read_text("utf-8")


async def test_an_answer_from_a_document_that_has_changed_says_so(tmp_path: Path) -> None:
    turns = [SEARCH, says("Two years [docs/pump.md:1-5]."), says("It has a pump, as [docs/pump.md] says. And oil.")]
    async with chat_over(tmp_path, turns) as chat:
        (tmp_path / "docs/pump.md").unlink()
        events = [event async for event in chat.run("How long is the warranty?")]
        again = await ended(chat, "And what else?")
    outdated = "changed or deleted since the ingest: docs/pump.md"
    assert next(event.summary for event in events if isinstance(event, ToolFinished)).endswith(f"; {outdated}")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].unverified == (outdated,)
    assert outdated in again.unverified


async def test_a_chat_limited_to_a_collection_knows_of_no_other(tmp_path: Path) -> None:
    leave = tmp_path / "leave.md"
    leave.write_text("# Leave\n\nA year has twenty days of leave, and the pump room none.\n")
    with WireServer(
        [
            calls(("search_rag_knowledge_base", {"query": "warranty of the pump"})),
            calls(("search_rag_knowledge_base", {"query": "warranty of the pump", "collection": "manuals"})),
            says("Twenty days [leave.md:1-3]."),
        ],
        models=("qwen3-8b",),
    ) as server:
        async with chat_over(tmp_path, []):
            pass  # it leaves the collection "manuals" behind
        async with app_over(tmp_path, server.url, provider="lmstudio") as app:
            knowledge = app.knowledge()
            assert knowledge is not None
            await knowledge.ingest([leave], "staff")
            app.clear()
            knowledge.limit_to(["staff"])
            ipo = IpoLog(tmp_path / "ipo.log")
            chat = KnowledgeChat(app.llm_client, app.tool_system, knowledge, settings=app.settings.agent, ipo=ipo)
            await ended(chat, "How long is the warranty of the pump?")
    said = ipo.file.read_text("utf-8")
    assert "- staff" in said
    assert "- manuals" not in said
    assert "two years" not in said
    assert [one.name for one in knowledge.collections()] == ["staff"]
    assert "There is no collection manuals. Available: staff." in said


async def test_an_answer_without_a_reference_is_taken_and_said_to_have_none(tmp_path: Path) -> None:
    async with chat_over(tmp_path, [SEARCH, says("Two years.")]) as chat:
        finished = await ended(chat, "How long?")
    assert (finished.status, finished.answer) == ("done", "Two years.")
    assert finished.unverified == ("the answer cites no passage",)


async def test_the_log_has_a_turn_that_failed_and_the_next_one(tmp_path: Path) -> None:
    ipo = IpoLog(tmp_path / "ipo.log")
    turns = [SEARCH, fails(400, "bad"), SEARCH, says("Two years [docs/pump.md:5].")]
    async with chat_over(tmp_path, turns, ipo) as chat:
        assert (await ended(chat, "How long?")).status == "error"
        assert (await ended(chat, "How long, then?")).status == "done"
    kinds = [msgspec.json.decode(line)["kind"] for line in ipo.lines_file.read_bytes().splitlines()]
    assert kinds[:4] == ["system", "input", "output", "tool_result"]
    assert "failure" in kinds
    assert kinds[-4:] == ["input", "output", "tool_result", "output"]
    text = ipo.file.read_text("utf-8")
    assert '[Function Call]: search_rag_knowledge_base(query="warranty of the pump", collection="Manuals")' in text
    assert "[docs/pump.md:1-5] manuals" in text
    assert "[IPO: TURN FAILED]" in text


async def test_without_a_model_the_embedded_engine_quotes_what_the_collections_say(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pump.md").write_text("# Pump\n\nIt is blue. The pump has a warranty of two years.\n")
    async with app_over(tmp_path, provider="embedded") as app:
        knowledge = KnowledgeBase(app.settings, tmp_path, {"LOCALLLM_STATE_DIR": str(tmp_path / "state")})
        await knowledge.ingest([docs], "manuals")
        app.clear()
        chat = KnowledgeChat(app.llm_client, app.tool_system, knowledge, settings=app.settings.agent)
        finished = await ended(chat, "How long is the warranty of the pump?")
    assert finished.answer.splitlines()[2:] == ["- The pump has a warranty of two years. [docs/pump.md:1-3]"]
    assert (finished.steps, finished.unverified) == (2, ())
