"""The market scan: eight searches on a theme in Japan and abroad, read, checked and summarised.

    queries → searches → processing (insights, applicability) → summary → record

Pages, answers and evidence are stored as for a research run, in `market/ID` of the work folder.
"""

import time
import uuid
from collections.abc import Callable
from datetime import date
from pathlib import Path

import msgspec

from localllm.base.errors import LocalLLMError, ResearchError, ResearchUsageError
from localllm.base.i18n import sentences
from localllm.llm.client import LLMClient
from localllm.research.market.agent_log import MARKET, AgentLog
from localllm.research.market.market_queries import chosen_purposes, make_queries
from localllm.research.market.market_records import (
    REGIONS,
    AgentMetrics,
    Constraints,
    MarketQuerySet,
    MarketResult,
    MarketSummary,
    ResearcherInput,
    ScanError,
    SearchResponse,
)
from localllm.research.market.market_summary import sum_up
from localllm.research.market.scan_events import QueriesMade, ScanFinished, ScanStarted, SearchesDone
from localllm.research.market.scan_result import collect_results, missing_purposes, whole_summary
from localllm.research.market.search_result_processor import SearchResultProcessor
from localllm.research.market.search_service import SearchService, scan_error
from localllm.research.market.sensitive_content import SensitiveContent
from localllm.research.model_calls import Reply, Roles
from localllm.research.note_cache import NoteCache
from localllm.research.options import ResearchOptions
from localllm.research.researcher import CACHE, new_state
from localllm.research.run_context import Budget, OnEvent, RunContext, Speed, local_now, nobody
from localllm.research.run_events import ModelAnswered
from localllm.research.run_store import RunStore
from localllm.web.page_reader import PageReader

_LONGEST_THEME = 300
_MOST_RESULTS = 100
_MOST_PAGES = 10


class MarketOptions(msgspec.Struct, frozen=True):
    """Default options of scans, which a scan's own constraints override."""

    max_results: int = 10
    pages: int = 2
    sensitive_words: tuple[str, ...] = ()


class BroadResearcher:
    """Scan markets with one model. `reader` is None if pages cannot be read; `work_folder` has the records,
    `caches` the notes on pages (by default a folder in it).

    The arguments are not closed here.
    """

    agent_name = "researcher"

    def __init__(
        self,
        client: LLMClient,
        service: SearchService,
        reader: PageReader | None,
        work_folder: Path,
        options: MarketOptions,
        research: ResearchOptions,
        on_event: OnEvent = nobody,
        *,
        language: str | Callable[[str], str] = "en",
        today: Callable[[], date] = date.today,
        clock: Callable[[], float] = time.monotonic,
        caches: Path | None = None,
    ) -> None:
        self._client = client
        self._service = service
        self._reader = reader
        self._work_folder = work_folder
        self._caches = caches or work_folder / CACHE
        self._options = options
        self._research = research
        self._on_event = on_event
        self._language = language
        self._today = today
        self._clock = clock
        self.failure: LocalLLMError | None = None
        """The error of the last execution."""

    async def execute(self, asked: ResearcherInput) -> MarketResult:
        """Scan the market for a theme. Errors are in the result; each execution is recorded, a cancelled one too."""
        self.failure = None
        scan = _Scan(self._clock, asked, self._service)
        try:
            check_input(asked)
            result = await self._scanned(scan, asked)
        except LocalLLMError as error:
            self.failure = error
            scan.errors.append(scan_error(error))
            result = scan.failed(scan_error(error))
        except BaseException:
            stopped = ScanError(code="", what="interrupted")
            self._record(scan.failed(stopped))
            raise
        return self._record(result)

    async def _scanned(self, scan: "_Scan", asked: ResearcherInput) -> MarketResult:
        await self._service.check_key()
        scan.model = await self._client.resolve_model()
        folder = self._work_folder / MARKET / scan.id
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResearchError("market_disk", folder=folder, reason=reason) from error
        with RunStore(folder) as store:
            run = scan.run = self._context(store, scan, asked.theme)
            run.tell(ScanStarted(run=scan.id, theme=run.state.question, session=scan.session))
            summary = await self._summary(scan, run, asked.constraints)
            run.numbers()
            noted = summary.findings
            run.tell(
                ScanFinished(
                    run=scan.id,
                    partial=run.state.partial,
                    insights=len(noted),
                    supported=sum(one.supported for one in noted),
                )
            )
            store.save_state(run.state)
            return scan.finished(summary)

    async def _summary(self, scan: "_Scan", run: RunContext, bounds: Constraints) -> MarketSummary:
        num = bounds.max_results or self._options.max_results
        pages = self._options.pages if bounds.pages is None else bounds.pages
        begun = self._clock()
        purposes = chosen_purposes(bounds.regions)
        queries = scan.queries = await make_queries(run, purposes, num, self._service.cache)
        scan.query_milliseconds = round((self._clock() - begun) * 1_000)
        run.tell(QueriesMade(run=scan.id, queries=queries.all(), origin=queries.origin))
        sensitive = SensitiveContent(self._options.sensitive_words)
        processor = SearchResultProcessor(run, sensitive, pages if self._reader is not None else 0)
        responses = await self._searched(scan, run, queries)
        results = collect_results(responses, processor, sensitive, scan.search_milliseconds)
        kept = (*results.japanese, *results.global_)
        left_out = sum(results.left_out.values())
        run.tell(
            SearchesDone(
                run=scan.id,
                found=results.total_results,
                kept=len(kept),
                left_out=left_out,
                failures=tuple(scan.errors),
            )
        )
        findings = await processor.extract_key_insights(kept, [one.purpose for one in queries.all()])
        applied = await processor.analyze_applicability(findings) if "jp" in bounds.regions else []
        digest = await sum_up(run, findings, applied)
        missing = missing_purposes(run, purposes, responses, results, findings)
        run.state.partial = run.state.partial or bool(missing) or any(one.failed for one in responses)
        return whole_summary(run, queries, results, findings, applied, digest, missing)

    async def _searched(self, scan: "_Scan", run: RunContext, queries: MarketQuerySet) -> list[SearchResponse]:
        """Run the searches. Raises ResearchError if all failed."""
        begun = self._clock()
        responses = await self._service.batch_search(queries.all())
        scan.search_milliseconds = round((self._clock() - begun) * 1_000)
        scan.errors += [error for response in responses for error in response.errors]
        run.state.numbers.searches = self._service.api_calls - scan.calls_before
        run.state.numbers.cache_hits = self._service.cache_hits - scan.hits_before
        if all(response.failed for response in responses):
            reasons = sentences(*dict.fromkeys(error.what for error in scan.errors))
            raise ResearchError("market_search_dead", reasons=reasons.rstrip("."))
        return responses

    def _context(self, store: RunStore, scan: "_Scan", theme: str) -> RunContext:
        options = self._research
        language = self._language if isinstance(self._language, str) else self._language(theme)
        state = new_state(scan.id, " ".join(theme.split()), options, language=language, today=self._today())
        state.model = scan.model
        budget, speed = Budget(options, 0.0, clock=self._clock), Speed()

        def note(reply: Reply) -> None:
            speed.note(reply)
            budget.tokens += reply.tokens
            state.numbers.model_seconds += reply.seconds
            run.tell(ModelAnswered(run=state.id, role=reply.role, tokens=reply.tokens, seconds=reply.seconds))

        roles = Roles(
            self._client,
            store,
            options,
            today=state.today,
            language=state.language,
            may_ask=budget.allows,
            on_reply=note,
            notes=NoteCache(self._caches) if options.use_cache else None,
        )
        run = RunContext(
            state=state,
            store=store,
            roles=roles,
            options=options,
            language=state.language,
            budget=budget,
            search=self._service.meta,
            reader=self._reader,
            on_event=self._on_event,
            speed=speed,
        )
        return run

    def _record(self, result: MarketResult) -> MarketResult:
        """Log a result; a failure to log is added to its metrics."""
        trouble = AgentLog(self._work_folder).add(result)
        if trouble is None:
            return result
        metrics = msgspec.structs.replace(result.metrics, errors=(*result.metrics.errors, scan_error(trouble)))
        return msgspec.structs.replace(result, metrics=metrics)


