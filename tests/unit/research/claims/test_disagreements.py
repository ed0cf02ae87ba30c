"""Sources that say different things of the same: the pairs that rules find, and what becomes of those that clash."""

from pathlib import Path

import pytest

from localllm.base.events import Json
from localllm.research.claims.disagreements import candidates, find_disagreements, may_clash
from localllm.research.records import Claim, Evidence, ResearchState, Source, Verdict
from localllm.research.run_store import RunStore
from tests.support.each import each
from tests.support.research_drafts import run_of
from tests.support.research_parts import Say, playing, said_in

pytestmark = pytest.mark.anyio

ONE = "The dam at Hatano cost 61 billion yen to build."
OTHER = "To build the Hatano dam cost 75 billion yen, critics reckon."
SAME = "The dam at Hatano cost 61 billion yen to build, the paper says."
ELSE = "The lake at Sagano holds 75 million tonnes of water."


def state_of(*pages: tuple[str, str], claims: dict[str, str]) -> ResearchState:
    """A state with a source and its evidence for each (site, text), and supported claims by the evidence they cite."""
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24")
    for site, text in pages:
        source, _, copied = site.partition("=")
        name = state.new_id("S")
        state.sources.append(Source(id=name, url=f"https://{source}/{name}", site=source, copy_of=copied))
        state.evidence.append(Evidence(state.new_id("E"), name, 0, len(text), text))
    for evidence, text in claims.items():
        quote = state.evidence_named(evidence).text
        verdict = Verdict("supported", "model", None, quote, evidence)
        state.claims.append(Claim(state.new_id("C"), "T1", text, (evidence,), verdict))
    return state


async def found(folder: Path, state: ResearchState, said: Say) -> tuple[list[str], list[list[tuple[str, int]]]]:
    """What was compared, and of each disagreement the sides with their number of sources."""
    asked: list[str] = []

    def compare(prompt: str) -> str | Json:
        asked.append(prompt)
        return said(prompt) if callable(said) else said

    with RunStore(folder) as store:
        run = run_of(store, state, playing({"compare": compare})[0])
        disagreements = await find_disagreements(run)
    return asked, [[(side.statement, side.sources) for side in one.sides] for one in disagreements]


CLASH: Say = {"same_subject": True, "agree": False}


async def test_both_sides_are_kept_with_their_sources(tmp_path: Path) -> None:
    state = state_of(("a", ONE), ("b", OTHER), ("c", ELSE), claims={"E1": "The dam cost 61 billion yen."})
    asked, sides = await found(tmp_path, state, CLASH)
    assert len(asked) == 1
    assert sides == [[(ONE, 1), (OTHER, 1)]]


@pytest.mark.parametrize(
    "said", [{"same_subject": False, "agree": False}, {"same_subject": True, "agree": True}], ids=str
)
async def test_what_does_not_clash_is_none(tmp_path: Path, said: Say) -> None:
    state = state_of(("a", ONE), ("b", OTHER), claims={"E1": "The dam cost 61 billion yen."})
    assert (await found(tmp_path, state, said))[1] == []


async def test_an_answer_of_no_use_is_told(tmp_path: Path) -> None:
    state = state_of(("a", ONE), ("b", OTHER), claims={"E1": "The dam cost 61 billion yen."})
    assert (await found(tmp_path, state, "perhaps"))[1] == []
    assert "The dam cost 61 billion yen." in said_in(state.remarks)


async def test_copies_and_one_site_count_once(tmp_path: Path) -> None:
    pages = [("a", ONE), ("b", OTHER), ("mirror=S2", OTHER.replace("critics", "they")), ("b", f"{OTHER} Again.")]
    state = state_of(*pages, claims={"E1": "The dam cost 61 billion yen."})
    _asked, sides = await found(tmp_path, state, CLASH)
    assert [[count for _text, count in one] for one in sides] == [[1, 1]]


async def test_who_says_the_same_is_on_one_side(tmp_path: Path) -> None:
    claims = {"E1": "The dam cost 61 billion yen.", "E3": "A paper says 61 billion yen."}
    state = state_of(("a", ONE), ("b", OTHER), ("c", SAME), claims=claims)
    _asked, sides = await found(tmp_path, state, CLASH)
    assert [[count for _text, count in one] for one in sides] == [[2, 1]]


def test_what_rests_on_one_page_is_not_compared() -> None:
    state = state_of(("a", ONE), claims={"E1": "The dam cost 61 billion yen."})
    state.evidence.append(Evidence("E2", "S1", 0, 1, OTHER))
    assert not candidates(state)


def test_claims_about_the_same_are_compared_whatever_their_pages_say_it_in() -> None:
    state = state_of(
        ("a", ONE), ("b", "総工費は750億円に上った。"), claims={"E1": "61 billion yen.", "E2": "75 billion yen."}
    )
    assert not candidates(state)
    state.claims = [
        Claim(one.id, "T1", one.text, one.evidence, one.verdict, "Hatano dam", "cost of building")
        for one in state.claims
    ]
    assert [(pair.one.evidence, pair.other.evidence) for pair in candidates(state)] == [("E1", "E2")]
    state.claims[1] = Claim("C2", "T1", "x", ("E2",), state.claims[1].verdict, "Hatano dam", "name of its architect")
    assert not candidates(state)


@each(
    ("one", "other", "alike", "clash"),
    [
        (ONE, OTHER, 0.5, True),
        (ONE, SAME, 0.5, False),
        ("Loans grew by 28 per cent.", "Loans have fallen.", 0.5, True),
        ("It took 3 years.", "It cost 3 million yen.", 0.5, False),
        ("It opened in 1998.", "It opened in 1999.", 0.5, True),
        ("12 % came in 2020, 30 % in 2021.", "12 % came in 2020, 40 % in 2021.", 0.9, True),
        ("12 % came in 2020, 30 % in 2021.", "12 % were women, 40 % old.", 0.5, False),
        ("The rule applies to boats.", "The rule does not apply to boats.", 0.9, True),
        ("売上は3割増えた。", "売上は2割増えた。", 0.5, True),
        ("売上は3割増えた。", "売上は30％増加した。", 0.5, False),
    ],
)
def test_what_may_clash(one: str, other: str, alike: float, clash: bool) -> None:
    assert may_clash(one, other, alike) is clash
