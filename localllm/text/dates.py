"""Parse dates, years, Japanese eras, quarters and times of day in English and Japanese text."""

import re
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.numerals import KANJI, kanji, ordinal
from localllm.text.units import ERAS, MONTHS


class Moment(NamedTuple):
    """A date or time: `value` is year * 10,000 + month * 100 + day, with 0 for omitted parts, or minutes of a day."""

    kind: str
    """date, decade, quarter, century or time."""
    value: float
    start: int
    end: int


_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_MONTH = "|".join(one.capitalize() for one in sorted({*MONTHS, "sept"}, key=len, reverse=True))
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NTH = "first|second|third|fourth"
_DATE = late_pattern(
    r"(?=[\dA-Zfst午朝夜夕早深未昼第明大昭平令一二三四五六七八九十])(?:"  # skip most positions at once
    r"(?<![\d.])(?P<iso>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})(?!\d)"
    rf"|(?:(?P<era>{'|'.join(ERAS)})\s?(?P<eray>元|\d{{1,2}}|[一二三四五六七八九十]{{1,3}})|(?<!\d)(?P<jay>\d{{4}}|[一二][〇一二三四五六七八九]{{3}}))\s?年"
    rf"(?:度|\s?(?P<jam>{_NUMBER})月(?:\s?(?P<jad>{_NUMBER})日(?!間))?)?(?!間|代)"
    rf"|(?<!\d)(?P<om>{_NUMBER})月(?:\s?(?P<od>{_NUMBER})日(?!間))?(?!間)"
    rf"|(?<![A-Za-z_\d])(?P<decade>\d{{3}}0)(?:s\b|年代)|(?<!\d)(?P<short>[2-9]0)年代"
    rf"|(?<![\w.])(?:(?P<d1>{_DAY})(?:\s+of)?\s+)?\b(?P<em>{_MONTH})\b\.?(?:\s+(?P<d2>{_DAY})(?![\d:]|[.,]\d))?(?:(?:,|\s+of)?\s+(?P<ey>\d{{4}})(?!\d|,\d))?"
    r"|\b(?:FY|fiscal(?:\syear)?)\s?(?P<fy>\d{4}|\d{2})\b"
    rf"|(?P<q>\bQ[1-4]\b|\b[1-4]Q\b|第[1-4一二三四]四半期|\b(?i:{_NTH})[\s-]quarter\b)"
    r"|(?P<century>\b\d{1,2}(?:st|nd|rd|th)[\s-]century|\d{1,2}世紀)"
    r"|(?P<half>午前|午後|朝|夜|夕方|早朝|深夜|未明|昼)?(?<![\d:])(?P<hour>\d{1,2})(?:時(?!間|代)(?:(?P<jmin>\d{1,2})分|(?P<jhalf>半))?|:(?P<emin>\d{2})(?![\d:])(?:\s?(?P<ap>[aApP])\.?[mM]\b)?|\s?(?P<ap2>[aApP])\.?[mM]\b)"
    r"|(?<![\d.,$€£¥+])(?:(?<!\D-)|(?<=\b[Mm]id-)|(?<=\b[Ee]arly-)|(?<=\b[Ll]ate-)|(?<=\b[Ee]nd-)|(?<=\b[Pp]re-)|(?<=\b[Pp]ost-))(?P<year>1[0-9]\d{2}|20\d{2})(?![\d%]|[.,]\d)(?=[-/\s,.;:!?)\]。、・\"'～~」』（）(]|$|から|まで|の|に|は|と|と|を)"
    r")"
)
_NUMBER_ONLY = late_pattern(r"\d+")


def moments(text: str) -> list[Moment]:
    """Return the dates and times of a text without full-width digits, in order."""
    found = (_read(one) for one in _DATE.finditer(text))
    return [one for one in found if one is not None]


def _read(found: re.Match[str]) -> Moment | None:
    kind = found.lastgroup or ""
    if found["iso"]:
        year, month, day = (int(one) for one in _NUMBER_ONLY.findall(found["iso"]))
        return _date(found, year, month, day)
    if found["era"] or found["jay"]:
        year = ERAS[found["era"]] + (_small(found["eray"]) or 1) if found["era"] else _small(found["jay"])
        return _date(found, year, _small(found["jam"]), _small(found["jad"]))
    if found["om"]:
        return _date(found, 0, _small(found["om"]), _small(found["od"]))
    if found["em"]:
        return _english(found)
    if found["hour"]:
        return _time(found)
    start, end = found.span()
    match kind:
        case "short":  # e.g. 90年代
            return Moment("decade", 1900.0 + float(found["short"]), start, end)
        case "decade":
            return Moment("decade", float(found["decade"]), start, end)
        case "fy":
            year = int(found["fy"])
            return Moment("date", (year + 2000 if year < 100 else year) * 10_000.0, start, end)
        case "q":
            return Moment("quarter", _quarter(found["q"]), start, end)
        case "century":
            return Moment("century", float(_NUMBER_ONLY.findall(found["century"])[0]), start, end)
        case _:
            return Moment("date", int(found["year"]) * 10_000.0, start, end)


def _date(found: re.Match[str], year: int, month: int, day: int) -> Moment | None:
    if month > 12 or day > 31:
        return None
    return Moment("date", year * 10_000.0 + month * 100 + day, *found.span())


def _english(found: re.Match[str]) -> Moment | None:
    """Parse a date such as 1 April 2024; "May" and "March" alone are rarely months."""
    name = found["em"].lower()
    day, year = found["d1"] or found["d2"], found["ey"]
    if name in ("may", "march", "mar", "sept") and not day and not year:
        before = found.string[max(0, found.start() - 8) : found.start()].lower().split()
        if not before or before[-1] not in (
            "in",
            "of",
            "since",
            "last",
            "by",
            "until",
            "from",
            "to",
            "early",
            "late",
            "mid-",
            "early-",
            "late-",
        ):
            return None
    month = MONTHS.index("sep" if name == "sept" else name) % 12 + 1
    days = _NUMBER_ONLY.findall(day or "0")
    return _date(found, int(year or 0), month, int(days[0]))


def _small(written: str | None) -> int:
    if not written or written == "元":
        return 0
    if written.isdigit():
        return int(written)
    found = KANJI.match(written)
    number = kanji(found) if found else None
    return int(number.value) if number else 0


def _quarter(written: str) -> float:
    digits = _NUMBER_ONLY.findall(written)
    if digits:
        return float(digits[0])
    return ordinal(written.split(maxsplit=1)[0].split("-", maxsplit=1)[0]) or float("一二三四".find(written[1]) + 1)


def _time(found: re.Match[str]) -> Moment | None:
    hour, minute = int(found["hour"]), int(found["jmin"] or found["emin"] or (30 if found["jhalf"] else 0))
    after = (found["ap"] or found["ap2"] or "").lower()
    if hour > 24 or minute > 59:
        return None
    if (after == "p" or found["half"] == "午後") and hour < 12:
        hour += 12
    return Moment("time", hour * 60.0 + minute, *found.span())
