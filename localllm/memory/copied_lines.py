"""An item named by the whole line that shows it: `- tbcdf (high) Text`, `  3  tbcdf  [ ] Text (high)`, `To do: …`."""

import re
import unicodedata
from typing import NamedTuple

from localllm.memory.todo_notation import parse_task


class Copied(NamedTuple):
    """What such a line says, each "" where it does not: `number`: the place in the list."""

    id: str
    number: str
    text: str


_FACT = "in progress|high|medium|low|進行中|高|中|低"
_ID = r"[tdps][bcdfghjkmnpqrstvwxz]{4,12}(?:-\d+)?"

_BEFORE = (
    re.compile(r"(?:[-*+・•]|>)\s+"),
    re.compile(r"(?:TODO|To do|In progress|Done|Dropped|予定|進行中|完了|中止)\s*[:：]\s*", re.IGNORECASE),
    re.compile(rf"[(（](?:{_FACT})(?:[,、]\s*(?:{_FACT}))*[)）]\s*"),
    re.compile(r"\d{4}-\d\d-\d\d\s+"),
)
_NUMBER = re.compile(r"#?(?P<number>\d{1,5})(?:[.)]|(?=\s))\s*")
_NAME = re.compile(rf"(?P<id>{_ID})(?:[:：]|(?=\s|$))\s*")
_FOUND = re.compile(rf"\[(?:todo|decision|preference|session)(?:\s[\d:T-]+)?\s(?P<id>{_ID})\]\s*")
"""An entry that was searched for: `[todo 2026-11-22 tbcdf] Text`."""

_CUT = re.compile(r"(?:…|\.\.\.)$")


def copied(line: str) -> Copied:
    """The line without all that the lists and answers of the program put around an item."""
    rest = unicodedata.normalize("NFC", " ".join(line.split()))
    found = {"id": "", "number": ""}
    while match := _match(rest, found):
        found |= {name: value for name, value in match.groupdict().items() if value}
        rest = rest[match.end() :]
    return Copied(found["id"], found["number"], _CUT.sub("", parse_task(rest).text).strip())


def _match(rest: str, found: dict[str, str]) -> re.Match[str] | None:
    """What stands before an item, one thing at a time: only one id, and a number before it alone."""
    patterns = [*_BEFORE, *((_FOUND, _NAME) if not found["id"] else ())]
    if not found["id"] and not found["number"]:
        patterns.append(_NUMBER)
    return next((match for pattern in patterns if (match := pattern.match(rest))), None)
