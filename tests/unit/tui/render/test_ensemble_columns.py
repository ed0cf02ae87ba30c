"""The columns of an ensemble as they are painted: in the rows and cells there are, whatever comes."""

import asyncio
import re
from collections.abc import Sequence

import pytest

from localllm.ensemble.records import (
    ReviewStarted,
    ReviewText,
    RunEvent,
    RunStarted,
    WorkerAnswer,
    WorkerFinished,
    WorkerRetried,
    WorkerText,
)
from localllm.text.sanitising import display_width
from localllm.tui.render.ensemble_columns import EnsembleColumns
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support.ensemble_runs import refused
from tests.support.vt import Tty

pytestmark = pytest.mark.anyio

ROWS, CELLS = 24, 80
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Painted(Screen):
    """A terminal of 80 by 24 cells that remembers what was painted last."""

    def __init__(self) -> None:
        super().__init__(Tty(), Theme(plain=False))
        self.lines: Sequence[str] = ()

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        self.lines = [_COLOUR.sub("", line) for line in lines]
        super().draw(lines, above)


async def painted(*events: RunEvent, workers: int = 2) -> list[str]:
    """What stands there after these events."""
    screen = Painted()
    columns = EnsembleColumns(screen)
    columns.handle(RunStarted("r", "review", tuple(f"Worker {number}" for number in range(workers)), "Boss"))
    for event in events:
        columns.handle(event)
    async with columns.shown():
        while not screen.lines:
            await asyncio.sleep(0)
    assert all(display_width(line) <= CELLS for line in screen.lines)
    assert len(screen.lines) < ROWS, "a row that scrolled out is never painted anew"
    return list(screen.lines)


@pytest.mark.parametrize("workers", [1, 2, 5, 9, 17, 40, 100])
@pytest.mark.parametrize("has_review", [False, True])
async def test_it_is_never_higher_than_the_screen(workers: int, has_review: bool) -> None:
    said = [WorkerText(number, "one word\n" * 20) for number in range(workers)]
    review = [ReviewStarted("Boss"), ReviewText("line\n" * 20)] if has_review else []
    lines = await painted(*said, *review, workers=workers)
    assert "Worker 0" in lines[0]
    assert "Ctrl+C" in lines[-1]
    assert ("line" in lines[-2]) is has_review


@pytest.mark.parametrize(
    "text", ["\tif x:\n\t\treturn\t1", "日本語\t" * 30, "👨\u200d👩\u200d👧 \x1b[31mred" * 9, "x" * 500]
)
async def test_it_is_never_wider(text: str) -> None:
    await painted(WorkerText(0, text), WorkerText(1, text))
    await painted(WorkerFinished(0, WorkerAnswer(agent="Worker 0", model="m", text=text)))


async def test_what_a_broken_answer_had_said_is_gone() -> None:
    again = [WorkerText(0, "first"), WorkerRetried(0, refused()), WorkerText(0, "second")]
    text = "\n".join(await painted(*again))
    assert "second" in text
    assert "first" not in text


async def test_the_review_is_seen_while_it_is_written() -> None:
    lines = await painted(ReviewStarted("Boss"), ReviewText("A is right, "), ReviewText("B is not."))
    assert lines[-2].strip() == "A is right, B is not."
    asked_again = await painted(ReviewStarted("Boss"), ReviewText("ranking"), ReviewStarted("Boss"))
    assert "ranking" not in "\n".join(asked_again)


async def test_an_error_is_read_from_its_beginning() -> None:
    """It says what is wrong first; an answer that is written is followed at its end."""
    error = refused()
    lines = await painted(WorkerFinished(0, WorkerAnswer(agent="Worker 0", model="m", error=error)), workers=9)
    assert error.what[:20] in lines[1]
