"""Which workers are asked: by patterns and descriptions, never nobody, and in bounded time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localllm.ensemble.config import AgentConfig
from localllm.ensemble.pattern_search import PatternSearch
from localllm.ensemble.selection import Selection, select_workers
from tests.ensemble_servers import Play
from tests.ensemble_servers.asking import REVIEW, asking

pytestmark = pytest.mark.anyio

EVIL = r"^(\w+\s?)*$"
"""Takes exponential time on words that end in a sign."""

BAIT = "word " * 40 + "!"


@pytest.fixture
async def patterns() -> AsyncIterator[PatternSearch]:
    search = PatternSearch()
    yield search
    await search.aclose()


def _worker(name: str, **fields: Any) -> AgentConfig:
    return AgentConfig(name=name, api_url="http://127.0.0.1:1", model="m", **fields)


CODER = _worker("coder", when=r"(?i)\b(python|code)\b|コード", description="Programming: Python, C and shell scripts")
HISTORIAN = _worker(
    "historian", when=r"(?i)histor\w*|歴史", description="History of Europe and Japan, dates, wars. 歴史"
)
COOK = _worker("cook", description="Recipes, cooking and nutrition. 料理とレシピ")
ANYBODY = _worker("anybody")


class TestByPattern:
    async def test_a_worker_with_a_pattern_is_asked_where_it_is_found(self, patterns: PatternSearch) -> None:
        workers = (CODER, HISTORIAN, COOK)
        chosen = await select_workers("Write code for me", workers, 0, patterns)
        assert chosen == Selection(workers=(0, 2), by=("when",))
        assert (await select_workers("historical dates", workers, 0, patterns)).workers == (1, 2)
        assert (await select_workers("日本の歴史とコード", workers, 0, patterns)).workers == (0, 1, 2)
        assert (await select_workers("How are you?", workers, 0, patterns)).workers == (2,)

    async def test_without_any_that_fits_all_are_asked_and_it_is_said(self, patterns: PatternSearch) -> None:
        chosen = await select_workers("How are you?", (CODER, HISTORIAN), 0, patterns)
        assert chosen.workers == (0, 1)
        assert chosen.told() == {"note": "no pattern is found in the question"}

    async def test_without_patterns_all_are_asked_and_nothing_is_said(self, patterns: PatternSearch) -> None:
        chosen = await select_workers("code", (COOK, ANYBODY), 0, patterns)
        assert (chosen.workers, chosen.told()) == ((0, 1), {})


class TestByDescription:
    async def test_those_whose_descriptions_fit_best_are_asked(self, patterns: PatternSearch) -> None:
        workers = tuple(_worker(one.name, description=one.description) for one in (CODER, HISTORIAN, COOK))
        chosen = await select_workers("A recipe for noodles, please: what am I cooking?", workers, 1, patterns)
        assert (chosen.workers, chosen.by) == ((2,), ("description",))
        assert (await select_workers("戦国時代の歴史", workers, 1, patterns)).workers == (1,)
        assert (await select_workers("Python or cooking?", workers, 2, patterns)).workers == (0, 2)

    async def test_those_without_a_description_fill_up_by_weight(self, patterns: PatternSearch) -> None:
        heavy = _worker("heavy", weight=3.0)
        workers = (HISTORIAN, ANYBODY, heavy, CODER)
        described = tuple(_worker(one.name, description=one.description, weight=one.weight) for one in workers)
        assert (await select_workers("some python", described, 2, patterns)).workers == (2, 3)
        assert (await select_workers("some python", described, 3, patterns)).workers == (1, 2, 3)

    async def test_where_none_fits_all_are_asked_and_it_is_said(self, patterns: PatternSearch) -> None:
        chosen = await select_workers("?!", (COOK, _worker("b", description="music"), ANYBODY), 1, patterns)
        assert chosen.workers == (0, 1, 2)
        assert chosen.note

    async def test_patterns_come_first(self, patterns: PatternSearch) -> None:
        workers = (CODER, HISTORIAN, COOK, ANYBODY)
        chosen = await select_workers("Python code about the history of cooking", workers, 2, patterns)
        assert (chosen.workers, chosen.by) == ((0, 1), ("description",))
        chosen = await select_workers("Python for cooking recipes", workers, 2, patterns)
        assert (chosen.workers, chosen.by) == ((0, 2), ("when", "description"))

    async def test_the_ends_of_a_long_question_count(self, patterns: PatternSearch) -> None:
        workers = tuple(_worker(one.name, description=one.description) for one in (CODER, COOK))
        assert (await select_workers("x " * 50_000 + "cooking", workers, 1, patterns)).workers == (1,)


class TestPatternSearch:
    async def test_a_pattern_that_runs_away_is_stopped_and_all_are_asked(self) -> None:
        search = PatternSearch(seconds=0.5)
        try:
            workers = (_worker("evil", when=EVIL), COOK)
            chosen = await select_workers(BAIT, workers, 0, search)
            assert chosen == Selection(workers=(0, 1), note="the patterns took too long")
            assert (await search.found([EVIL, "cook"], "I cook")) == [True, True], "the next question has a new helper"
        finally:
            await search.aclose()

    async def test_the_event_loop_goes_on_meanwhile(self) -> None:
        search, ticks = PatternSearch(seconds=0.5), 0
        asked = asyncio.create_task(search.found([EVIL], BAIT))
        while not asked.done():
            await asyncio.sleep(0)
            ticks += 1
        await search.aclose()
        assert ticks > 100

    async def test_questions_at_the_same_time_get_their_own_answers(self, patterns: PatternSearch) -> None:
        texts = ["aab", "b", "aaab", "c"] * 5
        answers = await asyncio.gather(*(patterns.found(["a+b", "b"], text) for text in texts))
        assert answers == [["a" in text and "b" in text, "b" in text] for text in texts]

    async def test_a_question_that_is_given_up_leaves_no_answer_to_the_next(self, patterns: PatternSearch) -> None:
        assert await patterns.found(["a+"], "a") == [True]
        asked = asyncio.create_task(patterns.found([EVIL], BAIT))
        await asyncio.sleep(0.05)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await patterns.found(["a+", "b+"], "b") == [False, True]

    @pytest.mark.parametrize(
        ("evil", "bait"),
        [
            ("a?" * 40 + "a" * 40, "a" * 39 + "b"),
            (r"\(?" * 40 + r"\(" * 40, "(" * 39 + "b"),
            ("(?:..|.)" * 60 + r"[^\s\S]", "a" * 61),
        ],
    )
    async def test_many_ways_to_fit_make_no_plain_pattern(self, evil: str, bait: str) -> None:
        search = PatternSearch(seconds=0.5)
        try:
            assert await search.found([evil], bait) is None
        finally:
            await search.aclose()

    async def test_a_long_pattern_on_a_long_question_does_not_hold_the_loop(self, patterns: PatternSearch) -> None:
        asked = asyncio.create_task(patterns.found(["x" * 3_000], "x" * 2_000_000))
        await asyncio.sleep(0)
        assert not asked.done()
        await asked


class TestRuns:
    async def test_only_those_chosen_are_asked_and_the_result_says_so(self) -> None:
        async with asking(*map(Play, ("code", "history", "food")), reviewer=Play(REVIEW)) as asked:
            asked.describe(CODER, HISTORIAN, COOK)
            result = await asked.result("Write some code")
            assert [server.answered for server in asked.workers] == [1, 0, 1]
            assert [answer.agent for answer in result.answers] == ["coder", "cook"]
            assert result.runtime["skipped"] == ["historian"]
            assert result.runtime["selection"] == {"by": ["when"]}
            asked.change(select=1)
            result = await asked.result("Write some code in Python")
            assert [answer.agent for answer in result.answers] == ["coder"]
            asked.change(select=0)
            asked.describe(CODER, HISTORIAN, _worker("cook", when="food"))
            result = await asked.result("Hello?")
            assert len(result.answers) == 3
            assert result.runtime["selection"] == {"note": "no pattern is found in the question"}
