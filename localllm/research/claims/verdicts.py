"""Judge one claim by the passages that its sentence cites.

Rules only reject. A claim that passes them is judged by the model, which quotes the decisive words; the quote must be
in the passages, and the sentences around it must pass the rules again. This catches, as far as rules can, a model that
agrees with everything and quotes something unrelated.
"""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.claims.claim_checks import Refusal, best_passages, refuse, refuse_quoted
from localllm.research.claims.independence import is_disputed_by_copies
from localllm.research.records import Claim, Evidence, Label, Remark, ResearchState, Verdict
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXT, AnswerUnusable, answer_schema, choice
from localllm.research.run_context import RunContext
from localllm.text.quotes import Span, difference, find_quote, split_sentences, whole_sentences

_VERDICT = answer_schema(quote=TEXT, verdict=choice("supported", "partial", "contradicted", "not_found"))

MOST_PASSAGES = 3
_AROUND = 700
"""Characters of the page on each side of a quote that are searched for adjacent sentences."""

_BEGINNING = 400
"""Characters of a page's beginning, which names its subject."""

_SHOWN_ID = late_pattern(r"^\s*\[E\d+\]:?\s*")
"""The id before a passage, which small models copy with its text."""

_OMISSION = late_pattern(r"\s*(?:\[(?:…|\.\.\.)\]|…+|\.{3,})\s*")

_REASONS = {
    "partial": N_("Only a part of it is in the passages cited."),
    "contradicted": N_("The passages cited say something else."),
    "not_found": N_("The passages cited do not say it."),
}
_IS_THERE = N_("The model did not find it in the passages cited, which have this very sentence.")
_UNREADABLE = N_("The model's verdict could not be read.")
_NO_QUOTE = N_("The model called it supported, but what it quotes is not in the passages cited.")
_OTHER_QUOTE = N_("The model called it supported, but the sentence it quotes does not say so: {reason}")
_ALTERED = N_("Copies of this page differ here, and nothing shows which one was altered.")


class Place(NamedTuple):
    """The position of a quote: the page's whole sentences there, and the same with adjacent sentences."""

    evidence: Evidence
    words: str
    around: str


async def judge(run: RunContext, claim: Claim) -> Verdict:
    """Judge a claim. Raises BudgetSpent if the model is needed and the budget is spent."""
    cited = [one for one in run.state.evidence if one.id in claim.evidence]
    context = [text for one in cited for text in context_of(run, one)]
    if refusal := refuse(claim.text, [one.text for one in cited], today=run.state.today, context=context):
        return _rejected(refusal)
    return await judge_by(run, claim.text, shown_passages(claim.text, cited))


async def judge_by(run: RunContext, claim: str, shown: Sequence[Evidence]) -> Verdict:
    """Have the model judge a claim by these passages, as far as its quote supports the verdict. Raises BudgetSpent."""
    values = {"passages": "\n\n".join(_shown(run.state, one) for one in shown), "claim": claim}
    try:
        answer = await run.roles.ask("verdict", values, _VERDICT)
    except AnswerUnusable:
        return Verdict("not_verified", "model", remark(_UNREADABLE))
    return settle(run, claim, shown, str(answer["verdict"]), str(answer["quote"]))


def shown_passages(claim: str, cited: Sequence[Evidence]) -> list[Evidence]:
    """Return the best passages for a claim, sorted by id, so that claims of one sentence share a prompt prefix."""
    best = {one.id for one in best_passages(claim, cited, MOST_PASSAGES)}
    return [one for one in cited if one.id in best]


def context_of(run: RunContext, evidence: Evidence) -> list[str]:
    """Return the parts of a page that name its subject: title and beginning."""
    source = run.state.source(evidence.source)
    return [source.title, run.store.text(source.text_hash)[:_BEGINNING] if source.text_hash else ""]


def _shown(state: ResearchState, evidence: Evidence) -> str:
    return f"[{evidence.id}] ({state.source(evidence.source).title})\n{evidence.text}"


def settle(run: RunContext, claim: str, shown: Sequence[Evidence], said: str, quote: str) -> Verdict:
    """Revise the model's verdict after searching for its quote."""
    place = find_place(run, quote, shown)
    where = {"quote": place.words, "evidence": place.evidence.id} if place else {}
    if said != "supported":
        label: Label = "partial" if said == "partial" else "contradicted" if said == "contradicted" else "not_found"
        if label == "contradicted" and place is None:
            label = "not_found"  # the contradicting quote was not found
        if label in ("not_found", "partial") and _is_sentence(claim, shown):
            return Verdict("not_verified", "mechanics", remark(_IS_THERE))
        return Verdict(label, "model", remark(_REASONS[label]), **where)
    if place is None:
        return Verdict("not_verified", "mechanics", remark(_NO_QUOTE))
    source = run.state.source(place.evidence.source)
    if is_disputed_by_copies(run, source, place.words):
        return Verdict("contradicted", "mechanics", remark(_ALTERED), **where)
    context = context_of(run, place.evidence)
    if refusal := refuse(claim, [place.around], today=run.state.today, context=context) or refuse_quoted(
        claim, place.words
    ):
        return Verdict("not_found", "mechanics", remark(_OTHER_QUOTE, reason=_reason(refusal)), **where)
    return Verdict("supported", "model", None, **where)


def _is_sentence(claim: str, shown: Sequence[Evidence]) -> bool:
    """Return whether the claim is a whole sentence of a passage, but for punctuation."""
    wanted = _letters(claim)
    return bool(wanted) and any(
        _letters(one.text[span.start : span.end]) == wanted for one in shown for span in split_sentences(one.text)
    )


def _letters(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())


def _rejected(refusal: Refusal) -> Verdict:
    return Verdict("not_found", "mechanics", _reason(refusal))


def _reason(refusal: Refusal) -> Remark:
    return remark(refusal.reason, **refusal.params)


def find_place(run: RunContext, quote: str, shown: Sequence[Evidence]) -> Place | None:
    """Find a quote in the passages, verbatim, or all parts of it around omissions; None if not found."""
    words = _SHOWN_ID.sub("", quote).strip()
    for title in {f"({run.state.source(one.source).title})" for one in shown}:  # copied with the passage
        words = words.removeprefix(title).strip()
    parts = [one for one in _OMISSION.split(words) if one.strip()]
    places = [_place_of(run, part, shown) for part in parts]
    if not places or None in places:
        return None
    found = [one for one in places if one]
    around = "\n".join(dict.fromkeys(one.around for one in found))
    return found[0]._replace(around=around)


def _place_of(run: RunContext, quote: str, shown: Sequence[Evidence]) -> Place | None:
    for evidence in shown:
        span = find_quote(quote, evidence.text)
        if span is None or difference(quote, evidence.text[span.start : span.end]):
            continue
        text = run.store.text(run.state.source(evidence.source).text_hash)
        at = Span(evidence.start + span.start, evidence.start + span.end)
        whole = whole_sentences(text, at)
        return Place(evidence, text[whole.start : whole.end].strip(), _with_neighbours(text, whole))
    return None


def _with_neighbours(text: str, span: Span) -> str:
    """Return the sentences of a span with the adjacent ones."""
    base = max(0, span.start - _AROUND)
    near = [Span(one.start + base, one.end + base) for one in split_sentences(text[base : span.end + _AROUND])]
    touched = [place for place, one in enumerate(near) if one.start < span.end and one.end > span.start]
    if not touched:
        return text[span.start : span.end]
    first, last = near[max(0, touched[0] - 1)], near[min(len(near) - 1, touched[-1] + 1)]
    return text[first.start : last.end]
