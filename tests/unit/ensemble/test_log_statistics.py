"""Statistics of the log: who was asked, has answered, failed, how fast, and how often best."""

from pathlib import Path

import pytest

from localllm.ensemble.log_statistics import percentile, statistics
from localllm.ensemble.request_log import RequestLog
from tests.support.ensemble_runs import QUESTION, answer, failed, refused, result


def test_workers_are_counted(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "x.sqlite", clock=lambda: 50.0)
    for number in range(20):
        fast, slow = answer("fast", seconds=0.1 * (number + 1)), answer("slow", seconds=3.0)
        late = failed("late", is_cancelled=True)
        third = failed("flaky", seconds=9.0) if number % 2 else answer("flaky", seconds=1.0)
        best = {0: {"best": "fast"}, 1: {"best": "slow"}}.get(number % 4, {})
        log.add(QUESTION, result(f"r{number}", [fast, slow, third, late], runtime={"strategy": "review", **best}))
    log.add(QUESTION, result("none", [failed("fast"), failed("slow")], runtime={"strategy": "vote"}))
    log.add(QUESTION, result("half", [answer("slow", seconds=3.0)], reviewer_error=refused(), seconds=8.0))
    log.close()
    whole = statistics(tmp_path / "x.sqlite")
    assert (whole.runs, whole.since) == (22, 50.0)
    assert whole.outcomes == {"answered": 20, "all_failed": 1, "reviewer_failed": 1}
    assert whole.strategies == {"review": 21, "vote": 1}
    assert (whole.p50_seconds, whole.p95_seconds) == (2.0, 2.0)
    fast, flaky, late, slow = (one for one in sorted(whole.workers, key=lambda one: one.agent))
    assert (fast.asked, fast.answered, fast.failed, fast.skipped) == (21, 20, 1, 0)
    assert (fast.p50_seconds, fast.p95_seconds) == (pytest.approx(1.0), pytest.approx(1.9))
    assert (fast.judged, fast.best, fast.completion_tokens) == (10, 5, 100)
    assert fast.errors == {refused().code: 1}
    assert (flaky.asked, flaky.answered, flaky.failed, flaky.p95_seconds) == (20, 10, 10, 1.0)
    assert (late.asked, late.answered, late.failed, late.skipped) == (20, 0, 0, 20)
    assert (late.p50_seconds, late.judged, late.best) == (None, 0, 0)
    assert (slow.asked, slow.judged, slow.best, slow.p95_seconds) == (22, 10, 5, 3.0)


def test_runs_that_were_broken_off_are_counted_and_tell_no_time(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "x.sqlite")
    log.add(QUESTION, result("whole", [answer("a")], seconds=2.0))
    left = failed("a", refused(), is_cancelled=True)
    log.add(QUESTION, result("left", [left], seconds=90.0, final_answer="", is_broken_off=True))
    log.close()
    counted = statistics(tmp_path / "x.sqlite")
    assert counted.outcomes == {"answered": 1, "broken_off": 1}
    assert (counted.p50_seconds, counted.p95_seconds) == (2.0, 2.0)
    (worker,) = counted.workers
    assert (worker.asked, worker.answered, worker.failed, worker.skipped) == (2, 1, 0, 1)


def test_a_name_with_another_model_is_counted_apart(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "x.sqlite")
    for number, model in enumerate(["small", "large", "large"]):
        one = answer("a")
        log.add(QUESTION, result(f"r{number}", [one.__class__(agent="a", model=model, text="x", seconds=1.0)]))
    log.close()
    assert [(one.model, one.asked) for one in statistics(tmp_path / "x.sqlite").workers] == [("large", 2), ("small", 1)]


def test_no_log_is_an_empty_one(tmp_path: Path) -> None:
    empty = statistics(tmp_path / "x.sqlite")
    assert (empty.runs, empty.workers, empty.since, empty.p50_seconds) == (0, (), None, None)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 50, None), ([7.0], 95, 7.0), ([3.0, 1.0, 2.0], 50, 2.0), ([4.0, 1.0, 2.0, 3.0], 50, 2.0)],
)
def test_percentiles(values: list[float], percent: float, expected: float | None) -> None:
    assert percentile(values, percent) == expected
    assert percentile([float(number) for number in range(1, 101)], 95) == 95.0
