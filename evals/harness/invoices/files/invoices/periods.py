"""Months and quarters by their names."""

from datetime import date, timedelta


def quarter(day: date) -> str:
    """Name the quarter of a day: 2026-Q1."""
    return f"{day.year}-Q{day.month // 3 + 1}"


def last_day(year: int, month: int) -> date:
    """Return the last day of a month."""
    following = date(year, month + 1, 1)
    return following - timedelta(days=1)
