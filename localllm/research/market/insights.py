"""Read the results of each purpose and extract insights, each with a quote and checked like a claim."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import msgspec

from localllm.base.i18n import N_
from localllm.research.claims.verdicts import judge
from localllm.research.evidence import add_evidence, instructs_model, shown_of
from localllm.research.market.market_queries import looked_for
from localllm.research.market.market_records import FoundResult, Insight, MarketPurpose
from localllm.research.market.sensitive_content import SensitiveContent
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Claim, Evidence, Source, Verdict
from localllm.research.remark_texts import in_words, remark
from localllm.research.role_answers import TEXT, AnswerUnusable, answer_schema, several
from localllm.research.run_context import RunContext, local_now
from localllm.research.run_events import ClaimChecked
from localllm.research.run_store import StoredPage
from localllm.research.source_reading import mark_copies, read_batch
from localllm.text import quotes
from localllm.text.sanitising import clean

_INSIGHTS = answer_schema(insights=several(quote=TEXT, text=TEXT))

_MOST_OF_A_SOURCE = 3
_MOST_OF_A_PURPOSE = 5
_TRIES = 3
"""Rounds of reading: an unreadable page is replaced by the next result of its purpose."""

_SHORTEST = 8
"""Characters of a quote."""

_LIST = "results:"
"""Prefix of the address under which the text of a search result is stored."""


class NotedInsight(NamedTuple):
    """An insight and its evidence."""

    insight: Insight
    evidence: Evidence


@dataclass
class Findings:
    """The insights so far."""

    noted: list[NotedInsight] = field(default_factory=list[NotedInsight])
    dropped: int = 0
    """Insights whose quote is not in the source."""
    sensitive: int = 0
    """Insights with personal data."""

    def of(self, *purposes: MarketPurpose, supported: bool = True) -> list[NotedInsight]:
        """Return the insights of some purposes, in order."""
        return [one for one in self.noted if one.insight.purpose in purposes and one.insight.supported is supported]


class PurposeSources(NamedTuple):
    """The sources of a purpose: pages, or its search results."""

    purpose: MarketPurpose
    sources: tuple[Source, ...]
    is_list: bool


async def read_purposes(
    run: RunContext, results: Sequence[FoundResult], purposes: Sequence[MarketPurpose], pages: int
) -> list[PurposeSources]:
    """Read the sources of each purpose: `pages` readable pages, else its result list."""
    ids: dict[MarketPurpose, list[str]] = {one: [] for one in purposes}
    for result in results:
        ids[result.purpose].append(_source_of(run, result).id)
    read: dict[MarketPurpose, list[str]] = {one: [] for one in purposes}
    waiting = {one: list(ids[one]) for one in purposes}
    for _round in range(_TRIES if pages else 0):
        wanted: dict[MarketPurpose, list[str]] = {one: waiting[one][: pages - len(read[one])] for one in purposes}
        batch = [run.state.source(name) for names in wanted.values() for name in names]
        if not batch:
            break
        await read_batch(run, batch)
        for purpose, names in wanted.items():
            waiting[purpose] = waiting[purpose][len(names) :]
            read[purpose] += [name for name in names if run.state.source(name).state == "read"]
    mark_copies(run, [name for names in read.values() for name in names])
    return [_sources_of(run, one, read[one], ids[one]) for one in purposes]


def _sources_of(run: RunContext, purpose: MarketPurpose, read: Sequence[str], found: Sequence[str]) -> PurposeSources:
    pages = [run.state.source(name) for name in read]
    originals = tuple(one for one in pages if one.copy_of not in read)  # read again if read for another purpose
    if originals or not found:
        return PurposeSources(purpose, originals, is_list=False)
    listed = [_listed(run, run.state.source(name)) for name in found]
    return PurposeSources(purpose, tuple(one for one in listed if one.text_hash), is_list=True)


def _source_of(run: RunContext, result: FoundResult) -> Source:
    source = Source(
        id=run.state.new_id("S"),
        url=result.url,
        title=clean(result.title, keep_newlines=False),
        site=urlsplit(result.url).hostname or result.url,
        snippet=clean(result.snippet, keep_newlines=False),
    )
    run.state.sources.append(source)
    return source


def _listed(run: RunContext, source: Source) -> Source:
    """Register a search result as a source of its own, stored like a page."""
    state = run.state
    key, now = f"{_LIST}{source.url}", local_now()
    kept = run.store.keep_page(key, StoredPage(source.url, source.title, "result", now), source.snippet)
    listed = msgspec.structs.replace(
        source,
        id=state.new_id("S"),
        state="read",
        accessed=now,
        problem=None,
        text_hash=kept.text_hash,
        characters=kept.characters,
    )
    state.sources.append(listed)
    return listed


async def note_insights(run: RunContext, findings: Findings, of: PurposeSources, sensitive: SensitiveContent) -> None:
    """Extract and check the insights of a purpose. Raises BudgetSpent."""
    groups = [of.sources] if of.is_list else [(one,) for one in of.sources]
    for sources in filter(None, groups):
        said = await _asked(run, of, sources)
        for quote, text in said[: _MOST_OF_A_PURPOSE if of.is_list else _MOST_OF_A_SOURCE]:
            if len([one for one in findings.noted if one.insight.purpose == of.purpose]) >= _MOST_OF_A_PURPOSE:
                return
            await _take(run, findings, of, sources, quote, text, sensitive)


async def _asked(run: RunContext, of: PurposeSources, sources: Sequence[Source]) -> list[tuple[str, str]]:
    """Have the model extract quotes with their statements."""
    wanted = looked_for(of.purpose)
    if of.is_list:
        shown = "\n\n".join(f"{one.title}\n{one.snippet}" for one in sources)
    else:
        shown = f"{sources[0].title}\n\n" + shown_of(
            run.store.text(sources[0].text_hash), f"{run.state.question} {wanted}"
        )
    values = {"theme": run.state.question, "looked_for": wanted, "page": shown}
    try:
        answer = await run.roles.ask("market_reader", values, _INSIGHTS)
    except AnswerUnusable:
        run.remark(remark(N_("The model could not take notes on {url}."), url=sources[0].url))
        return []
    return [(one["quote"], " ".join(one["text"].split())) for one in cast("list[dict[str, str]]", answer["insights"])]


async def _take(
    run: RunContext,
    findings: Findings,
    of: PurposeSources,
    sources: Sequence[Source],
    quote: str,
    text: str,
    sensitive: SensitiveContent,
) -> None:
    """Add an insight if its quote is in a source; otherwise count it."""
    evidence = find_evidence(run, sources, quote)
    if evidence is None or not text:
        findings.dropped += 1
        run.state.numbers.quotes_dropped += 1
        return
    words = evidence.text
    if sensitive.kind_of(words) or sensitive.kind_of(text):
        findings.sensitive += 1
        return
    if any(one.insight.text == text for one in findings.noted):
        return
    verdict = await check_claim(run, text, [evidence])
    source = run.state.source(evidence.source)
    insight = Insight(
        id=f"I{len(findings.noted) + 1}",
        text=text,
        purpose=of.purpose,
        quote=words,
        source_url=source.url,
        source_title=source.title,
        origin="result_list" if of.is_list else "page",
        supported=verdict.label == "supported",
        label=verdict.label,
        reason=in_words(verdict.reason, run.language) if verdict.reason else "",
    )
    findings.noted.append(NotedInsight(insight, evidence))


async def check_claim(run: RunContext, text: str, evidence: Iterable[Evidence]) -> Verdict:
    """Judge a statement by its cited evidence, as a report's claim. Raises BudgetSpent."""
    names = tuple(dict.fromkeys(one.id for one in evidence))
    claim = Claim(id=run.state.new_id("C"), sentence="", text=text, evidence=names)
    try:
        verdict = await judge(run, claim)
    except BudgetSpent:
        run.state.claims.append(claim)
        raise
    run.state.claims.append(msgspec.structs.replace(claim, verdict=verdict))
    run.state.numbers.claims_checked += 1
    run.tell(ClaimChecked(run=run.state.id, claim=text, label=verdict.label))
    return verdict


def find_evidence(run: RunContext, sources: Sequence[Source], quote: str) -> Evidence | None:
    """Return the source's whole sentences around a quote; None if it is not found, or they instruct models."""
    if len(quote.strip()) < _SHORTEST:
        return None
    for source in sources:
        text = run.store.text(source.text_hash)
        span = quotes.find_quote(quote, text)
        if span is None or quotes.difference(quote, text[span.start : span.end]):
            continue
        whole = quotes.whole_sentences(text, span)
        if instructs_model(run, source, text, whole):
            return None
        add_evidence(run.state, source, text, whole)
        return next(
            (
                one
                for one in run.state.evidence
                if one.source == source.id and one.start < whole.end and one.end > whole.start
            ),
            None,
        )
    return None
