"""Parse written numbers: digits with separators, 万・億・兆, kanji, English number words and fractions."""

import re
import unicodedata
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.units import LETTER_SCALES, SCALES, SIGNS, units


class Numeral(NamedTuple):
    """A number at text[start:end], without unit and currency."""

    value: float
    step: float
    """The value of one unit in its last written digit. 0 for an inherently exact number, such as a count in words."""
    start: int
    end: int
    is_word: bool = False
    is_scaled: bool = False
    """Whether it includes a word such as "million" or 億."""


def fold(text: str) -> str:
    """Replace full-width digits, letters and symbols by plain ones; positions are preserved."""
    return text if text.isascii() else text.translate(_FOLDS)


class _Folds(dict[int, int]):
    def __missing__(self, code: int) -> int:
        letter = chr(code)
        form = unicodedata.normalize("NFKC", letter)
        plain = _DASHES.get(letter, letter if unicodedata.decomposition(letter).startswith("<super>") else form)
        self[code] = ord(plain) if len(plain) == 1 else code
        return self[code]


_DASHES = {**dict.fromkeys("‐‑‒–—―−－", "-"), **dict.fromkeys("～〜∼", "~"), "，": ",", "．": ".", "'": "'", "’": "'"}
_FOLDS = _Folds()

KANJI_DIGITS = {one: value for value, one in enumerate("〇一二三四五六七八九")}
_KANJI = "〇一二三四五六七八九十百千"
_SEPARATED = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:[\u00a0\u2009\u202f']\d{3})+|\d{1,3}(?: \d{3})+(?![\d.]|,\d)"
_DIGITS = rf"(?:{_SEPARATED}|\d{{1,3}}(?:\.\d{{3}}){{2,}}(?!\d)|\d+(?:\.\d+)?)"
_SEPARATED_TAIL = r"\d,\d{3}(?![\d,])"
_SCALED_JA = rf"{_DIGITS}\s?(?:[十百千]?[万億兆京]|[十百千])(?:\s?{_DIGITS}\s?(?:[十百千]?[万億兆京]|[十百千])|{_SEPARATED_TAIL}|\d{{1,4}}(?![\d.,]))*"  # noqa: E501
_SIGN = "|".join(one.replace("$", r"\$") for one in SIGNS)
DIGITAL = late_pattern(
    rf"(?P<sign>(?i:{_SIGN})\s?)?(?<![A-Za-z_\d])(?P<minus>(?<![\w)])[-△▲])?"
    rf"(?:(?P<of>\d{{1,3}})分の(?P<one>\d{{1,2}})|(?P<ja>{_SCALED_JA})|(?P<digits>{_DIGITS}))"
    r"(?P<fraction>\s?/\s?\d+(?![\d/]))?"
    r"(?:(?P<letter>[kKmMbBtT])(?![A-Za-z\d²³/])|(?:[\s-]?(?P<scale>(?i:hundred|thousand|million|billion|trillion|mn|mln"
    r"|bn|bln|tn|trn|lakh|crore|dozen))\b(?:\s(?P<scale2>(?i:thousand|million|billion|trillion))\b)?)?)"
)
_PARTS_JA = late_pattern(rf"({_DIGITS}|[{_KANJI}]+)?\s?([十百千]?[万億兆京]|[十百千])?")


_COUNTED = late_pattern(r"\s([a-z]+)")
_MONEY = late_pattern(r"\s(?:euros?|dollars?|pounds?|yen|francs?|kron\w+|pesos?|rubles?)\b")


def digital(found: re.Match[str]) -> Numeral | None:
    """Parse a match of `DIGITAL`."""
    if found["of"]:
        return Numeral(int(found["one"]) / max(1, int(found["of"])), 0.0, *found.span(), is_word=True)
    start = found.start("ja") if found["ja"] else found.start("digits")
    if found["ja"]:
        value, step = _japanese(found["ja"])
        return Numeral(_signed(found, value), step, start, found.end("ja"), is_scaled=True)
    written = _plain(found["digits"])
    value, step = float(written), _step(written)
    end = found.end("digits")
    if found["fraction"]:
        below = float(found["fraction"].strip(" /") or 0)
        if 1 < below <= 100 and value < below:
            return Numeral(value / below, 0.0, start, found.end("fraction"))
        return Numeral(value, step, start, end)  # e.g. 2024/25
    scale = 1.0
    if letter := found["letter"]:
        end_of_letter = found.end("letter")
        counted = _COUNTED.match(found.string, end_of_letter) if letter == "m" else None
        is_count = counted is not None and (unit := units().get(counted[1])) is not None and unit.kind == "count"
        if letter not in "mt" or found["sign"] or is_count or _MONEY.match(found.string, end_of_letter):
            scale, end = LETTER_SCALES[letter], found.end("letter")
    elif found["scale"]:
        scale = SCALES[found["scale"].lower()] * SCALES.get((found["scale2"] or "").lower(), 1.0)
        end = found.end("scale2") if found["scale2"] else found.end("scale")
    if scale > 1:
        step = 10.0 ** -len(written.partition(".")[2]) if "." in written else 1.0
    return Numeral(_signed(found, value * scale), step * scale, start, end, is_scaled=scale > 1)


def _signed(found: re.Match[str], value: float) -> float:
    return -value if found["minus"] else value


def _plain(written: str) -> str:
    """Remove separators from digits; in 1.234.567 the points are separators."""
    if written.count(".") > 1:
        written = written.replace(".", "")
    return "".join(one for one in written if one.isdigit() or one == ".")


def _step(written: str) -> float:
    """Return the value of the last significant digit: not a trailing zero, but at least two digits are."""
    if "." in written:
        return 10.0 ** -len(written.partition(".")[2])
    zeros = len(written) - len(written.rstrip("0"))
    return 10.0 ** max(0, min(zeros, len(written) - 2)) if len(written) >= 4 else 1.0


def _japanese(written: str) -> tuple[float, float]:
    """Return the value of 3億2,000万, 1兆2000億 or 二百三十, and of one unit in its last digit."""
    total, step = 0.0, 1.0
    for found in _PARTS_JA.finditer(written):
        if not found[0].strip():
            continue
        digits, scale = found[1], found[2] or ""
        factor = 1.0
        for letter in scale:
            factor *= SCALES[letter]
        if digits and digits[0] in _KANJI:
            value, last = _kanji(digits), 1.0
        else:
            plain = _plain(digits or "1")
            value, last = float(plain), _step(plain)
        total += value * factor
        step = last * factor
    return total, step


KANJI = late_pattern(rf"第?(?P<kanji>[{_KANJI}]{{1,12}}(?:[万億兆][{_KANJI}]*)*)(?P<rest>分の[{_KANJI}]+)?")


def kanji(found: re.Match[str]) -> Numeral | None:
    """Parse a match of `KANJI`. Words such as 一方 must be excluded by the caller from what follows."""
    written = found["kanji"]
    if found["rest"]:
        return Numeral(_kanji(found["rest"][2:]) / max(1.0, _kanji(written)), 0.0, found.start("kanji"), found.end())
    if any(one in written for one in "万億兆"):
        value, step = _japanese(written)
        return Numeral(value, step, *found.span("kanji"), is_scaled=True)
    return Numeral(_kanji(written), 1.0, *found.span("kanji"), is_word=True)


def _kanji(written: str) -> float:
    """Return the value of 二十三, 二〇二四 or 百."""
    if not any(one in "十百千" for one in written):
        return float("".join(str(KANJI_DIGITS[one]) for one in written))
    total = 0.0
    number = 0.0
    for one in written:
        if one in KANJI_DIGITS:
            number = number * 10 + KANJI_DIGITS[one]
        else:
            total += (number or 1.0) * SCALES[one]
            number = 0.0
    return total + number


_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""".split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {one: float(value) for value, one in enumerate(_ONES)} | {one: 20.0 + 10 * at for at, one in enumerate(_TENS)}
_ORDINALS = {
    one: float(value)
    for value, one in enumerate(
        """
            first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
            fifteenth sixteenth seventeenth eighteenth nineteenth
        """.split(),
        1,
    )
}
_PARTS = {
    "half": 2.0, "halves": 2.0, "third": 3.0, "thirds": 3.0, "quarter": 4.0, "quarters": 4.0, "fourth": 4.0,
    "fourths": 4.0, "fifth": 5.0, "fifths": 5.0, "sixth": 6.0, "sixths": 6.0, "eighth": 8.0, "eighths": 8.0,
    "tenth": 10.0, "tenths": 10.0,
}  # fmt: skip
_CARDINAL = "|".join(sorted(_VALUES, key=len, reverse=True))
_BIG = "hundred|thousand|million|billion|trillion|dozen"
WORDS = late_pattern(
    rf"\b(?:(?P<mixed>{_CARDINAL})[\s-]and[\s-]a[\s-]half(?:\s(?P<mixed_scale>{_BIG}))?"
    rf"|(?P<above>{_CARDINAL}|an?)[\s-](?P<part>{'|'.join(sorted(_PARTS, key=len, reverse=True))})\b(?!\squarter)"
    rf"|(?P<cardinal>(?:an?\s)?(?:{_BIG})\b(?:\s(?:{_BIG})\b)*"
    rf"|(?:(?:{'|'.join(_TENS)})[\s-](?:{'|'.join(_ONES[1:10])})\b|(?:{_CARDINAL})\b)(?:[\s-](?:{_BIG})\b(?:\s(?:and\s)?(?:{_CARDINAL})(?:-(?:{_CARDINAL}))?\b)?)*)"
    rf"|(?P<big>half\sa\s(?:million|billion|trillion|dozen))\b|(?P<half>half)\b(?![\s-]?(?:year|time|marathon|hour|century|brother|sister|a\b|an\b))"
    rf"|(?P<ordinal>{'|'.join(_ORDINALS)}))\b",
    2,  # re.IGNORECASE
)


_AND = late_pattern(r"(?i)\b([a-z]+)\sand\s$")
_ONE_OF_TWO = ("first", "second", "latter", "other", "either", "1st", "2nd")


def words(found: re.Match[str]) -> Numeral | None:
    """Parse a match of `WORDS`; None for an ordinal, a bare "one" and an article."""
    if found["mixed"]:
        scale = SCALES[(found["mixed_scale"]).lower()] if found["mixed_scale"] else 1.0
        return Numeral((_VALUES[found["mixed"].lower()] + 0.5) * scale, 0.0, *found.span(), is_word=True)
    if found["part"]:
        if (before := _AND.search(found.string, max(0, found.start() - 16), found.start())) and units().get(before[1]):
            return None  # e.g. a year and a half
        above = 1.0 if found["above"].lower() in ("a", "an") else _VALUES[found["above"].lower()]
        below = _PARTS[found["part"].lower()]
        return Numeral(above / below, 0.0, *found.span(), is_word=True) if 0 < above < below else None
    if found["big"]:
        return Numeral(0.5 * SCALES[found["big"].split()[-1].lower()], 0.0, *found.span(), is_word=True, is_scaled=True)
    if found["half"]:
        if found.string[max(0, found.start() - 8) : found.start()].lower().rstrip().endswith(_ONE_OF_TWO):
            return None  # e.g. the first half
        return Numeral(0.5, 0.0, *found.span(), is_word=True)
    if found["ordinal"]:
        return None
    return _cardinal(found)


_TENTHS = {f"{one.removesuffix('y')}ieth": value for one, value in _VALUES.items() if one in _TENS} | {
    "hundredth": 100.0
}
ORDINAL_WORDS = "|".join(
    [rf"(?:{'|'.join(_TENS)})-(?:{'|'.join(list(_ORDINALS)[:9])})", *_TENTHS, *list(_ORDINALS)[1:]]
)
"""Words such as "third" and "twenty-fifth", without "first"."""


def ordinal(word: str) -> float:
    """Return the value of an ordinal such as "third"; 0 for other words."""
    tens, _, ones = word.lower().partition("-")
    if ones:
        return _VALUES.get(tens, 0.0) + _ORDINALS.get(ones, 0.0) if tens in _TENS else 0.0
    return _ORDINALS.get(tens, _TENTHS.get(tens, 0.0))


def _cardinal(found: re.Match[str]) -> Numeral | None:
    total, part, step = 0.0, 0.0, 1.0
    is_scaled = False
    for word in found["cardinal"].lower().replace("-", " ").split():
        if word in _VALUES:
            part += _VALUES[word]
        elif word in SCALES:
            scale = SCALES[word]
            is_scaled = is_scaled or scale >= 1e3
            if scale <= 100:
                part = (part or 1.0) * scale
            else:
                total = (total + (part or 1.0)) * scale if not total else total + (part or 1.0) * scale
                part = 0.0
            step = scale
    value = total + part
    return Numeral(value, step if is_scaled else 0.0, *found.span(), is_word=True, is_scaled=is_scaled)
