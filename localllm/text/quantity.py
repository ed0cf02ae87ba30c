"""Hold a number of a text with what it is a number of."""

from typing import NamedTuple

from localllm.text.sentences import Span


class Quantity(NamedTuple):
    """A number of a text with what it is a number of."""

    value: float
    """In `unit`; of a date year * 10,000 + month * 100 + day, with 0 for what is not said."""
    unit: str
    kind: str
    """number, count, percent, points, money, date, decade, quarter, century, time, duration, ordinal, ratio, age, or
    the kind of a physical unit."""
    span: Span
    step: float = 0.0
    """What one in its last written digit is worth."""
    bound: str = ""
    """"about", "more", "less", or nothing."""
    is_word: bool = False


SOFT = frozenset({"number", "count", "ordinal"})
"""Kinds whose unit a text may leave out."""
