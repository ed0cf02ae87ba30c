"""Find numbers in sentences without a reference that nothing says which the model has read, by rule.

Such a sentence often sums up or reckons what cited ones say. So a number is accepted if it follows from others of its
unit in one step that people take; bare numbers and counts, which may be names and points of the answer, always are.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate, chain, product

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees, date_parts, near

_KINDS_LEFT_OUT = frozenset({*SOFT, "decade", "century", "quarter", "ratio"})
_NO_STATEMENT = late_pattern(
    r"(?i)^\s*#|[?？]\s*$|\b(?:for example|for instance|e\.g\.|suppose|assum(?:e|ing)|if you|let me|would)\b"
    r"|例えば|たとえば|仮に|とすると|でしょうか|法律|\b(?:by law|typically|usually|generally)\b|法で|一般に|通常"
)
"""A heading, a question, an example, general knowledge."""
_MOST = 60
"""Numbers of one unit: with more, nearly any could be reckoned from two of them."""
_RATES = (4.0, 7.0, 12.0, 24.0, 52.0, 60.0, 365.0, 3_600.0)
"""How often a unit of time is in the next ones."""
_UNITS = (60.0, 3_600.0, 86_400.0, 604_800.0)
"""Seconds of a minute, an hour, a day and a week."""
_MONTH = 2_629_800.0
_DAY = 86_400.0
_CENTURY = 1_200 * _MONTH
_MOST_COMPARED = 20_000
"""Numbers that each one of the answer is compared with."""
_MOST_PARSED = 50_000
"""Characters of what was read, the newest first, that are parsed, in about 0.2 s; of the rest the digits count."""
_SLACK = 0.1
"""How far a number may be from one that it is said to be more or less than."""
_ROUNDING = 0.005
"""How far a number may be from one that it is reckoned from, if it has no digits that are rounded."""


def uncited_numbers(
    sentences: Iterable[tuple[str, bool]], given: Iterable[str], read: Sequence[str], request: str = ""
) -> list[str]:
    """Return the numbers, as written, that are in none of the texts and do not follow from those of `given` or of the
    answer. `sentences`: of the answer, each with whether it has a reference; numbers of those that have are not
    checked. `read`: texts whose numbers may be repeated, but are reckoned with only if they are. `request`: one of
    `given`, whose bare numbers may be of any unit."""
    first, rest = _parted("\n\n".join(given))
    asked = [one.value for one in quantities(request) if one.kind in SOFT]
    stated = quantities(first)
    passages, others = Numbers(stated), _Read([rest, *read])
    doubted: list[tuple[Quantity, str, list[Quantity]]] = []
    for sentence, is_cited in sentences:
        found = quantities(sentence)
        counts = [one for one in found if one.kind in SOFT]
        is_open = not is_cited and not _NO_STATEMENT.search(sentence)
        for one in found:
            if one.kind in _KINDS_LEFT_OUT:
                continue
            written = sentence[one.span.start : one.span.end].strip()
            if is_open and not _is_idle(one, written) and not passages.have(one, written):
                doubted.append((one, written, counts))
            else:
                stated.append(one)
    doubted = [(one, written, counts) for one, written, counts in doubted if not others.numbers.have(one, written)]
    return [
        written
        for one, written, counts in doubted
        if not Numbers([*stated, *counts], asked=asked).give(one, others.numbers.days)
    ]


def _parted(text: str) -> tuple[str, str]:
    """Return what of a text is parsed as a whole, and the rest."""
    end = text.rfind("\n", 0, _MOST_PARSED) if len(text) > _MOST_PARSED else len(text)
    end = end if end > 0 else _MOST_PARSED
    return text[:end], text[end:]


class _Read:
    """The numbers of texts, which are parsed on demand."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def numbers(self) -> "Numbers":
        stated: list[Quantity] = []
        bare: set[str] = set()
        room = _MOST_PARSED
        for text in reversed(self._texts):
            parsed, rest = text[:room], text[room:]
            room -= len(parsed)
            stated += quantities(parsed)
            bare |= {found.replace(",", "") for found in _DIGITS.findall(rest)}
        return Numbers(stated, frozenset(bare))


def _is_idle(one: Quantity, written: str) -> bool:
    """Return whether it says nothing: "1日" for each day, a month, "a third" in words."""
    return bool(_ONE.match(written)) or (one.kind == "percent" and (one.is_word or "割" in written))


_ONE = late_pattern(
    r"(?i)(?:[1１一]|one\b|an?\b)(?![\d０-９.,〇十百千万億兆]|\s?(?:hundred|thousand|million|billion)\b)"
)
_DIGITS = late_pattern(r"\d[\d,]*(?:\.\d+)?")


