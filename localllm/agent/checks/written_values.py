"""Look for values in texts, in the forms in which they may be written (`30s`, `30_000`, `60 * 60` for an hour,
3,400,000 for 340万円), and for what else stands in their place."""

import math
import re

from localllm.base.lazy_patterns import late_pattern
from localllm.text.numerals import fold
from localllm.text.quantities import quantities

_LONGEST = 50_000
"""Characters of a text in which numbers in words are looked for."""
_NUMBER = late_pattern(r"(?<![\w.#])[-+]?\d[\d_,]*+(?>(?:\.\d++)?)(?>(?:[eE]\d{1,2})?)(?!\.\d)")
_PRODUCT = late_pattern(r"(?<![\w.])\d[\d_]{0,9}(?: ?\* ?\d[\d_]{0,9}){1,5}(?![\w.])")
_SECONDS = (1.0, 0.001, 60.0, 3600.0, 86400.0, 604800.0)
_BYTES = (1.0, *(base**power for base in (1000.0, 1024.0) for power in (1, 2, 3)))
_SWITCHES = (
    frozenset({"true", "on", "yes", "1", "enabled", "enable", "オン", "有効"}),
    frozenset({"false", "off", "no", "0", "disabled", "disable", "オフ", "無効"}),
    frozenset({"none", "null", "nil", "undefined"}),
)
_IN_ENGLISH = {
    "タイムアウト": "timeout",
    "ポート": "port",
    "ホスト": "host",
    "リトライ": "retries",
    "リトライ回数": "retries",
    "デバッグ": "debug",
    "タイトル": "title",
    "通貨": "currency",
    "名前": "name",
    "バージョン": "version",
}
_LITERAL = (
    r"(?P<literal>[-+]?\d[\w.%]{0,20}|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|(?i:true|false|null|none|nil|on|off|yes|no)\b"
    r"|(?P<bare>[\w.:/@-]{1,80}))"
)
_BARE_IN = late_pattern(r"\.(?:ya?ml|env|ini|cfg|conf|properties)$|(?:^|/)\.env", re.IGNORECASE)
"""Matches files in which a word stands for itself."""
_ASSIGNED = late_pattern(
    r"[\"'`\]]?(?:\s?:\s?[\w\[\]. |]{1,30}?(?=\s?=))?\s{0,20}(?:=|:=|:|=>)(?![=:])\s{0,20}"
    rf"(?:{_LITERAL}|(?P<other>\S))"
)


def key_pattern(key: str) -> re.Pattern[str] | None:
    """Return the pattern of a setting of that name: font size, font-size, FONT_SIZE, fontSize."""
    words = [word for word in re.split(r"[\s_-]+|(?<=[a-z])(?=[A-Z])", _IN_ENGLISH.get(key, key)) if word]
    name = "[-_ ]?".join(map(re.escape, words))
    return re.compile(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", re.IGNORECASE) if words else None


def literal_in(line: str, key: re.Pattern[str], path: str) -> str | None:
    """Return the literal that a line assigns; "" if it assigns nothing, None if that is no literal."""
    found = key.search(line)
    assigned = _ASSIGNED.match(line[found.end() :]) if found else None
    if assigned is None:
        return ""
    rest = line[(found.end() if found else 0) + assigned.end() :].strip()
    if assigned["other"] or (rest and not re.match(r"[,;)\]}#]|//|--|\"|'", rest)):
        return None
    if assigned["bare"] and not _BARE_IN.search(path):
        return None
    return assigned["literal"].strip("\"'") or '""'


class ValueSearch:
    """Looks for a value in a text, in the forms in which it may be written."""

    def __init__(self, value: str) -> None:
        self._value = fold(value).casefold()
        self._plain = plain(value)
        self._forms, self._dates = _forms(value)
        self._switch = next((group for group in _SWITCHES if self._value in group), frozenset[str]())

    def __call__(self, text: str) -> bool:
        """Return whether a text has the value."""
        if self._switch:
            return any(has_word(text, one) for one in self._switch)
        if self._dates:
            numbers = _numbers_in(text)
            months = [one.value for one in quantities(text[:_LONGEST]) if one.kind == "date"]
            return any(date % 10000 in [one % 10000 for one in months] for date in self._dates) or any(
                {date // 100 % 100, date % 100} <= numbers or date in numbers for date in self._dates
            )
        if self._forms:
            return not self._forms.isdisjoint(_numbers_in(text)) or (bool(self._plain) and has_word(text, self._value))
        return bool(self._plain) and self._plain in plain(text)


def _forms(value: str) -> tuple[frozenset[float], list[float]]:
    """Return the numbers by which a value may be written, and the dates; none if it is a text."""
    folded = fold(value)
    found = quantities(folded)
    if len(found) != 1 or found[0].span.start > 1:
        number = re.fullmatch(r"[-+]?\d[\d_,]*(?:\.\d+)?[A-Za-z%]{0,3}", folded)
        return (frozenset(_numbers_in(folded)) if number else frozenset[float]()), []
    one = found[0]
    if one.kind == "date":
        return frozenset(), [abs(one.value)]
    if len(folded) - one.span.end > 4:
        return frozenset(), []
    forms = {one.value, *_numbers_in(folded)} if not one.is_word else {one.value}
    if one.kind == "duration" or re.fullmatch(r"(?i)[\d.,_]+ ?(?:ms|s|sec|min|m|h|d)", folded):
        factors = {"ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
        unit = folded.lstrip("0123456789.,_ ").lower()
        seconds = one.value if one.kind == "duration" else one.value * factors.get(unit, 1.0)
        forms |= {round(seconds / factor, 6) for factor in _SECONDS}
    elif one.kind == "data" or re.fullmatch(r"(?i)[\d.,_]+ ?[kmg]i?b?", folded):
        forms |= {round(one.value / factor, 6) for factor in _BYTES}
        digits = re.search(r"\d+(?:\.\d+)?", re.sub(r"[,_]", "", folded))
        amount = float(digits[0]) if digits else 0.0
        power = {"k": 1, "m": 2, "g": 3}.get(folded.lstrip("0123456789.,_ ")[:1].lower(), 0)
        forms |= {amount * base ** (power - less) for base in (1000.0, 1024.0) for less in range(4)}
    elif (hour := re.fullmatch(r"(\d{1,2}) ?時", folded)) or one.kind == "time":
        forms |= {float(hour[1]) * 60} if hour else set[float]()
    elif one.kind == "percent":
        forms |= {round(one.value / 100, 8), round(1 + one.value / 100, 8)}
    elif one.kind in ("money", "number") and one.value >= 10_000:
        forms |= {one.value / 10_000, one.value / 1_000_000, one.value / 1000}
    return frozenset(forms), []


def _numbers_in(text: str) -> set[float]:
    """Return the numbers of a text, also those within what may be a version or a list, and what products give."""
    text = fold(text)
    numbers: set[float] = set()
    for found in _NUMBER.findall(text):
        numbers.add(abs(float(found.replace("_", "").replace(",", ""))))
        numbers.update(float(one) for one in re.findall(r"\d+(?:\.\d+)?", found.replace("_", "")))
    for product in _PRODUCT.findall(text):
        numbers.add(math.prod(float(factor.replace("_", "")) for factor in product.split("*")))
    return numbers | {abs(one.value) for one in quantities(text[:_LONGEST])}


def plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return re.sub(r"&\w{2,8};|[\W_]", "", fold(text).casefold())


def has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, in any case."""
    if not word.isascii():
        return word in text
    return bool(re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text, re.IGNORECASE))
