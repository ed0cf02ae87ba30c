"""Queries: exactly as many as wanted whatever the model answers, masked, and aimed at what is open."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from localllm.research.model_calls import Roles
from localllm.research.query_plan import aim_queries, more_words, normalise, plan_queries
from localllm.research.records import Brief, Evidence, LedgerEntry, ResearchState, Source
from localllm.research.run_store import RunStore
from tests.support.brains import Brain
from tests.support.research_parts import QUESTION, Say, options, playing, said_in

pytestmark = pytest.mark.anyio


def parts(store: RunStore, answers: Mapping[str, Say], question: str = QUESTION) -> tuple[ResearchState, Roles, Brain]:
    client, brain = playing(answers)
    state = ResearchState(id="2026-0001", question=question, today="2026-11-24")
    state.brief = Brief(question, "en", ("opening date", "height"), ("Kita tower",), "1998")
    return state, Roles(client, store, options(), today=state.today, language="en"), brain


async def test_the_question_is_taken_apart(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {})
        await normalise(state, roles, "ja")
    assert state.brief == Brief(QUESTION, "ja", ("opening date", "height"), ("Kita tower",), "1998")


async def test_a_question_the_model_cannot_take_apart_is_taken_apart_by_rule(tmp_path: Path) -> None:
    question = "How did Kita Tower change between 1998 and 2004?"
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {"brief": "I do not know."}, question)
        await normalise(state, roles, "en")
    assert state.brief == Brief(question, "en", (question,), ("Kita Tower",), "1998, 2004")
    assert state.remarks


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize(
    "answer",
    [
        {"queries": [f"query number {one}" for one in range(20)]},
        {"queries": ["one", "ONE", "1. one", "“one”"]},
        {"queries": []},
        {"queries": ["", " ", "tower " * 500]},
        {"other": 1},
        "no JSON",
        '{"queries": ["cut',
    ],
)
async def test_there_are_exactly_as_many_queries_as_wanted(tmp_path: Path, count: int, answer: Say) -> None:
    with RunStore(tmp_path) as store:
        state, roles, brain = parts(store, {"queries": answer})
        await plan_queries(state, roles, options(query_count=count))
    texts = [query.text for query in state.queries]
    assert len(texts) == len({text.casefold() for text in texts}) == count
    assert all(0 < len(text) <= 200 for text in texts)
    assert len(brain.requests) <= 2


async def test_a_short_list_is_asked_for_once_more(tmp_path: Path) -> None:
    def once(asked: str) -> dict[str, list[str]]:
        return {"queries": ["second"] if "- first" in asked else ["first"]}

    with RunStore(tmp_path) as store:
        state, roles, brain = parts(store, {"queries": once})
        await plan_queries(state, roles, options())
    assert [query.text for query in state.queries] == ["first", "second"]
    assert len(brain.requests) == 2


async def test_private_data_is_taken_out_and_told(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {"queries": {"queries": ["mail of me@home.example", "tower"]}})
        added = await plan_queries(state, roles, options())
    assert added == {"mail of [EMAIL]": ("email",), "tower": ()}
    assert [query.text for query in state.queries] == list(added)
    assert "email" in said_in(state.remarks)


async def test_queries_of_the_user_are_taken_and_masked_too(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, brain = parts(store, {})
        await plan_queries(state, roles, options(queries=("mine", "a@b.example")))
    assert [query.text for query in state.queries] == ["mine", "[EMAIL]"]
    assert not brain.requests


LEDGER = [
    LedgerEntry("not_found", "The tower opened in May", "C1", tried=2),
    LedgerEntry("contradicted", "The tower is 120 m tall", "C2"),
    LedgerEntry("gap", "architect"),
]


async def test_what_was_tried_least_is_aimed_at_first(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {"aimed queries": {"queries": ["height dispute", "architect name"]}})
        state.ledger = list(LEDGER)
        state.round = 1
        await aim_queries(state, roles, options())
    made = [(query.text, query.purpose, query.round, query.claim) for query in state.queries]
    assert made == [("height dispute", "counter_evidence", 1, "C2"), ("architect name", "gap", 1, "")]
    assert [entry.tried for entry in state.ledger] == [2, 1, 1]


async def test_aimed_queries_are_made_by_rule_and_never_twice(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {"aimed queries": "nothing"})
        for state.round in (1, 2, 3):
            state.ledger = list(LEDGER)
            await aim_queries(state, roles, options())
    texts = [query.text for query in state.queries]
    assert len(texts) == len(set(texts)) == 5


async def test_other_words_are_no_repetition(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {})
        await plan_queries(state, roles, options())
        before = {query.text for query in state.queries}
        added = more_words(state, 2)
    assert len(added) == 2
    assert not before & added.keys()


@pytest.mark.parametrize("answer", ["nothing", {"queries": ["architect of the Kita tower"]}])
async def test_what_own_documents_say_is_searched_for_in_them_alone(tmp_path: Path, answer: Say) -> None:
    """A claim may repeat a document word by word, whatever it cites: no search engine is told it, nor the model that
    writes queries for one."""
    with RunStore(tmp_path) as store:
        state, roles, brain = parts(store, {"aimed queries": answer})
        state.sources = [
            Source(id="S1", url="contract.md", local=True),
            Source(id="S2", url="https://a.example"),
        ]
        state.evidence = [Evidence("E1", "S1", 0, 9, "The annex pays 4711 ZEBRA."), Evidence("E2", "S2", 0, 9, "Else.")]
        for state.round in (1, 2):
            state.ledger = [
                LedgerEntry("not_found", "The annex pays 4711 ZEBRA", "C1"),
                LedgerEntry("gap", "architect"),
                LedgerEntry("single_source", "The annex pays 4711 ZEBRA twice", "C2"),
            ]
            await aim_queries(state, roles, options(query_count=4))
    told = [query.text for query in state.queries if not query.local]
    assert told
    prompts = [message.text for request in brain.requests for message in request.messages]
    assert not any("ZEBRA" in text for text in (*told, *prompts))
    assert {query.claim for query in state.queries if query.local} == {"C1", "C2"}


@pytest.mark.parametrize(("is_local", "use_web"), [(True, False), (False, True)])
async def test_without_the_web_or_own_evidence_the_model_writes_queries_for_claims(
    tmp_path: Path, is_local: bool, use_web: bool
) -> None:
    with RunStore(tmp_path) as store:
        state, roles, _ = parts(store, {"aimed queries": {"queries": ["annex payment"]}})
        state.sources = [Source(id="S1", url="x", local=is_local)]
        state.evidence = [Evidence("E1", "S1", 0, 9, "The annex pays.")]
        state.ledger = [LedgerEntry("not_found", "The annex pays", "C1")]
        await aim_queries(state, roles, options(query_count=1, use_web=use_web))
    assert [(query.text, query.local) for query in state.queries] == [("annex payment", False)]
