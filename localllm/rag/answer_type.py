"""Classify the answer a question expects, and find where a passage contains one.

"How many days" expects a duration, 何段階 a number, "which function" a definition. A passage that shares words with the
question but has no value of the expected type near them is on the topic without answering it.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.units import SIGNS, units


class AnswerType(NamedTuple):
    """The expected form of an answer."""

    pattern: re.Pattern[str]
    is_beside: bool = True
    """The answer must share a sentence or table row with words of the question; otherwise anywhere in the passage will
    do."""

    def places(self, text: str) -> Iterator[str]:
        """Yield the sentences of a passage that contain an answer, each with the heading above it; the whole passage if
        `is_beside` is false."""
        if not self.is_beside:
            yield from (text,) if self.pattern.search(text) else ()
            return
        heading = ""
        for line in text.splitlines():
            if line.startswith("#"):
                heading = line
                continue
            for sentence in _SENTENCE_END.split(line):
                if self.pattern.search(_NO_NUMBER.sub(" ", sentence)):
                    yield f"{heading}\n{sentence}" if heading else sentence


def expected_answer(question: str) -> AnswerType | None:
    """Return the answer type a question expects; None if it is open."""
    if _ASKS_DEFINITION.search(question):
        return AnswerType(_DEFINITION, is_beside=False)
    kind = "money" if _ASKS_MONEY.search(question) else _kind_of_unit(question)
    kind = kind or ("number" if _ASKS_NUMBER.search(question) else "")
    return AnswerType(_quantity(kind)) if kind else None


_SENTENCE_END = late_pattern(r"(?<=。)|(?<=[.!?])\s+")
_NO_NUMBER = late_pattern(r"[A-Za-z]+-?\d+|^\s*\d+[.)](?:\s|$)")
"""Names and list markers: their digits are no quantity."""
_DEFINITION = late_pattern(
    r"(?m)^[^\S\n]*(?:async\s+def|def|class|func|function|fn|sub|export|public|private|static|struct|interface|trait"
    r"|impl|const|let|var)\b|=>"
)
_ASKS_DEFINITION = late_pattern(
    r"(?i)\b(?:which|what)\s(?:function|method|class)\s(?!of|is|are|do|does|can|may|must|should|will)"
    r"|どの(?:関数|メソッド|クラス)"
)
_ASKS_MONEY = late_pattern(r"いくら(?!か|で?も|[^、。?]{0,15}[てで]も)")
_ASKS_NUMBER = late_pattern(
    r"(?i)\bhow\s(?:long|soon|late|early|often|quickly|fast|far\sin\sadvance|much|many)\b|\b(?:by|since|until)\swhen\b"
    r"|\bwhat\b.*\bcosts?\b(?!\s(?:include|cover|contain|depend))|(?:どの|どれ)[くぐ]らい|いくつ(?!か)"
)
_COUNTED = late_pattern(r"(?i)\bhow\smany\s([a-z]+)(?:\s([a-z]+))?|何([^\s何、。?]{1,8})")

_NUMERAL = (
    r"(?:(?:\d[\d,._]*|[一二三四五六七八九十百千数半両])[十百千万億兆]*|\b(?:one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred"
    r"|thousand|million|half|thirds?|quarter|dozen|an?(?=\s(?:day|week|month|year|hour|minute)))\b)"
)
_TIMES = (
    r"\d:\d\d|\b(?:january|february|(?-i:March)|april|june|july|august|september|october|november|december"
    r"|(?-i:\d\sMay|(?:[Ii]n|[Bb]y|of|from|until|since|before|after|every)\sMay|May\s\d)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight|immediately|at once|once|twice|double|hourly|daily"
    r"|weekly|monthly|yearly|annually|every)\b|[月火水木金土日]曜|毎[時日週月年]|翌|[前当]日|[月年期]末|年度末|月初|即"
)
_NOTHING_TO_PAY = r"\bfree\b|無料"
_UNIT_ELSEWHERE = r"=\s*[\d_.]+|\|\s*[\d,.]+\s*\|"
"""The unit of a constant, or in a table row."""


def _kind_of_unit(question: str) -> str:
    """Return the kind of the unit asked for, "number" for a count, "" for none."""
    for english, second, japanese in _COUNTED.findall(question):
        rest = japanese.lower()
        starts = (rest[:length] for length in range(len(rest), 0, -1) if rest[length : length + 1] not in ("も", "か"))
        unit = next((units()[one] for one in (english.lower(), second.lower(), *starts) if one in units()), None)
        if unit:
            return "number" if unit.kind in ("count", "ratio", "points", "kilo") else unit.kind
    return ""


@cache
def _quantity(kind: str) -> re.Pattern[str]:
    """Compile the pattern of a quantity of this kind, in every notation."""
    if kind == "number":
        return re.compile(f"(?i){_NUMERAL}|{_TIMES}|{_NOTHING_TO_PAY}")
    written = sorted((name for name, unit in units().items() if unit.kind == kind), key=len, reverse=True)
    latin = "|".join(re.escape(name) for name in written if name.isascii() and name[-1].isalnum())
    others = "|".join(re.escape(name) for name in written if not (name.isascii() and name[-1].isalnum()))
    more = {"duration": f"|{_TIMES}", "money": rf"|(?:{'|'.join(map(re.escape, SIGNS))})\s?\d|%|{_NOTHING_TO_PAY}"}
    unit = rf"(?:\s*(?:{others})|(?:[\s-]+[a-z]+)?[\s-]*(?:{latin})\b)" if others else rf"[\s-]*(?:{latin})\b"
    return re.compile(f"(?i){_NUMERAL}{unit}|{_UNIT_ELSEWHERE}{more.get(kind, '')}")
