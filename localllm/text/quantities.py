"""Read the quantities of English and Japanese text as value, kind and unit, so that two ways to write one agree.

12億ドル and $1.2 billion, 令和6年 and 2024, 3割 and 30 %, 1.2 GW and 1,200 MW are the same. Version numbers, marks of
citation and of lists, and digits within names are no quantities.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.dates import moments
from localllm.text.numerals import DIGITAL, KANJI, WORDS, Numeral, digital, fold, kanji, ordinal, words
from localllm.text.sentences import Span
from localllm.text.units import SIGNS, Unit, units


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

_NOISE = late_pattern(
    r"\[(?:[SE]?\d+(?:\s?[,-]\s?\d+)*)\]|(?<![\w.])v?\d+\.\d+\.\d+[\w.-]*|\bv\d+[\w.]*|(?i:\bversion\s\d[\w.]*)"
    r"|#\d+|(?m:^\s*(?:\(?\d{1,3}[.)](?=\s)|[①-⑳]))|https?://\S+|[A-Za-z]+-?\d[\w-]*|\d+[A-Z]{1}(?![A-Za-z])(?<![MKBT])"
    r"|\b\d+[GD]\b|\b[A-Za-z]*-\d+\b(?<=[A-Za-z]-\d)"
)
_LINK = re.compile(r"\s?(?:-|~|to|and|or|から|と|または|,|、)\s?(?:[$€£¥])?")
_RATIO = late_pattern(
    r"(?i)\b(?:(?P<x2>twice|doubl(?:e|ed|es|ing)|two-?fold)|(?P<x3>thrice|tripl(?:e|ed|es|ing)|threefold)"
    r"|(?P<x4>quadrupl(?:e|ed|es|ing)|fourfold)|(?P<x5>halv(?:e|ed|es|ing)))\b|(?P<j2>倍増)|(?P<j5>半減)|(?P<j6>半数|半分|過半数)"
)
_ORDINAL = late_pattern(
    r"\b(\d{1,3})(?:st|nd|rd|th)\b|第(\d{1,3})|(?<!\ba[ -])(?<!one[ -])(?<!two[ -])\b(second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b(?![\s-](?:of\b|quarter))"  # noqa: E501
)
_WORD = late_pattern(
    r"[\s-]?([A-Za-z°²³µμ/][A-Za-z°²³µμ/0-9]*(?:-(?:old|hours?|fold|ups))?)(?:[\s-]([A-Za-z]+))?(?:[\s-]([A-Za-z]+))?"
)
_ABOUT = ("about", "around", "approximately", "roughly", "some", "nearly", "almost", "circa", "estimated", "近く", "約", "およそ", "ほぼ", "おおよそ", "概ね")  # fmt: skip  # noqa: E501
_MORE = ("more than", "over", "above", "at least", "exceeding", "exceeded", "exceeds", "greater than", "topped", "surpassed", "minimum of")  # fmt: skip  # noqa: E501
_LESS = ("less than", "under", "below", "up to", "at most", "fewer than", "as many as", "maximum of", "最大")
_AFTER = {"以上": "more", "超": "more", "余": "more", "を超": "more", "を上回": "more", "以下": "less", "未満": "less",
          "を下回": "less", "弱": "less", "強": "more", "前後": "about", "程度": "about", "ほど": "about", "近く": "about", "あまり": "more"}  # fmt: skip  # noqa: E501
_JOINED = "数何幾"


def quantities(text: str) -> list[Quantity]:
    """The quantities of a text in their order."""
    return list(_quantities(text))


@lru_cache(maxsize=512)
def _quantities(text: str) -> tuple[Quantity, ...]:
    plain = fold(text)
    taken = bytearray(len(plain) + 1)
    found = _dates(plain, taken)
    for noise in _NOISE.finditer(plain):
        if not any(taken[noise.start() : noise.end()]) and not _is_money(noise[0]):
            _take(taken, noise.start(), noise.end())
    found += _ratios(plain, taken)
    found += _numbers(plain, taken)
    found.sort(key=lambda one: one.span.start)
    return tuple(_linked(plain, found))


def _is_money(text: str) -> bool:
    return text[:3].lower() in SIGNS and text[3:4].isdigit()


def _take(taken: bytearray, start: int, end: int) -> None:
    taken[start:end] = b"\x01" * (end - start)


def _dates(plain: str, taken: bytearray) -> list[Quantity]:
    found: list[Quantity] = []
    for one in moments(plain):
        if one.kind == "date" and one.value >= 10_000_000 and one.value % 10_000 == 0 and one.end - one.start == 4:
            unit = _unit_after(plain, one.end)[0]
            if unit is not None and unit.kind not in ("points",):
                continue  # 1500 people, 2000 km
        _take(taken, one.start, one.end)
        found.append(Quantity(one.value, "", one.kind, Span(one.start, one.end)))
    return found


def _ratios(plain: str, taken: bytearray) -> list[Quantity]:
    found: list[Quantity] = []
    for one in _RATIO.finditer(plain):
        name = one.lastgroup or "x2"
        value = {"5": 0.5, "6": 50.0}.get(name[1], float(name[1]))
        kind, unit = ("percent", "%") if name == "j6" else ("ratio", "x")
        bound = "more" if one[0] == "過半数" else ""
        found.append(Quantity(value, unit, kind, Span(*one.span()), 0.0, bound, is_word=True))
        _take(taken, *one.span())
    for one in _ORDINAL.finditer(plain):
        if any(taken[one.start() : one.end()]):
            continue
        if one[2] and (unit := _unit_after(plain, one.end())[0]) and unit.kind != "count":
            continue
        value = float(one[1] or one[2] or ordinal(one[3]))
        found.append(Quantity(value, "", "ordinal", Span(*one.span()), 1.0, is_word=bool(one[3])))
        _take(taken, *one.span())
    return found


def _numbers(plain: str, taken: bytearray) -> list[Quantity]:
    found: list[Quantity] = []
    for pattern, read in ((DIGITAL, digital), (KANJI, kanji), (WORDS, words)):
        for match in pattern.finditer(plain):
            if any(taken[match.start() : match.end()]) or (number := read(match)) is None:
                continue
            sign = match["sign"] if pattern is DIGITAL else None
            quantity = _quantity(plain, number, (sign or "").strip().lower(), is_kanji=pattern is KANJI)
            if quantity is not None:
                found.append(quantity)
                _take(taken, *quantity.span)
    return found


def _quantity(plain: str, number: Numeral, sign: str, *, is_kanji: bool) -> Quantity | None:
    value, step, start, end, is_word, is_scaled = number
    if start and plain[start - 1] in _JOINED:
        return None
    unit, unit_end = units().get(sign), end
    if unit is None:
        unit, unit_end = _unit_after(plain, end)
    if (
        is_kanji
        and not is_scaled
        and step
        and (unit is None or value <= 1 or plain[unit_end - 1 : unit_end] in "つ方度部本分")
    ):
        return None  # 一方, 二つ, 十分
    bound = _bound(plain, start - len(sign), max(end, unit_end))
    if unit is not None and unit.name == "percent":
        unit = units()["%"]
    if unit is None and 0 < value < 1 and step == 0.0:
        return Quantity(value * 100, "%", "percent", Span(start, end), 0.0, bound, is_word)
    if unit is None:
        return Quantity(value, "", "number", Span(start, end), step, bound, is_word)
    name, factor = unit.name, unit.factor
    if unit.kind == "duration" and plain[unit_end : unit_end + 1] == "半":
        value, step, unit_end = value + 0.5, 0.1, unit_end + 1
    if unit.kind == "kilo" and plain[max(0, start - 3) : start].rstrip("約").endswith("時速"):
        return Quantity(value, "km/h", "speed", Span(start, unit_end), step, bound, is_word)
    if unit.kind == "percent" and plain[end:unit_end].strip() == "割":
        return _in_tenths(plain, number, unit_end, bound)
    if name == "°F":
        return Quantity((value - 32) / 1.8, "°C", "temperature", Span(start, unit_end), step, bound, is_word)
    if (
        plain[end:unit_end].strip() == "度"
        and value < 20
        and not plain[max(0, start - 3) : start].strip().endswith(("温", "下"))
    ):
        name = "" if value < 5 else name
    return Quantity(value * factor, name, unit.kind, Span(start, unit_end), step * factor, bound, is_word)


_MINOR = late_pattern(r"(\d)分")


def _in_tenths(plain: str, number: Numeral, end: int, bound: str) -> Quantity:
    """3割5分 as 35 %."""
    value, step = number.value * 10, 10.0
    if minor := _MINOR.match(plain, end):
        value, step, end = value + float(minor[1]), 1.0, minor.end()
    return Quantity(value, "%", "percent", Span(number.start, end), step if step == 1.0 else 0.0, bound)


def _unit_after(plain: str, end: int) -> tuple[Unit | None, int]:
    """The unit that stands behind a number, and where it ends."""
    table = units()
    rest = plain[end : end + 14]
    shift = len(rest) - len(rest.lstrip(" -\u00a0"))
    if shift <= 1:
        near = rest[shift:].lower()
        for length in range(min(10, len(near)), 0, -1):
            if (unit := table.get(near[:length])) and not (near[:length][-1].isascii() and near[:length][-1].isalpha()):
                return unit, end + shift + length
    found = _WORD.match(plain, end)
    if not found:
        return None, end
    words_after = [one for one in found.groups() if one]
    for length in range(len(words_after), 0, -1):
        written = " ".join(words_after[:length])
        unit = table.get(written.lower()) or table.get(written.lower().replace("-", " "))
        if unit and not (written in ("G", "D", "A") or (written in ("M", "K"))):
            return unit, found.end(length)
    return _noun_after(words_after, end)


_STOPS = frozenset(
    [
        "in",
        "of",
        "and",
        "or",
        "to",
        "from",
        "by",
        "for",
        "on",
        "at",
        "with",
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "than",
        "that",
        "which",
        "as",
        "the",
        "a",
    ]
)


def _noun_after(following: list[str], end: int) -> tuple[Unit | None, int]:
    """What is counted, past adjectives: 1,200 full-time employees."""
    for word in following:
        if word.lower() in _STOPS:
            return None, end
        unit = units().get(word.lower())
        if unit and unit.kind == "count":
            return unit, end
    return None, end


def _bound(plain: str, start: int, end: int) -> str:
    after = plain[end : end + 4]
    for written, bound in _AFTER.items():
        if after.startswith(written):
            return bound
    if plain[end : end + 8].lstrip().startswith(("or more", "or over")):
        return "more"
    if plain[end : end + 8].lstrip().startswith("or less"):
        return "less"
    before = plain[max(0, start - 14) : start].rstrip(" $€£¥").lower()
    for written, bound in ((_MORE, "more"), (_LESS, "less"), (_ABOUT, "about")):
        if before.endswith(written):
            return bound
    return ""


def _linked(plain: str, found: list[Quantity]) -> list[Quantity]:
    """The same, where 10 in "10 to 20 km" or "10, 15 and 20 %" has the unit of the last."""
    linked = list(found)
    for at in range(len(linked) - 2, -1, -1):
        one, following = linked[at], linked[at + 1]
        between = plain[one.span.end : following.span.start]
        if one.kind != "number" or following.kind in SOFT or not _LINK.fullmatch(between):
            continue
        if following.kind in ("date", "time", "quarter", "century", "decade"):
            continue
        width = following.value / max(1e-9, _written(plain, following))
        linked[at] = one._replace(
            value=one.value * width, unit=following.unit, kind=following.kind, step=one.step * width
        )
    return linked


def _written(plain: str, quantity: Quantity) -> float:
    """The digits of a quantity as a number, without scale and unit."""
    found = DIGITAL.search(plain, quantity.span.start)
    digits = (found["ja"] or found["digits"] or "") if found else ""
    plain_digits = _first_digits(digits)
    return float(plain_digits) if plain_digits else quantity.value


def _first_digits(written: str) -> str:
    """The first number of a text, without separators."""
    found = re.match(r"\d[\d,]*(?:\.\d+)?", written)
    return found[0].replace(",", "") if found else ""


def agrees(claimed: Quantity, stated: Quantity) -> bool:
    """Whether a quantity that is claimed is the stated one, at the precision with which it is claimed."""
    if claimed.kind == "date" or stated.kind == "date":
        return _dates_agree(claimed, stated)
    if claimed.kind != stated.kind and not _same_kind(claimed, stated):
        return False
    if (
        claimed.kind == stated.kind == "count"
        and claimed.unit != stated.unit
        and not {claimed.unit, stated.unit} & _WIDE
    ):
        return False
    if claimed.kind == "time":
        return (claimed.value - stated.value) % 720 == 0
    if claimed.kind == stated.kind and claimed.unit != stated.unit and claimed.kind not in SOFT:
        return False
    return near(claimed, stated.value) or (stated.bound == "about" and near(stated, claimed.value))


_WIDE = frozenset({"thing", "vehicle"})
"""What 件, 台 or "units" count may have another word in another sentence."""


def _same_kind(claimed: Quantity, stated: Quantity) -> bool:
    kinds = {claimed.kind, stated.kind}
    if kinds <= SOFT:
        return True
    if kinds in (
        {"percent", "points"},
        {"number", "points"},
        {"number", "ratio"},
        {"number", "age"},
        {"kilo", "length"},
        {"kilo", "mass"},
    ):
        return True
    return kinds == {"number", "percent"} and 0 < min(claimed.value, stated.value) < 1


def _dates_agree(claimed: Quantity, stated: Quantity) -> bool:
    if claimed.kind != stated.kind:
        other = stated if claimed.kind == "date" else claimed
        dated = claimed if claimed.kind == "date" else stated
        if other.kind in SOFT:
            return dated.value == other.value * 10_000
        return (
            other.kind == "decade"
            and claimed.kind == "decade"
            and other.value <= dated.value // 10_000 < other.value + 10
        )
    ours, theirs = _date_parts(claimed.value), _date_parts(stated.value)
    if any(one and two and one != two for one, two in zip(ours, theirs, strict=True)):
        return False
    return any(one and two for one, two in zip(ours, theirs, strict=True))


def _date_parts(value: float) -> tuple[int, int, int]:
    number = int(value)
    return number // 10_000, number // 100 % 100, number % 100


def near(claimed: Quantity, value: float) -> bool:
    """Whether a value is what a quantity says: rounded to its last digit, or as "about" and "more than" allow."""
    said, size = claimed.value, abs(claimed.value)
    slack = min(claimed.step / 2, 0.05 * size) + 1e-9 * max(size, 1e-9)
    if claimed.kind == "percent" and claimed.step == 0.0 and said != 50.0 and claimed.is_word:
        slack = max(slack, 0.5)
    if abs(value - said) <= slack:
        return True
    match claimed.bound:
        case "about":
            return abs(value - said) <= 0.1 * size
        case "more":
            return said <= value <= 2 * said
        case "less":
            return said / 2 <= value <= said
        case _:
            return False
