"""Derive which sentences of the draft hold from the verdicts on their claims; remove the others by rule.

A claim that a source contradicts, or that no source makes, is removed. One that is partly supported, or could not be
judged, stays with a mark.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from localllm.base.i18n import N_
from localllm.research.cited_sentences import is_sentence, tidy
from localllm.research.records import Claim, Label, Patch, Remark, ResearchState, Section, Sentence, Unsupported
from localllm.research.remark_texts import remark

Standing = Literal[Label, "unchecked"]
"""The state of a sentence: that of its worst claim, or unchecked."""

FALSE: tuple[Standing, ...] = ("contradicted", "not_found")
"""States that must not stay in the text."""

_WORST_FIRST: tuple[Standing, ...] = ("contradicted", "not_found", "not_verified", "partial", "unchecked", "supported")

REASONS: dict[Standing, str] = {
    "contradicted": N_("A source says otherwise."),
    "not_found": N_("No source says it."),
    "partial": N_("Only a part of it is supported."),
    "not_verified": N_("It could not be checked."),
    "unchecked": N_("It was not checked."),
}


class Judged(NamedTuple):
    """A sentence's claims and the state they give it."""

    standing: Standing
    claims: tuple[Claim, ...] = ()

    @property
    def standing_claims(self) -> tuple[Claim, ...]:
        """The claims that may stay in the text."""
        return tuple(claim for claim in self.claims if standing_of(claim) not in FALSE)

    @property
    def failing(self) -> tuple[Claim, ...]:
        """The claims that were judged and are not supported."""
        return tuple(claim for claim in self.claims if standing_of(claim) not in ("supported", "unchecked"))


def standing_of(claim: Claim) -> Standing:
    """Return the state of one claim."""
    return claim.verdict.label if claim.verdict else "unchecked"


def judged(state: ResearchState) -> dict[str, Judged]:
    """Return the state of each sentence with claims, by the sentence's id."""
    claims: dict[str, list[Claim]] = {}
    for claim in state.claims:
        claims.setdefault(claim.sentence, []).append(claim)
    return {name: Judged(_worst(map(standing_of, mine)), tuple(mine)) for name, mine in claims.items()}


def reason_of(claims: Sequence[Claim]) -> Remark:
    """Return why claims fail: the reason of the worst, or the meaning of its label."""
    worst = min(claims, key=lambda claim: _WORST_FIRST.index(standing_of(claim)))
    said = worst.verdict.reason if worst.verdict else None
    return said or remark(REASONS[standing_of(worst)])


def freeze_supported(state: ResearchState) -> None:
    """Freeze the sentences whose claims are all supported."""
    known = judged(state)

    def frozen(sentence: Sentence) -> Sentence:
        stands = sentence.id in known and known[sentence.id].standing == "supported"
        return msgspec.structs.replace(sentence, frozen=True) if stands and not sentence.frozen else sentence

    state.sections = [
        msgspec.structs.replace(section, sentences=tuple(map(frozen, section.sentences))) for section in state.sections
    ]


def settle_draft(state: ResearchState) -> None:
    """Finalise the draft: remove claims that are contradicted or that no source makes."""
    freeze_supported(state)
    known = judged(state)
    sections: list[Section] = []
    for section in state.sections:
        kept: list[Sentence] = []
        for sentence in section.sentences:
            verdicts = known.get(sentence.id)
            is_false = verdicts is not None and verdicts.standing in FALSE and not sentence.frozen
            left = narrowed(state, sentence, verdicts) if verdicts and is_false else sentence
            if left is not None:
                kept.append(left)
        sections.append(msgspec.structs.replace(section, sentences=tuple(kept)))
    state.sections = sections
    supported = {claim.text for claim in state.claims if standing_of(claim) == "supported"}
    state.unsupported = [one for one in state.unsupported if one.text not in supported]


def narrowed(state: ResearchState, sentence: Sentence, known: Judged) -> Sentence | None:
    """Reduce a sentence to its valid claims, None without any. Removed claims are recorded."""
    gone = tuple(claim for claim in known.claims if standing_of(claim) in FALSE)
    left = known.standing_claims
    text = " ".join(tidy(claim.text) for claim in left)
    after: Sentence | None = None
    if left and is_sentence(text):
        cited = tuple(dict.fromkeys(one for claim in left for one in claim.evidence)) or sentence.evidence
        after = msgspec.structs.replace(sentence, text=text, evidence=cited)
    else:
        gone = known.failing
    note_change(state, sentence, after, reason_of(gone))
    list_unsupported(state, gone)
    state.claims = [claim for claim in state.claims if claim not in (gone if after else known.claims)]
    state.numbers.claims_dropped += len(gone)
    return after


def note_change(state: ResearchState, before: Sentence, after: Sentence | None, reason: Remark) -> None:
    """Log a change of a sentence."""
    state.patches.append(Patch(state.round, before.id, before.text, after.text if after else "", reason))


def list_unsupported(state: ResearchState, claims: Iterable[Claim]) -> None:
    """Add removed claims, without duplicates, to the report's list."""
    listed = {one.text for one in state.unsupported}
    for claim in claims:
        standing = standing_of(claim)
        if claim.text not in listed and standing != "unchecked":
            listed.add(claim.text)
            state.unsupported.append(Unsupported(claim.text, standing, reason_of([claim]), claim.evidence))


def _worst(standings: Iterable[Standing]) -> Standing:
    return min(standings, key=_WORST_FIRST.index)
