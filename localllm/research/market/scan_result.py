"""Assemble the result of a scan: search results, insights by purpose, missing purposes with reasons."""

from collections.abc import Sequence

from localllm.base.i18n import N_, sentences, translated
from localllm.research.market.insights import Findings
from localllm.research.market.market_records import (
    PURPOSES,
    Applicability,
    GlobalInsights,
    JapaneseInsights,
    MarketPurpose,
    MarketQuerySet,
    MarketSummary,
    Missing,
    SearchResponse,
    SearchResults,
    SourceAddresses,
    region_of,
)
from localllm.research.market.market_summary import Digest
from localllm.research.market.search_result_processor import SearchResultProcessor
from localllm.research.market.sensitive_content import SensitiveContent
from localllm.research.remark_texts import in_words
from localllm.research.run_context import RunContext, local_now

_NOT_ASKED = N_("It was not searched for: the window of the model is too small for all queries.")
_NOTHING_FOUND = N_("The search found nothing.")
_ALL_LEFT_OUT = N_("All that was found had sensitive content, or was found for another purpose already.")
_NOTHING_NOTED = N_("Nothing about it was noted in what was found.")
_UNSUPPORTED = N_("Nothing that was noted about it is supported by its source.")


def collect_results(
    responses: Sequence[SearchResponse],
    processor: SearchResultProcessor,
    sensitive: SensitiveContent,
    milliseconds: int,
) -> SearchResults:
    """Collect the results by region, without sensitive ones and duplicates."""
    found = [result for response in responses for result in response.results]
    harmless, left_out = sensitive.leave_out(found)
    distinct = processor.remove_duplicates(harmless)
    regions = processor.categorize_by_region(distinct)
    return SearchResults(
        japanese=regions.japanese,
        global_=regions.global_,
        search_time=milliseconds,
        total_results=len(found),
        duplicates=len(harmless) - len(distinct),
        left_out=left_out,
    )


def missing_purposes(
    run: RunContext,
    purposes: Sequence[MarketPurpose],
    responses: Sequence[SearchResponse],
    results: SearchResults,
    findings: Findings,
) -> list[Missing]:
    """Return the purposes without a supported insight, with the reason."""
    by_purpose = {response.query.purpose: response for response in responses}
    kept = {result.purpose for result in (*results.japanese, *results.global_)}

    def why(purpose: MarketPurpose) -> str:
        response = by_purpose.get(purpose)
        if response is None:
            return _NOT_ASKED
        if response.failed:
            return sentences(*(error.what for error in response.errors))
        if not response.results:
            return _NOTHING_FOUND
        if purpose not in kept:
            return _ALL_LEFT_OUT
        return _UNSUPPORTED if findings.of(purpose, supported=False) else _NOTHING_NOTED

    return [Missing(purpose=one, reason=translated(run.language, why(one))) for one in purposes if not findings.of(one)]


def whole_summary(
    run: RunContext,
    queries: MarketQuerySet,
    results: SearchResults,
    findings: Findings,
    applied: Sequence[Applicability],
    digest: Digest,
    missing: Sequence[Missing],
) -> MarketSummary:
    """Assemble the result of a scan from its parts."""

    def texts(purpose: MarketPurpose) -> tuple[str, ...]:
        return tuple(one.insight.text for one in findings.of(purpose))

    joined = "" if run.language == "ja" else " "
    insights = [one.insight for one in findings.noted]
    addresses = {
        region: tuple(
            dict.fromkeys(one.source_url for one in insights if one.supported and region_of(one.purpose) == region)
        )
        for region in ("jp", "global")
    }
    return MarketSummary(
        theme=run.state.question,
        language="ja" if run.language == "ja" else "en",
        model=run.state.model,
        queries=queries,
        raw_results=results,
        insights=JapaneseInsights(
            market_size=joined.join(texts("market_size")),
            competitors=texts("competitors"),
            trends=texts("trends"),
            regulations=texts("regulations"),
            customer_needs=texts("needs"),
        ),
        global_insights=GlobalInsights(
            innovations=texts("startups"),
            technologies=texts("technology"),
            best_practices=texts("best_practices"),
            applicability=joined.join(one.what.text for one in applied if one.what),
        ),
        sources=SourceAddresses(japanese=addresses["jp"], global_=addresses["global"]),
        summary=digest.summary,
        key_findings=digest.key_findings,
        recommendations=digest.recommendations,
        findings=tuple(sorted(insights, key=lambda one: PURPOSES.index(one.purpose))),
        applicability=tuple(applied),
        missing=tuple(missing),
        remarks=tuple(in_words(one, run.language) for one in run.state.remarks),
        generated_at=local_now(),
    )
