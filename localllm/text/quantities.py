"""Parse quantities in English and Japanese text to value, kind and unit, whatever their notation.

12億ドル and $1.2 billion, 令和6年 and 2024, 3割 and 30 %, 1.2 GW and 1,200 MW are equal.
Version numbers, citation and list markers, and digits within names are no quantities.
"""

import re
from functools import lru_cache
from math import isfinite

from localllm.base.lazy_patterns import late_pattern
from localllm.text.dates import moments
from localllm.text.numerals import DIGITAL, KANJI, ORDINAL_WORDS, WORDS, Numeral, digital, fold, kanji, ordinal, words
from localllm.text.quantity import Quantity
from localllm.text.quantity_series import dated, joined, linked
from localllm.text.sentences import Span
from localllm.text.units import SIGNS, Unit, units

_SMALL = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
_NOISE = late_pattern(
    r"\[(?:[SE]?\d+(?:\s?[,-]\s?\d+)*)\]|(?<![\w.])v?\d+\.\d+\.\d+[\w.-]*|\bv\d+[\w.]*|(?i:\bversion\s\d[\w.]*)"
    r"|#\d+|(?m:^\s*(?:\(?\d{1,3}[.)](?=\s)|[①-⑳]))|https?://\S+|[A-Za-z]+-?\d[\w-]*(?:\.\d+)*|\d+[A-Z]{1}(?![A-Za-z])(?<![MKBTCF])"
    r"|\b\d+[GD]\b|\b[A-Za-z]*-\d+\b(?<=[A-Za-z]-\d)"
)
_RATIO = late_pattern(
    r"(?i)\b(?:(?P<x2>twice|doubl(?:e|ed|es|ing)|two-?fold)|(?P<x3>thrice|tripl(?:e|ed|es|ing)|threefold)"
    r"|(?P<x4>quadrupl(?:e|ed|es|ing)|fourfold)|(?P<x5>halv(?:e|ed|es|ing)))\b|(?P<j2>倍増)|(?P<j5>半減|半額|半値)|(?P<j6>半数|半分|過半数)"
)
_SHARE = late_pattern(
    rf"(?i)\b(?:one|1)(?:\s[a-z'-]+){{0,3}}?[\s-](?:in|out\sof)[\s-](?:every\s)?(?P<of>\d{{1,3}}|{_SMALL})\b(?!\s?(?:%|per|of\sthe\s|[-:]|\d))"
    rf"|\b(?P<part>two|three|four|five|six|seven|eight|nine|\d{{1,2}})[\s-](?:in|out\sof)[\s-](?:every\s)?(?P<whole>\d{{1,3}}|{_SMALL})\b(?!\s?(?:%|[-:]|\d))"
    rf"|\bevery\s(?P<nth>third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b"
    r"|(?P<all>\d{1,3})(?P<kind>人|社|校|台|本|店|か国|カ国|試合)中(?P<some>\d{1,3})(?P=kind)"
    r"|(?P<ja>\d{1,3}|[二三四五六七八九十])(?P<what>人|日|軒|社|件|世帯|校|台|本|つ|戸|か国|カ国|か所|カ所)(?:に|のうち)"
    r"(?P<jb>\d{1,2}|[一二三四五六七八九])(?P=what)"
)
"""Matches shares: one in four is 25 %."""
_TURNS = late_pattern(
    r"(?<![\d:])(?:(\d{1,2}):)?(\d{1,2}):(\d{2}(?:\.\d+)?)(?![\d:])(?:(?<=:\d\d:\d\d)|(?<=\.\d)|(?<=\.\d\d))|(\d{1,2})秒(\d{1,2})(?!\d)"
)
"""Matches 2:24:51, 27:14.2, 3秒5."""
_HALVES = late_pattern(
    r"(?i)\bhalf\s(?:an?|of\san?)\s(?P<half>[a-z]+(?:\s(?:point|mile|metre|meter|kilometre|litre))?)\b"
    r"|\ban?\s(?P<more>[a-z]+)\sand\sa\shalf\b"
    rf"|\ban?\s(?P<one>hour|minute|year|day)\sand\s(?:a\s)?(?P<rest>\d{{1,2}}|{_SMALL})\s(?P<of>minutes|seconds|months|hours)\b"
)
"""Matches half an hour; a minute and a half."""
_CLOCK = late_pattern(
    rf"(?i)\b(?:(?P<hour>\d{{1,2}}|{_SMALL})\s(?:o'clock|in\sthe\s(?:early\s)?(?:morning|afternoon|evening)|at\snight)|half\spast\s(?P<past>{_SMALL}|one)|(?P<noon>noon|midnight))\b"
    r"|(?P<ja>正午|真夜中)"
)
_TERMS = late_pattern(
    r"(?i)(?<!two )(?<!three )(?<!four )(?<!five )(?<!six )(?<!\d )"
    r"\b(?:(?P<weeks>fortnight(?:ly)?)|(?P<years>decade))\b"
    r"|\b(?P<century>[a-z]+(?:-first)?)[\s-]century\b"
    r"|\bevery\s(?:other|second)\s(?P<other>day|week|month|year)\b|隔(?P<turn>日|週|月|年)|(?P<quarter>四)?半(?P<part>世紀|年|月|日)(?!度)"
)
"""Matches a fortnight; the decade; the fifth century; every other week; half a year."""
_ORDINAL = late_pattern(
    r"\b(\d{1,3})(?:st|nd|rd|th)\b|第(\d{1,3})"
    rf"|(?<!\ba[ -])(?<!one[ -])(?<!two[ -])\b({ORDINAL_WORDS})\b(?![\s-](?:of\b|quarter))"
)
_WORD = late_pattern(
    r"[\s-]?([A-Za-z°²³µμ/][A-Za-z°²³µμ/0-9]*(?:-(?:old|hours?|fold|ups))?)(?:[\s-]([A-Za-z]+))?(?:[\s-]([A-Za-z]+))?"
)
_ABOUT = ("about", "around", "approximately", "roughly", "some", "nearly", "almost", "circa", "estimated", "close to", "or so", "近く", "約", "およそ", "ほぼ", "おおよそ", "概ね")  # fmt: skip  # noqa: E501
_MORE = ("more than", "over", "above", "at least", "exceeding", "exceeded", "exceeds", "greater than", "topped", "surpassed", "minimum of", "no fewer than", "upwards of", "past")  # fmt: skip  # noqa: E501
_LESS = (
    "less than",
    "under",
    "below",
    "up to",
    "at most",
    "fewer than",
    "as many as",
    "maximum of",
    "no more than",
    "not more than",
    "short of",
    "within",
    "最大",
)
_AFTER = {"に満た": "less", "にも満た": "less", "足らず": "less",
          "以上": "more", "超": "more", "余": "more", "を超": "more", "を上回": "more", "以下": "less", "未満": "less",
          "を下回": "less", "弱": "less", "強": "more", "前後": "about", "程度": "about", "ほど": "about", "近く": "about", "あまり": "more"}  # fmt: skip  # noqa: E501
