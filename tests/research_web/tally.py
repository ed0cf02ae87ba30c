"""Count what became of the planted facts and lies in a finished run."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from localllm.research.claims.claim_checks import refuse
from localllm.research.records import Claim, ResearchState
from tests.research_web.dataset import Dataset, Fact, Lie, load, squeezed


@dataclass
class Tally:
    """Of the facts that the draft ever said, those that stand as supported at the end; and the lies.

    `seen` are lies that mechanics can see, measured: the rules refuse them over the sentence they distort.
    """

    written: set[str] = field(default_factory=set[str])
    standing: set[str] = field(default_factory=set[str])
    lies: set[str] = field(default_factory=set[str])
    seen: set[str] = field(default_factory=set[str])
    supported: dict[str, Claim] = field(default_factory=dict[str, Claim])
    """Lies that are called supported, by their ids."""

    def add(self, other: "Tally") -> None:
        """Take another run's count in."""
        self.written |= other.written
        self.standing |= other.standing
        self.lies |= other.lies
        self.seen |= other.seen
        self.supported |= other.supported

    @property
    def lost(self) -> set[str]:
        """The facts that were said and do not stand."""
        return self.written - self.standing


def tally(state: ResearchState, planted: Iterable[Lie], data: Dataset | None = None) -> Tally:
    """Count what became of facts and of the `planted` lies in a run."""
    data = data or load()
    by_claim = {_form(fact.claim(name)): fact for fact in data.statements.values() for name in ("en", "ja")}
    by_lie = {_form(lie.text): lie for lie in planted if _form(lie.text) not in by_claim}
    said = {_form(text) for text in _said(state)}
    count = Tally(
        written={fact.id for form, fact in by_claim.items() if form in said},
        lies={lie.id for form, lie in by_lie.items() if form in said},
        seen={lie.id for lie in planted if refuse(lie.text, [data.facts[lie.fact].sentence], today=state.today)},
    )
    for claim in state.claims:
        if claim.verdict is None or claim.verdict.label != "supported":
            continue
        fact, lie = by_claim.get(_form(claim.text)), by_lie.get(_form(claim.text))
        if lie is not None:
            count.supported[lie.id] = claim
        elif fact is not None and _rests_on(state, claim, fact):
            count.standing.add(fact.id)
        elif fact is not None:
            count.supported[f"{fact.id} on another page"] = claim
    return count


def _rests_on(state: ResearchState, claim: Claim, fact: Fact) -> bool:
    """Whether the evidence a claim cites holds the fact's sentence."""
    sentence = squeezed(fact.sentence)
    return any(sentence in squeezed(one.text) for one in state.evidence if one.id in claim.evidence)


def _said(state: ResearchState) -> list[str]:
    """Everything that the draft said at any time."""
    claims = [*(one.text for one in state.claims), *(one.text for one in state.unsupported)]
    return [*claims, *(text for patch in state.patches for text in (patch.before, patch.after) if text)]


def _form(text: str) -> str:
    return squeezed(text).rstrip(".。")
