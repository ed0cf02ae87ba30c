"""Prometheus metrics of a server, in a registry of its own.

Label values come from the configuration and the code, never from clients, so that the number of series is bounded.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from localllm.ensemble.records import EnsembleResult, RunEvent, RunFinished, WorkerAnswer, WorkerFinished

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `text`: Prometheus' text format."""

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 90.0, 120.0, 300.0)
_PREFIX = "localllm_ensemble"


class EnsembleMetrics:
    """Count requests, runs and answers. `running` returns the number of active requests."""

    def __init__(self, running: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests that were answered.", "path", "method", "status")
        self._request_seconds = self._histogram("request_seconds", "Seconds to the end of an answer.", "path")
        self._runs = self._counter("runs", "Runs by strategy and outcome.", "strategy", "outcome")
        self._run_seconds = self._histogram("run_seconds", "Seconds of a run.")
        self._answers = self._counter("worker_answers", "Answers of workers by outcome.", "agent", "outcome")
        self._answer_seconds = self._histogram("worker_seconds", "Seconds of a worker's answer.", "agent")
        self._tokens = self._counter("tokens", "Tokens of all agents.", "kind")
        gauge = Gauge(f"{_PREFIX}_running", "Requests that are worked on.", registry=self._registry)
        gauge.set_function(running)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{_PREFIX}_{name}", about, labels, registry=self._registry)

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
        return Histogram(f"{_PREFIX}_{name}", about, labels, buckets=_SECONDS, registry=self._registry)

    def note_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a finished request. `path` and `method` must be from the server's fixed set."""
        self._requests.labels(path, method, str(status)).inc()
        self._request_seconds.labels(path).observe(seconds)

    def note(self, event: RunEvent, strategy: str) -> None:
        """Count an event of a run of `strategy`."""
        match event:
            case WorkerFinished(_, answer):
                self._answers.labels(answer.agent, _outcome_of_worker(answer)).inc()
                self._answer_seconds.labels(answer.agent).observe(answer.seconds)
            case RunFinished(result):
                self._runs.labels(strategy, _outcome(result)).inc()
                self._run_seconds.observe(result.seconds)
                self._tokens.labels("prompt").inc(result.usage.prompt_tokens)
                self._tokens.labels("completion").inc(result.usage.completion_tokens)
            case _:
                pass

    def note_broken_off(self, strategy: str) -> None:
        """Count an aborted run."""
        self._runs.labels(strategy, "broken_off").inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def _outcome(result: EnsembleResult) -> str:
    return "all_failed" if result.all_failed else "reviewer_failed" if result.reviewer_error else "answered"


def _outcome_of_worker(answer: WorkerAnswer) -> str:
    return "cancelled" if answer.is_cancelled else "failed" if answer.has_failed else "answered"
