"""The interface for tracing a run, its stages and its model calls."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import msgspec

from localllm.llm.messages import Completion, Message
from localllm.research.records import ResearchState, Stage
from localllm.research.run_events import ResearchEvent

OnCompletion = Callable[[Completion], None]
"""Called with the answer of a call."""


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request sent to the model. `provider` and `address` are those of its server."""

    role: str
    provider: str
    address: str
    model: str
    messages: Sequence[Message]
    temperature: float
    max_tokens: int
    has_schema: bool


class RunTracer(Protocol):
    """Traces one run. Events within a stage belong to it; an exception that leaves a block ends it."""

    def stage(self, stage: Stage, number: int) -> AbstractContextManager[None]:
        """Trace a stage in the round with this number."""
        ...

    def model_call(self, call: ModelCall) -> AbstractContextManager[OnCompletion]:
        """Trace a model request; the yielded callback receives its answer."""
        ...

    def add_event(self, event: ResearchEvent) -> None:
        """Trace an event."""
        ...


class Tracer(Protocol):
    """Traces runs."""

    def run(self, state: ResearchState) -> AbstractContextManager[RunTracer]:
        """Trace a run, or the rest of a resumed one."""
        ...


def _nobody(_completion: Completion) -> None:
    """Ignore an answer."""


class NoTracer:
    """A tracer that does nothing."""

    @contextmanager
    def run(self, state: ResearchState) -> Generator[RunTracer]:
        """See Tracer."""
        yield self

    @contextmanager
    def stage(self, stage: Stage, number: int) -> Generator[None]:
        """See RunTracer."""
        yield

    @contextmanager
    def model_call(self, call: ModelCall) -> Generator[OnCompletion]:
        """See RunTracer."""
        yield _nobody

    def add_event(self, event: ResearchEvent) -> None:
        """See RunTracer."""
