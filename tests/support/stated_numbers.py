"""Read the numbers that a text states, for tests that check the program's reports: nothing of the program is used.

A reader of its own, kept simple: a number, its unit where it is a known one, and whether numbers of one text occur in
another, also as a rounding, a sum, a difference or a ratio of those.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_KANJI = {sign: value for value, sign in enumerate("〇一二三四五六七八九")}
_TENS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 10_000, "億": 10**8, "兆": 10**12}
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_COUNTED_IN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_RANKED = "first second third fourth fifth sixth seventh eighth ninth"
_MONTHS_NAMED = "january february march april may june july august september october november december"
_WORDS = {word: value for value, word in enumerate(_COUNTED.split())} | {
    word: 10 * value for value, word in enumerate(_COUNTED_IN_TENS.split(), 2)
}
_POWERS = {
    "": 1,
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
}
_PARTS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
_MONTHS = {word: value for value, word in enumerate(_MONTHS_NAMED.split(), 1)}
_ORDINALS = {word: value for value, word in enumerate(_RANKED.split(), 1)}
_NAMED = {"twice": 2, "double": 2, "fortnight": 2, "decade": 10} | _ORDINALS
_WORD = "(?:" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")"
_ONE = "(?:" + "|".join(word for word, value in _WORDS.items() if 0 < value < 10) + ")"
_TEN = "(?:" + "|".join(word for word, value in _WORDS.items() if value >= 20) + ")"
_POWER = r"(?:hundred|thousand|million|billion|trillion|bn\b)"
_SIGNS = "[一二三四五六七八九〇十]"

_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("%", "percent", "per cent", "パーセント"), ("%", 1.0)),
    **dict.fromkeys(("mm", "millimetres", "millimetre", "ミリメートル", "ミリ"), ("m", 0.001)),
    **dict.fromkeys(("cm", "centimetres", "centimetre", "センチメートル", "センチ"), ("m", 0.01)),
    **dict.fromkeys(("m", "metres", "metre", "meters", "メートル"), ("m", 1.0)),
    **dict.fromkeys(("km", "kilometres", "kilometre", "kilometers", "キロメートル"), ("m", 1_000.0)),
    "キロ": ("", 1_000.0),
    **dict.fromkeys(("m3", "cubic metres", "cubic metre", "立方メートル"), ("l", 1_000.0)),
    **dict.fromkeys(("m2", "square metres", "square metre", "平方メートル"), ("m2", 1.0)),
    **dict.fromkeys(("km2", "square kilometres", "square kilometre", "平方キロメートル", "平方キロ"), ("m2", 1e6)),
    **dict.fromkeys(("hectares", "hectare", "ha", "ヘクタール"), ("m2", 10_000.0)),
    **dict.fromkeys(("l", "litres", "litre", "リットル"), ("l", 1.0)),
    **dict.fromkeys(("g", "grams", "gram", "グラム"), ("g", 1.0)),
    **dict.fromkeys(("kg", "kilograms", "kilogram", "キログラム"), ("g", 1_000.0)),
    **dict.fromkeys(("t", "tonnes", "tonne", "トン"), ("g", 1_000_000.0)),
    **dict.fromkeys(("kw", "kilowatts", "キロワット"), ("w", 1e3)),
    **dict.fromkeys(("mw", "megawatts", "メガワット"), ("w", 1e6)),
    **dict.fromkeys(("gw", "gigawatts", "ギガワット"), ("w", 1e9)),
    **dict.fromkeys(("kwh", "kilowatt-hours", "キロワット時"), ("wh", 1e3)),
    **dict.fromkeys(("mwh", "megawatt-hours", "メガワット時"), ("wh", 1e6)),
    **dict.fromkeys(("gwh", "gigawatt-hours", "ギガワット時"), ("wh", 1e9)),
    **dict.fromkeys(("yen", "円"), ("yen", 1.0)),
    **dict.fromkeys(("euros", "euro", "ユーロ"), ("euro", 1.0)),
    **dict.fromkeys(("dollars", "dollar", "ドル"), ("dollar", 1.0)),
    **dict.fromkeys(("pounds", "ポンド"), ("pound", 1.0)),
}
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_MONEY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}

_NUMBER = re.compile(
    rf"""
      (?P<era>明治|大正|昭和|平成|令和)\s?(?P<year>\d+|元)\s?年
    | (?P<share>\d+(?:\.\d+)?|[一二三四五六七八九])割(?:(?P<rest>\d)分)?
    | (?P<below>\d+|{_SIGNS})分の(?P<above>\d+|{_SIGNS})
    | (?:(?P<money>[$€£¥])\s?)?
        (?P<japanese>(?:\d[\d,]*(?:\.\d+)?|{_SIGNS}+)\s?[千百十]?\s?[兆億万](?:\d[\d,]*\s?[千百十]?[億万]?)*)
    | (?P<kanji>[一二三四五六七八九十百千]+)(?=[年月日回人個本台か件種])
    | (?:(?P<currency>[$€£¥])\s?)?(?P<digits>\d[\d,]*(?:\.\d+)?)(?:(?P<thousands>千)|[\s-]?(?P<power>{_POWER}))?
    | \b(?P<some>half|a\squarter\sof)\sa\s(?P<somepower>million|billion|dozen|thousand)
    | \b(?P<times>an?|one|two|three|four)[\s-](?P<part>half|third|quarter|fifth|tenth)s?\b
    | (?P<half>\bhalf\b|半分|半数)
    | \b(?P<month>{"|".join(_MONTHS)})\b(?<!may)
    | (?P<may>(?<=\d\s)may\b|\bmay(?=\s\d))
    | \b(?P<named>{"|".join(_NAMED)})\b
    | \b(?P<words>{_TEN}[\s-]{_ONE}|{_WORD})(?:[\s-](?P<wordpower>{_POWER}|dozen))?\b
    """,
    re.VERBOSE,
)


class Number(NamedTuple):
    """A number as it stands for itself: `value` in the base of its `unit`, which is empty where none is known."""

    value: float
    unit: str
    text: str
    written: float
    """As it was written, whatever its unit."""


def stated_numbers(text: str) -> list[Number]:
    """All numbers of a text. Shares are per cent: 三割, 30 %, three tenths are 30 with the unit `%`."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2009", " ")
    found: list[Number] = []
    for match in _NUMBER.finditer(plain):
        if match.start() and plain[match.start() - 1].isascii() and plain[match.start() - 1].isalpha():
            continue  # a digit of a name: b2b, s7
        written, unit = _valued(match)
        value = written
        behind = re.match(rf"[\s-]?({_UNIT})(?![a-z])", plain[match.end() :])
        if not unit and behind:
            unit, scale = _UNITS[behind[1]]
            value *= scale
        found.append(Number(value, unit, match[0].strip(), written))
    return found


