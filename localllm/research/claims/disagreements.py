"""Find contradicting sources, and keep both sides.

Rules find candidates: claims about the same attribute of the same thing, and a sentence a claim is based on with a
similar sentence of another source, if their values or directions differ. The model decides whether they contradict.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from localllm.base.i18n import N_
from localllm.research.claims.claim_checks import support_score
from localllm.research.claims.claim_polarity import is_negated, is_reversed
from localllm.research.claims.independence import origins
from localllm.research.records import Claim, Disagreement, ResearchState, Side
from localllm.research.remark_texts import remark
from localllm.research.role_answers import YES_OR_NO, AnswerUnusable, answer_schema
from localllm.research.run_context import RunContext
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees
from localllm.text.quotes import split_sentences
from localllm.text.tokenising import terms

_COMPARE = answer_schema(same_subject=YES_OR_NO, agree=YES_OR_NO)

MOST_COMPARED = 8
"""Pairs submitted to the model per round."""

_LEAST_ALIKE = 0.4
"""Share of the terms of the shorter sentence that the other must have."""

_LEAST_SHARED = 3
_NEARLY_THE_SAME = 0.8
_DATES = frozenset({"date", "quarter", "decade", "century", "time", "ordinal"})
_UNJUDGED = N_("Whether sources disagree on “{about}” could not be checked.")


class Statement(NamedTuple):
    """A sentence of a page, and the claim based on it, if any."""

    text: str
    evidence: str
    source: str
    claim: Claim | None = None


class _Pair(NamedTuple):
    alike: float
    one: Statement
    """The statement with a claim."""
    other: Statement


async def find_disagreements(run: RunContext) -> list[Disagreement]:
    """Find contradictions between claims' sentences and other sources. Raises BudgetSpent."""
    clashes: list[tuple[Statement, Statement]] = []
    for pair in candidates(run.state):
        if await _do_clash(run, pair.one, pair.other):
            clashes.append((pair.one, pair.other))
    return gathered(run.state, clashes)


async def _do_clash(run: RunContext, one: Statement, other: Statement) -> bool:
    values = {"first": _shown(run.state, one), "second": _shown(run.state, other)}
    try:
        answer = await run.roles.ask("compare", values, _COMPARE)
    except AnswerUnusable:
        run.remark(remark(_UNJUDGED, about=_about(one)))
        return False
    return bool(answer["same_subject"]) and not answer["agree"]


def _shown(state: ResearchState, statement: Statement) -> str:
    return f"{statement.text}\n(page: {state.source(statement.source).title})"


def candidates(state: ResearchState) -> list[_Pair]:
    """Return candidate pairs, most similar first."""
    ours = [_rested_on(state, claim) for claim in state.claims if claim.verdict and claim.verdict.label == "supported"]
    quoted = {one.text for one in ours}
    others = [one for one in _sentences(state) if one.text not in quoted]
    pairs: dict[tuple[str, str], _Pair] = {}
    for place, one in enumerate(ours):
        for other in [*ours[place + 1 :], *others]:
            if one.source == other.source or one.text == other.text:
                continue
            alike = _likeness(one, other)
            if alike >= _LEAST_ALIKE and may_clash(one.text, other.text, alike):
                pairs.setdefault((one.text, other.text), _Pair(alike, one, other))
    return sorted(pairs.values(), key=lambda pair: -pair.alike)[:MOST_COMPARED]


def _rested_on(state: ResearchState, claim: Claim) -> Statement:
    verdict = claim.verdict
    name = verdict.evidence if verdict else ""
    return Statement(verdict.quote if verdict else "", name, state.evidence_named(name).source, claim)


def _sentences(state: ResearchState) -> Iterator[Statement]:
    for evidence in state.evidence:
        for start, end in split_sentences(evidence.text):
            yield Statement(evidence.text[start:end], evidence.id, evidence.source)


def _likeness(one: Statement, other: Statement) -> float:
    """Score how likely two statements have the same subject: by their claims' subjects, or by terms."""
    if one.claim and other.claim and _are_about_the_same(one.claim, other.claim):
        return 1.0
    ours, theirs = _words(one.text), _words(other.text)
    shared = ours & theirs
    if len(shared) < _LEAST_SHARED:
        return 0.0
    return len(shared) / min(len(ours), len(theirs))


