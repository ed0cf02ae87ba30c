"""Sentences taken apart into claims: what of the model's claims is used, and what is asked again."""

from pathlib import Path
from tempfile import mkdtemp

import msgspec
import pytest

from localllm.base.events import Json
from localllm.research.claims.atomic_claims import is_split_of, split_draft
from localllm.research.records import ResearchState, Section, Sentence, Verdict
from localllm.research.run_context import RunContext
from localllm.research.run_store import RunStore
from tests.support.each import each
from tests.support.research_drafts import run_of
from tests.support.research_parts import Say, playing

pytestmark = pytest.mark.anyio

TOWER = "The Kita tower opened in 1998 and is 120 metres tall."
OPENED, TALL = "The Kita tower opened in 1998.", "The Kita tower is 120 metres tall."


def claim(text: str, sentence: int = 1, **of: str) -> dict[str, Json]:
    return {"sentence": sentence, "text": text, "entity": "", "attribute": "", "period": "", **of}


def state_of(*sentences: str, evidence: tuple[str, ...] = ("E1",)) -> ResearchState:
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24")
    made = tuple(Sentence(state.new_id("T"), text, evidence) for text in sentences)
    state.sections = [Section("The tower", evidence, made)]
    return state


def splitting(store: RunStore, state: ResearchState, said: Say) -> tuple[RunContext, list[str]]:
    asked: list[str] = []

    def splitter(prompt: str) -> str | Json:
        asked.append(prompt)
        return said(prompt) if callable(said) else said

    return run_of(store, state, playing({"splitter": splitter})[0]), asked


async def test_a_sentence_becomes_its_claims(tmp_path: Path) -> None:
    state = state_of(TOWER)
    said = {"claims": [claim(OPENED, entity="Kita tower", attribute="opening"), claim(TALL, period="now")]}
    with RunStore(tmp_path) as store:
        claims = await split_draft(splitting(store, state, said)[0])
    assert [(one.id, one.sentence, one.text, one.evidence) for one in claims] == [
        ("C1", "T1", OPENED, ("E1",)),
        ("C2", "T1", TALL, ("E1",)),
    ]
    assert (claims[0].entity, claims[0].attribute, claims[1].period) == ("Kita tower", "opening", "now")


async def test_sentences_are_asked_for_together_with_what_stands_before(tmp_path: Path) -> None:
    state = state_of(*(f"Fact {number + 10} of the tower." for number in range(8)))
    with RunStore(tmp_path) as store:
        run, asked = splitting(store, state, {"claims": []})
        claims = await split_draft(run)
    assert [one.text for one in claims] == [one.text for one in state.sections[0].sentences]
    assert len(asked) == 2
    assert "6. Fact 15 of the tower." in asked[0]
    assert "<before>\nFact 14 of the tower. Fact 15 of the tower.\n</before>" in asked[1]


@each(
    "said",
    [
        "no JSON",
        {"claims": []},
        {"claims": [claim(OPENED)]},
        {"claims": [claim(OPENED), claim(TALL), claim("It was built by Sato.")]},
        {"claims": [claim(OPENED), claim("The Kita tower is 210 metres tall.")]},
        {"claims": [claim("The Kita tower never opened in 1998."), claim(TALL)]},
        {"claims": [claim(OPENED), claim(""), claim(TALL)]},
        {"claims": [claim(TOWER, sentence=2)]},
        {"claims": [claim(OPENED)] * 4 + [claim(TALL)] * 4},
    ],
)
async def test_where_the_claims_say_something_else_the_sentence_is_the_claim(tmp_path: Path, said: Say) -> None:
    with RunStore(Path(mkdtemp(dir=tmp_path))) as store:
        claims = await split_draft(splitting(store, state_of(TOWER), said)[0])
    assert [one.text for one in claims] == [TOWER]


@each(
    ("claims", "sentence", "before", "is_split"),
    [
        ([OPENED, TALL], TOWER, (), True),
        (["The Kita tower serves 23 cafés."], "It serves 23 cafés.", ("The Kita tower is old.",), True),
        (["The Kita tower serves 23 cafés."], "It serves 23 cafés.", (), False),
        (["The line is not free."], "The line is free.", (), False),
        (["The line is free."], "The line is not free.", (), False),
        (
            ["北塔は1998年に開業した。", "高さは120メートルだ。"],
            "北塔は1998年に開業し、高さは120メートルだ。",
            (),
            True,
        ),
        (["北塔は1998年に開業した。"], "北塔は1998年に開業し、高さは120メートルだ。", (), False),
        (["北塔は1989年に開業した。"], "北塔は1998年に開業した。", (), False),
    ],
)
def test_nothing_is_added_and_nothing_left_out(
    claims: list[str], sentence: str, before: tuple[str, ...], is_split: bool
) -> None:
    assert is_split_of(claims, sentence, before) is is_split


async def test_what_cites_nothing_is_not_asked_about(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, asked = splitting(store, state_of(TOWER, evidence=()), {"claims": []})
        claims = await split_draft(run)
    assert [one.text for one in claims] == [TOWER]
    assert not asked


async def test_judged_claims_of_a_sentence_that_reads_as_it_did_stay(tmp_path: Path) -> None:
    state = state_of(TOWER, "It was closed in 2001.")
    with RunStore(tmp_path) as store:
        run, asked = splitting(store, state, {"claims": []})
        state.claims = [
            msgspec.structs.replace(one, verdict=Verdict("supported", "model")) for one in await split_draft(run)
        ]
        first, second = state.sections[0].sentences
        changed = msgspec.structs.replace(second, text="It was closed in 2002.")
        state.sections = [msgspec.structs.replace(state.sections[0], sentences=(first, changed))]
        claims = await split_draft(run)
        cited = msgspec.structs.replace(first, evidence=("E1", "E2"))
        state.sections = [msgspec.structs.replace(state.sections[0], sentences=(cited, changed))]
        cited_claims = await split_draft(run)
    assert claims[0] == state.claims[0]
    assert (claims[1].id, claims[1].text, claims[1].verdict) == ("C3", "It was closed in 2002.", None)
    assert "1. It was closed in 2002." in asked[-2] or "1. It was closed in 2002." in asked[-1]
    assert cited_claims[0].verdict is None
