"""Take evidence from sources: the model points at sentences, the page's own words at that place are what is kept.

A quote that is not in the stored text is thrown away, whatever the model says, and so is one that differs from it in a
number, a unit, a negation or a name.
"""

from collections.abc import Sequence

import msgspec

from localllm.base.i18n import N_
from localllm.llm.tokens import estimate_tokens
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Evidence, Query, ResearchState, Source
from localllm.research.role_answers import TEXTS, YES_OR_NO, answer_schema
from localllm.research.role_protocol import AnswerUnusable, remark, texts_of
from localllm.research.run_context import RunContext
from localllm.research.run_events import NotesTaken
from localllm.text import quotes
from localllm.text.bm25 import Bm25
from localllm.text.model_orders import speaks_to_model
from localllm.text.near_duplicates import counterpart
from localllm.text.quotes import Span
from localllm.text.sentences import split_sentences
from localllm.text.tokenising import terms

_NOTES = answer_schema(relevant=YES_OR_NO, quotes=TEXTS)

WINDOW = 6_000
"""Characters of a part of a page that the model reads."""

_WINDOWS = 2
_STEP = 1_500
_READ_TOKENS = 4_000
"""Tokens of those parts together, as estimated; what is left of the window is the question's and the answer's."""

_MOST_QUOTES = 8
_SHORTEST = 12
_LEAD = 160
"""Characters before a sentence that are looked at for orders to whoever reads."""
_LONGEST_MERGED = 900
"""Characters."""

_PURPOSES = {
    "viewpoint": "Find what answers the question.",
    "more_sources": "Find what answers the question.",
    "primary_source": "Find what whoever must know first-hand says of this: ",
    "counter_evidence": "Find what speaks for or against this: ",
    "second_source": "Find what confirms or denies this: ",
    "gap": "Find what tells of this: ",
}


async def take_notes(run: RunContext, sources: Sequence[Source]) -> None:
    """Take the evidence of newly read sources into the state. Where the budget is spent the rest is left out."""
    for number, source in enumerate(sources):
        if source.copy_of:
            _take_changes(run, source)
            continue
        try:
            said = await _quotes_of(run, source)
        except BudgetSpent:
            text = N_(
                "The budget is spent: one page was not read.", "The budget is spent: {count} pages were not read."
            )
            run.remark(remark(text, count=len(sources) - number))
            run.state.partial = True
            return
        keep_quotes(run, source, said)


async def _quotes_of(run: RunContext, source: Source) -> list[str]:
    state = run.state
    brief = state.brief
    values = {
        "question": state.question,
        "needs": "\n".join(f"- {need}" for need in brief.needs) if brief else "",
        "purpose": _purpose(state, source),
        "page": f"{source.title}\n\n{shown_of(run.store.text(source.text_hash), _asked(state, source))}",
    }
    try:
        answer = await run.roles.ask("reader", values, _NOTES)
    except AnswerUnusable:
        run.remark(remark(N_("The model could not take notes of {url}."), url=source.url))
        return []
    return texts_of(answer, "quotes") if answer["relevant"] else []


def keep_quotes(run: RunContext, source: Source, said: Sequence[str]) -> None:
    """Keep what of the model's quotes is in the source's text, as that has it; count the others."""
    text = run.store.text(source.text_hash)
    kept = dropped = 0
    for quote in said[:_MOST_QUOTES]:
        span = quotes.find_quote(quote, text)
        if span is None or quotes.difference(quote, text[span.start : span.end]):
            dropped += 1
            continue
        whole = quotes.whole_sentences(text, span)
        if speaks_to_model(_with_lead(text, whole)):
            run.remark(remark(N_("{url} gives orders to language models; nothing of them was taken."), url=source.url))
            dropped += 1
        elif len(text[whole.start : whole.end].strip()) >= _SHORTEST:
            kept += add_evidence(run.state, source, text, whole)
    run.state.numbers.quotes_dropped += dropped
    run.tell(NotesTaken(run=run.state.id, source=source.id, evidence=kept, dropped=dropped))


def _with_lead(text: str, span: Span) -> str:
    """The sentences of a span with what stands shortly before them in their paragraph: orders may begin there."""
    before = text[max(0, span.start - _LEAD) : span.start]
    return before.rpartition("\n")[2] + text[span.start : span.end]


def _take_changes(run: RunContext, copy: Source) -> None:
    """Of a copy, take the sentences in which it says something else than what was noted of the original."""
    text = run.store.text(copy.text_hash)
    taken = 0
    noted = [one.text for one in run.state.evidence if one.source == copy.copy_of]
    for sentence in [one[start:end] for one in noted for start, end in split_sentences(one)]:
        span = counterpart(sentence, text)
        if span and quotes.difference(sentence, text[span.start : span.end]):
            taken += add_evidence(run.state, copy, text, quotes.whole_sentences(text, span))
    run.tell(NotesTaken(run=run.state.id, source=copy.id, evidence=taken, dropped=0))


def add_evidence(state: ResearchState, source: Source, text: str, span: Span) -> bool:
    """Take a passage in; where it overlaps one of the same source they become one. Whether there is a new one."""
    start, end = span
    for place, known in enumerate(state.evidence):
        if known.source != source.id or known.end <= start or known.start >= end:
            continue
        first, last = min(start, known.start), max(end, known.end)
        if last - first > _LONGEST_MERGED:
            start, end = (known.end, end) if end > known.end else (start, known.start)
            if len(text[start:end].strip()) < _SHORTEST:
                return False
            continue
        state.evidence[place] = msgspec.structs.replace(known, start=first, end=last, text=text[first:last])
        return False
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    state.evidence.append(Evidence(state.new_id("E"), source.id, start, end, text[start:end], state.round))
    return True


def shown_of(text: str, asked: str) -> str:
    """The parts of a page that fit what is asked best, in the order of the page, as much as the model can read."""
    size = WINDOW
    while True:
        shown = "\n[…]\n".join(text[start:end].strip() for start, end in best_windows(text, asked, size))
        tokens = estimate_tokens(shown)
        if tokens <= _READ_TOKENS:
            return shown
        size = int(size * max(0.5, 0.95 * _READ_TOKENS / tokens))


def best_windows(text: str, asked: str, size: int = WINDOW) -> list[Span]:
    """At most two windows of `size` characters, those that fit best by BM25, in their order; all where it fits."""
    if len(text) <= size * _WINDOWS:
        return [Span(0, len(text))]
    step = max(200, min(_STEP, size // 4))
    index = Bm25({str(start): terms(text[start : start + size]) for start in range(0, len(text) - step, step)})
    ranked = [int(name) for name, _score in index.best(terms(asked), len(index))]
    chosen: list[int] = []
    for start in [*ranked, 0, size]:
        if all(abs(start - other) >= size for other in chosen):
            chosen.append(start)
        if len(chosen) == _WINDOWS:
            break
    return [Span(start, min(start + size, len(text))) for start in sorted(chosen)]


def _asked(state: ResearchState, source: Source) -> str:
    """What the windows are chosen for."""
    needs = state.brief.needs if state.brief else ()
    return " ".join([state.question, *needs, *source.queries])


def _purpose(state: ResearchState, source: Source) -> str:
    """What the source was looked for."""
    aims: list[Query] = [one for one in state.queries if one.round == state.round and one.text in source.queries]
    if not aims or aims[0].purpose in ("viewpoint", "more_sources"):
        return _PURPOSES["viewpoint"]
    claims = {claim.id: claim.text for claim in state.claims}
    return f"{_PURPOSES[aims[0].purpose]}{claims.get(aims[0].claim, aims[0].text)}"
