"""Strip the reasoning that some servers leave in the text of an answer.

Reasoning is a block of its own: `<think>` or a variant at the beginning of a line and outside of code, up to its end
tag. Everything else is the text of the answer, even a tool call.
"""

import re
from functools import cache

from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.text_tool_calls.markers import THINKING

_LONGEST_OPENER = max(map(len, THINKING))
_LONGEST_CLOSER = max(map(len, THINKING.values()))
_MOST_BLANK = 200
"""Characters of leading white space held back until text follows."""

_PIECE = 8_192  # characters

_ANY = late_pattern("|".join(re.escape(mark) for pair in THINKING.items() for mark in pair), re.IGNORECASE)

_ORPHAN = late_pattern(
    rf"^[ \t]*(?:{'|'.join(map(re.escape, THINKING.values()))})[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""An end tag in a line of its own: a chat template that opens the block itself leaves only that."""

_FENCE = late_pattern(r"[ ]{0,3}(`{3,}|~{3,})")


class AnswerText:
    """Remove reasoning from a streamed text. `has_thought`: there was some."""

    def __init__(self) -> None:
        self.has_thought = False
        self._held = ""
        self._block: _Block | None = None
        self._fence = ""
        self._begins_line = True
        self._begins_answer = True

    def feed(self, piece: str) -> str:
        """Return the text that can be shown after this piece."""
        self._held += piece
        return self._shown(at_end=False)

    def close(self) -> str:
        """Return the text held back. An unclosed block is reasoning only if no text came before it."""
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
        """Consume the next part of the held text and return what to show; None if more input is needed."""
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
    """An open reasoning block: its opening tag and its text so far; `begins_answer`: no text came before it."""

    def __init__(self, opener: str, *, begins_answer: bool) -> None:
        self.opener = opener
        self.begins_answer = begins_answer
        self.text: list[str] = []


def _opener(line: str) -> str:
    """Return the opening tag at the beginning of a line, as written; "" if there is none."""
    beginning = line[:_LONGEST_OPENER].lower()
    return next((line[: len(opener)] for opener in THINKING if beginning.startswith(opener)), "")


def _is_undecided(line: str) -> bool:
    """Whether the partial line may still become an opening tag or a fence."""
    beginning = line[:_LONGEST_OPENER].lower()
    return line in ("", "`", "``", "~", "~~") or any(opener.startswith(beginning) for opener in THINKING)


def _fence_behind(line: str, fence: str) -> str:
    """Return the fence open after the beginning of `line`, `fence` being open before it."""
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
    """Return the text without reasoning, and whether there was any; an end tag without a start counts too."""
    if not _ANY.search(text):
        return text, False
    reader = AnswerText()
    pieces = [
        reader.feed(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE)
    ]  # each line copies the held text
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
