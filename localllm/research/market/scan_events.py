"""Events of a market scan, in addition to those of every research run."""

from localllm.research.market.market_records import MarketPurpose, MarketQuery, ScanError
from localllm.research.run_events import ResearchEvent


class ScanStarted(ResearchEvent, frozen=True):
    """A scan has started."""

    theme: str
    session: str


class QueriesMade(ResearchEvent, frozen=True):
    """The queries, as they will leave this machine."""

    queries: tuple[MarketQuery, ...]
    origin: str


class SearchesDone(ResearchEvent, frozen=True):
    """All searches are done. `kept`: results used; `left_out`: results with sensitive content."""

    found: int
    kept: int
    left_out: int
    failures: tuple[ScanError, ...] = ()


class PurposeDone(ResearchEvent, frozen=True):
    """The results of a purpose have been read and checked."""

    purpose: MarketPurpose
    insights: int
    supported: int


class ApplicabilityDone(ResearchEvent, frozen=True):
    """The applicability of foreign findings in Japan has been assessed."""

    findings: int


class ScanFinished(ResearchEvent, frozen=True):
    """The scan has ended."""

    partial: bool
    insights: int
    supported: int
