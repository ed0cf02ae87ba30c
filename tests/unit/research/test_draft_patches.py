"""Sentences that did not stand are put right, narrowed or taken out one by one; nothing else changes."""

from pathlib import Path

import msgspec
import pytest

from localllm.research.draft_patches import patch_draft
from localllm.research.records import (
    Claim,
    Evidence,
    Label,
    LedgerEntry,
    Query,
    ResearchState,
    Section,
    Sentence,
    Verdict,
)
from localllm.research.remark_texts import remark
from tests.support.brains import Brain
from tests.support.research_parts import Say, evidence_of, role_of, run_of
from tests.unit.research.test_draft import FACTS, FACTS_JA, found_state

pytestmark = pytest.mark.anyio

WRONG = "The Kita tower is 210 metres high."


def checked_state(label: Label = "contradicted", language: str = "en") -> ResearchState:
    """A draft of two sentences: the first is supported, the second has a claim that is not."""
    state = found_state(language, FACTS if language == "en" else FACTS_JA)
    first, wrong = (FACTS[0], WRONG) if language == "en" else (FACTS_JA[0], "北塔の高さは210メートルである。")
    sentences = (Sentence("T1", first, ("E1",)), Sentence("T2", wrong, ("E1",)))
    state.given["T"] = 2
    state.sections = [Section("All", ("E1",), sentences)]
    reason = remark("The number {number} is in no passage.", number="210")
    state.claims = [
        Claim("C1", "T1", first, ("E1",), Verdict("supported", "model")),
        Claim("C2", "T2", wrong, ("E1",), Verdict(label, "mechanics", reason, "It is so high.", "E1")),
    ]
    state.round = 1
    return state


async def patched(state: ResearchState, folder: Path, **answers: Say) -> Brain:
    with run_of(state, folder, answers) as (run, brain):
        await patch_draft(run)
    return brain


def sentences(state: ResearchState) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.id, one.text, one.evidence) for section in state.sections for one in section.sentences]


FIRST = ("T1", FACTS[0], ("E1",))


def rewrite(text: str) -> Say:
    return {"action": "rewrite", "sentence": text}


async def test_a_sentence_is_put_right_from_better_evidence(tmp_path: Path) -> None:
    state = checked_state()
    brain = await patched(state, tmp_path, editor=rewrite("The Kita tower is 120 metres high [E2]."))
    assert sentences(state) == [FIRST, ("T2", FACTS[1], ("E2",))]
    assert state.sections[0].sentences[0].frozen
    assert [(one.round, one.sentence, one.before, one.after) for one in state.patches] == [(1, "T2", WRONG, FACTS[1])]
    assert [claim.id for claim in state.claims] == ["C1"]
    assert (state.numbers.claims_dropped, state.unsupported) == (1, [])
    assert state.sections[0].evidence == ("E1", "E2")
    (request,) = brain.requests
    prompt = request.messages[-1].text
    assert "E2" in evidence_of(prompt)
    assert "The number 210 is in no passage." in prompt
    assert "contradicted" in prompt


@pytest.mark.parametrize(
    "said",
    [
        {"action": "delete", "sentence": ""},
        rewrite("The Kita tower is 130 metres high [E2]."),  # no passage has the number
        rewrite("The Kita tower is 120 metres high."),  # cites nothing
        rewrite("The Kita tower is 120 metres high [E77]."),
        rewrite(f"{WRONG[:-1]} [E1]."),  # what it was
        rewrite(f"{FACTS[0][:-1]} [E1]."),  # said already
        rewrite("北塔の高さは120メートルである[E2]。"),
        "no JSON",
    ],
    ids=repr,
)
async def test_what_is_not_put_right_is_taken_out(tmp_path: Path, said: Say) -> None:
    state = checked_state()
    await patched(state, tmp_path, editor=said)
    assert sentences(state) == [FIRST]
    assert [(one.text, one.label) for one in state.unsupported] == [(WRONG, "contradicted")]
    assert [(one.before, one.after) for one in state.patches] == [(WRONG, "")]
    assert state.numbers.claims_dropped == 1


@pytest.mark.parametrize("label", ["partial", "not_verified"])
async def test_what_is_only_doubtful_stays_where_it_cannot_be_put_right(tmp_path: Path, label: Label) -> None:
    state = checked_state(label)
    await patched(state, tmp_path, editor={"action": "delete", "sentence": ""})
    assert sentences(state) == [FIRST, ("T2", WRONG, ("E1",))]
    assert state.patches == []


