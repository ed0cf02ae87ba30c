"""The queries of a scan: fewer where the window is small, standard ones where the model has none, kept for a while."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest
from localllm.research.market.market_queries import chosen_purposes, make_queries
from localllm.research.market.market_records import GLOBAL, JAPANESE, PURPOSES
from localllm.research.model_calls import Roles
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.run_context import Budget, RunContext
from localllm.research.run_store import RunStore
from localllm.web.search_cache import MemoryCache, SearchCache
from tests.support.brains import Brain
from tests.support.market_web import MarketModel
from tests.support.played_research import client_of
from tests.support.research_parts import said_in

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def run_of(folder: Path, client: LLMClient, theme: str = "ferries") -> AsyncGenerator[RunContext]:
    state = ResearchState(id="m-1", question=theme, today="2026-11-24", language="en", model="m")
    options = ResearchOptions()
    folder.mkdir(exist_ok=True)
    with RunStore(folder) as store:
        roles = Roles(client, store, options, today=state.today, language="en")
        yield RunContext(state, store, roles, options, "en", Budget(options, 0.0))


def kept() -> SearchCache:
    return SearchCache(MemoryCache(60), MemoryCache(60))


def overflowing(most: int) -> tuple[LLMClient, Brain]:
    """A model whose window has room for so many purposes."""
    model = MarketModel("ferries")

    def answer(request: CompletionRequest) -> str:
        asked = request.messages[-1].text
        if asked.count("(query in") > most:
            raise LLMConnectionError("llm_context_overflow", n_prompt_tokens=9_000, n_ctx=4_096)
        return model([{"role": "system", "content": request.messages[0].text}, {"role": "user", "content": asked}])

    brain = Brain(answer)
    return LLMClient(brain, model="played", max_retries=0), brain


async def test_there_is_one_query_for_each_purpose_of_the_regions(tmp_path: Path) -> None:
    assert chosen_purposes(("global", "jp")) == [*PURPOSES]
    assert chosen_purposes(("jp",)) == [*JAPANESE]
    client, _brain = client_of(MarketModel("ferries"))
    async with run_of(tmp_path, client) as run:
        made = await make_queries(run, GLOBAL, 7, None)
    assert made.japanese == ()
    assert [(one.purpose, one.options.num) for one in made.global_] == [(one, 7) for one in GLOBAL]
    assert made.origin == "model"


async def test_a_purpose_that_is_left_out_is_asked_for_once_more_and_then_taken_from_the_standard(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def answer(messages: object, _schema: object) -> str:
        asked.append(messages[-1]["content"])  # type: ignore[index]
        return (
            '{"queries": [{"purpose": "trends", "query": "ferry trends 2026"}, {"purpose": "needs", "query": " ! "}]}'
        )

    client, _brain = client_of(answer)
    cache = kept()
    async with run_of(tmp_path, client) as run:
        made = await make_queries(run, ("trends", "needs"), 10, cache)
        again = await make_queries(run, ("trends", "needs"), 10, cache)
        said = said_in(run.state.remarks)
    assert [one.query for one in made.japanese] == ["ferry trends 2026", "ferries ニーズ 課題 調査"]
    assert made.origin == "mixed"
    assert again.origin == "mixed"
    assert "- trends" not in asked[1].partition("<purposes>")[2]
    assert "standard" in said


async def test_a_garbled_query_is_asked_for_once_more_and_not_sent(tmp_path: Path) -> None:
    garbled = ['{"query": [[}} x', "ferries ] trends", "<query> ferries", "ferries \\u0000", "ferr\ufffdies"]
    for number, text in enumerate(garbled):
        answers = iter((text, "ferry trends 2026"))

        def answer(_messages: object, _schema: object, answers: Iterator[str] = answers) -> str:
            return json.dumps({"queries": [{"purpose": "trends", "query": next(answers)}]})

        client, _brain = client_of(answer)
        async with run_of(tmp_path / str(number), client) as run:
            made = await make_queries(run, ("trends",), 10, None)
        assert [one.query for one in made.japanese] == ["ferry trends 2026"], text
        assert made.origin == "model"


async def test_queries_are_kept_by_theme_language_model_and_purposes(tmp_path: Path) -> None:
    client, brain = client_of(MarketModel("ferries"))
    cache = kept()
    async with run_of(tmp_path / "a", client) as run:
        first = await make_queries(run, PURPOSES, 10, cache)
    async with run_of(tmp_path / "b", client, "Ｆerries ") as run:
        second = await make_queries(run, PURPOSES, 10, cache)
    assert second.origin == "kept"
    assert second.all() == first.all()
    assert len(brain.requests) == 1
    async with run_of(tmp_path / "c", client) as run:
        assert (await make_queries(run, GLOBAL, 10, cache)).origin == "model"
        run.state.model = "another"
        assert (await make_queries(run, PURPOSES, 10, cache)).origin == "model"


async def test_private_data_leaves_no_query(tmp_path: Path) -> None:
    client, _brain = client_of(lambda _messages, _schema: "no")
    async with run_of(tmp_path, client, "ferries of taro@mail.example.com") as run:
        made = await make_queries(run, PURPOSES, 10, None)
        said = said_in(run.state.remarks)
    assert not any("taro@" in one.query for one in made.all())
    assert "email" in said


async def test_a_small_window_gets_fewer_queries(tmp_path: Path) -> None:
    for most, count in ((8, 8), (6, 5), (3, 3)):
        client, _brain = overflowing(most)
        async with run_of(tmp_path / str(most), client) as run:
            made = await make_queries(run, PURPOSES, 10, None)
            assert len(made.all()) == count
            assert run.state.partial is (count < 8)
            assert made.origin == "model"
