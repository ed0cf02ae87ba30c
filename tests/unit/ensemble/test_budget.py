"""What is asked fits into windows: answers have equal shares, and what is cut says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.budget import Room, cut, equal_share
from localllm.ensemble.records import ReviewStarted
from tests.ensemble_servers import Play
from tests.ensemble_servers.asking import REVIEW, asking

pytestmark = pytest.mark.anyio

ROOM = Room(300, len)


def test_what_fits_stays_as_it_is() -> None:
    texts = ["a" * 100, "b" * 100, "c" * 90]
    assert ROOM.shares(texts) == tuple(texts)
    assert ROOM.shares(texts, beside=10) == tuple(texts)
    assert ROOM.shares(texts, beside=100) != tuple(texts)


def test_what_a_short_answer_does_not_need_is_left_to_the_others() -> None:
    assert equal_share([10, 200, 200], 300) == 145
    assert equal_share([100, 100, 100], 150) == 50
    assert equal_share([], 100) == equal_share([50], -5) == 0


@given(st.lists(st.integers(0, 500), min_size=1, max_size=12), st.integers(0, 2_000))
def test_shares_never_exceed_the_room_and_leave_none_of_it_unused(sizes: list[int], total: int) -> None:
    share = equal_share(sizes, total)
    used = sum(min(size, share) for size in sizes)
    assert used <= total
    assert used == sum(sizes) or total - used < len(sizes)


def test_a_cut_answer_keeps_its_beginning_and_its_end_and_says_what_is_missing() -> None:
    text = "beginning " + "x" * 1_000 + " end"
    short = cut(text, 200, len(text))
    assert short.startswith("beginning ")
    assert short.endswith(" end")
    kept = sum(len(part) for part in (short.partition("\n[…")[0], short.partition("…]\n")[2]))
    assert f"{len(text) - kept:,} characters left out" in short
    assert len(short) < 260


def test_answers_that_would_be_cut_to_nothing_have_no_room() -> None:
    assert ROOM.holds(["a" * 500, "b" * 500])
    assert not ROOM.holds(["a" * 500, "b" * 500], beside=200)
    assert ROOM.holds(["a" * 10, "b" * 10], beside=270)


class TestReviewersWindow:
    async def test_long_answers_are_cut_to_what_its_window_holds(self) -> None:
        workers = [Play(answer=f"{letter}: " + "word " * 4_000) for letter in "ABC"]
        async with asking(*workers, Play(answer="short"), num_ctx=4_096) as asked:
            result = await asked.result()
            assert result.final_answer == "It is 42."
            (chat,) = asked.reviewer.chats
            prompt = chat["messages"][-1]["content"]
            assert len(prompt) < 4_096 * 3.6
            assert all(f"{letter}: word" in prompt for letter in "ABC")
            assert "short" in prompt
            assert prompt.count("characters left out") == 3

    async def test_a_server_that_finds_it_too_long_is_asked_with_less(self) -> None:
        async with asking(*[Play(answer="word " * 4_000) for _ in range(3)]) as asked:

            def reads(body: dict[str, object]) -> str:
                asked.reviewer.play.fails = 0
                return REVIEW

            asked.reviewer.play.answer = reads
            asked.reviewer.play.fails = 2
            asked.reviewer.play.status = 400
            asked.reviewer.play.error = "the prompt is too long: exceed_context_size"
            events = await asked.events(stream=False)
            lengths = [len(chat["messages"][-1]["content"]) for chat in asked.reviewer.chats]
        assert len(lengths) == 3
        assert lengths[0] > lengths[1] > lengths[2]
        assert sum(isinstance(event, ReviewStarted) for event in events) == 1

    async def test_a_window_that_a_refusal_tells_is_kept_to(self) -> None:
        async with asking(*[Play(answer=f"{letter} word " * 3_000) for letter in "ABC"]) as asked:
            play = asked.reviewer.play
            play.fails, play.status = 1, 400
            play.error = "exceed_context_size: the request (9000 tokens) exceeds the context size (4096 tokens)"
            await asked.result()
            await asked.result()
            lengths = [len(chat["messages"][-1]["content"]) for chat in asked.reviewer.chats]
        assert len(lengths) == 3, "the second question's prompt fits at once"
        assert lengths[0] > 20_000
        assert max(lengths[1:]) < 4_096 * 3.6

    async def test_it_is_not_asked_for_ever(self) -> None:
        too_long = Play(fails=-1, status=400, error="the prompt is too long: exceed_context_size")
        async with asking(Play(answer="word " * 4_000), reviewer=too_long) as asked:
            result = await asked.result()
            assert result.reviewer_error is not None
            assert result.reviewer_error.key == "ensemble_overflow"
            assert len(asked.reviewer.chats) == 3
            assert result.final_answer.startswith("word")
