"""Expected answer types: the kind of thing a question asks for, and where a passage has one.

"How many days" asks for a duration, 何段階 for a number, "which function" for a definition. A passage that has words of
such a question, but nothing of that kind beside them, is about the thing and does not tell what is asked of it.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.units import SIGNS, units


class AnswerType(NamedTuple):
    """What an answer looks like."""

    pattern: re.Pattern[str]
    is_beside: bool = True
    """It stands in one sentence, or one row of a table, with words of the question; else anywhere in the passage."""

    def places(self, text: str) -> Iterator[str]:
        """The sentences of a passage that have one; the whole passage where it may be anywhere."""
        for sentence in _BORDER.split(text) if self.is_beside else (text,):
            if self.pattern.search(_NO_NUMBER.sub(" ", sentence) if self.is_beside else sentence):
                yield sentence


def expected_answer(question: str) -> AnswerType | None:
    """What an answer to a question looks like; None where that is open."""
    if _ASKS_DEFINITION.search(question):
        return AnswerType(_DEFINITION, is_beside=False)
    kind = "money" if _ASKS_MONEY.search(question) else _kind_of_unit(question)
    kind = kind or ("number" if _ASKS_NUMBER.search(question) else "")
    return AnswerType(_quantity(kind)) if kind else None


_BORDER = late_pattern(r"\n+|(?<=。)|(?<=[.!?])\s+")
_NO_NUMBER = late_pattern(r"[A-Za-z]+-?\d+|^\s*\d+[.)](?:\s|$)|^#.*")
"""Names of things, marks of lists, titles."""
_DEFINITION = late_pattern(
    r"(?m)^\s*(?:async\s+def|def|class|func|function|fn|sub|export|public|private|static|struct|interface|trait|impl"
    r"|const|let|var)\b|=>"
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
"""Of a constant, and in a table."""


def _kind_of_unit(question: str) -> str:
    """The kind of the unit that is asked for, "number" for what is counted; "" where none is."""
    for english, second, japanese in _COUNTED.findall(question):
        rest = japanese.lower()
        starts = (rest[:length] for length in range(len(rest), 0, -1) if rest[length : length + 1] not in ("も", "か"))
        unit = next((units()[one] for one in (english.lower(), second.lower(), *starts) if one in units()), None)
        if unit:
            return "number" if unit.kind in ("count", "ratio", "points", "kilo") else unit.kind
    return ""


@cache
def _quantity(kind: str) -> re.Pattern[str]:
    """A quantity of a kind, however it is written."""
    if kind == "number":
        return re.compile(f"(?i){_NUMERAL}|{_TIMES}|{_NOTHING_TO_PAY}")
    written = sorted((name for name, unit in units().items() if unit.kind == kind), key=len, reverse=True)
    latin = "|".join(re.escape(name) for name in written if name.isascii() and name[-1].isalnum())
    others = "|".join(re.escape(name) for name in written if not (name.isascii() and name[-1].isalnum()))
    more = {"duration": f"|{_TIMES}", "money": rf"|(?:{'|'.join(map(re.escape, SIGNS))})\s?\d|%|{_NOTHING_TO_PAY}"}
    unit = rf"(?:\s*(?:{others})|(?:[\s-]+[a-z]+)?[\s-]*(?:{latin})\b)" if others else rf"[\s-]*(?:{latin})\b"
    return re.compile(f"(?i){_NUMERAL}{unit}|{_UNIT_ELSEWHERE}{more.get(kind, '')}")
