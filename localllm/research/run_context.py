"""The context shared by the stages of a run: state, store, services, event callback, and budget."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json
from localllm.base.i18n import Counted, Phrase
from localllm.research.local_documents import Documents
from localllm.research.model_calls import Reply, Roles
from localllm.research.options import ResearchOptions
from localllm.research.records import Numbers, Remark, ResearchState
from localllm.research.run_events import RemarkMade, ResearchEvent
from localllm.research.run_store import RunStore
from localllm.research.tracing import NoTracer, RunTracer
from localllm.web.meta_search import MetaSearch
from localllm.web.page_reader import PageReader

KEPT_FOR_WRITING = 0.15
"""Share of the budget reserved for roles that write."""

OnEvent = Callable[[ResearchEvent], None]


def nobody(_event: ResearchEvent) -> None:
    """Ignore an event."""


def local_now() -> str:
    """Return the current time: ISO 8601 with the time zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


class Budget:
    """The budget of a run: minutes and tokens, over all sessions."""

    def __init__(self, options: ResearchOptions, before: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_seconds = options.max_minutes * 60
        self._most_tokens = options.max_run_tokens
        self._before = before
        self._clock = clock
        self._begun = clock()
        self.tokens = 0

    def seconds(self) -> float:
        """Return the seconds the run has been worked on."""
        return self._before + self._clock() - self._begun

    def share(self) -> float:
        """Return the spent share of the budget; 0 without a limit."""
        of_time = self.seconds() / self._most_seconds if self._most_seconds else 0.0
        return max(of_time, self.tokens / self._most_tokens if self._most_tokens else 0.0)

    def allows(self, writes: bool = False) -> bool:
        """Whether the budget allows another step; one that `writes` may use all of it."""
        return self.share() < (1.0 if writes else 1.0 - KEPT_FOR_WRITING)


@dataclass
class Speed:
    """The measured speed of the server in this run."""

    requests: int = 0
    seconds: float = 0.0
    tokens_per_second: float = 0.0

    def note(self, reply: Reply) -> None:
        """Add an answer to the measurement."""
        self.requests += 1
        self.seconds += reply.seconds
        if reply.tokens_per_second:
            before = self.tokens_per_second or reply.tokens_per_second
            self.tokens_per_second = 0.8 * before + 0.2 * reply.tokens_per_second


@dataclass
class RunContext:
    """A run in progress."""

    state: ResearchState
    store: RunStore
    roles: Roles
    options: ResearchOptions
    language: str
    budget: Budget
    search: MetaSearch | None = None
    reader: PageReader | None = None
    documents: Documents | None = None
    on_event: OnEvent = nobody
    speed: Speed = field(default_factory=Speed)
    tracer: RunTracer = field(default_factory=NoTracer)

    def numbers(self) -> Numbers:
        """Return the cost so far. Requests and tokens are from the store, over all sessions."""
        spent = self.store.spent()
        numbers = self.state.numbers
        numbers.requests, numbers.tokens, numbers.seconds = spent.requests, spent.tokens, self.budget.seconds()
        return msgspec.structs.replace(numbers)

    def tell(self, event: ResearchEvent) -> None:
        """Emit an event with the current numbers."""
        self.tracer.add_event(event)
        self.on_event(msgspec.structs.replace(event, numbers=self.numbers()))

    def remark(self, said: Remark) -> None:
        """Add a note for the reader of the report, without duplicates."""
        if said not in self.state.remarks:
            self.state.remarks.append(said)
            self.tell(RemarkMade(run=self.state.id, remark=said))


def remark_of(error: LocalLLMError) -> Remark:
    """Convert the text of an error to a remark."""
    text = error.what_phrase.text
    params = {name: _plain(value) for name, value in error.params.items()}
    return Remark(text.singular, params, text.plural) if isinstance(text, Counted) else Remark(text, params)


def _plain(value: object) -> Json:
    if isinstance(value, Phrase):
        return value.english
    return value if isinstance(value, str | int | float | bool | None) else str(value)