class Numbers:
    """Numbers that are stated, and what people reckon from them."""

    def __init__(
        self, numbers: Sequence[Quantity], bare: frozenset[str] = frozenset(), asked: Sequence[float] = ()
    ) -> None:
        """`bare`: digits of which it is not known what they count. `asked`: numbers of whatever unit is asked about."""
        self._bare = bare
        self._asked = asked
        self._numbers = list({(one.value, one.unit, one.kind, one.bound): one for one in numbers}.values())

    def have(self, one: Quantity, written: str) -> bool:
        """Return whether the number is stated, or its digits without a unit, as in a table."""
        if len(self._numbers) > _MOST_COMPARED:
            return True
        digits = _DIGITS.search(written)
        bare = float(digits[0].replace(",", "")) if digits else None
        if digits and digits[0].replace(",", "") in self._bare:
            return True
        return any(
            (other.kind in SOFT and other.value == bare) or _is_said(one, other) or _is_converted(one, other)
            for other in self._numbers
        )

    def give(self, one: Quantity, days: Sequence[date] = ()) -> bool:
        """Return whether the number follows from the stated ones; a length may also be counted from or to `days`."""
        if one.kind == "date":
            return self._gives_date(one)
        if one.kind in ("percent", "points"):
            return any(near(one, value) for value in self._shares)
        if one.kind == "time":
            minutes = {_in_seconds(other) / 60 for other in self._lasting}
            times = [other.value for other in self._numbers if other.kind == "time"]
            return any((a + sign * b - one.value) % 720 == 0 for a in times for b in minutes for sign in (1, -1))
        same = self._alike(one)
        if len(same) > _MOST:
            return True
        is_length, value = one.kind == "duration", _in_seconds(one)
        step = _ROUNDING * value if is_length else min(one.step, _ROUNDING * value)
        sure = one._replace(bound="about" if one.bound == "about" else "", step=step, value=value)
        unit = (_MONTH if one.unit == "month" else one.step or 1.0) if is_length else 1.0
        asked = [number * unit for number in self._asked]
        from_asked = (abs(a + sign * b) for a, b, sign in product(same, asked, (1, -1)))
        made = chain(self._made_of(same), from_asked, self._lengths(days) if is_length else ())
        return any(near(sure, other) for other in made)

    def _made_of(self, same: Sequence[float]) -> Iterator[float]:
        """Yield sums, differences, multiples and shares of numbers with one unit."""
        yield from same
        pairs = [(a, b) for a, b in product(set(same), repeat=2) if a > b]
        yield from (a + b for a, b in pairs)
        yield from (a - b for a, b in pairs)
        yield from ((a + b) / 2 for a, b in pairs)
        yield from ((a - b) * rate for a, b in pairs for rate in _RATES)
        factors = {*_RATES, *self._counts} - {0.0}
        yield from chain.from_iterable((a * factor, a / factor) for a in same for factor in factors)
        shares = [
            other.value * (0.01 if other.kind == "percent" else 1)
            for other in self._numbers
            if other.kind in ("percent", "ratio")
        ]
        yield from chain.from_iterable((a * share, a + a * share, a - a * share) for a in same for share in shares)
        for start in range(len(same)):
            yield from accumulate(same[start:])

    def _alike(self, one: Quantity) -> list[float]:
        """Return the numbers with the unit of `one`, in their order."""
        if one.kind in ("duration", "age"):
            return [_in_seconds(other) for other in self._numbers if other.kind in ("duration", "age")]
        return [
            other.value
            for other in self._numbers
            if other.kind == one.kind and (other.unit == one.unit or "" in (one.unit, other.unit))
        ]

    @cached_property
    def _counts(self) -> set[float]:
        """How often something may be taken: counts, and durations in their units."""
        lengths = [other.value for other in self._numbers if other.kind == "duration" and other.unit == "s"]
        months = {other.value for other in self._numbers if other.kind == "duration" and other.unit == "month"}
        counts = {other.value for other in self._numbers if other.kind in ("number", "count")}
        return (
            counts
            | months
            | {value / 12 for value in months}
            | {value / unit for value in lengths for unit in _UNITS if value % unit == 0}
        )

    def _lengths(self, days: Sequence[date]) -> Iterator[float]:
        """Yield lengths of time: between times of day, days and years."""
        times = [other.value for other in self._numbers if other.kind == "time"]
        yield from ((a - b) % 1_440 * 60 for a, b in product(times[:_MOST], repeat=2))
        known = [*self.days[:_MOST], *days[-_MOST:]]
        yield from (abs((a - b).days) * _DAY for a, b in product(known, repeat=2))
        years = {other.value // 10_000 for other in self._numbers if other.kind == "date"} - {0.0}
        yield from (abs(a - b) * 12 * _MONTH for a, b in product(sorted(years)[:_MOST], repeat=2))

    @property
    def _lasting(self) -> list[Quantity]:
        return [other for other in self._numbers if other.kind == "duration"]

    @cached_property
    def _shares(self) -> set[float]:
        """Percentages: shares, growth, and what they add up to."""
        units: dict[tuple[str, str], set[float]] = {}
        for other in self._numbers:
            kind = "number" if other.kind in SOFT else other.kind
            units.setdefault((kind, "" if kind == "number" else other.unit), set()).add(other.value)
        stated = {other.value for other in self._numbers if other.kind in ("percent", "points")} | {100.0}
        shares = {value for a, b in product(sorted(stated)[:_MOST], repeat=2) for value in (a + b, abs(a - b))}
        for (kind, _), values in units.items():
            if kind not in ("percent", "points", "date", "time") and len(values) <= _MOST:
                pairs = [(a, b) for a, b in product(values, repeat=2) if b]
                shares |= {100 * value for a, b in pairs for value in (a / b, abs(a - b) / b)}
        return shares

    @cached_property
    def days(self) -> list[date]:
        """The dates that are stated with year, month and day."""
        return [day for other in self._numbers if other.kind == "date" and (day := _day(other))]

    def _gives_date(self, one: Quantity) -> bool:
        """Return whether a date is a stated length of time before or after a stated one, of whatever year if that has
        none; also if the first day is counted."""
        lasting = [other for other in self._lasting if abs(_in_seconds(other)) < _CENTURY]  # also -90 days
        lengths = list({(other.value, other.unit) for other in lasting})[:_MOST]
        stated = [date_parts(other.value) for other in self._numbers if other.kind == "date" and other.value % 100]
        starts = [start for start in stated if start[0] == 0 or _FIRST_YEAR < start[0] < _LAST_YEAR][:_MOST]
        for (year, month, day), (length, unit), sign in product(starts, lengths, (1, -1)):
            for start in filter(None, (_date(one_year, month, day) for one_year in ([year] if year else _ANY_YEARS))):
                if unit == "month":
                    made = [_months_later(start, sign * int(length))]
                else:
                    made = [start + sign * timedelta(seconds=length - less) for less in (0.0, _DAY)]
                if any(_same_date(one, _number(end, has_year=year > 0)) for end in made):
                    return True
        return False


_FIRST_YEAR, _LAST_YEAR = 1_000, 9_000
_ANY_YEARS = (2027, 2028)
"""Stand for a year that is not stated: one with a 29 February, and one without."""


def _months_later(start: date, months: int) -> date:
    """Return the same day of a later month, or its last day if it has fewer."""
    years, month = divmod(start.month - 1 + months, 12)
    days = (_date(start.year + years, month + 1, day) for day in (start.day, 30, 29, 28))
    return next(filter(None, days))


def _number(day: date, *, has_year: bool) -> float:
    return float(day.year * 10_000 * has_year + day.month * 100 + day.day)


def _in_seconds(one: Quantity) -> float:
    return one.value * (_MONTH if one.unit == "month" else 1.0)


def _is_said(one: Quantity, other: Quantity) -> bool:
    """Return whether `other` states the number: of a date each part, of one that is more or less nearly it."""
    if one.kind == other.kind == "date":
        return _same_date(one, other.value)
    if one.bound in ("more", "less"):
        exact = one._replace(bound="")
        low, high = sorted((one.value, one.value * (1 + (_SLACK if one.bound == "more" else -_SLACK))))
        is_near = (one.kind, one.unit) == (other.kind, other.unit) and low <= other.value <= high
        return is_near or agrees(exact, other._replace(bound=""))
    return agrees(one, other._replace(bound="") if other.bound != "about" else other)


def _is_converted(one: Quantity, other: Quantity) -> bool:
    """Return whether `other` is the number in another unit: GB that are GiB, a length of time in a smaller unit that
    stands without one, as in timeout_ms = 30000."""
    if one.kind == "data" and other.kind == "data":
        return any(near(one, other.value * 1.024**power) for power in range(-4, 5))
    if one.kind == "data" and other.kind in SOFT:
        return any(near(one, other.value / 1.024**power) for power in range(1, 5) if other.value >= 1.0)
    if one.kind == "duration" and one.unit == "s" and other.kind in SOFT:
        return any(near(one, other.value / parts) for parts in _PARTS_OF_SECONDS)
    return False


_PARTS_OF_SECONDS = (1.0, 1e3, 1e6, 1e9)


def _same_date(one: Quantity, stated: float) -> bool:
    ours, theirs = date_parts(one.value), date_parts(stated)
    if ours[0] and theirs[0] and ours[0] != theirs[0]:
        return False
    return ours[1:] == (0, 0) or (all(mine in (0, other) for mine, other in zip(ours[1:], theirs[1:], strict=True)))


def _day(one: Quantity) -> date | None:
    return _date(*date_parts(one.value))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
