"""Events of a research run, for displays. The numbers are those at that moment."""

from typing import Literal

import msgspec

from localllm.base.events import Event
from localllm.research.records import Label, Numbers, Purpose, Remark, Stage


class Forecast(msgspec.Struct, frozen=True):
    """The estimated rest of a run: model requests, and seconds at the measured speed.

    `seconds` is 0 until a speed was measured. `least` and `most`: with the fewest and the most rounds.
    """

    least_requests: int
    most_requests: int
    least_seconds: float = 0.0
    most_seconds: float = 0.0
    tokens_per_second: float = 0.0


class ResearchEvent(Event, frozen=True, kw_only=True):
    """The base of all events of a run."""

    run: str
    numbers: Numbers = msgspec.field(default_factory=Numbers)


class StageBegun(ResearchEvent, frozen=True):
    """A stage has started."""

    stage: Stage
    round: int
    forecast: Forecast | None = None


class QueryMade(ResearchEvent, frozen=True):
    """A query, as it will be sent. `masked`: the kinds of private data removed from it."""

    query: str
    purpose: Purpose
    masked: tuple[str, ...] = ()


class SearchDone(ResearchEvent, frozen=True):
    """A search over all engines and folders. `new`: the number of new sources."""

    queries: int
    found: int
    new: int
    failures: tuple[Remark, ...] = ()


class PageRead(ResearchEvent, frozen=True):
    """A page or document was read, or failed to be."""

    source: str
    url: str
    title: str
    problem: Remark | None = None


class NotesTaken(ResearchEvent, frozen=True):
    """The model's quotes from a source. `dropped`: those that are not in the page, or differ from it."""

    source: str
    evidence: int
    dropped: int


class ClaimChecked(ResearchEvent, frozen=True):
    """A claim of the draft was judged."""

    claim: str
    label: Label


class ModelAnswered(ResearchEvent, frozen=True):
    """The model has answered."""

    role: str
    tokens: int
    seconds: float
    forecast: Forecast | None = None


class RoundDone(ResearchEvent, frozen=True):
    """A round of checking has ended. `open`: the number of open points."""

    round: int
    goes_on: bool
    open: int


class RemarkMade(ResearchEvent, frozen=True):
    """A note for the reader of the report."""

    remark: Remark
    level: Literal["info", "warning"] = "warning"


class Finished(ResearchEvent, frozen=True):
    """The run has ended and its report is written."""

    partial: bool
