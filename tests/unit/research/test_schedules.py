"""When tasks are due, in a time zone whose clocks are put forward and back."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from localllm.base.errors import ResearchUsageError
from localllm.research.schedules import Schedule, first_time, make_schedule, next_time
from tests.support.each import each


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone()


NOW = "2026-03-27T12:00"


@each(
    "every, given, first",
    [
        ("", "2026-12-01 09:30", "2026-12-01T09:30+01:00"),
        ("", "2026/7/1 09:30", "2026-07-01T09:30+02:00"),
        ("", "2026-07-01T09:30+00:00", "2026-07-01T11:30+02:00"),
        ("1d", "13:00", "2026-03-27T13:00+01:00"),
        ("1d", "11:59", "2026-03-28T11:59+01:00"),
        ("daily", "", "2026-03-27T12:00+01:00"),
        ("6h", "2026-01-01", "2026-01-01T00:00+01:00"),
    ],
)
def test_what_was_typed(every: str, given: str, first: str) -> None:
    schedule = make_schedule(every, given, at(NOW))
    assert schedule is not None
    assert schedule.at == first
    assert first_time(schedule) == at(first)
    assert schedule.every == {"daily": "1d"}.get(every, every)


def test_nothing_typed_is_no_schedule() -> None:
    assert make_schedule("", "", at(NOW)) is None


@each(
    "every, given, key",
    [
        ("0d", "", "task_every"),
        ("1y", "", "task_every"),
        ("soon", "", "task_every"),
        ("-1d", "", "task_every"),
        ("99999d", "", "task_every"),
        ("", "25:00", "task_at"),
        ("", "tomorrow", "task_at"),
        ("", "2026-02-30", "task_at"),
        ("", "99999-01-01", "task_at"),
    ],
)
def test_what_is_no_time(every: str, given: str, key: str) -> None:
    with pytest.raises(ResearchUsageError) as caught:
        make_schedule(every, given, at(NOW))
    assert caught.value.key == key


@each(
    "every, first, after, following",
    [
        ("1d", "2026-03-28T09:00+01:00", "2026-03-28T09:00", "2026-03-29T09:00+02:00"),  # clocks were put forward
        ("1d", "2026-10-24T09:00+02:00", "2026-10-24T09:00", "2026-10-25T09:00+01:00"),  # and back
        ("24h", "2026-03-28T09:00+01:00", "2026-03-28T09:00", "2026-03-29T10:00+02:00"),
        ("1w", "2026-01-05T08:00+01:00", "2026-04-01T00:00", "2026-04-06T08:00+02:00"),
        ("30m", "2026-01-05T08:00+01:00", "2026-01-05T09:14", "2026-01-05T09:30+01:00"),
        ("1d", "2026-05-01T08:00+02:00", "2026-04-01T00:00", "2026-05-01T08:00+02:00"),  # the first is to come
    ],
)
def test_the_next_time(every: str, first: str, after: str, following: str) -> None:
    found = next_time(Schedule(every, first), at(after))
    assert found is not None
    assert found.isoformat(timespec="minutes") == following


def test_once_is_once() -> None:
    once = Schedule("", "2026-03-28T09:00+01:00")
    assert next_time(once, at("2026-03-28T08:59")) == at("2026-03-28T09:00")
    assert next_time(once, at("2026-03-28T09:00")) is None
