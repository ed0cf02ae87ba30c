"""What does not stand is taken out, narrowed or marked; what stands is not touched."""

from localllm.research.claims.unsupported_claims import judged, settle_draft
from localllm.research.records import Claim, Label, ResearchState, Section, Sentence, Verdict
from localllm.research.remark_texts import remark


def state_with(*labels: Label | None, frozen: bool = False) -> ResearchState:
    """A state with a sentence of as many claims, and one without."""
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24")
    state.claims = [
        Claim(
            f"C{number}",
            "T1",
            f"Claim number {number} holds.",
            (f"E{number}",),
            Verdict(label, "model") if label else None,
        )
        for number, label in enumerate(labels, 1)
    ]
    whole = Sentence("T1", "All the claims hold.", ("E1", "E2"), frozen=frozen)
    state.sections = [Section("One", ("E1",), (whole, Sentence("T2", "This has no claims.", ("E1",))))]
    return state


def settled(state: ResearchState) -> list[tuple[str, tuple[str, ...], bool]]:
    settle_draft(state)
    return [(one.text, one.evidence, one.frozen) for one in state.sections[0].sentences]


LAST = ("This has no claims.", ("E1",), False)
WHOLE = ("All the claims hold.", ("E1", "E2"), False)


def test_what_is_supported_is_frozen() -> None:
    state = state_with("supported", "supported")
    assert settled(state) == [(WHOLE[0], WHOLE[1], True), LAST]
    assert (state.patches, state.unsupported, state.numbers.claims_dropped) == ([], [], 0)


def test_what_is_false_as_a_whole_goes() -> None:
    for label in ("contradicted", "not_found"):
        state = state_with(label, label)
        assert settled(state) == [LAST]
        assert [(one.text, one.label) for one in state.unsupported] == [
            ("Claim number 1 holds.", label),
            ("Claim number 2 holds.", label),
        ]
        assert [(one.before, one.after) for one in state.patches] == [("All the claims hold.", "")]
        assert state.numbers.claims_dropped == 2
        assert judged(state) == {}


def test_what_is_false_in_part_is_narrowed_to_what_may_stay() -> None:
    state = state_with("supported", "contradicted", "partial")
    assert settled(state) == [("Claim number 1 holds. Claim number 3 holds.", ("E1", "E3"), False), LAST]
    assert [one.text for one in state.unsupported] == ["Claim number 2 holds."]
    assert judged(state)["T1"].standing == "partial"
    assert state.numbers.claims_dropped == 1


def test_what_is_only_doubtful_stays() -> None:
    for label in ("partial", "not_verified", None):
        state = state_with("supported", label)
        assert settled(state) == [WHOLE, LAST]
        assert state.unsupported == []
        assert judged(state)["T1"].standing == (label or "unchecked")


def test_settling_again_changes_nothing() -> None:
    state = state_with("supported", "contradicted")
    first = settled(state)
    patches, listed, dropped = len(state.patches), list(state.unsupported), state.numbers.claims_dropped
    assert settled(state) != []
    assert [one[:2] for one in settled(state)] == [one[:2] for one in first]
    assert (len(state.patches), state.unsupported, state.numbers.claims_dropped) == (patches, listed, dropped)


def test_a_claim_that_came_to_stand_is_listed_no_more() -> None:
    state = state_with("contradicted")
    settle_draft(state)
    assert [one.text for one in state.unsupported] == ["Claim number 1 holds."]
    state.claims = [Claim("C9", "T2", "Claim number 1 holds.", ("E1",), Verdict("supported", "model"))]
    settle_draft(state)
    assert state.unsupported == []


def test_the_reason_is_the_verdicts_own() -> None:
    state = state_with("not_found")
    said = remark("The number {number} is in no passage.", number="12")
    state.claims = [Claim("C1", "T1", "It is 12.", ("E1",), Verdict("not_found", "mechanics", said))]
    settle_draft(state)
    assert [one.reason for one in state.patches] == [said]
    assert [one.reason for one in state.unsupported] == [said]
