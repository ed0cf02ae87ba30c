"""Extract evidence from sources: the model selects sentences, the page's own text is stored.

A quote that is not in the stored text, or differs from it in a number, a unit, a negation or a name, is discarded.
"""

import re
from collections.abc import Sequence
from itertools import islice

import msgspec

from localllm.base.i18n import N_
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tokens import estimate_tokens
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Evidence, Query, ResearchState, Source
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXTS, YES_OR_NO, AnswerUnusable, answer_schema, texts_of
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
"""Characters of a window of a page shown to the model."""

_WINDOWS = 2
_STEP = 1_500
_READ_TOKENS = 4_000
"""Estimated tokens of the windows together; the rest of the window is for question and answer."""

_MOST_QUOTES = 8
_SHORTEST = 12
_MOST_CANDIDATES = 30
"""Sentences of an unusable answer that are looked up in the page."""
_STRING = late_pattern(r'"((?>(?:[^"\\]|\\.)+))"')
_VERDICT = late_pattern(r'"relevant"\s*+:\s*+(true|false)\b')
_NOT_RELEVANT = late_pattern(
    r"^\W*+not relevant\b"
    r"|\b(?:page|text|document|article|source|content|it|this) (?:(?:is not|isn['’]t) relevant|is irrelevant)\b"
    r"|(?:ページ|文書|本文|記事|内容)は[^。\n]{0,60}関[係連]性?[がはも]?(?:ありません|ない|なし|しない|しません)",
    re.IGNORECASE,
)
"""The model's own words that a page tells nothing of the question."""
_MARKS = ' \t*•-–>"“”„,'
_HEADING = late_pattern(r"\s{0,3}#{1,6}\s|--- page \d+ of \d+ ---\s*$")
"""A heading of Markdown, or the mark of a PDF's page."""
_LEAD = 160
"""Characters before a sentence that are scanned for prompt injection."""
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
    """Extract the evidence of newly read sources. Stops when the budget is spent."""
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
    except AnswerUnusable as error:
        text = run.store.text(source.text_hash)
        if _denies_relevance(error.text, text):
            return []
        said = _quotes_in(error.text, text)
        if not said:
            run.remark(remark(N_("The model could not take notes on {url}."), url=source.url))
        return said
    return texts_of(answer, "quotes") if answer["relevant"] else []


def _quotes_in(answer: str, text: str) -> list[str]:
    """Return the sentences of the page in an answer that is no object as asked for: a truncated one, a list, prose."""
    strings = [_decoded(found[0]) for found in _STRING.finditer(answer)]
    candidates = dict.fromkeys(one for one in (*strings, *_sentences(answer)) if len(one) >= _SHORTEST)
    return [one for one in islice(candidates, _MOST_CANDIDATES) if quotes.find_quote(one, text)]


def _denies_relevance(answer: str, text: str) -> bool:
    """Whether such an answer says that the page is not relevant: as a field, or in a sentence that is none of the
    page's."""
    if verdict := _VERDICT.search(answer):
        return verdict[1] == "false"
    denials = (one for one in _sentences(answer) if _NOT_RELEVANT.search(one))
    return any(not quotes.find_quote(one, text) for one in islice(denials, _MOST_CANDIDATES))


def _sentences(answer: str) -> list[str]:
    lines = [line.strip(_MARKS) for line in answer.splitlines()]
    return [line[start:end].strip(_MARKS) for line in lines for start, end in split_sentences(line)]


def _decoded(literal: str) -> str:
    """Return the text of a string of JSON, or of one that is nearly JSON."""
    try:
        return decode_json(literal, str)
    except msgspec.DecodeError:
        return literal[1:-1].replace('\\"', '"').replace("\\n", "\n")


def keep_quotes(run: RunContext, source: Source, said: Sequence[str]) -> None:
    """Keep the model's quotes that are in the source's text, in its wording; count the others."""
    text = run.store.text(source.text_hash)
    kept = dropped = 0
    for quote in said[:_MOST_QUOTES]:
        span = quotes.find_quote(quote, text)
        if span is None or quotes.difference(quote, text[span.start : span.end]):
            dropped += 1
            continue
        whole = quotes.whole_sentences(text, span)
        if instructs_model(run, source, text, whole):
            dropped += 1
            continue
        start = _after_headings(text, whole)
        if len(text[start : whole.end].strip()) >= _SHORTEST:
            kept += add_evidence(run.state, source, text, Span(start, whole.end))
    run.state.numbers.quotes_dropped += dropped
    run.tell(NotesTaken(run=run.state.id, source=source.id, evidence=kept, dropped=dropped))


def _after_headings(text: str, span: Span) -> int:
    """Return where a passage begins after its headings, which state nothing."""
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        if line.strip() and not _HEADING.match(line):
            break
        start += len(line)
    return start


def instructs_model(run: RunContext, source: Source, text: str, span: Span) -> bool:
    """Return whether a span of a page gives instructions to language models; remark on the page if it does."""
    if not speaks_to_model(_with_lead(text, span)):
        return False
    run.remark(remark(N_("{url} gives instructions to language models; nothing from them was used."), url=source.url))
    return True


def _with_lead(text: str, span: Span) -> str:
    """Return the sentences of a span with the preceding text of their paragraph, where an injected instruction may
    begin."""
    before = text[max(0, span.start - _LEAD) : span.start]
    return before.rpartition("\n")[2] + text[span.start : span.end]


def _take_changes(run: RunContext, copy: Source) -> None:
    """Extract the sentences of a copy that differ from the evidence of the original."""
    text = run.store.text(copy.text_hash)
    taken = 0
    noted = [one.text for one in run.state.evidence if one.source == copy.copy_of]
    for sentence in [one[start:end] for one in noted for start, end in split_sentences(one)]:
        span = counterpart(sentence, text)
        if span and quotes.difference(sentence, text[span.start : span.end]):
            taken += add_evidence(run.state, copy, text, quotes.whole_sentences(text, span))
    run.tell(NotesTaken(run=run.state.id, source=copy.id, evidence=taken, dropped=0))


def add_evidence(state: ResearchState, source: Source, text: str, span: Span) -> bool:
    """Add a passage, merging it with an overlapping one of the same source. Returns whether it is new."""
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
    """Return the best matching parts of a page, in page order, up to the model's limit."""
    size = WINDOW
    while True:
        shown = "\n[…]\n".join(text[start:end].strip() for start, end in best_windows(text, asked, size))
        tokens = estimate_tokens(shown)
        if tokens <= _READ_TOKENS:
            return shown
        size = int(size * max(0.5, 0.95 * _READ_TOKENS / tokens))


def best_windows(text: str, asked: str, size: int = WINDOW) -> list[Span]:
    """Return the best windows of `size` characters by BM25, at most two, in order; the whole text if it fits."""
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
    """Return the text that windows are matched against."""
    needs = state.brief.needs if state.brief else ()
    return " ".join([state.question, *needs, *source.queries])


def _purpose(state: ResearchState, source: Source) -> str:
    """Return the purpose of the queries that found the source."""
    aims: list[Query] = [one for one in state.queries if one.round == state.round and one.text in source.queries]
    if not aims or aims[0].purpose in ("viewpoint", "more_sources"):
        return _PURPOSES["viewpoint"]
    claims = {claim.id: claim.text for claim in state.claims}
    return f"{_PURPOSES[aims[0].purpose]}{claims.get(aims[0].claim, aims[0].text)}"