_JOINED = "数何幾"
_BELOW_ZERO = ("minus", "零下", "氷点下", "マイナス")


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order."""
    return list(_quantities(text))


@lru_cache(maxsize=512)
def _quantities(text: str) -> tuple[Quantity, ...]:
    plain = fold(text)
    taken = bytearray(len(plain) + 1)
    found = _dates(plain, taken) + _phrases(plain, taken)
    for noise in _NOISE.finditer(plain):
        if not any(taken[noise.start() : noise.end()]) and not _is_money(noise[0]):
            _take(taken, noise.start(), noise.end())
    found += _ratios(plain, taken)
    found += _numbers(plain, taken)
    found = [one for one in found if isfinite(one.value)]  # infinite for hundreds of digits
    found.sort(key=lambda one: one.span.start)
    return tuple(joined(plain, dated(plain, linked(plain, found))))


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
                continue  # e.g. 1500 people, 2000 km
        _take(taken, one.start, one.end)
        found.append(Quantity(one.value, "", one.kind, Span(one.start, one.end)))
    return found


def _phrases(plain: str, taken: bytearray) -> list[Quantity]:
    """Parse quantities beyond number and unit: one in four, 2:24:51, half an hour, eight in the evening."""
    found: list[Quantity] = []
    for pattern, read in ((_SHARE, _share), (_TURNS, _turns), (_HALVES, _halves), (_CLOCK, _clock), (_TERMS, _term)):
        for match in pattern.finditer(plain):
            if any(taken[match.start() : match.end()]) or (quantity := read(match)) is None:
                continue
            found.append(quantity._replace(bound=_bound(plain, *quantity.span)))
            _take(taken, *quantity.span)
    return found


def _share(found: re.Match[str]) -> Quantity | None:
    part = _small(found["part"] or found["some"] or found["jb"] or "1")
    whole = (
        ordinal(found["nth"]) if found["nth"] else _small(found["of"] or found["whole"] or found["all"] or found["ja"])
    )
    follows = _unit_after(found.string, found.end())[0]
    if (
        whole <= part
        or not (whole <= 10 or part == 1 or whole in (20, 25, 50, 100, 1000))
        or (follows and follows.kind != "count")
    ):
        return None  # e.g. one station in five years
    return Quantity(100 * part / whole, "%", "percent", Span(*found.span()), is_word=True)


def _small(written: str) -> float:
    """Parse a small number in digits, kanji or words."""
    if written.isdecimal():
        return float(written)
    for pattern, read in ((KANJI, kanji), (WORDS, words)):
        if (match := pattern.match(written)) and (number := read(match)):
            return number.value
    return 0.0


def _turns(found: re.Match[str]) -> Quantity:
    if found[4]:
        return Quantity(float(f"{found[4]}.{found[5]}"), "s", "duration", Span(*found.span()))
    hours, minutes, seconds = (float(one or 0) for one in found.groups()[:3])
    return Quantity(hours * 3_600 + minutes * 60 + seconds, "s", "duration", Span(*found.span()))


def _halves(found: re.Match[str]) -> Quantity | None:
    if found["one"]:  # e.g. an hour and 20 minutes
        whole, rest = units()[found["one"].lower()], units()[found["of"].lower()]
        value = whole.factor + _small(found["rest"]) * rest.factor
        return Quantity(value, whole.name, whole.kind, Span(*found.span())) if whole.name == rest.name else None
    written = (found["half"] or found["more"]).lower()
    unit = units().get(written) or units().get(written.split()[0])
    if unit is None or unit.kind == "count":
        return None
    value = 0.5 if found["half"] else 1.5
    return Quantity(value * unit.factor, unit.name, unit.kind, Span(*found.span()), is_word=True)


def _clock(found: re.Match[str]) -> Quantity:
    hour = found["hour"] or found["past"]
    value = 60 * _small(hour) + (30 if found["past"] else 0) if hour else 720.0
    return Quantity(value, "", "time", Span(*found.span()))


def _term(found: re.Match[str]) -> Quantity | None:
    if written := found["century"]:
        number = ordinal(written)
        return Quantity(number, "", "century", Span(*found.span())) if number else None
    if found["weeks"] or found["years"]:
        value, unit = (1_209_600.0, "s") if found["weeks"] else (120.0, "month")
    else:
        name = found["other"] or found["turn"] or found["part"]
        of = Unit("duration", "month", 1_200.0 if name == "世紀" else 1.0) if name in ("世紀", "月") else units()[name]
        factor = (0.25 if found["quarter"] else 0.5) if found["part"] else 2.0
        value, unit = of.factor * factor, of.name
    return Quantity(value, unit, "duration", Span(*found.span()), is_word=True)


def _ratios(plain: str, taken: bytearray) -> list[Quantity]:
    found: list[Quantity] = []
    for one in _RATIO.finditer(plain):
        name = one.lastgroup or "x2"
        value = {"5": 0.5, "6": 50.0}.get(name[1], float(name[1]))
        kind, unit = ("percent", "%") if name == "j6" else ("ratio", "x")
        bound = "more" if one[0] == "過半数" else _bound(plain, one.start(), one.end())
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
        return None  # e.g. 一方, 二つ, 十分
    bound = _bound(plain, start - len(sign), max(end, unit_end))
    if unit is not None and unit.name == "percent":
        unit = units()["%"]
    if unit is None and 0 < value < 1 and step == 0.0:
        return Quantity(value * 100, "%", "percent", Span(start, end), 0.0, bound, is_word)
    if unit is None:
        return Quantity(value, "", "number", Span(start, end), step, bound, is_word)
    unit = _TENS_OF_AGE if plain[end:unit_end] == "代" and value in range(10, 100, 10) else unit
    name, factor = unit.name, unit.factor
    value *= _sign_of(plain, start, unit)
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


_TENS_OF_AGE = Unit("age", "tens", 1.0)


def _sign_of(plain: str, start: int, unit: Unit) -> int:
    """Return -1 for degrees below zero, else 1."""
    before = plain[max(0, start - 6) : start].lower().rstrip(" 約")
    return -1 if unit.kind == "temperature" and before.endswith(_BELOW_ZERO) else 1


_MINOR = late_pattern(r"(\d)分")


def _in_tenths(plain: str, number: Numeral, end: int, bound: str) -> Quantity:
    """Parse 3割5分 as 35 %."""
    value, step = number.value * 10, 10.0
    if minor := _MINOR.match(plain, end):
        value, step, end = value + float(minor[1]), 1.0, minor.end()
    is_coarse = step != 1.0
    return Quantity(
        value, "%", "percent", Span(number.start, end), 0.0 if is_coarse else step, bound, is_word=is_coarse
    )


def _unit_after(plain: str, end: int) -> tuple[Unit | None, int]:
    """Return the unit that follows a number, and its end."""
    table = units()
    rest = plain[end : end + 14]
    shift = len(rest) - len(rest.lstrip(" -\u00a0"))
    if shift <= 1:
        near = rest[shift:].lower()
        if near.startswith("分け"):
            return None, end  # e.g. 14勝2分け
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
    """
    in of and or to from by for on at with is are was were has have had than that which as the a
    """.split()
)


def _noun_after(following: list[str], end: int) -> tuple[Unit | None, int]:
    """Return the counted noun, skipping adjectives: 1,200 full-time employees."""
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
