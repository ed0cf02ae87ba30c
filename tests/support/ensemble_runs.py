"""Finished runs of an ensemble, as a log of requests is given them."""

from collections.abc import Sequence
from typing import Any

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.events import Usage
from localllm.ensemble.records import EnsembleResult, Question, WorkerAnswer


def answer(name: str, text: str = "Paris.", seconds: float = 1.0, **fields: Any) -> WorkerAnswer:
    """A worker's answer."""
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    return WorkerAnswer(agent=name, model=f"{name}:8b", text=text, seconds=seconds, usage=usage, **fields)


def failed(name: str, error: LocalLLMError | None = None, **fields: Any) -> WorkerAnswer:
    """A worker that failed."""
    return WorkerAnswer(agent=name, model=f"{name}:8b", error=error or refused(), **fields)


def refused() -> LocalLLMError:
    """An error as a model's server leads to it."""
    return LLMConnectionError("llm_idle", url="http://127.0.0.1:1", seconds=1.0, provider="ollama")


def result(run_id: str = "r1", answers: Sequence[WorkerAnswer] = (), **fields: Any) -> EnsembleResult:
    """The result of a run with these answers, one of each of two workers unless others are given."""
    given = {
        "final_answer": "It is Paris.",
        "review_comment": "Both are right.",
        "seconds": 2.0,
        "runtime": {"strategy": "review"},
        "usage": Usage(prompt_tokens=20, completion_tokens=10),
    }
    return EnsembleResult(run_id=run_id, answers=tuple(answers or (answer("a"), answer("b"))), **(given | fields))


QUESTION = Question(prompt="What is the capital of France?")
