"""Find the quantities of a claim that no passage states or implies."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from localllm.base.lazy_patterns import late_pattern
from localllm.research.claims.derived_quantities import is_derivable, is_reckoned
from localllm.text.numerals import fold
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees, near
from localllm.text.sentences import Span, split_sentences


def missing_quantity(claim: str, passages: Sequence[str], today: str) -> str:
    stated = [one for passage in passages for one in [*quantities(passage), *_without_number(passage)]]
    for one in quantities(claim):
        if is_idle(one, claim) or any(agrees(one, other) for other in stated):
            continue
        if (
            _has_unit_left_out(one, claim, stated)
            or is_derivable(claim, one, stated, today)
            or _is_enumerated(one, passages)
        ):
            continue
        if _is_relative(one, claim, passages, today) or _is_part_of_a_name(one, claim, passages):
            continue
        near_by = [window for passage in passages for window in _windows(passage)]
        if any(is_reckoned(claim, one, window, _numbers_of(window)) for window in [*near_by, "\n".join(passages)]):
            continue
        return claim[one.span.start : one.span.end]
    return ""


_ARTICLED = late_pattern(
    r"(?i)\b(?:an?|per|each|every|the|last|next|this|one)\s(?:\w+\s)?(minute|hour|day|week|month|year|decade|century)s?\b"
    r"|\b(hour|dai|week|month|year)ly\b|\b(annual)"
)
_IMPLIED = {
    2: late_pattern(r"(?i)\b(?:couple|pair|twins?|both|duo|double|twice)\b|双子|両|ペア|二人|往復"),
    3: late_pattern(r"(?i)\b(?:trio|triplets?|triple|thrice)\b|三つ子|トリオ"),
    4: late_pattern(r"(?i)\b(?:quartet|quadruplets?)\b|カルテット"),
    20: late_pattern(r"(?i)\btwenties\b"),
    30: late_pattern(r"(?i)\bthirties\b"),
    40: late_pattern(r"(?i)\bforties\b"),
    50: late_pattern(r"(?i)\bfifties\b"),
    60: late_pattern(r"(?i)\bsixties\b"),
    70: late_pattern(r"(?i)\bseventies\b"),
    80: late_pattern(r"(?i)\beighties\b"),
    90: late_pattern(r"(?i)\bnineties\b"),
}


_TWO_YEARS = late_pattern(r"(?<!\d)((?:19|20)\d\d)[/–-](\d\d)(?![\d.,%/-])")
"""2026/27."""
_YEAR_LATE = late_pattern(r"(?i)\ba year (?:late|later|earlier|after|before|behind|ahead)\b")
_EQUALLY = late_pattern(r"(?i)\bequally\b|\bin equal (?:parts|shares)\b|\bfifty-fifty\b|半々|折半|等分")


def _without_number(passage: str) -> list[Quantity]:
    """Return quantities expressed without a number: a week is seven days, a pair two."""
    named = [next(filter(None, found.groups())).lower() for found in _ARTICLED.finditer(passage)]
    words = {"dai": "day", "annual": "year", "decade": "decades", "century": "centuries"}
    told = [one for name in set(named) for one in quantities(f"1 {words.get(name, name)}")]
    if _EQUALLY.search(passage):
        told.append(Quantity(50.0, "%", "percent", Span(0, 0)))
    for found in _TWO_YEARS.finditer(passage):
        if int(found[2]) == (int(found[1]) + 1) % 100:
            told.append(Quantity((int(found[1]) + 1) * 10_000.0, "", "date", Span(0, 0)))
    return told + [
        Quantity(float(value), "", "number", Span(0, 0)) for value, said in _IMPLIED.items() if said.search(passage)
    ]


@lru_cache(maxsize=64)
def _windows(passage: str) -> tuple[str, ...]:
    """Return every two adjacent sentences."""
    spans = split_sentences(passage)
    pairs = list(pairwise(spans)) or [(one, one) for one in spans]
    return tuple(passage[first.start : last.end] for first, last in pairs)


def _numbers_of(text: str) -> list[Quantity]:
    """Return the quantities of a text, with those of words such as "pair"."""
    told = [one for one in _without_number(text) if one.kind == "number"]
    if _YEAR_LATE.search(text):
        told.append(Quantity(12.0, "month", "duration", Span(0, 0)))
    return [*quantities(text), *told]


_LAST_YEAR = late_pattern(
    r"(?i)\b(?:last|this|next|past|previous|current|coming)\s(?:\w+\s)?(?:year|spring|summer|autumn|winter|month|january"
    r"|february|march|april|may|june|july|august|september|october|november|december)\b|\ba year (?:ago|earlier)\b"
    r"|昨年|今年|来年|去年|前年|本年|昨春|昨夏|昨秋|昨冬|今春|今夏|今秋|今冬|来春"
)
_LAST_MONTH = late_pattern(r"(?i)\b(?:last|this|next)\s(?:month|week)\b|先月|今月|来月|先週|今週|来週")
_AGO = late_pattern(r"(?i)\b(?:ago|for the past|over the (?:past|last))\b|年前|この\d+年")
_FISCAL = late_pattern(r"(?i)\b(?:fiscal|financial year|fy\s?\d+)\b|年度|月期")
_THIS_CENTURY = late_pattern(r"(?i)\b(?:the|this)\scentury\b|今世紀")


def _is_relative(quantity: Quantity, claim: str, passages: Sequence[str], today: str) -> bool:
    """Whether a year or century may be expressed relative to the passage's date: last year, the century."""
    if not today[:4].isdigit():
        return False
    everything = "\n".join(passages)
    if quantity.kind == "century":
        return quantity.value == (int(today[:4]) - 1) // 100 + 1 and bool(_THIS_CENTURY.search(everything))
    if quantity.kind not in ("date", "number"):
        return False
    year = int(quantity.value) // (10_000 if quantity.kind == "date" else 1)
    if year and year % 100 == 0 and year == -(-int(today[:4]) // 100) * 100 and _THIS_CENTURY.search(everything):
        return True
    if quantity.kind == "date" and not year:
        return bool(_LAST_MONTH.search(everything))
    if quantity.kind == "date" and quantity.value % 100:
        return False  # no year, fiscal or relative, implies a day
    if quantity.kind == "date" and _FISCAL.search(f"{claim}\n{everything}"):
        steps = (quantity._replace(value=quantity.value + step) for step in (-10_000, 10_000))
        if any(agrees(step, one) for step in steps for one in quantities(everything)):
            return True
    if quantity.kind == "date" and _AGO.search(everything):
        ago = [one.value / 12 for one in quantities(everything) if one.kind == "duration" and one.unit == "month"]
        if any(one >= 1 and abs(int(today[:4]) - one - year) <= 2 for one in ago):
            return True
    return quantity.kind == "date" and abs(year - int(today[:4])) <= 2 and bool(_LAST_YEAR.search(everything))


def _is_part_of_a_name(quantity: Quantity, claim: str, passages: Sequence[str]) -> bool:
    """Whether a passage has a bare number as part of a version, a share or another name: version 4.2."""
    if quantity.kind not in SOFT:
        return False
    written = fold(claim[quantity.span.start : quantity.span.end]).strip()
    if not written[:1].isdigit():
        return False
    digits = _DIGITS.match(written)
    for passage in passages:
        plain = fold(passage)
        taken = [one.span for one in quantities(passage)]
        for found in _DIGITS.finditer(plain):
            is_free = not any(span.start <= found.start() < span.end for span in taken)
            if digits and found[0] == digits[0] and is_free:
                return True
    return False


def _has_unit_left_out(wanted: Quantity, claim: str, stated: Sequence[Quantity]) -> bool:
    """Whether the unit is stated only with another number: from 8,000 tonnes to under 500."""
    if wanted.kind in SOFT or not any(one.kind == wanted.kind and one.unit == wanted.unit for one in stated):
        return False
    digits = _DIGITS.search(fold(claim[wanted.span.start : wanted.span.end]))
    written = float(digits[0].replace(",", "")) if digits and digits[0].count(".") < 2 else 0.0
    unit = wanted.value / written if written else 1.0
    bare = [one.value for one in stated if one.kind == "number"]
    return any(near(wanted, value * factor) for value in bare for factor in (1, 1e3, 1e6, 1e9, unit))


_ONE = late_pattern(
    r"(?i)^(?:1|一|one|an?)\s?-?(?!.*(?:half|半|hundred|thousand|million|billion|trillion))[^\d十百千万億兆]*$"
)
_DIGITS = late_pattern(r"\d+(?:[.,]\d+)*")


def is_idle(quantity: Quantity, text: str = "") -> bool:
    """Whether a quantity is too unspecific to look for: "one", "second", "a year"."""
    if (quantity.kind in SOFT and abs(quantity.value) <= 1) or (quantity.kind == "ordinal" and quantity.is_word):
        return True
    if quantity.kind in ("date", "percent", "points", "ratio", "time", "quarter", "century", "decade"):
        return False
    return bool(_ONE.match(fold(text[quantity.span.start : quantity.span.end])))


_SEPARATORS = late_pattern(r",|、|・|と|\band\b|および|;")


def _is_enumerated(quantity: Quantity, passages: Sequence[str]) -> bool:
    """Whether a small number may be the count of a list in a passage."""
    if quantity.kind not in SOFT or not 2 <= quantity.value <= 10:
        return False
    return any(
        len(_SEPARATORS.findall(passage[start:end])) >= quantity.value - 1
        for passage in passages
        for start, end in split_sentences(passage)
    )
