"""Process search results: deduplicate, extract quoted insights, assess foreign findings for Japan."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.i18n import N_
from localllm.research.market.applicability import judge_applicability
from localllm.research.market.insights import Findings, note_insights, read_purposes
from localllm.research.market.market_records import GLOBAL, JAPANESE, Applicability, FoundResult, MarketPurpose
from localllm.research.market.scan_events import ApplicabilityDone, PurposeDone
from localllm.research.market.sensitive_content import SensitiveContent
from localllm.research.model_calls import BudgetSpent
from localllm.research.remark_texts import remark
from localllm.research.run_context import RunContext
from localllm.web.canonical_urls import canonical_url

_MOST_APPLIED = 6
"""Foreign findings assessed for Japan."""

_MOST_SHOWN = 10
"""Findings about Japan shown with one of them."""


class CategorizedResults(NamedTuple):
    """Results by region."""

    japanese: tuple[FoundResult, ...]
    global_: tuple[FoundResult, ...]


class SearchResultProcessor:
    """Process the results of one scan. `pages` are read per purpose; 0 uses only the result lists."""

    def __init__(self, run: RunContext, sensitive: SensitiveContent, pages: int) -> None:
        self._run = run
        self._sensitive = sensitive
        self._pages = pages

    def remove_duplicates(self, results: Sequence[FoundResult]) -> list[FoundResult]:
        """Deduplicate results by page, in the given order: keep the one with the highest rank in its search whose
        purpose does not have enough pages to read by then; of several as high, the one whose purpose has fewest.

        A page on technology that the search for startups also returned, further down, is read for technology; but
        where that has its pages, it is read for startups.
        """
        places, taken = Counter[MarketPurpose](), Counter[MarketPurpose]()
        found: dict[str, list[tuple[int, int]]] = {}
        for number, result in enumerate(results):
            found.setdefault(canonical_url(result.url), []).append((places[result.purpose], number))
            places[result.purpose] += 1
        enough, kept = max(1, self._pages), list[int]()
        for ranked in sorted(map(sorted, found.values()), key=lambda ranked: (len(ranked) > 1, ranked)):
            having = [(place, taken[results[number].purpose], number) for place, number in ranked]
            wanting = [one for one in having if one[1] < enough]
            kept.append(min(wanting)[2] if wanting else ranked[0][1])
            taken[results[kept[-1]].purpose] += 1
        return [results[number] for number in sorted(kept)]

    def categorize_by_region(self, results: Sequence[FoundResult]) -> CategorizedResults:
        """Split the results into those about Japan and those about the world."""
        return CategorizedResults(
            tuple(one for one in results if one.region == "jp"),
            tuple(one for one in results if one.region == "global"),
        )

    async def extract_key_insights(self, results: Sequence[FoundResult], purposes: Sequence[MarketPurpose]) -> Findings:
        """Read the results of each purpose and extract insights, each checked against its quote.

        Stops when the budget is spent, which the report mentions.
        """
        run, findings = self._run, Findings()
        for of in await read_purposes(run, results, purposes, self._pages):
            try:
                await note_insights(run, findings, of, self._sensitive)
            except BudgetSpent:
                self._end_early()
                break
            noted = [one.insight for one in findings.noted if one.insight.purpose == of.purpose]
            supported = sum(one.supported for one in noted)
            run.tell(PurposeDone(run=run.state.id, purpose=of.purpose, insights=len(noted), supported=supported))
        self._say_what_is_left_out(findings)
        return findings

    def _say_what_is_left_out(self, findings: Findings) -> None:
        if findings.dropped:
            said = N_("Insights left out because their quote is in no source: {count}.")
            self._run.remark(remark(said, count=findings.dropped))
        if findings.sensitive:
            said = N_("Insights left out because of sensitive content: {count}.")
            self._run.remark(remark(said, count=findings.sensitive))

    async def analyze_applicability(self, findings: Findings) -> list[Applicability]:
        """Assess what each supported foreign finding could mean in Japan, the first of each purpose first."""
        run, found = self._run, list[Applicability]()
        abroad = [findings.of(purpose) for purpose in GLOBAL]
        longest = max(map(len, abroad), default=0)
        in_turn = [group[place] for place in range(longest) for group in abroad if group[place:]]
        japanese = findings.of(*JAPANESE)[:_MOST_SHOWN]
        try:
            for finding in in_turn[:_MOST_APPLIED]:
                if applied := await judge_applicability(run, finding, japanese):
                    found.append(applied)
        except BudgetSpent:
            self._end_early()
        if in_turn:
            run.tell(ApplicabilityDone(run=run.state.id, findings=len(found)))
        return found

    def _end_early(self) -> None:
        self._run.state.partial = True
        self._run.remark(remark(N_("The report is partial: the time or the tokens this run may use are used up.")))
