"""Schedules of tasks: once at a time, repeated, or both, in local time."""

import re
from datetime import datetime, timedelta

import msgspec

from localllm.base.errors import ResearchUsageError
from localllm.base.lazy_patterns import late_pattern

_EVERY = late_pattern(r"(\d{1,4})\s*(m|min|h|d|w)")
_WORDS = {"hourly": "1h", "daily": "1d", "weekly": "1w"}
_LENGTHS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_BY_CLOCK = ("d", "w")
"""Units that keep the time of day across daylight saving changes."""

_TIME = late_pattern(r"([01]?\d|2[0-3]):([0-5]\d)")


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`every`: 30m, 6h, 1d, 2w; empty for once. `at`: the first time, ISO 8601 with its time zone."""

    every: str = ""
    at: str = ""


def make_schedule(every: str, at: str, now: datetime) -> Schedule | None:
    """Parse a schedule; None for empty input. `now` has a time zone.

    `every` may also be hourly, daily or weekly; `at` may be a time of day, meaning the next one. Without `at` the first
    time is now. Raises ResearchUsageError.
    """
    if not every and not at:
        return None
    written = _WORDS.get(every.strip().lower(), every.strip().lower())
    if written:
        _parts(written)
    return Schedule(written, (_moment(at, now) if at else now).isoformat(timespec="minutes"))


def first_time(schedule: Schedule) -> datetime:
    """Return the first due time. Raises ResearchUsageError."""
    return read_time(schedule.at)


def read_time(at: str) -> datetime:
    """Parse a date and time in ISO 8601; local time without a time zone. Raises ResearchUsageError."""
    try:
        read = datetime.fromisoformat(re.sub(r"^(\d{4})/(\d{1,2})/(\d{1,2})", _with_dashes, at.strip()))
        return read.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise ResearchUsageError("task_at", at=at) from error


def check_schedule(schedule: Schedule) -> None:
    """Check a schedule that may have been written by hand. Raises ResearchUsageError."""
    first_time(schedule)
    if schedule.every:
        _parts(schedule.every)


def next_time(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the first due time after `after`, None if there is none. Missed times are skipped.

    Raises ResearchUsageError.
    """
    first = read_time(schedule.at)
    if first > after:
        return first
    if not schedule.every:
        return None
    count, unit = _parts(schedule.every)
    step = count * _LENGTHS[unit]
    if unit in _BY_CLOCK:
        start, now = (moment.astimezone().replace(tzinfo=None) for moment in (first, after))
        return (start + ((now - start) // step + 1) * step).astimezone()
    return (first + ((after - first) // step + 1) * step).astimezone()


def _parts(every: str) -> tuple[int, str]:
    match = _EVERY.fullmatch(every)
    if match is None or not int(match[1]):
        raise ResearchUsageError("task_every", every=every)
    return int(match[1]), match[2]


def _moment(at: str, now: datetime) -> datetime:
    """Parse `at`: the next such time of day, or a date with or without one."""
    if match := _TIME.fullmatch(at.strip()):
        local = now.astimezone().replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0, tzinfo=None)
        today = local.astimezone()
        return today if today > now else (local + timedelta(days=1)).astimezone()
    return read_time(at)


def _with_dashes(match: re.Match[str]) -> str:
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"
