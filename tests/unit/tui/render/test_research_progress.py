"""A research run on the screen: what stays, what changes, and that it fits."""

import io
from collections.abc import Iterator

import pytest

from localllm.base.i18n import set_language
from localllm.research.records import STAGES, Numbers, Remark
from localllm.research.run_events import (
    ClaimChecked,
    Finished,
    Forecast,
    ModelAnswered,
    NotesTaken,
    PageRead,
    QueryMade,
    RemarkMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
    StageBegun,
)
from localllm.text.sanitising import display_width
from localllm.tui.render.research_progress import ResearchProgress, forecast_said
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support.each import each

RUN = "2026-0001"
NUMBERS = Numbers(loops=1, requests=1_234, tokens=1_234_567, searches=12, pages=50, seconds=3_725.0)
EXPECTED = Forecast(41, 120, 300.0, 1_200.0, 24.4)
LONG = "非常に長い題名のページです " * 20


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    set_language("en")
    yield
    set_language("en")


def events() -> list[ResearchEvent]:
    facts = {"run": RUN, "numbers": NUMBERS}
    return [
        StageBegun(stage="normalise", round=0, forecast=EXPECTED, **facts),
        QueryMade(query="taro [EMAIL] quota", purpose="gap", masked=("email", "email"), **facts),
        SearchDone(queries=3, found=30, new=1, **facts),
        PageRead(source="S1", url="https://a.example/1", title=LONG, **facts),
        PageRead(source="S2", url="https://a.example/2", title="", problem=Remark("The web is off."), **facts),
        NotesTaken(source="S1", evidence=3, dropped=1, **facts),
        *(ClaimChecked(claim=str(number), label="supported", **facts) for number in (1, 2, 3)),
        ClaimChecked(claim="3", label="not_found", **facts),  # judged anew
        ModelAnswered(role="verdict", tokens=300, seconds=1.0, forecast=EXPECTED, **facts),
        RoundDone(round=0, goes_on=True, open=2, **facts),
        RemarkMade(remark=Remark(LONG), **facts),
    ]


def shown(language: str = "en") -> tuple[ResearchProgress, str]:
    """A progress that was told of all events, and what stays on a screen without movements."""
    set_language(language)
    out = io.StringIO()
    screen = Screen(out, Theme(plain=True))
    progress = ResearchProgress(screen, most_rounds=3, clock=lambda: 0.0)
    for event in events():
        progress.handle(event)
    return progress, out.getvalue()


def test_what_was_found_and_masked_stays() -> None:
    _progress, text = shown()
    for part in ("taro [EMAIL] quota (for what is missing)", "an e-mail address", "30 pages found, 1 new", "S1", "S2"):
        assert part in text
    assert text.count("an e-mail address") == 1
    assert "Round 1: 2 points are open" in text


def test_numbers_and_times_change_below() -> None:
    progress, _text = shown()
    text = "\n".join("".join(piece for _style, piece in line) for line in progress.lines(200))
    for part in (
        "queries 1",
        "searches 12",
        "pages 50",
        "notes 3",
        "claims 3 (2 supported, 1 not found)",
        "round 1/3",
        "62 min 05 s",
        "model calls 1,234",
        "tokens 1,234,567",
        "41 – 120 model calls, 5 min 00 s – 20 min 00 s, 24 tokens/s",
    ):
        assert part in text, part


@each("width, language", [(width, language) for width in (20, 40, 60, 77, 80, 120, 200) for language in ("en", "ja")])
def test_every_stage_fits(width: int, language: str) -> None:
    progress, _text = shown(language)
    for number, stage in enumerate(STAGES):
        progress.handle(StageBegun(run=RUN, stage=stage, round=number, numbers=NUMBERS))
        lines = progress.lines(width)
        assert all(sum(display_width(piece) for _style, piece in line) <= width for line in lines)
        assert "▸" in "".join(piece for _style, piece in lines[0])
    assert 3 <= len(progress.lines(77)) <= 5


def test_a_plain_screen_gets_nothing_that_moves() -> None:
    progress, text = shown()
    progress.paint()
    progress.handle(Finished(run=RUN, partial=False))
    progress.erase()
    assert "\x1b" not in text


def test_a_forecast_without_a_speed_has_no_time() -> None:
    assert forecast_said(Forecast(3, 3)) == "3 model calls"
    assert forecast_said(Forecast(3, 9)) == "3 – 9 model calls"
