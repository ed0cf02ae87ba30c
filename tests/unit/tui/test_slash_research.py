"""/research: what may be typed, what is shown on the way, and what is said where it stops."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError, LocalLLMError, ResearchUsageError
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.run_events import Forecast, ResearchEvent, StageBegun
from localllm.tui.commands.research import _Asked
from tests.support.each import each
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Found:
    def __init__(self, report: Path, partial: bool) -> None:
        self.report = report
        self.state = ResearchState(id="2026-0007", question="q", today="2026-11-24", partial=partial)


class Desk:
    """Research that ends at once, or as `end` says."""

    def __init__(self, folder: Path) -> None:
        self.report = folder / "report.md"
        self.report.write_text("# The Kita tower\n\nIt opened in **1998** [1].\n")
        self.partial = False
        self.asked: list[object] = []
        self.end: Callable[[], None] = lambda: None

    def options(self, preset: str = "", docs: tuple[str, ...] = ()) -> ResearchOptions:
        self.asked.append((preset, docs))
        return ResearchOptions()

    def stored_options(self, name: str) -> ResearchOptions:
        return ResearchOptions()

    async def forecast(self, options: ResearchOptions) -> Forecast:
        return Forecast(40, 90, 600.0, 1_200.0)

    async def run(self, question: str, options: object, on_event: Callable[[ResearchEvent], None]) -> Found:
        self.asked.append(question)
        on_event(StageBegun(run="2026-0007", stage="search", round=0))
        self.end()
        return Found(self.report, self.partial)

    async def resume(self, name: str, on_event: Callable[[ResearchEvent], None]) -> Found:
        self.asked.append(name)
        self.end()
        return Found(self.report, self.partial)

    def findings(self, state: ResearchState, report: Path) -> str:
        return f"- It opened in 1998 [E1] ({state.id}: {report.name})"


class Chat:
    def __init__(self, folder: Path) -> None:
        self.research = Desk(folder)
        self.offered: list[tuple[str, str, bool]] = []

    def offer_passages(self, query: str, text: str, *, is_research: bool = False) -> None:
        self.offered.append((query, text, is_research))


async def test_the_forecast_comes_first_and_the_report_last(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    text = await said(chat, "research When did it open?")
    assert chat.research.asked == [("", ()), "When did it open?"]
    assert text.index("40 – 90") < text.index("# The Kita tower") < text.index("Report 2026-0007")
    assert str(chat.research.report) in "".join(line.strip() for line in text.splitlines())
    drawn = await said(chat, "research When did it open?", plain=False)
    assert "**" not in drawn
    assert "1998" in drawn


async def test_the_model_reads_the_findings_with_the_next_request(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    await said(chat, "research q")
    assert chat.offered == [("q", "- It opened in 1998 [E1] (2026-0007: report.md)", True)]


async def test_a_partial_report_says_so(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    chat.research.partial = True
    assert "partial" in await said(chat, "research q")


@pytest.mark.parametrize("error", [asyncio.CancelledError(), LocalLLMError("research_no_question")])
@pytest.mark.parametrize("line", ["research q", "research --resume 2026-0007"])
async def test_where_it_stops_it_is_said_how_it_goes_on(
    tmp_path: Path, error: BaseException, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = Chat(tmp_path)

    def fail() -> None:
        raise error

    chat.research.end = fail
    shown: list[str] = []
    with pytest.raises(type(error)):
        await said(chat, line, shown=shown)
    assert "/research --resume 2026-0007" in shown[0]


async def test_without_a_question_it_is_said_how_it_is_used(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    for line in ("research", "research --preset fast"):
        assert "/research QUESTION" in await said(chat, line)
    assert chat.research.asked == []


async def test_where_nothing_can_be_searched_nothing_is_begun(tmp_path: Path) -> None:
    chat = Chat(tmp_path)

    def refuse(*_arguments: object) -> ResearchOptions:
        raise ResearchUsageError("research_chat_off")

    chat.research.options = refuse  # type: ignore[method-assign]
    with pytest.raises(ResearchUsageError):
        await said(chat, "research q")
    assert chat.research.asked == []


@each(
    "words, preset, docs, resume, question",
    [
        ("Why -- and how?", "", [], "", "Why -- and how?"),
        ("--preset fast Why?", "fast", [], "", "Why?"),
        ("--preset=high  Why?", "high", [], "", "Why?"),
        ('--docs "my papers" --docs b Why isn\'t it?', "", ["my papers", "b"], "", "Why isn't it?"),
        ("--docs 'a b' 塔はいつ開業した？", "", ["a b"], "", "塔はいつ開業した？"),
        ("--resume 2026-0001", "", [], "2026-0001", ""),
    ],
)
def test_options_stand_before_the_question(
    words: str, preset: str, docs: list[str], resume: str, question: str
) -> None:
    asked = _Asked(words)
    assert (asked.preset, asked.docs, asked.resume, asked.question) == (preset, docs, resume, question)


@pytest.mark.parametrize("words", ["--preset slow q", "--docs", "--depth 3 q", "-- q"])
def test_an_option_there_is_not_is_named(words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _Asked(words)
    assert caught.value.key == "research_chat_option"
