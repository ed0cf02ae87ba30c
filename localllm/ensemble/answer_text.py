"""The text of an answer without the thinking that some servers leave in it.

Thinking counts as such where it stands in a block of its own: `<think>` or one of its kin at the beginning of a line
and outside of code, up to its end. Everything else is the answer's text, whatever it looks like: a tool call too.
"""

import re
from functools import cache

from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.text_tool_calls.markers import THINKING

_LONGEST_OPENER = max(map(len, THINKING))
_LONGEST_CLOSER = max(map(len, THINKING.values()))
_MOST_BLANK = 200
"""Characters of white space at the beginning that are held back for what follows them."""

_PIECE = 8_192  # characters

_ANY = late_pattern("|".join(re.escape(mark) for pair in THINKING.items() for mark in pair), re.IGNORECASE)

_ORPHAN = late_pattern(
    rf"^[ \t]*(?:{'|'.join(map(re.escape, THINKING.values()))})[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""The end of thinking in a line of its own: a chat template that begins the thinking itself leaves only that."""

_FENCE = late_pattern(r"[ ]{0,3}(`{3,}|~{3,})")


class AnswerText:
    """Takes the thinking out of a text that arrives in pieces. `has_thought`: there was some."""

    def __init__(self) -> None:
        self.has_thought = False
        self._held = ""
        self._block: _Block | None = None
        self._fence = ""
        self._begins_line = True
        self._begins_answer = True

    def feed(self, piece: str) -> str:
        """What of the text can be shown with this piece."""
        self._held += piece
        return self._shown(at_end=False)

    def close(self) -> str:
        """What was held back. A block that is not closed was thinking where nothing but thinking came before it."""
        shown, block = self._shown(at_end=True), self._block
        if block is None:
            return shown
        self.has_thought = self.has_thought or block.begins_answer
        return shown if block.begins_answer else shown + block.opener + "".join(block.text)

    def _shown(self, *, at_end: bool) -> str:
        parts: list[str] = []
        while self._held and (part := self._next(at_end=at_end)) is not None:
            parts.append(part)
        return "".join(parts)

    def _next(self, *, at_end: bool) -> str | None:
        """Take the next part of what is held: what of it is shown, None where more must be seen first."""
        if self._block is not None:
            return self._skip(self._block, at_end=at_end)
        if self._begins_line:
            return self._begin_line(at_end=at_end)
        line, end, self._held = self._held.partition("\n")
        self._begins_line = bool(end)
        return line + end

    def _skip(self, block: "_Block", *, at_end: bool) -> str | None:
        if found := _closing(THINKING[block.opener.lower()]).search(self._held):
            self._held, self._block = self._held[found.end() :], None
            self._begins_line = self.has_thought = True
            return ""
        kept = 0 if at_end else _LONGEST_CLOSER
        if len(self._held) <= kept:
            return None
        place = len(self._held) - kept
        block.text.append(self._held[:place])
        self._held = self._held[place:]
        return ""

    def _begin_line(self, *, at_end: bool) -> str | None:
        line = self._held.lstrip(" \t\r\n" if self._begins_answer else " \t")
        opener = "" if self._fence else _opener(line)
        if opener:
            self._block = _Block(opener, begins_answer=self._begins_answer)
            self._held = line[len(opener) :]
            return ""
        if not at_end and len(self._held) - len(line) < _MOST_BLANK and _is_undecided(line):
            return None
        if self._begins_answer and self.has_thought:
            self._held = self._held.lstrip("\r\n")
        self._begins_line = self._begins_answer = False
        self._fence = _fence_behind(self._held, self._fence)
        return ""


class _Block:
    """Thinking that is going on: what began it, and what of it is there; `begins_answer`: no text came before it."""

    def __init__(self, opener: str, *, begins_answer: bool) -> None:
        self.opener = opener
        self.begins_answer = begins_answer
        self.text: list[str] = []


def _opener(line: str) -> str:
    """What a line begins with, as it is written, where that begins thinking."""
    beginning = line[:_LONGEST_OPENER].lower()
    return next((line[: len(opener)] for opener in THINKING if beginning.startswith(opener)), "")


def _is_undecided(line: str) -> bool:
    """Whether what is there of a line may yet become the beginning of thinking or of code."""
    beginning = line[:_LONGEST_OPENER].lower()
    return line in ("", "`", "``", "~", "~~") or any(opener.startswith(beginning) for opener in THINKING)


def _fence_behind(line: str, fence: str) -> str:
    """The fence that is open behind the beginning of `line`, `fence` being open before it."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) else fence


@cache
def _closing(mark: str) -> re.Pattern[str]:
    return re.compile(re.escape(mark), re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, bool]:
    """The text without its thinking, and whether there was any; also without thinking of which only the end stands
    there."""
    if not _ANY.search(text):
        return text, False
    reader = AnswerText()
    pieces = [
        reader.feed(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)
    ]  # each line copies what is held
    rest = "".join(pieces) + reader.close()
    orphan = None if reader.has_thought else _ORPHAN.search(rest)
    if orphan is None or _is_in_code(rest, orphan.start()):
        return rest, reader.has_thought
    return rest[orphan.end() :].lstrip("\r\n"), True


def _is_in_code(text: str, place: int) -> bool:
    fence = ""
    for line in text[:place].splitlines():
        fence = _fence_behind(line, fence)
    return bool(fence)
