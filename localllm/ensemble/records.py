"""Records of the ensemble: a question, the workers' answers, the events of a run, its result.

A run is a stream of events that ends with RunFinished. The paper's JSON, the event streams, the OpenAI-compatible API,
the chat and the request log all consume it.
"""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json, Usage
from localllm.llm.messages import AssistantMessage, UserMessage

StrategyName = Literal["review", "vote", "self", "best", "rank"]
"""How answers become one: reviewed (the paper), majority vote, samples of one model, best answer, or ranked and
merged."""

Turn = UserMessage | AssistantMessage

HOPS_HEADER = "X-LocalLLM-Hops"
"""The request header with the comma-separated ids of the ensembles a request has passed: an ensemble sends it to its
agents and rejects a request that has its own id."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the ensemble.

    `history`: the previous turns, oldest first. `system`: the client's own system message, "" for none; it follows an
    agent's own. `strategy`: None uses the configured one. `hops`: the ensembles this request has passed, this one
    included; sent on in HOPS_HEADER. `stream`: emit WorkerText and ReviewText events; without them a run costs far
    less.
    """

    prompt: str
    system: str = ""
    history: tuple[Turn, ...] = ()
    strategy: StrategyName | None = None
    hops: tuple[str, ...] = ()
    stream: bool = True


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one worker: its text, or an error.

    `agent` is the config's name, unchanged. `seconds`: from the start of the fan-out. `is_cancelled`: it was not waited
    for (quorum, hedge); see `error`. `finish_reason`: "length" if the answer was truncated. `retries`: number of
    retries.
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
    """A parsed review.

    `scores`: 0 to 10 by the worker's index, `best`: the index of the best answer; both only if given. `is_parsed`:
    False if neither form was recognised and the whole text is the answer.
    """

    comment: str
    final_answer: str
    scores: dict[int, float] = {}
    best: int | None = None
    is_parsed: bool = True


class RunStarted(msgspec.Struct, frozen=True, tag=True):
    """A run has started. `workers`: the names of the asked workers, whose positions are their indices from now on;
    `models`: their models, in the same order."""

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
    """A worker is retried after `error`: its pieces so far are void."""

    worker: int
    error: LocalLLMError


class WorkerFinished(msgspec.Struct, frozen=True, tag=True):
    """A worker has answered or failed; no more pieces follow."""

    worker: int
    answer: WorkerAnswer


class ReviewStarted(msgspec.Struct, frozen=True, tag=True):
    """The reviewer is asked. It may be asked again, for a missing final answer or after a ranking: the pieces before
    belong to its earlier reply."""

    reviewer: str


class ReviewText(msgspec.Struct, frozen=True, tag=True):
    """The next piece of the reviewer's raw reply, headings included."""

    text: str


class RunFinished(msgspec.Struct, frozen=True, tag=True):
    """The run has ended, successfully or not."""

    result: "EnsembleResult"


RunEvent = RunStarted | WorkerText | WorkerRetried | WorkerFinished | ReviewStarted | ReviewText | RunFinished


class EnsembleResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    `answers` are in the order of the workers. `runtime`: details without a key in the paper's JSON (strategy,
    consensus, fallback, labels, scores, skipped workers, …), as JSON. `reviewer_error` and `all_failed` decide the
    status: 500 and 502; else 200. `finish_reason`: why the final answer ends ("length" if truncated). `is_broken_off`:
    the run was aborted without a response; only the request log receives such a result.
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
    """The interface of an ensemble; closing the stream cancels every active request."""

    def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        """Ask the workers and the reviewer; the last event is RunFinished. Errors of agents are events, not
        exceptions."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
