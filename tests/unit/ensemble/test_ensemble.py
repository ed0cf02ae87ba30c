"""Runs of the ensemble over loopback workers: the paper's test cases, and what becomes of every failure."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from localllm.ensemble.records import (
    HOPS_HEADER,
    ReviewStarted,
    ReviewText,
    RunFinished,
    RunStarted,
    WorkerFinished,
    WorkerText,
)
from localllm.llm.messages import AssistantMessage, CompletionRequest, UserMessage
from localllm.llm.providers.base import Chunk
from localllm.llm.providers.ollama import Ollama
from tests.ensemble_servers import Gate, Play
from tests.ensemble_servers.asking import PROMPT, REVIEW, asking
from tests.ensemble_servers.play import until

pytestmark = pytest.mark.anyio

ANSWERS = ("It is 42.", "6 × 7 = 42", "42, of course.")


def plays(*texts: str) -> list[Play]:
    return [Play(answer=text) for text in texts]


class TestThePapersCases:
    async def test_all_answer_and_the_reviewer_merges(self) -> None:
        async with asking(*plays(*ANSWERS), anonymous=False) as asked:
            result = await asked.result()
            assert (result.final_answer, result.review_comment) == ("It is 42.", "A is right.")
            assert [answer.text for answer in result.answers] == list(ANSWERS)
            assert [answer.agent for answer in result.answers] == ["Worker 1", "Worker 2", "Worker 3"]
            assert all(0 < answer.seconds <= result.seconds for answer in result.answers)
            assert result.usage.completion_tokens >= 4
            assert not result.all_failed
            assert result.reviewer_error is None
            prompt = asked.reviewer.chats[0]["messages"][-1]["content"]
            assert all(text in prompt for text in (PROMPT, *ANSWERS))
            assert [chat["messages"] for chat in asked.workers[0].chats] == [[{"role": "user", "content": PROMPT}]]

    async def test_one_question_after_another_over_the_same_connections(self) -> None:
        async with asking(*plays(*ANSWERS)) as asked:
            for _ in range(5):
                assert (await asked.result()).final_answer == "It is 42."
            connections = [server.connections for server in (asked.reviewer, *asked.workers)]
            assert [server.answered for server in asked.workers] == [5, 5, 5]
            for _ in range(5):
                await asked.result()
            assert [server.connections for server in (asked.reviewer, *asked.workers)] == connections

    async def test_a_worker_that_takes_too_long_is_an_error_and_the_others_are_reviewed(self) -> None:
        held = Gate()
        async with asking(*plays(*ANSWERS[:2]), Play(gate=held), timeout=0.3) as asked:
            result = await asked.result()
            assert [answer.has_failed for answer in result.answers] == [False, False, True]
            assert result.answers[2].error is not None
            assert result.answers[2].error.key == "ensemble_timeout"
            assert result.final_answer == "It is 42."
            await until(lambda: asked.workers[2].aborted == 1, "its request is cancelled")

    async def test_all_workers_failing_is_no_review(self) -> None:
        failing = [Play(fails=-1), Play(raw=b"garbage"), Play(fails=-1, status=404, error="model 'x' not found")]
        async with asking(*failing) as asked:
            result = await asked.result()
            assert result.all_failed
            assert result.final_answer == result.review_comment == ""
            keys = [answer.error.key for answer in result.answers if answer.error]
            assert keys == ["llm_server_failed", "ensemble_malformed", "ensemble_no_model"]
            assert not asked.reviewer.chats

    async def test_a_failing_reviewer_leaves_the_workers_answers(self) -> None:
        async with asking(*plays(*ANSWERS), reviewer=Play(fails=-1)) as asked:
            result = await asked.result()
            assert result.reviewer_error is not None
            assert result.reviewer_error.key == "llm_server_failed"
            assert [answer.text for answer in result.answers] == list(ANSWERS)
            assert result.final_answer in ANSWERS
            named = {answer.agent: answer.text for answer in result.answers}
            assert named[result.runtime["fallback"]] == result.final_answer

    async def test_ten_workers_are_all_asked_before_one_has_answered(self) -> None:
        gate = Gate()
        async with asking(*[Play(gate=gate) for _ in range(10)]) as asked:
            run = asked.begin()
            await gate.holds(10)
            assert not asked.reviewer.chats
            gate.open()
            assert len((await run).answers) == 10

    async def test_clients_do_not_wait_for_one_another(self) -> None:
        gate = Gate()
        async with asking(*[Play(gate=gate) for _ in range(3)]) as asked:
            runs = [asked.begin(f"question {number}") for number in range(20)]
            await gate.holds(60)
            gate.open()
            results = await asyncio.gather(*runs)
            assert len({result.run_id for result in results}) == 20
            for server in asked.workers:
                said = sorted(chat["messages"][-1]["content"] for chat in server.chats)
                assert said == sorted(f"question {number}" for number in range(20))


class TestEvents:
    async def test_their_order(self) -> None:
        async with asking(*plays(*ANSWERS)) as asked:
            events = await asked.events()
        started, *_, finished = events
        assert isinstance(started, RunStarted)
        assert started.workers == ("Worker 1", "Worker 2", "Worker 3")
        assert isinstance(finished, RunFinished)
        assert started.run_id == finished.result.run_id
        review = next(at for at, event in enumerate(events) if isinstance(event, ReviewStarted))
        for worker, text in enumerate(ANSWERS):
            pieces = [event.text for event in events if isinstance(event, WorkerText) and event.worker == worker]
            assert "".join(pieces) == text
            assert len(pieces) > 1
        assert all(events.index(event) < review for event in events if isinstance(event, WorkerFinished))
        written = "".join(event.text for event in events[review:] if isinstance(event, ReviewText))
        assert "## Final answer" in written

    async def test_whole_answers_are_asked_for_where_nobody_watches(self) -> None:
        async with asking(*plays(*ANSWERS)) as asked:
            events = await asked.events(stream=False)
            assert not any(isinstance(event, WorkerText | ReviewText) for event in events)
            assert not any(chat["stream"] for server in (*asked.workers, asked.reviewer) for chat in server.chats)


class TestReviewer:
    @pytest.mark.parametrize("stream", [True, False])
    async def test_a_failure_that_passes_is_tried_again(self, stream: bool) -> None:
        async with asking(*plays(*ANSWERS), reviewer=Play(answer=REVIEW, fails=1)) as asked:
            result = await asked.result(stream=stream)
            assert (result.final_answer, result.reviewer_error) == ("It is 42.", None)

    @pytest.mark.parametrize(("stream", "times"), [(True, 1), (False, 2)])
    async def test_what_was_shown_of_its_review_is_not_taken_back(self, stream: bool, times: int) -> None:
        async with asking(*plays(*ANSWERS), reviewer=Play(answer=REVIEW, cut_after=2)) as asked:
            result = await asked.result(stream=stream)
            assert result.reviewer_error is not None
            assert result.reviewer_error.key == "llm_cut"
            assert len(asked.reviewer.chats) == times

    async def test_its_time_is_bounded_too(self) -> None:
        held = Gate()
        async with asking(*plays(*ANSWERS), reviewer=Play(gate=held), timeout=0.2) as asked:
            result = await asked.result()
            assert result.reviewer_error is not None
            assert result.reviewer_error.key == "ensemble_timeout"
            assert result.final_answer in ANSWERS
            await until(lambda: asked.reviewer.aborted == 1, "its request is cancelled")

    async def test_a_host_that_is_gone(self) -> None:
        async with asking(*plays(*ANSWERS)) as asked:
            asked.servers.stop(asked.reviewer)
            result = await asked.result()
            assert result.reviewer_error is not None
            assert result.reviewer_error.key == "ensemble_unreachable"


async def test_connections_are_given_back() -> None:
    async with asking(*plays(*ANSWERS)) as asked:
        await asked.result()
        servers = (asked.reviewer, *asked.workers)
        assert all(server.open_connections == 1 for server in servers)
        await asked.ensemble.aclose()
        await until(lambda: not any(server.open_connections for server in servers))


async def test_a_fault_of_the_program_ends_no_other_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Ollama.stream

    def faulty(self: Ollama, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        if self.address == faulty_at:
            raise ZeroDivisionError
        return stream(self, request)

    async with asking(*plays(*ANSWERS)) as asked:
        faulty_at = asked.workers[1].url
        monkeypatch.setattr(Ollama, "stream", faulty)
        result = await asked.result()
    assert [answer.has_failed for answer in result.answers] == [False, True, False]
    assert result.answers[1].error is not None
    assert result.answers[1].error.key == "internal"
    assert result.final_answer == "It is 42."


class TestWhatIsSent:
    async def test_the_turns_before_and_the_systems_words(self) -> None:
        turns = (UserMessage("Hello"), AssistantMessage("Hello!"))
        async with asking(*plays("42"), system="You are terse.") as asked:
            await asked.result(history=turns, system="Answer in English.")
            messages = asked.workers[0].chats[0]["messages"]
        assert [(message["role"], message["content"]) for message in messages] == [
            ("system", "You are terse.\n\nAnswer in English."),
            ("user", "Hello"),
            ("assistant", "Hello!"),
            ("user", PROMPT),
        ]

    async def test_the_ensembles_that_a_request_has_passed(self) -> None:
        async with asking(*plays("42")) as asked:
            await asked.result(hops=("a", "b"))
            assert [server.heads[0][HOPS_HEADER.lower()] for server in (*asked.workers, asked.reviewer)] == ["a,b"] * 2
            await asked.result()
            assert HOPS_HEADER.lower() not in asked.workers[0].heads[1]