def check_input(asked: ResearcherInput) -> None:
    """Validate the input of a scan. Raises ResearchUsageError with the field."""
    if not asked.theme.strip():
        raise ResearchUsageError("market_no_theme")
    if len(asked.theme) > _LONGEST_THEME:
        raise ResearchUsageError("market_theme_long", length=len(asked.theme), most=_LONGEST_THEME)
    bounds = asked.constraints
    if not bounds.regions:
        raise ResearchUsageError("market_region", region="", regions=", ".join(REGIONS))
    for region in bounds.regions:
        if region not in REGIONS:
            raise ResearchUsageError("market_region", region=region[:40], regions=", ".join(REGIONS))
    for name, value, least, most in (
        ("max_results", bounds.max_results, 1, _MOST_RESULTS),
        ("pages", bounds.pages, 0, _MOST_PAGES),
    ):
        if value is not None and not least <= value <= most:
            raise ResearchUsageError("market_bounds", field=name, value=value, least=least, most=most)


def new_execution_id() -> str:
    """Generate a unique scan id."""
    return f"m-{uuid.uuid4().hex[:12]}"


class _Scan:
    """An execution in progress."""

    def __init__(self, clock: Callable[[], float], asked: ResearcherInput, service: SearchService) -> None:
        self.id = new_execution_id()
        self.session = asked.session_id or str(uuid.uuid4())
        self.started = local_now()
        self.errors: list[ScanError] = []
        self.queries: MarketQuerySet | None = None
        self.query_milliseconds = 0
        self.search_milliseconds = 0
        self.model = ""
        self.run: RunContext | None = None
        self.calls_before, self.hits_before = service.api_calls, service.cache_hits
        self._service = service
        self._theme = " ".join(asked.theme.split())
        self._clock = clock
        self._begun = clock()

    def metrics(self) -> AgentMetrics:
        """The cost so far."""
        calls = self._service.api_calls - self.calls_before
        hits = self._service.cache_hits - self.hits_before
        numbers = self.run.state.numbers if self.run else None
        return AgentMetrics(
            execution_time=round((self._clock() - self._begun) * 1_000),
            tokens_used=numbers.tokens if numbers else 0,
            model_calls=numbers.requests if numbers else 0,
            api_calls_count=calls,
            cache_hit_rate=round(hits / (calls + hits), 3) if calls + hits else 0.0,
            pages_read=numbers.pages if numbers else 0,
            query_time=self.query_milliseconds,
            search_time=self.search_milliseconds,
            errors=tuple(self.errors),
        )

    def finished(self, summary: MarketSummary) -> MarketResult:
        """Return the result of a finished scan."""
        return self._result(data=summary, success=True, partial=bool(self.run and self.run.state.partial))

    def failed(self, error: ScanError) -> MarketResult:
        """Return the result of a failed scan."""
        return self._result(error=error, success=False)

    def _result(
        self,
        *,
        success: bool,
        partial: bool = False,
        data: MarketSummary | None = None,
        error: ScanError | None = None,
    ) -> MarketResult:
        return MarketResult(
            session_id=self.session,
            execution_id=self.id,
            theme=self._theme,
            success=success,
            partial=partial,
            data=data,
            error=error,
            metrics=self.metrics(),
            started_at=self.started,
            finished_at=local_now(),
        )
