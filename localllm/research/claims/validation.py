"""Check a draft: split claims, judge them, find second sources and disagreements, list open points.

Even if the model fails in between, each claim ends with a verdict: an unjudged one is "not verified". A claim of an
unchanged sentence keeps its verdict without another request.
"""

from collections.abc import Sequence

import msgspec

from localllm.base.i18n import N_
from localllm.research.claims.atomic_claims import split_draft
from localllm.research.claims.claim_checks import refuse, support_score
from localllm.research.claims.disagreements import find_disagreements
from localllm.research.claims.independence import origins
from localllm.research.claims.open_points import find_unanswered, has_single_source, ledger_of, needs_of, untold
from localllm.research.claims.unsupported_claims import freeze_supported
from localllm.research.claims.verdicts import judge, judge_by
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Claim, Evidence, ResearchState, Sentence, Verdict
from localllm.research.remark_texts import remark
from localllm.research.run_context import RunContext
from localllm.research.run_events import ClaimChecked

_MOST_SECONDED = 8
"""Single-source claims per round for which a second source is looked for among the read pages."""

_LEAST_SCORE = 0.4
"""Least support score of a passage that may say the same."""

_NOT_REACHED = N_("The budget was spent before it was checked.")


async def check_claims(run: RunContext) -> None:
    """Judge each claim of the draft, and record disagreements, unanswered parts and open points.

    Raises BudgetSpent after completing as much as the budget allows.
    """
    state = run.state
    spent = await _judge_claims(run)
    state.unanswered = untold(state) if state.sections else list(needs_of(state))
    if not spent and state.sections:
        try:
            if state.round:
                await second_claims(run)
            state.disagreements = await find_disagreements(run)
            state.unanswered = await find_unanswered(run)
        except BudgetSpent:
            spent = True
    state.ledger = ledger_of(state)
    freeze_supported(state)
    state.numbers.loops += 1
    if spent:
        raise BudgetSpent


async def _judge_claims(run: RunContext) -> bool:
    """Judge the claims without a verdict; return whether the budget ran out."""
    state = run.state
    spent = False
    state.claims = await split_draft(run)
    for place, claim in enumerate(state.claims):
        if claim.verdict:
            continue
        try:
            verdict = await judge(run, claim)
            state.numbers.claims_checked += 1
        except BudgetSpent:
            verdict, spent = Verdict("not_verified", "mechanics", remark(_NOT_REACHED)), True
        state.claims[place] = msgspec.structs.replace(claim, verdict=verdict)
        run.tell(ClaimChecked(run=state.id, claim=claim.text, label=verdict.label))
    return spent


async def second_claims(run: RunContext) -> None:
    """Look for a second source of single-source claims in this round's evidence; if the model confirms it, the sentence
    cites it too."""
    state = run.state
    lone = [claim for claim in state.claims if has_single_source(state, claim)]
    for claim in lone[:_MOST_SECONDED]:
        known = origins(state, claim.evidence)
        new = [one for one in state.evidence if one.round == state.round and not origins(state, [one.id]) & known]
        if (passage := _likeliest(state, claim, new)) is None:
            continue
        verdict = await judge_by(run, claim.text, [passage])
        if verdict.label == "supported":
            _cite_too(state, claim.sentence, passage)


def _likeliest(state: ResearchState, claim: Claim, among: Sequence[Evidence]) -> Evidence | None:
    """Return the passage most likely to say the same, among those that rules do not reject."""
    scored = [(support_score(claim.text, one.text), one) for one in among]
    fit = [
        (score, one)
        for score, one in scored
        if score >= _LEAST_SCORE and not refuse(claim.text, [one.text], today=state.today)
    ]
    return max(fit, key=lambda pair: pair[0])[1] if fit else None


def _cite_too(state: ResearchState, name: str, passage: Evidence) -> None:
    """Add a citation to a sentence and its claims."""

    def with_passage(cited: tuple[str, ...]) -> tuple[str, ...]:
        return cited if passage.id in cited else (*cited, passage.id)

    def changed(sentence: Sentence) -> Sentence:
        return msgspec.structs.replace(sentence, evidence=with_passage(sentence.evidence))

    for place, section in enumerate(state.sections):
        if any(one.id == name for one in section.sentences):
            sentences = tuple(changed(one) if one.id == name else one for one in section.sentences)
            cited = with_passage(section.evidence)
            state.sections[place] = msgspec.structs.replace(section, evidence=cited, sentences=sentences)
    state.claims = [
        msgspec.structs.replace(one, evidence=with_passage(one.evidence)) if one.sentence == name else one
        for one in state.claims
    ]