def _valued(match: re.Match[str]) -> tuple[float, str]:
    """The number as it is written, and its unit where that belongs to it."""
    part = {name: text for name, text in match.groupdict(default="").items() if text}
    money = _MONEY.get(part.get("money") or part.get("currency", ""), "")
    match part:
        case {"era": era, "year": year}:
            return _ERAS[era] + (1 if year == "元" else int(year)), ""
        case {"share": tenths}:
            return 10 * _kanji(tenths) + int(part.get("rest", 0)), "%"
        case {"below": below, "above": above}:
            return 100 * _kanji(above) / _kanji(below), "%"
        case {"times": times, "part": name}:
            return 100 * _PARTS[name] * _WORDS.get(times, 1), "%"
        case {"half": _}:
            return 50.0, "%"
        case {"japanese": text}:
            return _japanese(text), money
        case {"digits": digits}:
            power = 1_000 if "thousands" in part else _POWERS[part.get("power", "")]
            return float(digits.replace(",", "")) * power, money
        case _:
            return _in_words(part), ""


def _in_words(part: dict[str, str]) -> float:
    match part:
        case {"kanji": text}:
            return _kanji(text)
        case {"some": some, "somepower": power}:
            return _POWERS[power] * (0.5 if some == "half" else 0.25)
        case {"month": name} | {"may": name}:
            return float(_MONTHS[name])
        case {"named": name}:
            return float(_NAMED[name])
        case _:
            words = re.split(r"[\s-]", part["words"])
            return float(sum(_WORDS[word] for word in words) * _POWERS[part.get("wordpower", "")])


def _kanji(text: str) -> float:
    if text[0].isdigit():
        return float(text)
    total = now = 0
    for sign in text:
        if sign in _TENS:
            total += (now or 1) * _TENS[sign]
            now = 0
        else:
            now = now * 10 + _KANJI[sign]
    return float(total + now)


def _japanese(text: str) -> float:
    """4億8千万, 1万7800, 2.1兆, 五十万."""
    total = 0.0
    for digits, ten, myriad in re.findall(rf"(\d[\d,]*(?:\.\d+)?|{_SIGNS}+)\s?([千百十])?\s?([兆億万])?", text):
        value = _kanji(digits.replace(",", ""))
        total += value * _TENS.get(ten, 1) * _MYRIADS.get(myriad, 1)
    return total


def missing_numbers(claim: str, passages: Iterable[str]) -> list[Number]:
    """The numbers of a claim that the passages do not state, nor are a rounding or a calculation with two of theirs."""
    there = [number for passage in passages for number in stated_numbers(passage)]
    worked_out = [made for first, second in combinations(there, 2) for made in _combined(first, second)]
    worked_out += [Number(value, "%", "", value) for one in there for value in _as_change(one)]
    return [
        number
        for number in stated_numbers(claim)
        if number.text not in _ORDINALS
        and (number.value != 1 or number.unit)  # 1日, one of them: mostly no number that anybody states
        and not any(_is_same(number, other) for other in [*there, *worked_out])
    ]


def _combined(first: Number, second: Number) -> list[Number]:
    """Their sum, difference, product and ratio, and the change from one to the other in per cent."""
    one, two = sorted((first.value, second.value))
    values = [(one * two, "")]
    if (
        first.unit == second.unit or not first.unit or not second.unit
    ) and one > 0.05 * two:  # a small one beside a large one changes nothing
        unit = first.unit or second.unit
        values += [(one + two, unit), (two - one, unit), (two / one, ""), (one / two, "")]
        values += [(100 * two / one, "%"), (100 * one / two, "%")]
        values += [(100 * (two - one) / one, "%"), (100 * (two - one) / two, "%")]
    return [Number(value, unit, "", value) for value, unit in values]


def _as_change(number: Number) -> list[float]:
    """The rest of a share; what 1.5 times are more."""
    return [100 - number.value] if number.unit == "%" else [abs(100 * (number.value - 1))]


def _is_same(claimed: Number, stated: Number) -> bool:
    if claimed.unit and stated.unit and claimed.unit != stated.unit:
        return False
    is_near = abs(claimed.value - stated.value) <= 0.02 * abs(stated.value)
    if not (claimed.unit and stated.unit):
        is_near = is_near or abs(claimed.written - stated.written) <= 0.02 * abs(stated.written)
    return is_near and not _is_year_beside(claimed, stated)


def _is_year_beside(claimed: Number, stated: Number) -> bool:
    """Years are not rounded."""
    both = (claimed.value, stated.value)
    return all(1_000 < value < 2_200 and value == int(value) for value in both) and both[0] != both[1]
