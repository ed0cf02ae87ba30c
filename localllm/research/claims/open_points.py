"""List what is open after a check: unanswered parts of the question, and claims the next round must settle."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from localllm.base.i18n import N_
from localllm.research.claims.independence import origins
from localllm.research.records import Claim, LedgerEntry, ResearchState
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXTS, AnswerUnusable, answer_schema, texts_of
from localllm.research.run_context import RunContext
from localllm.text.tokenising import terms

_COVERAGE = answer_schema(unanswered=TEXTS)

_LEAST_RATIO = 0.6
"""Least similarity of a line of the model to the part of the question it refers to."""

_UNJUDGED = N_("Whether every part of the question is answered could not be checked.")


async def find_unanswered(run: RunContext) -> list[str]:
    """Return the parts of the question that no supported claim answers. Raises BudgetSpent."""
    needs = needs_of(run.state)
    told = supported_texts(run.state)
    if not told:
        return list(needs)
    values = {
        "question": run.state.question,
        "needs": "\n".join(f"{number}. {need}" for number, need in enumerate(needs, 1)),
        "claims": "\n".join(f"- {text}" for text in told),
    }
    try:
        named = texts_of(await run.roles.ask("coverage", values, _COVERAGE), "unanswered")
    except AnswerUnusable:
        named = None
    meant = [_meant(line, needs) for line in named or ()]
    if named is None or "" in meant:
        run.remark(remark(_UNJUDGED))
        meant += untold(run.state)
    return [need for need in needs if need in meant]


def needs_of(state: ResearchState) -> tuple[str, ...]:
    """Return the points an answer must cover."""
    return (state.brief.needs if state.brief else ()) or (state.question,)


def supported_texts(state: ResearchState) -> list[str]:
    """Return the supported claims without duplicates."""
    return list(dict.fromkeys(one.text for one in state.claims if one.verdict and one.verdict.label == "supported"))


def untold(state: ResearchState) -> list[str]:
    """Return, by rule, the parts of the question with no word in a supported claim."""
    told = {term for text in supported_texts(state) for term in terms(text) if len(term) > 1}
    return [need for need in needs_of(state) if not told & set(terms(need))]


def _meant(line: str, needs: Sequence[str]) -> str:
    """Return the part of the question a line of the model refers to, by words or number; "" for none."""
    number = line.split(".", 1)[0].strip()
    if number.isdecimal() and len(number) < 10 and 1 <= int(number) <= len(needs):
        return needs[int(number) - 1]
    ratio, need = max((SequenceMatcher(None, line.casefold(), one.casefold()).ratio(), one) for one in needs)
    return need if ratio >= _LEAST_RATIO else ""


def ledger_of(state: ResearchState) -> list[LedgerEntry]:
    """Return the entries the next round must settle, each with the number of rounds that searched for it.

    Unanswered parts come first, single-source claims last, since those are partly settled. A contradiction that was
    searched for is not searched again: the report shows both sides.
    """
    tried = {(one.kind, one.subject): one.tried for one in state.ledger}
    countered = {one.claim for one in state.queries if one.purpose == "counter_evidence"}
    found = [LedgerEntry("gap", need) for need in state.unanswered]
    disputed = {side.statement for one in state.disagreements for side in one.sides}
    for claim in state.claims:
        label = claim.verdict.label if claim.verdict else "not_verified"
        if label == "contradicted":
            found.append(LedgerEntry("contradicted", claim.text, claim.id))
        elif label != "supported":
            found.append(LedgerEntry("not_found", claim.text, claim.id))
        elif claim.verdict and claim.verdict.quote in disputed and claim.id not in countered:
            found.append(LedgerEntry("contradicted", claim.text, claim.id))
    found += [LedgerEntry("single_source", one.text, one.id) for one in state.claims if has_single_source(state, one)]
    distinct = {(one.kind, one.subject): one for one in reversed(found)}
    return [
        LedgerEntry(one.kind, one.subject, one.claim, tried.get((one.kind, one.subject), 0))
        for one in reversed(distinct.values())
    ]


def has_single_source(state: ResearchState, claim: Claim) -> bool:
    """Whether a claim is supported, but only by citations of one source."""
    is_supported = claim.verdict is not None and claim.verdict.label == "supported"
    return is_supported and len(origins(state, claim.evidence)) <= 1
