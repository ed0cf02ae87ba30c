"""Find numbers in a summary, translation, extract or conversion that stand in none of the texts that it is made of.

Numbers may be written in another form (320万円, 3.2 million yen; 4/8, 8 April), and follow from others in one step or
as the sum of a column. A translation has only those of its source, so bare ones from 10 on are looked for, too. Nothing
is said where more was ordered whose numbers are its own: a proposal, other units.
"""

import csv
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, date, timedelta
from functools import cached_property
from io import StringIO
from itertools import chain
from typing import Literal

from localllm.agent.checks.uncited_numbers import Numbers, uncited_numbers
from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.lazy_patterns import late_pattern
from localllm.rag.citations import sentences_with_citations
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity

Rendering = Literal["", "summary", "extract", "translation"]

_TRANSLATION = late_pattern(r"(?i)\btranslat\w*|翻訳|(?:語|英|和)に?訳|を?訳(?:して|せ|し、|した)|和訳|英訳")
_EXTRACT = late_pattern(
    r"(?i)\bextract\w*|\bconvert\w*|\brewrite\b|\bpull out\b|\bcopy\b[^\n]{0,40}\b(?:to|into)\b"
    r"|抜き出|抽出|書き出|変換|書き直|清書|(?:表|箇条書き|リスト|JSON|CSV|YAML|HTML|TSV|メール)(?:形式)?に(?:して|し、|まとめ|変|直|書き)",
)
_SUMMARY = late_pattern(
    r"(?i)\bsummar\w*|\btl;?dr\b|\bthe gist\b|\bdigest\b|\bkey points\b|\bsum up\b"
    r"|要約|要点|まとめて|まとめを|概要|ダイジェスト"
)
_OF_ITS_OWN = late_pattern(
    r"(?i)\b(?:suggest\w*|propos\w*|advi[cs]e\w*|opinions?|ideas?|recommend\w*|forecast\w*|estimat\w*|predict\w*"
    r"|review\w*|examples?|samples?|test data|compar\w*|assess\w*|improv\w*|adapt\w*|calculat\w*"
    r"|invent\w*|random\w*|locali[sz]\w*"
    r"|units?|currenc\w*|dollars|euros?|metric|time ?zones?|renumber\w*|shift\w*|increas\w*|chang\w*|updat\w*|add)\b"
    r"|案|アイデ[アィ]|意見|感想|どう思|評価|改善|予測|見積も(?!り?書)|計画を|助言|アドバイス|例を|サンプル|比較|計算|換算|単位|ドル|ユーロ"
    r"|時差|採番|ずらし|増や|減ら|変更|追加|更新"
)
"""Matches requests whose result may have numbers of its own."""


def rendering(request: str) -> Rendering:
    """Return what a request orders to be made of texts, if the result has no other numbers than these."""
    text = ends_of(request)
    if "```" in text or _OF_ITS_OWN.search(text):
        return ""
    if _TRANSLATION.search(text):
        return "translation" if not _SUMMARY.search(text) else "summary"
    return "extract" if _EXTRACT.search(text) else "summary" if _SUMMARY.search(text) else ""


