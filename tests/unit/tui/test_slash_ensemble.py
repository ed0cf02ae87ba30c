"""/ensemble: the workers side by side, the merged answer, and what is said where agents fail."""

import asyncio
from collections.abc import Callable

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Usage
from localllm.ensemble.records import (
    EnsembleResult,
    ReviewStarted,
    RunEvent,
    RunStarted,
    WorkerAnswer,
    WorkerFinished,
    WorkerText,
)
from localllm.text.sanitising import display_width
from tests.support.slash import said

pytestmark = pytest.mark.anyio

GOOD = WorkerAnswer(agent="Worker A", model="small", text="Paris is the capital.", seconds=0.4)
JAPANESE = WorkerAnswer(agent="ワーカーB", model="elyza", text="首都はパリです。" * 20, seconds=2.0)
REFUSED = LLMConnectionError("llm_refused", url="http://127.0.0.1:9", reason="refused", provider="ollama", start="x")
FAILED = WorkerAnswer(agent="Worker C", model="gone", error=REFUSED, seconds=0.1)


class Desk:
    """An ensemble that answers at once."""

    def __init__(self, *answers: WorkerAnswer, reviewer_error: LLMConnectionError | None = None) -> None:
        self.answers = answers
        self.reviewer_error = reviewer_error
        self.asked: list[str] = []

    async def ask(self, prompt: str, on_event: Callable[[RunEvent], None]) -> EnsembleResult:
        self.asked.append(prompt)
        names = tuple(answer.agent for answer in self.answers)
        on_event(RunStarted(run_id="r", strategy="review", workers=names, reviewer="Boss"))
        for number, answer in enumerate(self.answers):
            on_event(WorkerText(worker=number, text=answer.text))
            on_event(WorkerFinished(worker=number, answer=answer))
        on_event(ReviewStarted(reviewer="Boss"))
        return EnsembleResult(
            run_id="r",
            final_answer="It is **Paris**.",
            review_comment="Worker A is right.",
            answers=self.answers,
            seconds=2.5,
            runtime={},
            usage=Usage(),
            reviewer_error=self.reviewer_error,
        )


class Chat:
    def __init__(self, *answers: WorkerAnswer, reviewer_error: LLMConnectionError | None = None) -> None:
        self.ensemble = Desk(*answers, reviewer_error=reviewer_error)
        self.offered: list[tuple[str, str]] = []

    def offer_answer(self, query: str, answer: str) -> None:
        self.offered.append((query, answer))


async def test_columns_come_first_then_the_review_and_the_answer() -> None:
    chat = Chat(GOOD, JAPANESE)
    text = await said(chat, "ensemble What is the capital of France?")
    assert chat.ensemble.asked == ["What is the capital of France?"]
    head = next(line for line in text.splitlines() if "✓ Worker A" in line)
    assert "ワーカーB" in head  # beside each other
    assert "Boss: Worker A is right." in text
    assert text.index("Paris is the capital.") < text.index("Worker A is right.") < text.index("It is")
    assert all(display_width(line) <= 80 for line in text.splitlines())


async def test_the_chats_model_reads_the_answer_next() -> None:
    chat = Chat(GOOD)
    await said(chat, "ensemble capital?")
    assert chat.offered == [("capital?", "It is **Paris**.")]


async def test_a_failed_worker_says_why_in_its_column() -> None:
    text = await said(Chat(GOOD, FAILED), "ensemble capital?")
    assert "✗ Worker C" in text
    assert "127.0.0.1:9" in text


async def test_where_nobody_answered_there_is_no_answer_to_pass_on() -> None:
    chat = Chat(FAILED)
    text = await said(chat, "ensemble capital?")
    assert "No worker has answered." in text
    assert "Paris" not in text
    assert not chat.offered


async def test_a_failed_reviewer_is_named_above_the_answer_that_is_left() -> None:
    text = await said(Chat(GOOD, reviewer_error=REFUSED), "ensemble capital?")
    assert text.index("The reviewer failed") < text.index("It is")


async def test_broken_off_it_leaves_what_was_said_by_then() -> None:
    class Held(Desk):
        async def ask(self, prompt: str, on_event: Callable[[RunEvent], None]) -> EnsembleResult:
            on_event(RunStarted(run_id="r", strategy="review", workers=("Worker A", "Worker B"), reviewer="Boss"))
            on_event(WorkerFinished(worker=0, answer=GOOD))
            on_event(WorkerText(worker=1, text="It may be"))
            raise asyncio.CancelledError

    chat, shown = Chat(), list[str]()
    chat.ensemble = Held()
    with pytest.raises(asyncio.CancelledError):
        await said(chat, "ensemble capital?", shown=shown)
    assert all(text in shown[0] for text in ("✓ Worker A", GOOD.text, "· Worker B", "It may be"))
    assert not chat.offered


async def test_without_a_question_nobody_is_asked() -> None:
    chat = Chat(GOOD)
    assert "/ensemble QUESTION" in await said(chat, "ensemble")
    assert not chat.ensemble.asked
