"""Compute statistics of the request log per worker: answers, failures, times and how often it was best."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.ensemble.log_database import reading

_RUNS = "SELECT outcome, strategy, seconds, at FROM runs"
_ANSWERS = """
SELECT agent, model, answers.seconds, is_cancelled, answers.error_code, runs.best, worker, answers.completion_tokens
FROM answers JOIN runs ON runs.id = answers.run
"""


class WorkerStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of a worker and model: one name with two models makes two rows.

    `skipped`: runs that did not wait for it. `p50_seconds`, `p95_seconds`: of its answers, None if it has none.
    `judged`: its answers in runs with a best answer, `best`: how many of them were it. `errors`: by code.
    """

    agent: str
    model: str
    asked: int
    answered: int
    failed: int
    skipped: int
    p50_seconds: float | None
    p95_seconds: float | None
    judged: int
    best: int
    completion_tokens: int
    errors: dict[str, int]


class LogStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of the whole log. `p50_seconds`, `p95_seconds`: of the completed runs. `since`: the end of the oldest
    run, in seconds of the epoch; None if there is none."""

    runs: int
    outcomes: dict[str, int]
    strategies: dict[str, int]
    p50_seconds: float | None
    p95_seconds: float | None
    since: float | None
    workers: tuple[WorkerStatistics, ...]


class _Row(NamedTuple):
    agent: str
    model: str
    seconds: float
    is_cancelled: int
    error_code: str
    best: int | None
    worker: int
    completion_tokens: int


def statistics(file: Path) -> LogStatistics:
    """Compute the statistics; a missing file counts as empty. Raises RequestLogError."""
    with reading(file) as db:
        runs = [] if db is None else db.execute(_RUNS).fetchall()
        rows = [] if db is None else [_Row(*row) for row in db.execute(_ANSWERS)]
    seconds = [row[2] for row in runs if row[0] != "broken_off"]
    workers: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        workers.setdefault((row.agent, row.model), []).append(row)
    return LogStatistics(
        runs=len(runs),
        outcomes=dict(Counter(row[0] for row in runs)),
        strategies=dict(Counter(row[1] for row in runs)),
        p50_seconds=percentile(seconds, 50),
        p95_seconds=percentile(seconds, 95),
        since=min((row[3] for row in runs), default=None),
        workers=tuple(_of_worker(rows) for _, rows in sorted(workers.items())),
    )


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the nearest-rank percentile; None for no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _of_worker(rows: Sequence[_Row]) -> WorkerStatistics:
    answered = [row for row in rows if not row.error_code and not row.is_cancelled]
    failed = [row for row in rows if row.error_code and not row.is_cancelled]
    judged = [row for row in answered if row.best is not None]
    seconds = [row.seconds for row in answered]
    return WorkerStatistics(
        agent=rows[0].agent,
        model=rows[0].model,
        asked=len(rows),
        answered=len(answered),
        failed=len(failed),
        skipped=len(rows) - len(answered) - len(failed),
        p50_seconds=percentile(seconds, 50),
        p95_seconds=percentile(seconds, 95),
        judged=len(judged),
        best=sum(row.best == row.worker for row in judged),
        completion_tokens=sum(row.completion_tokens for row in answered),
        errors=dict(Counter(row.error_code for row in failed)),
    )
