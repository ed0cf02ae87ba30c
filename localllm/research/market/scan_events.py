"""What happens in a market scan, besides what happens in every research run."""

from localllm.research.market.market_records import MarketPurpose, MarketQuery, ScanError
from localllm.research.run_events import ResearchEvent


class ScanStarted(ResearchEvent, frozen=True):
    """A scan has begun."""

    theme: str
    session: str


class QueriesMade(ResearchEvent, frozen=True):
    """The queries, as they will leave this machine."""

    queries: tuple[MarketQuery, ...]
    origin: str


class SearchesDone(ResearchEvent, frozen=True):
    """All searches are done. `kept` of the results are used; `left_out` had sensitive content."""

    found: int
    kept: int
    left_out: int
    failures: tuple[ScanError, ...] = ()


class PurposeDone(ResearchEvent, frozen=True):
    """What was found for a purpose has been read and checked."""

    purpose: MarketPurpose
    insights: int
    supported: int


class ApplicabilityDone(ResearchEvent, frozen=True):
    """It was looked at what findings from abroad could mean in Japan."""

    findings: int


class ScanFinished(ResearchEvent, frozen=True):
    """The scan is over."""

    partial: bool
    insights: int
    supported: int
