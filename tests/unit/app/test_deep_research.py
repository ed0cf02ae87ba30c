"""The tool deep_research: where it is offered, when it is asked about, and what the agent gets of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from localllm.agent.prohibitions import bans_of, wanted_part
from localllm.app import chat_research, deep_research
from localllm.app.chat_research import ChatResearch
from localllm.app.deep_research import NAME, can_research, research_tool
from localllm.app.research_findings import TOKENS, findings
from localllm.app.research_setup import ResearchParts, ResearchSetup, standard_parts
from localllm.base.errors import LocalLLMError
from localllm.base.events import AgentEvent, ConfirmationAnswered, ConfirmationRequested, Delegated, ToolCall
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import AgentSettings, Mode, SafetySettings, Settings, WebSettings
from localllm.research.options import ResearchOptions
from localllm.research.records import Evidence, ResearchState, Section, Sentence, Source
from localllm.research.run_context import Speed
from localllm.research.run_events import Forecast
from localllm.safety.confirmation import Answers
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import make_tools
from tests.support.each import each
from tests.support.research_parts import QUESTION, FakeReader, playing
from tests.support.wire_server import WireServer, says
from tests.unit.app.test_app import app_over, state
from tests.unit.app.test_chat_research import documents, nothing

__all__ = ["state"]

pytestmark = pytest.mark.anyio

DOCS = ResearchSettings(docs=("papers",))


@each(
    "settings, offered",
    [
        (Settings(), False),
        (Settings(web=WebSettings(enabled=True)), True),
        (Settings(web=WebSettings(enabled=True), offline=True), False),
        (Settings(research=DOCS), True),
        (Settings(research=DOCS, offline=True), True),
    ],
)
def test_it_is_offered_only_where_something_can_be_searched(settings: Settings, offered: bool) -> None:
    assert can_research(settings) is offered


@pytest.mark.parametrize(("profile", "offered"), [("standard", True), ("compact", False)])
async def test_where_it_is_not_offered_the_request_does_not_grow(tmp_path: Path, profile: str, offered: bool) -> None:
    bodies: list[str] = []
    tools: list[set[str]] = []
    agent = msgspec.convert({"profile": profile}, AgentSettings)
    for docs in ((), (str(tmp_path),)):
        with WireServer([says("Hello.")]) as server:
            async with app_over(tmp_path, server.url, agent=agent, research=ResearchSettings(docs=docs)) as app:
                [event async for event in app.run("Hello")]
        tools.append({tool["function"]["name"] for tool in server.bodies()[0]["tools"]})
        bodies.append(json.dumps(server.bodies()[0]))
    assert tools[1] - tools[0] == ({NAME} if offered else set())
    assert (bodies[0] == bodies[1]) is not offered


class Person:
    """Answers so, and keeps what was asked."""

    answers: Answers = "person"

    def __init__(self, *, agrees: bool) -> None:
        self.agrees = agrees
        self.asked: list[ConfirmationRequested] = []

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        self.asked.append(request)
        return ConfirmationAnswered(request_id=request.request_id, approved=self.agrees, by="user")


class Desk(ChatResearch):
    """Research over documents, with a forecast of its own."""

    expected = Forecast(10, 10, 60.0, 60.0)

    def options(self, preset: str = "", docs: tuple[str, ...] = ()) -> ResearchOptions:
        assert preset == deep_research.PRESET
        return msgspec.structs.replace(super().options(preset, docs), max_validation=0)

    async def forecast(self, options: ResearchOptions) -> Forecast:
        return self.expected


def desk(folder: Path, *, has_web: bool = False) -> Desk:
    docs = documents(folder)
    client, _brain = playing({})
    settings = Settings(research=ResearchSettings(docs=(str(docs),)))
    parts = None if has_web else ResearchParts(FakeReader)
    return Desk(settings, folder, {"LOCALLLM_DATA_DIR": str(folder / "data")}, client, nothing, parts=parts)


def tools_of(
    folder: Path, research: ChatResearch, person: Person | None = None, safety: SafetySettings | None = None
) -> ToolSystem:
    return make_tools(folder, tools=[research_tool(lambda: research, len)], confirmer=person, safety=safety)


def call() -> ToolCall:
    return ToolCall("c1", NAME, json.dumps({"question": QUESTION}))


async def test_the_agent_gets_findings_with_their_evidence_and_the_reports_place(tmp_path: Path) -> None:
    research = desk(tmp_path)
    person = Person(agrees=False)
    tools = tools_of(tmp_path, research, person)
    events: list[AgentEvent] = []
    result = await tools.execute(call(), events.append)
    assert result.success
    assert not person.asked
    assert "[E1" in result.for_model
    report = Path(str(result.payload["report"]))
    assert str(report) in result.for_model
    assert report.is_file()
    assert tools.tainted
    assert [event.agent for event in events if isinstance(event, Delegated)]


@pytest.mark.parametrize(
    ("seconds", "mode", "allow", "asks"),
    [
        (240.0, "ask", (), False),
        (3_000.0, "ask", (), True),
        (0.0, "ask", (), True),
        (3_000.0, "ask", (NAME,), False),
        (3_000.0, "auto", (), False),
        (3_000.0, "plan", (), True),
    ],
)
async def test_a_person_is_asked_where_it_takes_long(
    tmp_path: Path, seconds: float, mode: Mode, allow: tuple[str, ...], asks: bool
) -> None:
    research = desk(tmp_path)
    research.expected = Forecast(40, 40, seconds, seconds)
    person = Person(agrees=False)
    tools = tools_of(tmp_path, research, person, SafetySettings(mode=mode, allow=allow))
    result = await tools.execute(call(), lambda _event: None)
    assert result.success is not asks
    assert len(person.asked) == asks
    if asks:
        assert ("50 minutes" if seconds else "40 times") in person.asked[0].reason


async def test_an_address_that_the_user_forbids_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    research, pages = desk(tmp_path, has_web=True), standard_parts
    shunned: list[Callable[[str], bool] | None] = []

    def parts(setup: ResearchSetup, is_shunned: Callable[[str], bool] | None = None) -> ResearchParts:
        shunned.append(is_shunned)
        return pages(setup, is_shunned)

    monkeypatch.setattr(chat_research, "standard_parts", parts)
    tools = tools_of(tmp_path, research)
    words = "Never open http://127.0.0.1:9/tracker, only look for the year."
    tools.hear(wanted_part(words), bans=bans_of(words))
    assert (await tools.execute(call(), lambda _event: None)).success
    web, no_robots = WebSettings(allow_private=("127.0.0.1:9",)), ResearchSettings(respect_robots=False)
    settings = Settings(web=web, research=no_robots)
    setup = ResearchSetup(settings=settings, root=tmp_path, environ={}, work_folder=tmp_path)
    reader = pages(setup, shunned[0]).open_reader()
    assert reader is not None
    for url, key in {
        "http://127.0.0.1:9/tracker": "denied_no_address",
        "http://127.0.0.1:9/tracker/x": "denied_no_address",
        "http://127.0.0.1:9/": "web_unreachable",
    }.items():
        with pytest.raises(LocalLLMError) as refused:
            await reader.read(url)
        assert refused.value.key == key
    await reader.aclose()


async def test_a_run_that_is_stopped_says_how_it_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    research = desk(tmp_path)
    events: list[AgentEvent] = []
    monkeypatch.setattr(Speed, "note", _fail)
    tools = tools_of(tmp_path, research)
    result = await tools.execute(call(), events.append)
    assert not result.success
    said = [event.event.text for event in events if isinstance(event, Delegated) and hasattr(event.event, "text")]
    assert "/research --resume 2" in said[-1]


def _fail(*_arguments: object) -> None:
    raise LocalLLMError("research_no_question")


def test_findings_have_their_size_and_say_what_is_doubtful(tmp_path: Path) -> None:
    sources = [Source(id=f"S{n}", url=f"https://{n}.example/{'page' * 9}", state="read") for n in range(1, 40)]
    evidence = [Evidence(f"E{n}", f"S{n}", 0, 9, f"Sentence {n}.") for n in range(1, 40)]
    sentences = tuple(Sentence(f"T{n}", f"Finding number {n} says what it says.", (f"E{n}",)) for n in range(1, 40))
    run = ResearchState(
        id="2026-0001",
        question="q",
        today="2026-11-24",
        sources=sources,
        evidence=evidence,
        sections=[Section("Findings", (), sentences)],
        partial=True,
    )

    def estimate(text: str) -> int:
        return len(text) // 4

    text = findings(run, tmp_path / "report.md", estimate)
    assert estimate(text) <= TOKENS
    assert text.startswith(f"Report 2026-0001 (partial: not all could be done): {tmp_path / 'report.md'}")
    assert "Finding number 1 says what it says. [E1] (unchecked)" in text
    assert "E1: https://1.example/" in text
    assert "left out" in text
    assert len(findings(run, tmp_path / "report.md", estimate, is_framed=False)) < len(text)
    empty = msgspec.structs.replace(run, sections=[], evidence=[])
    assert "Nothing was found" in findings(empty, tmp_path / "report.md", estimate)
