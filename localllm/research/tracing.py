"""Tell those who trace a run of it, its stages and its calls of the model, each from begin to end."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import msgspec

from localllm.llm.messages import Completion, Message
from localllm.research.records import ResearchState, Stage
from localllm.research.run_events import ResearchEvent

OnCompletion = Callable[[Completion], None]
"""Told of the answer of a call."""


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent to the model. `provider` and `address` are those of its server."""

    role: str
    provider: str
    address: str
    model: str
    messages: Sequence[Message]
    temperature: float
    max_tokens: int
    has_schema: bool


class RunTracer(Protocol):
    """Traces one run. What is told within a stage belongs to it; an error that leaves a block is its end."""

    def stage(self, stage: Stage, number: int) -> AbstractContextManager[None]:
        """A stage, in the round with this number."""
        ...

    def model_call(self, call: ModelCall) -> AbstractContextManager[OnCompletion]:
        """A request to the model, and what is to be told of its answer."""
        ...

    def add_event(self, event: ResearchEvent) -> None:
        """Something that happened at this moment."""
        ...


class Tracer(Protocol):
    """Traces runs."""

    def run(self, state: ResearchState) -> AbstractContextManager[RunTracer]:
        """A run, or what is left of it where it is taken up again."""
        ...


def _nobody(_completion: Completion) -> None:
    """Nobody wants to know."""


class NoTracer:
    """Traces nothing."""

    @contextmanager
    def run(self, state: ResearchState) -> Generator[RunTracer]:
        """A run."""
        yield self

    @contextmanager
    def stage(self, stage: Stage, number: int) -> Generator[None]:
        """A stage."""
        yield

    @contextmanager
    def model_call(self, call: ModelCall) -> Generator[OnCompletion]:
        """A request."""
        yield _nobody

    def add_event(self, event: ResearchEvent) -> None:
        """An event."""
