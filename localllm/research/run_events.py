"""What happens in a research run, for whoever shows it. The numbers are those at that moment."""

from typing import Literal

import msgspec

from localllm.base.events import Event
from localllm.research.records import Label, Numbers, Purpose, Remark, Stage


class Forecast(msgspec.Struct, frozen=True):
    """What is still to be expected of a run: requests of the model, and seconds at the speed measured in this run.

    `seconds` is 0 as long as nothing was measured. `least` and `most`: with the fewest and the most rounds.
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
    """A stage is being worked on."""

    stage: Stage
    round: int
    forecast: Forecast | None = None


class QueryMade(ResearchEvent, frozen=True):
    """A query, as it will leave this machine. `masked`: the kinds of private data that were taken out of it."""

    query: str
    purpose: Purpose
    masked: tuple[str, ...] = ()


class SearchDone(ResearchEvent, frozen=True):
    """A search over all engines and folders. `new`: sources that were not known before."""

    queries: int
    found: int
    new: int
    failures: tuple[Remark, ...] = ()


class PageRead(ResearchEvent, frozen=True):
    """A page or document was read, or could not be."""

    source: str
    url: str
    title: str
    problem: Remark | None = None


class NotesTaken(ResearchEvent, frozen=True):
    """The model's quotes of a source. `dropped`: those that are not in the page, or differ from it."""

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
    """A round of checking is over. `open`: what is still to be settled."""

    round: int
    goes_on: bool
    open: int


class RemarkMade(ResearchEvent, frozen=True):
    """Something the reader of the report should know."""

    remark: Remark
    level: Literal["info", "warning"] = "warning"


class Finished(ResearchEvent, frozen=True):
    """The run is over and its report written."""

    partial: bool
