"""What passes through the ensemble: a question, the workers' answers, the events of a run, its result.

A run is a stream of events that ends with RunFinished. The paper's JSON, the event streams, the OpenAI-compatible
API, the chat and the request log are equal consumers of it.
"""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json, Usage
from localllm.llm.messages import AssistantMessage, UserMessage

StrategyName = Literal["review", "vote", "self", "best", "rank"]
"""How answers become one: merged by the reviewer (the paper), by majority, from one model sampled, by choice, or ranked
and then merged."""

Turn = UserMessage | AssistantMessage

HOPS_HEADER = "X-LocalLLM-Hops"
"""The request header with the ids of the ensembles a request has passed, between commas: an ensemble sends it to its
agents and refuses a request that has passed it already."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the ensemble is asked.

    `history`: the turns before, oldest first. `system`: what the client's own system message says, "" for none; it
    stands behind an agent's own. `strategy`: None takes the configured one. `hops`: the ensembles this request has
    passed, this one included; they are sent on in HOPS_HEADER. `stream`: somebody watches the answers arrive; without
    it there is neither WorkerText nor ReviewText, which costs far less.
    """

    prompt: str
    system: str = ""
    history: tuple[Turn, ...] = ()
    strategy: StrategyName | None = None
    hops: tuple[str, ...] = ()
    stream: bool = True


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one worker: its text, or the error that stands in its place.

    `agent` is the config's name, unchanged. `seconds`: from the start of the fan-out to its end. `is_cancelled`: it was
    not waited for (quorum, hedge), which `error` says. `finish_reason`: "length" where the model was cut off.
    `retries`: how often it was asked again.
    """

    agent: str
    model: str
    text: str = ""
    error: LocalLLMError | None = None
    seconds: float = 0.0
    usage: Usage | None = None
    is_cancelled: bool = False
    finish_reason: str = "stop"
    retries: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether there is no answer."""
        return self.error is not None


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer's answer says.

    `scores`: 0 to 10 by the worker's index, `best`: the index of the best answer; both only where they were given.
    `is_parsed`: False where neither form was recognised and the whole text is the answer.
    """

    comment: str
    final_answer: str
    scores: dict[int, float] = {}
    best: int | None = None
    is_parsed: bool = True


class RunStarted(msgspec.Struct, frozen=True, tag=True):
    """A run has begun. `workers`: the names of those that are asked, whose place in it is their index from now on;
    `models`: theirs, in the same order."""

    run_id: str
    strategy: StrategyName
    workers: tuple[str, ...]
    reviewer: str
    models: tuple[str, ...] = ()


class WorkerText(msgspec.Struct, frozen=True, tag=True):
    """The next piece of a worker's answer."""

    worker: int
    text: str


class WorkerRetried(msgspec.Struct, frozen=True, tag=True):
    """A worker is asked again after `error`: what came of its answer so far is void."""

    worker: int
    error: LocalLLMError


class WorkerFinished(msgspec.Struct, frozen=True, tag=True):
    """A worker has answered or failed; its pieces are over."""

    worker: int
    answer: WorkerAnswer


class ReviewStarted(msgspec.Struct, frozen=True, tag=True):
    """The reviewer is asked. It may be asked again, for a final answer it has left out or after a ranking: the pieces
    before belong to what it wrote then."""

    reviewer: str


class ReviewText(msgspec.Struct, frozen=True, tag=True):
    """The next piece of what the reviewer writes, its headings and all."""

    text: str


class RunFinished(msgspec.Struct, frozen=True, tag=True):
    """The run is over, well or not."""

    result: "EnsembleResult"


RunEvent = RunStarted | WorkerText | WorkerRetried | WorkerFinished | ReviewStarted | ReviewText | RunFinished


class EnsembleResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run.

    `answers` are in the order of the workers. `runtime`: what the paper's JSON has no key for (strategy, consensus,
    fallback, labels, scores, skipped workers, …), as JSON. `reviewer_error` and `all_failed` decide the status:
    500 and 502; else 200. `finish_reason`: why the final answer ends ("length" where it was cut off). `is_broken_off`:
    the run was ended before its time, so that nobody was answered; only the request log is given such a result.
    """

    run_id: str
    final_answer: str
    review_comment: str
    answers: tuple[WorkerAnswer, ...]
    seconds: float
    runtime: dict[str, Json]
    usage: Usage
    reviewer_error: LocalLLMError | None = None
    finish_reason: str = "stop"
    is_broken_off: bool = False

    @property
    def all_failed(self) -> bool:
        """Whether no worker has answered."""
        return all(answer.has_failed for answer in self.answers)


class Ensemble(Protocol):
    """Whatever answers as an ensemble; closing the stream cancels every request that is going on."""

    def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        """Ask the workers and the reviewer; the last event is RunFinished. Raises nothing for what agents do wrong."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
