"""The input, intermediate records and result of a market scan; their JSON is camelCase and documented."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from localllm.base.i18n import N_
from localllm.research.records import Label

Region = Literal["jp", "global"]
Origin = Literal["model", "kept", "mixed", "default"]
REGIONS: tuple[Region, ...] = ("jp", "global")

MarketPurpose = Literal[
    "market_size", "competitors", "trends", "regulations", "needs", "startups", "technology", "best_practices"
]
JAPANESE: tuple[MarketPurpose, ...] = ("market_size", "competitors", "trends", "regulations", "needs")
GLOBAL: tuple[MarketPurpose, ...] = ("startups", "technology", "best_practices")
PURPOSES: tuple[MarketPurpose, ...] = (*JAPANESE, *GLOBAL)

PURPOSE_NAMES: dict[MarketPurpose, str] = {
    "market_size": N_("Market size"),
    "competitors": N_("Competitors"),
    "trends": N_("Trends"),
    "regulations": N_("Regulations"),
    "needs": N_("Customers' needs"),
    "startups": N_("Startups abroad"),
    "technology": N_("Technology abroad"),
    "best_practices": N_("Best practices abroad"),
}


def region_of(purpose: MarketPurpose) -> Region:
    """Return the region a purpose searches."""
    return "jp" if purpose in JAPANESE else "global"


class _Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of what goes into the JSON."""


class SearchOptions(_Record, frozen=True, kw_only=True):
    """Where a search is meant for: `gl` is the country, `hl` the language, `num` how many results."""

    gl: str
    hl: str
    num: Annotated[int, Meta(ge=1, le=100)]


class MarketQuery(_Record, frozen=True, kw_only=True):
    """A query as it leaves this machine, and what it is for."""

    query: str
    purpose: MarketPurpose
    region: Region
    options: SearchOptions


class MarketQuerySet(_Record, frozen=True, kw_only=True):
    """The queries of a scan: at most five for Japan, three for the world."""

    japanese: tuple[MarketQuery, ...]
    global_: tuple[MarketQuery, ...] = msgspec.field(name="global")
    generated_at: str
    """ISO 8601 with the time zone."""
    origin: Origin = "model"
    """Who made them: the model, the model in an earlier scan, or partly or wholly the default set."""

    def all(self) -> tuple[MarketQuery, ...]:
        """All queries, in the order of the purposes."""
        return (*self.japanese, *self.global_)


class FoundResult(_Record, frozen=True, kw_only=True):
    """A result of a search."""

    title: str
    url: str
    snippet: str
    purpose: MarketPurpose
    region: Region


class ScanError(_Record, frozen=True, kw_only=True):
    """Something that failed: the program's code for it, what happened, why, how it can be put right."""

    code: str
    what: str
    why: str = ""
    fix: str = ""
    purpose: MarketPurpose | None = None
    """The purpose of the failed search; None for another failure."""


class SearchResponse(_Record, frozen=True, kw_only=True):
    """What one query found, or why it found nothing."""

    query: MarketQuery
    results: tuple[FoundResult, ...] = ()
    search_time: int = 0
    """Milliseconds."""
    was_kept: bool = False
    """The answer came from the cache, without a request."""
    errors: tuple[ScanError, ...] = ()
    """Failed engines; there are no results if all failed."""
    failed: bool = False


class SearchResults(_Record, frozen=True, kw_only=True):
    """What all queries found, each page once."""

    japanese: tuple[FoundResult, ...]
    global_: tuple[FoundResult, ...] = msgspec.field(name="global")
    search_time: int
    """Milliseconds until the last search ended."""
    total_results: int
    """Before filtering."""
    duplicates: int = 0
    left_out: dict[str, int] = {}
    """Number of results with sensitive content, by kind."""


class Insight(_Record, frozen=True, kw_only=True):
    """One thing that a source says about the market, and the source's own words for it."""

    id: str
    text: str
    purpose: MarketPurpose
    quote: str
    """Verbatim from the stored text of the source."""
    source_url: str
    source_title: str
    origin: Literal["page", "result_list"]
    """Whether the page was read, or only its search result."""
    supported: bool
    """Whether the quote supports it."""
    label: Label = "not_verified"
    reason: str = ""
    """Why it is not supported."""


