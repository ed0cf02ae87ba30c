"""The quantity data type: a number in a text with its unit."""

from typing import NamedTuple

from localllm.text.sentences import Span


class Quantity(NamedTuple):
    """A number in a text with its unit."""

    value: float
    """In `unit`; for a date year * 10,000 + month * 100 + day, with 0 for omitted parts."""
    unit: str
    kind: str
    """number, count, percent, points, money, date, decade, quarter, century, time, duration, ordinal, ratio, age, or
    the kind of a physical unit."""
    span: Span
    step: float = 0.0
    """The value of one unit in its last written digit."""
    bound: str = ""
    """about, more, less, or empty."""
    is_word: bool = False


SOFT = frozenset({"number", "count", "ordinal"})
"""Kinds whose unit a text may omit."""
