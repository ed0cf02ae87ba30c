"""Combine adjacent quantities: ranges and lists that share a unit, days of one month, 2時間24分 as one."""

import re

from localllm.text.numerals import DIGITAL, KANJI, WORDS, Numeral, digital, kanji, words
from localllm.text.quantity import SOFT, Quantity
from localllm.text.sentences import Span

_LINK = re.compile(
    r"\s?(?:-|~|to(?:\s(?:just|only))?(?:\s(?:about|around|roughly|nearly|almost|some|over|under|below|(?:more|less|fewer)\sthan))?"
    r"|and|or|から|と|または|,|、)\s?(?:[$€£¥])?"
)


def dated(plain: str, found: list[Quantity]) -> list[Quantity]:
    """Convert the later days in "May 12 and 13" and 5月12～15日 to dates of the preceding month."""
    read = list(found)
    for at in range(1, len(read)):
        last, one = read[at - 1], read[at]
        is_day = one.kind == "number" or (one.kind == "duration" and one.unit == "s")
        day = one.value / (86_400 if one.kind == "duration" else 1)
        between = plain[last.span.end : one.span.start]
        is_linked = _LINK.fullmatch(between) if last.value % 100 else not between
        if last.kind == "date" and last.value >= 10_000_000 and (year := _later_year(plain, last, one)):
            read[at] = one._replace(value=year, unit="", kind="date", step=0.0)
        elif last.kind == "date" and last.value % 10_000 and is_day and is_linked and day in range(1, 32):
            read[at] = one._replace(value=last.value // 100 * 100 + day, unit="", kind="date", step=0.0)
    return read


def _later_year(plain: str, last: Quantity, one: Quantity) -> float:
    """Return the end year of a range such as 2026~27年 as a date value; 0 if it is none."""
    year, later = divmod(last.value // 10_000, 100)
    years = one.value / 12 if one.kind == "duration" and one.unit == "month" else 0.0
    is_year = last.value % 10_000 == 0 and later < years < 100 and plain[one.span.end - 1] == "年"
    return (year * 100 + years) * 10_000 if is_year and _LINK.fullmatch(plain, last.span.end, one.span.start) else 0.0


def joined(plain: str, found: list[Quantity]) -> list[Quantity]:
    """Join 2時間24分51秒 or "2 hours and 24 minutes" to one duration."""
    whole: list[Quantity] = []
    for one in found:
        last = whole[-1] if whole else None
        if (
            last
            and one.kind == last.kind == "duration"
            and one.unit == last.unit
            and plain[last.span.end - 1] != "日"  # 1日16時間: an amount per day
            and one.value < last.value
            and plain[last.span.end : one.span.start].strip() in ("", "and", "と", "、")
            and not last.bound
        ):
            span = Span(last.span.start, one.span.end)
            whole[-1] = one._replace(value=last.value + one.value, span=span, is_word=False)
        elif (
            last and one.unit == "¢" and last.kind == "money" and last.unit != "¢" and one.value < 1 and not last.bound
        ):
            if plain[last.span.end : one.span.start].strip() in ("", "and", "と"):  # e.g. 4ドル30セント
                span = Span(last.span.start, one.span.end)
                whole[-1] = last._replace(value=last.value + one.value, step=0.01, span=span, is_word=False)
            else:
                whole.append(one)
        else:
            whole.append(one)
    return whole


def linked(plain: str, found: list[Quantity]) -> list[Quantity]:
    """Give 10 in "10 to 20 km" or "10, 15 and 20 %" the unit of the last quantity."""
    read = list(found)
    for at in range(len(read) - 2, -1, -1):
        one, following = read[at], read[at + 1]
        between = plain[one.span.end : following.span.start]
        if one.kind == following.kind == "money" and _LINK.fullmatch(between) and one.unit == following.unit:
            scale = following.value / max(1e-9, _written(plain, following))
            if one.value < 1_000 <= scale and not _is_scaled(plain, one):  # e.g. between $2 and $3 billion
                read[at] = one._replace(value=one.value * scale, step=one.step * scale)
            continue
        if one.kind == "number" and following.kind in SOFT and _is_range(plain, one, between):
            scale = following.value / max(1e-9, _written(plain, following))
            if one.value < 1_000 <= scale and not _is_scaled(plain, one):  # e.g. between 1.1 and 1.3 million
                read[at] = one._replace(value=one.value * scale, step=one.step * scale)
            continue
        if one.kind != "number" or following.kind in SOFT or not _LINK.fullmatch(between):
            continue
        if one.step and one.value in range(1, 13) and _is_month(following):  # e.g. 4~6月
            read[at] = one._replace(value=one.value * 100, kind="date", step=0.0)
            continue
        if following.kind == "date" and 1 <= one.value <= 31 and following.value % 100 and one.step:
            read[at] = one._replace(value=following.value // 100 * 100 + one.value, kind="date", step=0.0)
            continue  # e.g. 12 to 15 May
        if following.kind in ("date", "time", "quarter", "century", "decade"):
            continue
        width = following.value / max(1e-9, _written(plain, following))
        if _is_scaled(plain, one):  # e.g. 42 million to 67 million m³
            width = _factor(plain, following)
        read[at] = one._replace(
            value=one.value * width, unit=following.unit, kind=following.kind, step=one.step * width
        )
    return read


def _is_month(quantity: Quantity) -> bool:
    return quantity.kind == "date" and 0 < quantity.value < 10_000 and quantity.value % 100 == 0


def _is_range(plain: str, one: Quantity, between: str) -> bool:
    """Return whether two numbers are the ends of a range: 1.1 to 1.3, between 1.1 and 1.3."""
    if not _LINK.fullmatch(between):
        return False
    is_listed = between.strip() in ("and", "or", "と", "または", ",", "、")
    return not is_listed or plain[: one.span.start].rstrip().lower().endswith("between")


def _is_scaled(plain: str, quantity: Quantity) -> bool:
    return abs(_written(plain, quantity) - quantity.value) > 1e-6 * abs(quantity.value)


def _factor(plain: str, quantity: Quantity) -> float:
    """Return the factor from a quantity's written unit to the base unit of its kind."""
    found = DIGITAL.search(plain, quantity.span.start, quantity.span.end)
    number = digital(found) if found else _in_words(plain, quantity)
    return quantity.value / number.value if number and number.value else 1.0


def _in_words(plain: str, quantity: Quantity) -> Numeral | None:
    """Parse a quantity's number if it is written without digits."""
    start, end = quantity.span
    for pattern, read in ((WORDS, words), (KANJI, kanji)):
        if (match := pattern.search(plain, start, end)) and (number := read(match)):
            return number
    return None


def _written(plain: str, quantity: Quantity) -> float:
    """Return a quantity's written number, without scale and unit."""
    found = DIGITAL.search(plain, quantity.span.start, quantity.span.end)
    if found is None and (number := _in_words(plain, quantity)):
        return number.value / number.step if number.is_scaled and number.step else number.value
    digits = (found["ja"] or found["digits"] or "") if found else ""
    plain_digits = _first_digits(digits)
    return float(plain_digits) if plain_digits else quantity.value


def _first_digits(written: str) -> str:
    """Return the first number in a text, without separators."""
    found = re.match(r"\d[\d,]*(?:\.\d+)?", written)
    return found[0].replace(",", "") if found else ""