class Statement(_Record, frozen=True, kw_only=True):
    """Something said about a finding: supported by a quote, or the model's own judgement, in which no number and no
    name stands that the scan has not found."""

    text: str
    basis: Literal["supported", "judgement"]
    quote: str = ""
    source_url: str = ""


class Applicability(_Record, frozen=True, kw_only=True):
    """What a finding from abroad could mean in Japan."""

    finding: str
    """Its text."""
    insight: str
    """Its id."""
    what: Statement | None = None
    why: Statement | None = None
    obstacles: tuple[Statement, ...] = ()
    precedents: tuple[Statement, ...] = ()


class JapaneseInsights(_Record, frozen=True, kw_only=True):
    """What is supported by sources about Japan, by purpose."""

    market_size: str = ""
    competitors: tuple[str, ...] = ()
    trends: tuple[str, ...] = ()
    regulations: tuple[str, ...] = ()
    customer_needs: tuple[str, ...] = ()


class GlobalInsights(_Record, frozen=True, kw_only=True):
    """What is supported by sources about the world, and what of it could be applied in Japan."""

    innovations: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    best_practices: tuple[str, ...] = ()
    applicability: str = ""


class SourceAddresses(_Record, frozen=True, kw_only=True):
    """The pages behind the insights."""

    japanese: tuple[str, ...]
    global_: tuple[str, ...] = msgspec.field(name="global")


class Missing(_Record, frozen=True, kw_only=True):
    """A purpose without a supported insight, and why."""

    purpose: MarketPurpose
    reason: str


class MarketSummary(_Record, frozen=True, kw_only=True):
    """The result of a scan."""

    theme: str
    language: Literal["ja", "en"]
    model: str
    queries: MarketQuerySet
    raw_results: SearchResults
    insights: JapaneseInsights
    global_insights: GlobalInsights
    sources: SourceAddresses
    summary: str
    """Sentences checked like claims of a research report."""
    key_findings: tuple[str, ...]
    recommendations: tuple[str, ...] = ()
    """The model's own; checked only for numbers and names without a source."""
    findings: tuple[Insight, ...] = ()
    """All insights with their sources, unsupported ones included."""
    applicability: tuple[Applicability, ...] = ()
    missing: tuple[Missing, ...] = ()
    remarks: tuple[str, ...] = ()
    generated_at: str


class AgentMetrics(_Record, frozen=True, kw_only=True):
    """What a scan has cost."""

    execution_time: int = 0
    """Milliseconds."""
    tokens_used: int = 0
    model_calls: int = 0
    api_calls_count: int = 0
    """Searches sent to an engine."""
    cache_hit_rate: float = 0.0
    """Share of the searches answered from the cache; 0 to 1."""
    pages_read: int = 0
    query_time: int = 0
    """Milliseconds until the queries were ready."""
    search_time: int = 0
    """Milliseconds until the last search ended."""
    errors: tuple[ScanError, ...] = ()


class MarketResult(_Record, frozen=True, kw_only=True):
    """How a scan ended."""

    agent_name: Literal["researcher"] = "researcher"
    session_id: str
    execution_id: str
    theme: str
    success: bool
    partial: bool = False
    """Something requested is missing; see `data.missing`, `metrics.errors` and `data.remarks`."""
    data: MarketSummary | None = None
    error: ScanError | None = None
    metrics: AgentMetrics = AgentMetrics()
    started_at: str = ""
    finished_at: str = ""


class Constraints(_Record, frozen=True, kw_only=True):
    """The bounds of a scan. None takes the settings."""

    max_results: int | None = None
    """Results of a search, 1 to 100."""
    regions: tuple[str, ...] = REGIONS
    pages: int | None = None
    """Pages read for a purpose, 0 to 10."""


class ResearcherInput(_Record, frozen=True, kw_only=True):
    """What a scan is asked."""

    theme: str
    session_id: str = ""
    constraints: Constraints = Constraints()