_CODE = late_pattern(r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)|`[^`\n]*`")
_MARKUP = late_pattern(r"(?is)<(style|script)\b.*?(?:</\1>|\Z)|<[^<>]{1,2000}>|&#?\w{1,10};|\bhttps?://\S+")
_DIGITS = late_pattern(r"\d[\d,]*(?:\.\d+)?")
_SHORT_DATE = late_pattern(r"(\d{1,2})[/.-](\d{1,2})(?!\d)")
_SHORT_UNIT = late_pattern(r"(?<![\w.,])(\d{1,9}(?:\.\d{1,9})?)\s?(?:h|hrs?|s|secs?|d|w|wks?|y|yrs?|m|[GMK]i?B?)\b")
"""Matches numbers with units that are too short to be known everywhere."""
_UNIT_ALONE = late_pattern(r"(?i)(?:thousand|million|billion|trillion)s?(?: of)? [a-z$€£¥]{1,20}")
"""Matches what amounts are counted in, where none is said: million yen."""
_OF_ITSELF = late_pattern(
    r"(?i)\b[2-9][- ]minutes? (?:to read|read)\b|\b(?:two|three|four|five)[- ]minutes? (?:to read|read)\b"
    r"|読むのに約?\d分|\d分で読め|[十百千]{0,2}[万億]?円(?=単位|未満[はを](?:切り|四捨))"
)
"""Matches what a text says of its own form: how long reading takes, what amounts are counted in."""
_OWN_POINTS = late_pattern(
    r"(?i)\b(?:has|lists|holds|into|in) (?:[2-9]|two|three|four|five|six|seven) (?:main |key |short )?points\b"
    r"|[2-9]ポイント(?=[にで](?:まとめ|整理|要約))"
)
_POINTS = ("point", "ポイント")
_GROUPED = late_pattern(r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3}){1,4}|(?:[ \u00a0\u202f]\d{3}){1,4})(?![\d.]*\d)")
_DECIMAL_COMMA = late_pattern(r"(?<=\d),(?=\d)(?!\d{3}(?!\d))")
_MILLIONS = late_pattern(
    r"(?i)(?<=\d )(?:(?P<million>millionen|millones|millions|milioni)|milliarden?|milliards?|miliardi)\b"
)
_ONE_UNIT = frozenset({1.0, 60.0, 3_600.0, 86_400.0, 604_800.0, 12.0})
_LEAST_DIGITS = 4
"""So many digits hardly stand for anything else."""
_LEAST_COUNT = 10
"""A smaller number without a unit may be said in words, or count something of the text."""
_BARE_MONTH = late_pattern(r"(?<![A-Za-z])(?:May|March|Mar|Sept)(?![A-Za-z])")
_BARE = {"May": 5, "March": 3, "Mar": 3, "Sept": 9}
_NEXT_WEEKDAY = late_pattern(
    r"(?i)\b(?:next|this|coming|on|by) (mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|(?:来週|今週|次|翌週)の?([月火水木金土日])曜"
)
_WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_MOST_STARTS, _MOST_DATES = 20, 40
_YEAR = 10_000
"""In the value of a date."""
_LONGEST = 100_000
_MOST_ROWS = 5_000
_MOST_COMPARED = 100_000
"""Pairs of numbers, in about a second."""
_MOST_GROUPED = 500_000
"""Cells of a table times columns: about two seconds. The sums of a larger one are not reckoned."""
_MOST_NAMED = 4


def strange_numbers(
    text: str, sources: Mapping[str, str], kind: Rendering, request: str, read: Sequence[str] = ()
) -> list[str]:
    """Return the numbers of a text, as written, that stand in none of its `sources` (the texts of files by their
    paths), nor in what else was `read`, and that do not follow from them."""
    if not kind or len(text) > _LONGEST or sum(map(len, sources.values())) > _LONGEST:
        return []
    given = [request, *sources.values()]
    stated = _Values(given, sources)
    plain = _MARKUP.sub(" ", _CODE.sub(" ", text))
    plain = _OF_ITSELF.sub(" ", plain)
    if not any(word in one for one in sources.values() for word in _POINTS):
        plain = _OWN_POINTS.sub(" ", plain)
    found = _strange_in(plain, stated, given, kind, request, read)
    if found and (english := _in_english_notation(plain)) != plain:
        places = ((one, english.find(one)) for one in _strange_in(english, stated, given, kind, request, read))
        meant = [plain[at : at + len(one)] if at >= 0 else one for one, at in places]
        found = min(found, meant, key=len)
    return [one.rstrip(".") for one in found[:_MOST_NAMED]]


def _strange_in(
    plain: str, stated: "_Values", given: Sequence[str], kind: Rendering, request: str, read: Sequence[str]
) -> list[str]:
    sentences = stated.to_check([sentence for sentence, _cited in sentences_with_citations(plain, ())])
    if not sentences:
        return []
    if kind == "translation":
        found = list(_not_stated(sentences, given))
    else:
        found = uncited_numbers([(sentence, False) for sentence in sentences], given, read, request)
    return [one for one in dict.fromkeys(found) if not (_UNIT_ALONE.fullmatch(one) or stated.have(one))]


def _in_english_notation(text: str) -> str:
    """Return a text of the same length with numbers of the German or French form as in English: 1,24 Millionen."""
    text = _GROUPED.sub(lambda one: re.sub(r"[^\d]", ",", one[0]), text)
    text = _MILLIONS.sub(lambda one: ("million" if one["million"] else "billion").ljust(len(one[0])), text)
    return _DECIMAL_COMMA.sub(".", text)


def _not_stated(sentences: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """Yield the numbers that are not stated with their unit, if numbers of this unit are, else without one."""
    short = {one[1] for text in given for one in _SHORT_UNIT.finditer(text)}
    stated = list(chain.from_iterable(map(quantities, given)))
    every = Numbers(stated)
    kinds: dict[str, Numbers] = {}
    for sentence in sentences:
        for one in quantities(sentence):
            written = sentence[one.span.start : one.span.end].strip()
            if one.kind == "ordinal" or (one.kind in SOFT and abs(one.value) < _LEAST_COUNT):
                continue
            if one.kind not in kinds:
                alike = [other for other in stated if other.kind == one.kind and one.kind not in SOFT]
                kinds[one.kind] = Numbers(alike) if alike else every
            digits = _DIGITS.search(written)
            is_short = bool(digits) and digits[0] in short and one.kind in ("duration", "data", "length", "mass")
            if not (is_short or kinds[one.kind].have(one, written) or _is_idle(one)):
                yield written


def _is_idle(one: Quantity) -> bool:
    """Return whether another language may well say it otherwise: in words, "once", "in a month"."""
    is_one = one.kind == "duration" and one.value in _ONE_UNIT
    return one.is_word or is_one or one.kind in ("ratio", "decade", "century", "quarter")


class _Values:
    """What follows from the texts beside what `uncited_numbers` reckons: digits, dates in short, sums of columns."""

    def __init__(self, given: Sequence[str], sources: Mapping[str, str]) -> None:
        self._texts = [unicodedata.normalize("NFKC", text) for text in given]
        self._digits = {one.replace(",", "") for text in self._texts for one in _DIGITS.findall(text)}
        self._sources = sources

    def to_check(self, sentences: Sequence[str]) -> list[str]:
        """Return the sentences with numbers; where these are too many to be compared with each, only those with digits
        that no text has, or none if there are too many even then."""
        with_digits = [one for one in sentences if quantities(one)]
        if self._are_few(with_digits):
            return with_digits
        plain = [(one, unicodedata.normalize("NFKC", one)) for one in with_digits]
        new = [one for one, folded in plain if {d.replace(",", "") for d in _DIGITS.findall(folded)} - self._digits]
        return new if self._are_few(new) else []

    def _are_few(self, sentences: Sequence[str]) -> bool:
        return sum(len(quantities(one)) for one in sentences) * len(self._stated) <= _MOST_COMPARED

    @cached_property
    def _stated(self) -> list[Quantity]:
        return [one for text in self._texts for one in quantities(text)]

    @cached_property
    def _dates(self) -> set[tuple[int, int]]:
        dates = (int(one.value) for one in self._stated if one.kind == "date")
        return {(date // 100 % 100, date % 100) for date in dates}

    def have(self, written: str) -> bool:
        """Return whether a number that is not stated is nevertheless right."""
        plain = unicodedata.normalize("NFKC", written)
        if short := _SHORT_DATE.match(plain.strip(" (")):
            day = int(short[1]), int(short[2])
            is_known = day in self._dates or day[::-1] in self._dates or short[0] in "".join(self._texts)
            if is_known or short[0] == plain.strip(" ("):
                return is_known
        if (name := plain.strip(" .")) in _BARE:
            return _BARE[name] in self._bare_months
        found = quantities(written)
        if not found:
            return False
        one, digits = found[0], _DIGITS.search(plain)
        number = digits[0].replace(",", "") if digits else ""
        if number in self._digits and (one.kind in SOFT or len(number) >= _LEAST_DIGITS) and one.kind != "date":
            return True
        if one.kind == "date" and one.value >= _YEAR and one.value % _YEAR == 0:
            return one.value / _YEAR in self._later_years
        if one.kind == "date":
            return self._names_month(int(one.value)) or int(one.value) in self._later_days
        if one.kind in ("money", "percent", "data", "mass", "length", *SOFT):
            if one.kind == "money" and any(_is_part(one, all_of_it, self._factors) for all_of_it in self._stated):
                return True
            sums = self._sums
            return sums is None or any(abs(value - one.value) <= max(one.step / 2, 0.006) for value in sums)
        if one.kind == "duration" and one.unit == "month" and one.value in self._spans_of_months:
            return True
        return one.kind == "duration" and any(self._lasts(days, one) for days in self._spans)

    @cached_property
    def _bare_months(self) -> set[int]:
        """The months whose names may be other words as well, and stand alone in a text: May, March."""
        return {_BARE[one[0]] for text in self._texts for one in _BARE_MONTH.finditer(text)}

    def _names_month(self, day: int) -> bool:
        """Return whether a date is such a month, maybe with a year that a text has."""
        year, month = day // _YEAR, day // 100 % 100
        return day % 100 == 0 and month in self._bare_months and (not year or str(year) in self._digits)

    @cached_property
    def _later_days(self) -> set[int]:
        """The days that are a stated length of time after stated ones, or the last ones before."""
        every = self._stated
        starts = [int(one.value) for one in every if one.kind == "date" and one.value >= _YEAR and one.value % 100]
        lengths = [one for one in every if one.kind == "duration"]
        ends = [end for start in starts[:_MOST_STARTS] for one in lengths[:_MOST_STARTS] if (end := _after(start, one))]
        found = {day for end in ends for day in (end, end - timedelta(days=1))}
        weekdays = {_weekday(one) for text in self._texts for one in _NEXT_WEEKDAY.finditer(text)}
        days = [day for start in starts[:_MOST_STARTS] if weekdays and (day := _day_of(start))]
        next_days = (day + timedelta(days=after) for day in days for after in range(1, 15))
        found |= {day for day in next_days if day.weekday() in weekdays}
        numbers = {day.year * _YEAR + day.month * 100 + day.day for day in found}
        return numbers | {number % _YEAR for number in numbers}

    @cached_property
    def _factors(self) -> set[float]:
        return {one.value for one in self._stated if one.kind == "ratio" and one.value > 1}

    @cached_property
    def _spans_of_months(self) -> set[int]:
        """The months from one stated month to another, with and without the last."""
        days = {int(one.value) for one in self._stated if one.kind == "date"}
        months = {(day // _YEAR * 12, day // 100 % 100) for day in days if day // 100 % 100}
        months |= {(year, month) for year in {0, *(year for year, _ in months)} for month in self._bare_months}
        every = sorted({(year, year + month) for year, month in months})[:_MOST_DATES]
        spans = {later - earlier for year, earlier in every for other, later in every if bool(year) == bool(other)}
        return {span + last for span in spans if span > 0 for last in (0, 1)}

    @cached_property
    def _sums(self) -> set[float] | None:
        """The sums and means of the columns of tables, of all rows and of those with the same entry; None if a table
        is too large for that."""
        tables = list(map(_rows, self._sources.values()))
        if sum(sum(map(len, rows)) * max(map(len, rows), default=0) for rows in tables) > _MOST_GROUPED:
            return None
        groups = (group for rows in tables for group in _groups(rows))
        return {made for group in groups for made in (sum(group), sum(group) / len(group))}

    @cached_property
    def _later_years(self) -> set[float]:
        """The years that are a stated length of time before or after stated ones."""
        every = self._stated
        years = {one.value // _YEAR for one in every if one.kind == "date" and one.value >= _YEAR}
        lengths = {one.value / 12 for one in every if one.kind == "duration" and one.unit == "month"}
        return {year + sign * length for year in years for length in lengths for sign in (1, -1)}

    @cached_property
    def _spans(self) -> set[int]:
        """The days between two dates, which may be of one year."""
        days = sorted({(month - 1) * 30.44 + day for month, day in self._dates if month and day})
        return {round(later - earlier) for at, earlier in enumerate(days) for later in days[at + 1 :]}

    @staticmethod
    def _lasts(days: int, one: Quantity) -> bool:
        length = one.value * 30.44 if one.unit == "month" else one.value / 86_400
        return abs(length - days) <= max(2.0, 0.06 * days)


def _is_part(one: Quantity, whole: Quantity, factors: set[float]) -> bool:
    """Return whether a number is that of which another is a stated multiple."""
    if (one.kind, one.unit) != (whole.kind, whole.unit):
        return False
    return any(abs(whole.value / factor - one.value) <= max(one.step / 2, 0.006) for factor in factors)


def _weekday(found: re.Match[str]) -> int:
    return _WEEKDAYS.index(found[1].lower()) if found[1] else "月火水木金土日".index(found[2])


def _day_of(value: int) -> date | None:
    """Return the day that a value stands for; None if there is none, or it stands for no end, as 9999-12-31."""
    try:
        day = date(value // _YEAR, value // 100 % 100, value % 100)
    except ValueError:
        return None
    return day if MINYEAR < day.year < MAXYEAR else None


def _after(start: int, length: Quantity) -> date | None:
    """Return the day that a length of time in months, or in days, begins after; None if there is none."""
    day = _day_of(start)
    if day is None:
        return None
    try:
        if length.unit != "month":
            return day + timedelta(seconds=length.value)
        months = day.year * 12 + day.month - 1 + int(length.value)
        return day.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        return None


def _rows(text: str) -> list[list[str]]:
    """Return the rows of a table, in Markdown or separated values."""
    lines = [line for line in text.splitlines() if line.strip()]
    if sum(line.lstrip().startswith("|") for line in lines) > 1:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if "|" in line]
    else:
        mark = "\t" if "\t" in text else ";" if text.count(";") > text.count(",") else ","
        rows = []
        with suppress(csv.Error):
            rows = list(csv.reader(StringIO("\n".join(lines)), delimiter=mark))
    return [row for row in rows[:_MOST_ROWS] if len(row) > 1]


def _groups(rows: Sequence[Sequence[str]]) -> Iterator[list[float]]:
    """Yield the numbers of each column of a table, of all rows and of those that share an entry, or its first letters
    (the month of a date)."""
    numbers = [[_value(cell) for cell in row] for row in rows]
    for column in range(max(map(len, rows), default=0)):
        groups: dict[tuple[int, str], list[float]] = {}
        for row, values in zip(rows, numbers, strict=True):
            value = values[column] if column < len(values) else None
            if value is None:
                continue
            groups.setdefault((-1, ""), []).append(value)
            for at, cell in enumerate(row):
                if at != column and cell.strip():
                    for key in {cell.strip(), cell.strip()[:7], cell.strip()[:4]}:
                        groups.setdefault((at, key), []).append(value)
        yield from groups.values()


def _value(cell: str) -> float | None:
    digits = re.fullmatch(r"[¥$€]?\s?(-?\d[\d,]*(?:\.\d+)?)\s?(?:円|yen|%|JPY|EUR|USD)?", cell.strip())
    return float(digits[1].replace(",", "")) if digits else None


_COUNTED = late_pattern(
    r"(?P<n>\d{1,4}) ?(?:件|個|項目)(?!目|以[上下])"
    r"|\b(?:all |the )?(?P<en>\d{1,4}) (?:tasks?|items?|entries|rows|records|bullets?)\b"
)
_ITEM = late_pattern(r"^(?:[-*+•・]|\d{1,3}[.)])\s+\S", re.MULTILINE)
_HEADING = late_pattern(r"^#+\s", re.MULTILINE)
_MOST_APART = 200
"""Items: more may be counted by other things than items."""


def miscounted(answer: str, written: str) -> tuple[str, int] | None:
    """Return the only count in an answer about a list that was written, and how many items that has, if they differ;
    None if they agree, or what was written is no plain list."""
    counts = {
        found[0].strip(): int(found["n"] or found["en"])
        for found in _COUNTED.finditer(unicodedata.normalize("NFKC", answer))
    }
    items = len(_ITEM.findall(_CODE.sub(" ", written)))
    is_plain = "|" not in written and len(_HEADING.findall(written)) < 2
    if len(counts) != 1 or not is_plain or not 0 < items <= _MOST_APART or len(answer) > _SHORT_ANSWER:
        return None
    said, count = next(iter(counts.items()))
    return None if count == items else (said, items)


_SHORT_ANSWER = 300
"""Characters: a longer one may count something else."""
