"""Check whether a claim's number can be computed from the numbers of its passages.

On whole passages, only computations the claim's words announce are tried: among twenty numbers, some sum or quotient
matches anything. On two sentences with a few numbers, any single step is tried, if the claim gives two digits.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations, permutations

from localllm.base.lazy_patterns import late_pattern
from localllm.text.numerals import fold
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import near

_MOST = 24  # most numbers of the passages to combine

_SUM = late_pattern(
    r"(?i)\b(?:total|combined|together|altogether|overall|sum|in all)\b|合計|合わせて|あわせて|総計|計|合算|総額|総数"
)
_DIFFERENCE = late_pattern(
    r"(?i)\b(?:more|less|fewer|higher|lower|longer|shorter|older|younger|difference|gap|by|increase|decrease|rose|fell"
    r"|later|earlier|after|before|remaining|left|leaving|lead|margin|lost|gained|cut|raised|disappear\w*|missing|short|dearer|cheaper|extra)\b"
    r"|差|増|減|多|少な|上回|下回|高|低|長|短|残|後|前|伸|上が|下が|上げ|下げ|遅|早|足り|届|幅|縮"
)
_RATIO = late_pattern(
    r"(?i)\b(?:times|doubl|tripl|quadrupl|halv|half|fold|twice|ratio|per|average|every|each|daily|weekly|monthly|yearly|annual)\w*|\ban?\s(?:hour|day|week|month|year)\b|倍|半|平均|当たり|あたり|毎|分の"
)
_SHARE = late_pattern(
    r"(?i)%|\b(?:percent|per cent|share|third|thirds|quarter|quarters|half|fifth|fifths|tenth|majority|rose|fell|grew"
    r"|increase\w*|decrease\w*|drop\w*|cut)\b|割|分の|半|パーセント|ポイント|率"
)
_REST = late_pattern(
    r"(?i)\b(?:not|rest|remain\w*|other|others|without|no|none|never|still|kept|keep\w*|stay\w*|left|fail\w*|miss\w*|lack\w*"
    r"|surviv\w*|avoid\w*|against|oppos\w*|disagree\w*|refus\w*|reject\w*|only|un(?!i|der|til)\w+|lost|lose|free|yet)\b|n't\b"
    r"|残|以外|ない|なかっ|ず|ほか|他|未|非|無|不|まだ|反対|失|欠"
)


def is_derivable(claim: str, wanted: Quantity, stated: Sequence[Quantity], today: str) -> bool:
    """Whether a quantity of a claim follows from those of its passages by a computation the claim's words announce."""
    claim = fold(claim)
    if wanted.kind in ("duration", "age") or (wanted.kind in SOFT and _DIFFERENCE.search(claim)):
        years = [one.value // 10_000 for one in stated if one.kind == "date" and one.value >= 10_000_000]
        if _is_between(wanted, years, today) or _is_since_a_decade(wanted, stated, today):
            return True
        numbers = [one.value for one in stated if one.kind in SOFT or one.kind == "age"][:_MOST]
        said = wanted.value / 12 if wanted.unit == "month" else wanted.value
        if wanted.kind in ("duration", "age") and any(a - b == said for a, b in permutations(numbers, 2)):
            return True
    if wanted.kind in ("date", "time", "quarter", "century", "decade", "ordinal"):
        return wanted.kind == "decade" and any(
            one.kind == "date" and wanted.value <= one.value // 10_000 < wanted.value + 10 for one in stated
        )
    if wanted.kind in ("percent", "points", "ratio"):
        return _is_rate(claim, wanted, stated)
    same = [one.value for one in stated if one.kind == wanted.kind and one.unit == wanted.unit]
    if wanted.kind in SOFT:
        same = [one.value for one in stated if one.kind in SOFT]
    return _is_combined(claim, wanted, same[:_MOST])


def _is_between(wanted: Quantity, years: list[float], today: str) -> bool:
    """Whether it is an age or the time between two years; a birthday may be yet to come."""
    said = wanted.value / 12 if wanted.unit == "month" else wanted.value
    known = [*years, float(today[:4])] if today[:4].isdigit() else years
    slack = max(1.0, 0.1 * said) if wanted.bound else 1.0
    return any(one - other > 0 and abs(one - other - said) <= slack for one, other in permutations(known, 2))


def _is_since_a_decade(wanted: Quantity, stated: Sequence[Quantity], today: str) -> bool:
    """Whether it may be the time from a decade to today: 30 years since the 1990s."""
    said = wanted.value / 12 if wanted.unit == "month" else wanted.value
    ages = [float(today[:4]) - one.value for one in stated if one.kind == "decade"] if today[:4].isdigit() else []
    return wanted.kind == "duration" and any(one - 10 <= said <= one for one in ages)


def _is_rate(claim: str, wanted: Quantity, stated: Sequence[Quantity]) -> bool:
    """Whether it is a share, a percent change, a difference of percentages or a multiple."""
    percents = [one.value for one in stated if one.kind in ("percent", "points")][:_MOST]
    if wanted.kind != "ratio" and (
        (_REST.search(claim) and any(near(wanted, 100 - one) for one in percents))
        or _is_combined(claim, wanted, percents)
    ):
        return True
    points = [one.value for one in stated if one.kind == "points"][:_MOST]
    if wanted.kind == "percent" and any(near(wanted, a + b) or near(wanted, a - b) for a in percents for b in points):
        return True
    factor = {"percent": 100.0, "points": 100.0}.get(wanted.kind, 1.0)
    words = _RATIO if wanted.kind == "ratio" else _SHARE
    if not words.search(claim):
        return False
    if wanted.kind == "ratio" and any(near(wanted, (100 + one) / 100) for one in percents):
        return True
    if wanted.kind == "percent" and any(
        one.kind == "ratio" and (near(wanted, one.value * 100) or near(wanted, abs(one.value - 1) * 100))
        for one in stated
    ):
        return True
    return any(
        near(wanted, one / other * factor) or (factor > 1 and near(wanted, abs(one - other) / other * factor))
        for kind in {
            (one.kind, one.unit)
            for one in stated
            if one.kind not in ("date", "time", "ordinal") and (one.kind != "percent" or wanted.kind == "ratio")
        }
        for one, other in permutations([one.value for one in stated if (one.kind, one.unit) == kind][:_MOST], 2)
        if other > 0 and one > 0
    )


def _is_combined(claim: str, wanted: Quantity, values: list[float]) -> bool:
    if _SUM.search(claim) and (
        near(wanted, sum(values)) or any(near(wanted, a + b) for a, b in permutations(values, 2))
    ):
        return True
    if _DIFFERENCE.search(claim) and any(near(wanted, a - b) for a, b in permutations(values, 2) if a > b):
        return True
    return bool(_RATIO.search(claim)) and any(near(wanted, a / b) for a, b in permutations(values, 2) if b > 0)


_MONTH = 2_629_800.0  # seconds, a twelfth of a year
_MOMENTS = ("date", "time", "quarter", "century", "decade", "ordinal")
_MOST_NEAR = 9
"""Most numbers in two sentences: with more, some step leads to anything."""

_WRITTEN = late_pattern(r"\d")


def is_reckoned(claim: str, wanted: Quantity, text: str, stated: Sequence[Quantity]) -> bool:
    """Whether one step leads from the quantities of a sentence or two to that of a claim, at its precision."""
    claim, text = fold(claim), fold(text)
    digits = (
        1 if wanted.is_word else len("".join(_WRITTEN.findall(claim[wanted.span.start : wanted.span.end])).strip("0"))
    )
    is_announced = (
        wanted.kind in ("duration", "time")
        or (wanted.kind == "percent" and wanted.is_word)  # four in five
        or any(words.search(claim) for words in (_SUM, _DIFFERENCE, _RATIO, _SHARE, _REST))
        or any(one.kind in ("percent", "points", "ratio") for one in stated)
    )
    if digits + is_announced < 2 or len(stated) > _MOST_NEAR:
        return False
    slack = max(min(wanted.step / 2, 0.05 * abs(wanted.value)), 1e-9 * abs(wanted.value))
    if wanted.bound == "about" or wanted.is_word:
        slack = max(slack, (0.1 if wanted.bound and wanted.is_word else 0.04) * abs(wanted.value))
    low = wanted.value * (0.5 if wanted.bound == "less" else 1) - slack
    high = wanted.value * (2 if wanted.bound == "more" else 1) + slack
    return any(low <= one <= high for one in _one_step(claim, text, wanted, stated, digits))


def _one_step(claim: str, text: str, wanted: Quantity, stated: Sequence[Quantity], digits: int) -> Iterator[float]:
    """Yield the values of a quantity's kind that one step leads to."""
    if wanted.kind == "date":
        yield from _dates(claim, stated)
        return
    if wanted.kind in _MOMENTS:
        yield from _times(stated) if wanted.kind == "time" else ()
        return
    groups: dict[tuple[str, str], list[float]] = {}
    for one in stated:
        known = _as_kind(one, wanted)
        groups.setdefault(_group(known), []).append(known.value)
    same = list(groups.get(_group(_as_kind(wanted, wanted)), []))
    if wanted.kind in ("money", "temperature"):  # 95 dollars for a single and 140 for a double room
        same += groups.get(("number", ""), [])
    for one, other in permutations(same, 2):
        yield one - other
        yield one + other
    yield from (sum(some) for count in (3, 4, 5) for some in combinations(same[:6], count))
    if wanted.kind in ("percent", "points", "ratio"):
        yield from _rates(
            wanted, groups, has_rest=digits > 1 or bool(wanted.bound or _REST.search(claim) or _REST.search(text))
        )
        return
    if wanted.kind == "duration":
        yield from _spans(wanted, stated)
    if wanted.kind in SOFT:  # every ten minutes are six an hour
        every = [one.value for one in stated if one.kind == "duration" and one.unit == "s"]
        yield from (time / one for one in every if one > 0 for time in (3_600, 86_400))
    factors = list(_factors(claim, groups, wanted))
    if _RATIO.search(claim):  # so much for each
        factors += [
            one.value / size for one in stated if one.kind not in _MOMENTS for size in (1, 1_000) if one.value > size
        ]
    factors += _named(claim, wanted)
    for factor in factors:
        for one in same:
            yield one * factor
            yield one / factor


def _times(stated: Sequence[Quantity]) -> Iterator[float]:
    """Yield times of day a stated duration before or after others: closed for 14 hours, until 6 p.m."""
    lengths = [one.value / 60 for one in stated if one.kind == "duration" and one.unit == "s"]
    moments = [one.value for one in stated if one.kind == "time"]
    yield from ((one + sign * length) % 1_440 for one in moments for length in lengths for sign in (-1, 1))


def _named(claim: str, wanted: Quantity) -> Iterator[float]:
    """Yield factors stated in the claim itself: five litres are enough for 60 square metres."""
    for one in quantities(claim):
        if one.kind not in _MOMENTS and one.kind != wanted.kind:
            yield from (one.value / size for size in (1, 1_000) if one.value > size)


def _as_kind(one: Quantity, wanted: Quantity) -> Quantity:
    """Convert a quantity in キロ to the wanted kind, length or mass; degrees to degrees Celsius."""
    if one.kind == "temperature":
        one = one._replace(unit="")
    if one.kind == wanted.kind == "duration" and one.unit != wanted.unit:
        one = one._replace(unit=wanted.unit, value=one.value * _MONTH if one.unit == "month" else one.value / _MONTH)
    if one.unit == "¢":
        one = one._replace(unit=wanted.unit)
    if wanted.kind == "number" and one.kind not in (*_MOMENTS, "percent", "points", "ratio"):
        return one._replace(kind="number", unit="", value=abs(one.value))  # its unit is left out
    kind = wanted.kind
    if one.kind != "kilo" or kind not in ("length", "mass"):
        return one
    return (
        one._replace(kind="length", unit="m")
        if kind == "length"
        else one._replace(kind="mass", unit="kg", value=one.value / 1_000)
    )


def _group(one: Quantity) -> tuple[str, str]:
    """Return the group of values that can be added: values of one unit; counts and bare numbers."""
    if one.kind in ("percent", "points"):
        return "percent", "%"
    return ("number", "") if one.kind in SOFT else (one.kind, one.unit)


def _factors(claim: str, groups: dict[tuple[str, str], list[float]], wanted: Quantity) -> Iterator[float]:
    """Yield possible factors and divisors: counts, multiples, shares; twelve months of a year."""
    yield from (one for one in groups.get(("number", ""), ()) if one > 1)
    yield from (one for one in groups.get(("ratio", "x"), ()) if one > 0)
    for percent in groups.get(("percent", "%"), ()):
        yield from (factor for factor in (percent / 100, 1 + percent / 100, 1 - percent / 100) if factor > 0)
    if wanted.kind == "money":
        yield 12.0
    if wanted.kind != "duration":  # so much in four years
        yield from (one / 12 for one in groups.get(("duration", "month"), ()) if one > 12)
        yield from (one / day for one in groups.get(("duration", "s"), ()) for day in (86_400, 604_800) if one > day)
    if _BOTH.search(claim):
        yield 2.0
    if wanted.kind == "length":  # metres in a second
        yield from (one for one in groups.get(("duration", "s"), ()) if one > 0)


def _rates(wanted: Quantity, groups: dict[tuple[str, str], list[float]], *, has_rest: bool) -> Iterator[float]:
    scale = 1.0 if wanted.kind == "ratio" else 100.0
    bare = groups.get(("number", ""), [])
    for group, of_unit in groups.items():
        values = of_unit if group[0] == "number" else [*of_unit, *bare]  # 4.90 dinars, against 3.50
        if group[0] in (*_MOMENTS, "percent"):
            continue
        for one, other in permutations(values, 2):
            if one > 0 and other > 0:
                yield one / other * scale
                yield abs(one - other) / other * scale
    if has_rest and scale > 1:
        yield 100 - sum(groups.get(("percent", "%"), ()))
    for percent in groups.get(("percent", "%"), ()):
        if scale == 1:
            yield 1 + percent / 100
        elif has_rest:
            yield 100 - percent
    for ratio in groups.get(("ratio", "x"), ()):
        yield from (ratio * scale, abs(ratio - 1) * scale)


def _dates(claim: str, stated: Sequence[Quantity]) -> Iterator[float]:
    """Yield years and days a stated duration before or after others."""
    dates = [one.value for one in stated if one.kind == "date"]
    lengths = [one for one in stated if one.kind in ("duration", "age")]
    for value in dates:
        year = value // 10_000
        for one in lengths if year else ():
            years = one.value if one.kind == "age" else one.value / 12 if one.unit == "month" else 0.0
            yield from ((year - years) * 10_000, (year + years) * 10_000)
        if month := int(value) // 100 % 100:
            for one in lengths:
                if one.unit == "month" and year:
                    for months in (year * 12 + month - 1 - one.value, year * 12 + month - 1 + one.value):
                        yield months // 12 * 10_000 + (months % 12 + 1) * 100
        if day := _day(value):
            days = [one.value / 86_400 for one in lengths if one.unit == "s"]
            for length in [1.0, *days] if _NEXT_DAY.search(claim) or days else ():
                for ordinal in (day - length, day + length):
                    if 1 <= ordinal <= date.max.toordinal():  # 20 million hours earlier there was no calendar
                        then = date.fromordinal(round(ordinal))
                        yield (year and then.year) * 10_000 + then.month * 100 + then.day


_BOTH = late_pattern(r"(?i)\b(?:both|double|twice)\b|往復|両方")
_NEXT_DAY = late_pattern(r"(?i)\bday\b|日")


def _spans(wanted: Quantity, stated: Sequence[Quantity]) -> Iterator[float]:
    """Yield the times between years, between days, and between times of day."""
    days: list[int] = []
    year = 0.0
    for one in reversed([one for one in stated if one.kind == "date"]):  # from 4 May to 12 June 2023
        year = one.value // 10_000 * 10_000 or year
        days.append(_day(one.value + (year if one.value < 10_000 else 0.0)))
    years = [one.value // 10_000 for one in stated if one.kind == "date" and one.value >= 10_000_000]
    times = [one.value for one in stated if one.kind == "time"]
    if wanted.unit == "month":
        yield from ((one - other) * 12 for one, other in permutations(years, 2))
        for one, other in permutations(filter(None, days), 2):
            between = one - other + (365 if one < other and not year else 0)  # from October to May
            months = round(between / 30.4)
            yield from (months, months + 1)  # from March to August are six
        return
    yield from ((one - other) * 60 for one, other in permutations(times, 2))
    for one, other in permutations(filter(None, days), 2):
        yield from ((one - other) * 86_400.0, (one - other + 1) * 86_400.0)


def _day(value: float) -> int:
    """Return the ordinal day of a date; 0 if it has no month."""
    year, month, day = int(value) // 10_000, int(value) // 100 % 100, int(value) % 100
    return date(year or 2_001, month, min(day or 1, 28)).toordinal() + max(0, day - 28) if month else 0