def _are_about_the_same(one: Claim, other: Claim) -> bool:
    if not one.attribute or not other.attribute:
        return False
    periods = [quantities(text) for text in (one.period, other.period)]
    if all(periods) and not any(agrees(a, b) for a in periods[0] for b in periods[1]):
        return False
    return _is_alike(one.attribute, other.attribute) and _is_alike(one.entity, other.entity)


def _is_alike(one: str, other: str) -> bool:
    ours, theirs = set(terms(one)), set(terms(other))
    return not ours or not theirs or len(ours & theirs) >= 0.6 * min(len(ours), len(theirs))


def _words(text: str) -> frozenset[str]:
    """Return the terms of a text that are no numbers."""
    return frozenset(one for one in terms(text) if not one.isdigit())


def may_clash(one: str, other: str, alike: float = 0.0) -> bool:
    """Whether two sentences give different values of one kind, or one reverses the other. Nearly equal sentences need
    only one different value."""
    ours, theirs = _values(one), _values(other)
    for kind in {_kind(value) for value in ours} & {_kind(value) for value in theirs}:
        mine, yours = ([value for value in side if _kind(value) == kind] for side in (ours, theirs))
        odd, even = _unmatched(mine, yours), _unmatched(yours, mine)
        if odd and even and (alike >= _NEARLY_THE_SAME or len(odd) == len(mine)):
            return True
    if is_reversed(one, [other]) or is_reversed(other, [one]):
        return True
    return is_negated(one) != is_negated(other) and not (ours and theirs)


def _unmatched(values: Sequence[Quantity], others: Sequence[Quantity]) -> list[Quantity]:
    return [one for one in values if not any(agrees(one, other) or agrees(other, one) for other in others)]


def _values(text: str) -> list[Quantity]:
    return [one for one in quantities(text) if not (one.kind in SOFT and abs(one.value) <= 1)]


def _kind(value: Quantity) -> str:
    """Return the kind by which values are compared: values of one unit, dates, and bare numbers."""
    if value.kind in _DATES:
        return "date" if value.kind == "date" else value.kind
    if value.kind in ("percent", "points"):
        return "percent"
    return "number" if value.kind in SOFT else f"{value.kind} {value.unit}"


def gathered(state: ResearchState, clashes: Sequence[tuple[Statement, Statement]]) -> list[Disagreement]:
    """Group the contradictions of one statement into a disagreement; equivalent statements form one side."""
    groups: list[list[list[Statement]]] = []
    for one, other in clashes:
        known = next((sides for sides in groups if any(one in side or other in side for side in sides)), None)
        if known is None:
            groups.append(known := [])
        for statement in (one, other):
            _add(known, statement)
    return [
        Disagreement(_about(sides[0][0]), tuple(_side(state, side) for side in sides))
        for sides in groups
        if len(sides) > 1
    ]


def _add(sides: list[list[Statement]], statement: Statement) -> None:
    if any(statement in side for side in sides):
        return
    for side in sides:
        if all(not may_clash(statement.text, one.text) for one in side):
            side.append(statement)
            return
    sides.append([statement])


def _side(state: ResearchState, statements: Sequence[Statement]) -> Side:
    first = next((one for one in statements if one.claim), statements[0])
    names = list(dict.fromkeys(one.evidence for one in statements))
    if first.claim:
        names += [name for name in first.claim.evidence if name not in names and _says(state, name, first.text)]
    return Side(first.text, tuple(names), max(1, len(origins(state, names))))


def _says(state: ResearchState, name: str, text: str) -> bool:
    """Whether evidence cited with a sentence says the same as it."""
    sentences = [one.text for one in _sentences(state) if one.evidence == name]
    return any(support_score(text, one) >= 0.6 and not may_clash(text, one) for one in sentences)


def _about(statement: Statement) -> str:
    claim = statement.claim
    if claim is None:
        return statement.text
    return ": ".join(filter(None, (claim.entity, claim.attribute))) if claim.attribute else claim.text
