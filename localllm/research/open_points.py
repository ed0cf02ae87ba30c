"""What is open after a check: parts of the question without an answer, claims that the next round has to settle."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from localllm.base.i18n import N_
from localllm.research.independence import origins
from localllm.research.records import Claim, LedgerEntry, ResearchState
from localllm.research.role_answers import TEXTS, answer_schema
from localllm.research.role_protocol import AnswerUnusable, remark, texts_of
from localllm.research.run_context import RunContext
from localllm.text.tokenising import terms

_COVERAGE = answer_schema(unanswered=TEXTS)

_LEAST_RATIO = 0.6
"""How alike a line of the model has to be to the part of the question that it means."""

_UNJUDGED = N_("Whether every part of the question is answered could not be checked.")


async def find_unanswered(run: RunContext) -> list[str]:
    """The parts of the question that no supported claim answers. Raises BudgetSpent."""
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
    """What an answer has to tell."""
    return (state.brief.needs if state.brief else ()) or (state.question,)


def supported_texts(state: ResearchState) -> list[str]:
    """The claims that stand, each once."""
    return list(dict.fromkeys(one.text for one in state.claims if one.verdict and one.verdict.label == "supported"))


def untold(state: ResearchState) -> list[str]:
    """By rule, the parts of the question of which no word is in a supported claim."""
    told = {term for text in supported_texts(state) for term in terms(text) if len(term) > 1}
    return [need for need in needs_of(state) if not told & set(terms(need))]


def _meant(line: str, needs: Sequence[str]) -> str:
    """The part of the question that a line of the model means, by its words or its number; "" where none is."""
    number = line.split(".", 1)[0].strip()
    if number.isdecimal() and 1 <= int(number) <= len(needs):
        return needs[int(number) - 1]
    ratio, need = max((SequenceMatcher(None, line.casefold(), one.casefold()).ratio(), one) for one in needs)
    return need if ratio >= _LEAST_RATIO else ""


def ledger_of(state: ResearchState) -> list[LedgerEntry]:
    """What the next round has to settle, each with the rounds in which it was searched for already.

    What nothing answers comes first, what only one source says last: that is settled as far as it goes. A contradiction
    between sources that was searched for is not searched for again: both sides are shown.
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
    """Whether a claim stands, but all that its sentence cites comes from one source."""
    is_supported = claim.verdict is not None and claim.verdict.label == "supported"
    return is_supported and len(origins(state, claim.evidence)) <= 1
