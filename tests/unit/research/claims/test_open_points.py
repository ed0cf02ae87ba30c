"""What is open after a check: unanswered parts of the question, and the ledger."""

from pathlib import Path

import pytest

from localllm.research.claims.open_points import find_unanswered, has_single_source, ledger_of
from localllm.research.records import (
    Brief,
    Claim,
    Disagreement,
    Evidence,
    Label,
    LedgerEntry,
    Query,
    ResearchState,
    Side,
    Source,
    Verdict,
)
from localllm.research.run_store import RunStore
from tests.support.each import each
from tests.support.research_drafts import run_of
from tests.support.research_parts import Say, playing, said_in

pytestmark = pytest.mark.anyio

NEEDS = ("height of the tower", "opening date", "architect")


def claim(name: str, label: Label, *evidence: str, text: str = "") -> Claim:
    return Claim(name, "T1", text or f"Claim {name}.", evidence, Verdict(label, "model", None, f"quote {name}", "E1"))


def state_of(*claims: Claim) -> ResearchState:
    """A state with evidence E1 and E2 of one site, E3 of a copy of it, and E4 of another."""
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24", claims=list(claims))
    state.brief = Brief("q", "en", NEEDS)
    for number, (site, copied) in enumerate([("a", ""), ("a", ""), ("m", "S1"), ("b", "")], 1):
        state.sources.append(Source(id=f"S{number}", url=f"https://{site}/{number}", site=site, copy_of=copied))
        state.evidence.append(Evidence(f"E{number}", f"S{number}", 0, 1, "x"))
    return state


async def unanswered(folder: Path, said: Say, *claims: Claim) -> tuple[list[str], str]:
    state = state_of(*claims)
    with RunStore(folder) as store:
        found = await find_unanswered(run_of(store, state, playing({"coverage": said})[0]))
    return found, said_in(state.remarks)


TALL = claim("C1", "supported", "E1", text="The tower is 120 m high.")


@each(
    ("lines", "expected"),
    [
        ([], []),
        (["opening date"], ["opening date"]),
        (["architect", "Opening date."], ["opening date", "architect"]),
        (["3. architect"], ["architect"]),
        (["2"], ["opening date"]),
    ],
)
async def test_the_model_names_what_no_claim_tells(tmp_path: Path, lines: list[str], expected: list[str]) -> None:
    folder = tmp_path / "-".join(lines)
    folder.mkdir(exist_ok=True)
    assert await unanswered(folder, {"unanswered": lines}, TALL) == (expected, "")


async def test_a_number_without_end_names_nothing(tmp_path: Path) -> None:
    found, said = await unanswered(tmp_path, {"unanswered": [f"{'9' * 5_000}. x"]}, TALL)
    assert found == ["opening date", "architect"]
    assert "be checked" in said


async def test_what_cannot_be_read_is_never_no_gap(tmp_path: Path) -> None:
    for number, said in enumerate(["everything is fine", {"unanswered": ["the weather on Mars"]}]):
        folder = tmp_path / str(number)
        folder.mkdir()
        found, remarks = await unanswered(folder, said, TALL)
        assert found == ["opening date", "architect"]
        assert "could not be checked" in remarks


async def test_only_what_stands_answers(tmp_path: Path) -> None:
    asked: list[str] = []

    def coverage(prompt: str) -> Say:
        asked.append(prompt)
        return {"unanswered": []}

    found, _ = await unanswered(tmp_path, coverage, claim("C2", "partial", "E1"), claim("C3", "not_verified", "E1"))
    assert found == list(NEEDS)
    await unanswered(tmp_path, coverage, claim("C2", "not_found", text="It fell down."), TALL)
    assert "120 m high" in asked[0]
    assert "It fell down" not in asked[0]


def test_the_ledger_holds_gaps_first_and_single_sources_last() -> None:
    state = state_of(
        claim("C1", "supported", "E1", "E2"),
        claim("C2", "not_found"),
        claim("C3", "contradicted", "E1"),
        claim("C4", "not_verified"),
        claim("C5", "partial"),
        claim("C6", "supported", "E1", "E4"),
        Claim("C7", "T1", "Never judged."),
    )
    state.unanswered = ["architect"]
    state.ledger = [LedgerEntry("gap", "architect", tried=2), LedgerEntry("not_found", "Claim C3.", "C3", 1)]
    assert [(one.kind, one.claim or one.subject, one.tried) for one in ledger_of(state)] == [
        ("gap", "architect", 2),
        ("not_found", "C2", 0),
        ("contradicted", "C3", 0),
        ("not_found", "C4", 0),
        ("not_found", "C5", 0),
        ("not_found", "C7", 0),
        ("single_source", "C1", 0),
    ]


def test_a_contradiction_between_sources_is_searched_for_once() -> None:
    state = state_of(claim("C1", "supported", "E1", "E4"))
    state.disagreements = [Disagreement("x", (Side("quote C1", ("E1",)), Side("other", ("E4",))))]
    assert [(one.kind, one.claim) for one in ledger_of(state)] == [("contradicted", "C1")]
    state.queries = [Query("q", "counter_evidence", 1, "C1")]
    assert not ledger_of(state)


def test_copies_and_one_site_are_one_source() -> None:
    cited = {("E1", "E2", "E3"): True, ("E1", "E4"): False, ("E3", "E4"): False, ("E4",): True}
    for evidence, is_single in cited.items():
        one = claim("C1", "supported", *evidence)
        assert has_single_source(state_of(one), one) is is_single
    rejected = claim("C1", "not_found", "E1")
    assert not has_single_source(state_of(rejected), rejected)
