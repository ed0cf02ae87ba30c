"""The labels of the text dialect, as models write them."""

import re
from typing import Literal

import msgspec

Label = Literal["thought", "action", "input", "observation", "answer"]

_WORDS: dict[str, Label] = {
    "thought": "thought",
    "action": "action",
    "action input": "input",
    "action_input": "input",
    "observation": "observation",
    "final answer": "answer",
    "final_answer": "answer",
    "思考": "thought",
    "行動": "action",
    "アクション": "action",
    "行動入力": "input",
    "行動の入力": "input",
    "アクション入力": "input",
    "アクションの入力": "input",
    "観察": "observation",
    "観察結果": "observation",
    "最終回答": "answer",
    "最終的な回答": "answer",
}
_DECORATION = "*_`"
_BEFORE = re.compile(r"[ \t>#*_`\-]*(?:\d{1,2}(?:[.)][ \t]*)?)?[*_`]*")
"""White space, Markdown and a number, as in `> **` and `1. `."""

_BEHIND = re.compile(rf"[ \t]*\d{{0,2}}[ \t]*([{_DECORATION}]*)[ \t]*")
"""Between the word and its colon, as in `Thought 1:` and `**Action** :`."""

_LONGEST = 60
"""Characters a label takes at most, with all that is around it."""


class Hit(msgspec.Struct, frozen=True):
    """A label at the beginning of a line, and how many characters it takes."""

    label: Label
    length: int


class Undecided(msgspec.Struct, frozen=True):
    """The line may yet begin with a label."""


def label_of(line: str, *, more: bool) -> Hit | Undecided | None:
    """The label `line` begins with, if any. `more`: the line may go on, so that it may be too early to say."""
    before = _BEFORE.match(line)
    start = before.end() if before else 0
    rest = line[start : start + _LONGEST].casefold()
    waits = more and len(line) < _LONGEST and not rest
    for word, label in _WORDS.items():
        if not rest.startswith(word):
            waits = waits or (more and bool(rest) and word.startswith(rest))
            continue
        behind = _BEHIND.match(rest, len(word))
        end = behind.end() if behind else len(word)
        if end == len(rest):
            waits = waits or (more and len(line) < _LONGEST)
        elif rest[end] in ":：":
            inside = behind.group(1) if behind else ""
            return _closed(line, label, start + end + 1, "" if inside else _opening(line[:start]), more=more)
    return Undecided() if waits else None


def _opening(before: str) -> str:
    """The decoration right before the word, which has to be closed behind it."""
    return before[len(before.rstrip(_DECORATION)) :]


def _closed(line: str, label: Label, end: int, opening: str, *, more: bool) -> Hit | Undecided:
    """The label with what closes its decoration behind the colon, as in `**Action:**`."""
    closing = line[end : end + len(opening)]
    if more and len(closing) < len(opening) and opening.startswith(closing):
        return Undecided()
    return Hit(label, end + len(opening) if closing == opening else end)