@pytest.mark.parametrize(("cited", "own"), [("E2", True), ("E1", False)])
async def test_what_no_passage_says_gives_way_to_what_it_does_say(tmp_path: Path, cited: str, own: bool) -> None:
    state = checked_state("not_found")
    first, second = state.sections[0].sentences
    wrong = msgspec.structs.replace(second, evidence=(cited,))  # the first sentence cites E1 as well
    state.sections[0] = msgspec.structs.replace(state.sections[0], sentences=(first, wrong))
    await patched(state, tmp_path, editor={"action": "delete", "sentence": ""})
    assert sentences(state) == [FIRST, *([("T2", FACTS[1], ("E2",))] if own else [])]
    assert len(state.unsupported) == (0 if own else 1)
    assert state.numbers.claims_dropped == 1


async def test_a_source_does_not_repeat_what_is_said(tmp_path: Path) -> None:
    state = checked_state("not_found")
    state.evidence[1] = msgspec.structs.replace(state.evidence[1], text=FACTS[0])
    first, second = state.sections[0].sentences
    wrong = msgspec.structs.replace(second, evidence=("E2",))
    state.sections[0] = msgspec.structs.replace(state.sections[0], sentences=(first, wrong))
    await patched(state, tmp_path, editor="no JSON")
    assert sentences(state) == [FIRST]


async def test_words_in_another_language_do_not_take_a_sentences_place(tmp_path: Path) -> None:
    state = checked_state("not_found")
    state.evidence[0] = msgspec.structs.replace(state.evidence[0], text=FACTS_JA[0])
    state.sections[0] = msgspec.structs.replace(state.sections[0], sentences=state.sections[0].sentences[1:])
    await patched(state, tmp_path, editor="no JSON")
    assert sentences(state) == []


async def test_a_sentence_that_is_true_in_part_keeps_that_part(tmp_path: Path) -> None:
    state = checked_state()
    true = Claim("C3", "T2", "The Kita tower is high.", ("E2",), Verdict("supported", "model"))
    state.claims.append(true)
    await patched(state, tmp_path, editor={"action": "delete", "sentence": ""})
    assert sentences(state) == [FIRST, ("T2", "The Kita tower is high.", ("E2",))]
    assert [one.text for one in state.unsupported] == [WRONG]


async def test_frozen_and_unchecked_sentences_never_change(tmp_path: Path) -> None:
    state = checked_state()
    first, second = state.sections[0].sentences
    frozen = msgspec.structs.replace(second, frozen=True)
    unchecked = Sentence("T3", "This one has no claims.", ("E1",))
    state.sections[0] = msgspec.structs.replace(state.sections[0], sentences=(first, frozen, unchecked))
    before = sentences(state)
    brain = await patched(state, tmp_path)
    assert sentences(state) == before
    assert brain.requests == []


async def test_in_japanese(tmp_path: Path) -> None:
    state = checked_state(language="ja")
    await patched(state, tmp_path, editor=rewrite("北塔の高さは120メートルである[E2]。"))
    assert sentences(state)[1] == ("T2", FACTS_JA[1], ("E2",))


def with_gap(state: ResearchState) -> None:
    """New evidence of a page that a query for the gap has found."""
    state.claims[1] = msgspec.structs.replace(state.claims[1], verdict=Verdict("supported", "model"))
    state.ledger = [LedgerEntry("gap", "number of visitors"), LedgerEntry("single_source", FACTS[0], "C1")]
    state.queries = [Query("Kita visitors", "gap", 1)]
    source = msgspec.structs.replace(state.sources[2], queries=("Kita visitors",), round=1)
    state.sources[2] = source
    state.evidence[2] = msgspec.structs.replace(state.evidence[2], round=1)
    state.evidence.append(Evidence("E4", "S2", 50, 60, "The mayor likes the tower.", 1))


async def test_a_gap_that_has_evidence_now_becomes_a_section(tmp_path: Path) -> None:
    state = checked_state()
    with_gap(state)
    brain = await patched(state, tmp_path)
    assert [section.heading for section in state.sections] == ["All", "Number of visitors"]
    assert sentences(state)[2:] == [("T3", FACTS[2], ("E3",))]
    assert [(one.sentence, one.before, one.after) for one in state.patches] == [("T3", "", FACTS[2])]
    assert [role_of(request) for request in brain.requests] == ["writer"]


async def test_a_gap_whose_section_is_there_goes_into_it(tmp_path: Path) -> None:
    state = checked_state()
    with_gap(state)
    state.sections[0] = msgspec.structs.replace(state.sections[0], heading="Number of Visitors")
    await patched(state, tmp_path)
    assert len(state.sections) == 1
    assert [one[0] for one in sentences(state)] == ["T1", "T2", "T3"]


@pytest.mark.parametrize("said", ["NONE", "None.", "Nothing can be said.", f"{FACTS[0]} [E3]"])
async def test_a_gap_of_which_the_evidence_says_nothing_stays_open(tmp_path: Path, said: str) -> None:
    state = checked_state()
    with_gap(state)
    brain = await patched(state, tmp_path, writer=said)
    assert len(sentences(state)) == 2
    assert len(brain.requests) == (1 if said.lower().startswith("none") or "[E3]" in said else 2)
