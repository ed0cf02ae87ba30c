"""Which literal begins what, and what may yet become one: made once for a set of tools."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Literal

from localllm.llm.tool_calling.text_tool_calls.markers import (
    CALL_OPENERS,
    CLOSERS,
    ELEMENTS,
    HARMONY,
    HARMONY_LOOSE,
    ORPHANS,
    RESULTS,
    SPECIAL_TOKENS,
    THINKING,
    TURNS,
)

Kind = Literal[
    "calls",
    "element",
    "closer",
    "thinking",
    "thought",
    "harmony",
    "token",
    "json",
    "bracket",
    "fence",
    "action",
    "recipient",
    "functools",
    "loose",
    "name",
    "own_tag",
    "turn",
    "result",
    "orphan",
]
"""What a literal begins; "thought" is the end of the thinking, "orphan" that of an argument."""

_CALLS: dict[str, Kind] = {
    **dict.fromkeys(ORPHANS, "orphan"),
    **dict.fromkeys(CLOSERS, "closer"),
    **dict.fromkeys(CALL_OPENERS, "calls"),
    **dict.fromkeys(ELEMENTS, "element"),
}
_NO_CALLS: dict[str, Kind] = {
    **dict.fromkeys(SPECIAL_TOKENS, "token"),
    **dict.fromkeys(TURNS, "turn"),
    **dict.fromkeys(RESULTS, "result"),
    **dict.fromkeys(THINKING, "thinking"),
    **dict.fromkeys(THINKING.values(), "thought"),
    **dict.fromkeys(HARMONY, "harmony"),
}
_FENCES: dict[str, Kind] = {"```": "fence", "~~~": "fence"}
_AT_LINE_START: dict[str, Kind] = {
    **dict.fromkeys(HARMONY_LOOSE, "harmony"),
    "{": "json",
    "[": "bracket",
    "action:": "action",
    ">>>": "recipient",
    "functools[": "functools",
    "analysis": "loose",
}
_LOOSE: dict[str, Kind] = {
    ">>>": "recipient",
    **dict.fromkeys(("assistantfinal", "assistantcommentary", "assistantanalysis"), "harmony"),
}


_TELLING = 4
"""Characters from which on the beginning of a literal is not likely to be anything else: <fun, [too."""

_OF_MARKUP = ("<", "[", "◁")

_NEAR = 1024
"""Characters in which a literal is looked for first: a long text with many would be searched to its end for each."""

_CASELESS = re.IGNORECASE | re.ASCII
"""Without re.ASCII letters such as ſ would count as s, and be found in no table."""


class Table:
    """The literals that matter in one state of the reading: anywhere, and at the beginning of a line."""

    def __init__(self, anywhere: Mapping[str, Kind], at_line_start: Mapping[str, Kind]) -> None:
        self._kinds: dict[str, Kind] = {**at_line_start, **anywhere}
        self._anywhere = re.compile(f"({_any_of(anywhere)})", _CASELESS)
        self._at_line_start = re.compile(rf"^[ \t]*({_any_of(at_line_start)})", _CASELESS | re.MULTILINE)
        self._beginnings = _beginnings(anywhere)
        self._line_beginnings = _beginnings(at_line_start)
        self._first = re.compile("|".join({re.escape(literal[0]) for literal in anywhere}) or "(?!)")
        self._longest = max((len(literal) for literal in anywhere), default=0)
        self._longest_of_all = max(map(len, self._kinds), default=0)

    def find(self, text: str, *, line_is_blank: bool) -> tuple[int, str, Kind] | None:
        """Where in `text` the first literal is, which one, and what it begins. `line_is_blank`: only white space
        stands before `text` in its first line."""
        start = 0 if line_is_blank else text.find("\n") + 1 or len(text)
        first = self._first_hit(text, start, _NEAR) if len(text) > _NEAR else None
        if first is None or first.start(1) > _NEAR - self._longest_of_all:
            first = self._first_hit(text, start, len(text))
        if first is None:
            return None
        literal = first.group(1).lower()
        return first.start(1), literal, self._kinds[literal]

    def _first_hit(self, text: str, start: int, end: int) -> re.Match[str] | None:
        at_line_start = self._at_line_start.search(text, start, end)
        if at_line_start:
            end = min(end, at_line_start.start(1) + self._longest)
        hits = [self._anywhere.search(text, 0, end), at_line_start]
        return min((hit for hit in hits if hit), key=lambda hit: (hit.start(1), -hit.end(1)), default=None)

    def cut(self, text: str) -> int:
        """How many characters at the end of `text`, cut off there, can only be the beginning of markup."""
        held = self.held(text, line_is_blank=False)
        return held if held >= _TELLING and text[-held] in _OF_MARKUP else 0

    def held(self, text: str, *, line_is_blank: bool) -> int:
        """How many characters at the end of `text` may be the beginning of a literal."""
        tail = text[-self._longest :] if self._longest else ""
        at = next(
            (hit.start() for hit in self._first.finditer(tail) if tail[hit.start() :].lower() in self._beginnings), None
        )
        held = len(tail) - at if at is not None else 0
        line = text.rfind("\n")
        if line >= 0 or line_is_blank:
            last = text[line + 1 :].lstrip(" \t")
            if last.lower() in self._line_beginnings:
                return max(held, len(last))
        return held


class Tables(Table):
    """The table of running text, and those that take its place in some of it."""

    def __init__(self, names: Iterable[str]) -> None:
        calls: dict[str, Kind] = dict(_CALLS)
        at_line_start: dict[str, Kind] = {}
        for name in names:
            at_line_start |= {name.lower(): "name", f"<{name.lower()}>": "own_tag"}
        if at_line_start:
            at_line_start |= {**_AT_LINE_START, **_FENCES}
        else:
            calls = {}
        anywhere: dict[str, Kind] = {**_NO_CALLS, **calls}
        super().__init__(anywhere, at_line_start)
        self._calls = calls
        self._literals = anywhere, at_line_start
        self.brackets: dict[str, Kind] = {literal: kind for literal, kind in anywhere.items() if literal[0] == "["}
        """What begins with [ and is not just a list."""

    # Most answers need neither, and each takes milliseconds to make.

    @cached_property
    def in_fence(self) -> Table:
        """The table of a code block."""
        openers: dict[str, Kind] = {
            literal: kind for literal, kind in self._calls.items() if kind not in ("closer", "orphan")
        }
        return Table({}, {**openers, **_FENCES})

    @cached_property
    def loose(self) -> Table:
        """The table of an answer whose first words tell that the server has left out the tokens between its parts."""
        anywhere, at_line_start = self._literals
        return Table({**anywhere, **_LOOSE}, at_line_start)


@lru_cache(maxsize=8)
def tables(names: tuple[str, ...]) -> Tables:
    """The tables for the tools called `names`; without tools nothing is a call."""
    return Tables(names)


def _any_of(literals: Mapping[str, Kind]) -> str:
    return "|".join(map(re.escape, sorted(literals, key=len, reverse=True))) or "(?!)"


def _beginnings(literals: Mapping[str, Kind]) -> frozenset[str]:
    return frozenset(literal[:length] for literal in literals for length in range(1, len(literal)))
