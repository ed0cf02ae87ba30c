"""A streamed text that parsers read as if it were complete."""

import re
from collections.abc import Generator
from typing import TypeVar

from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.json_repair import BLANK, QUOTES, VERBATIM

T = TypeVar("T")

Reading = Generator[None, None, T]
"""A parser that yields where it needs more text. The result thus does not depend on the chunks."""

_NOT_BLANK = late_pattern(rf"[^{BLANK}]")
_OF_VALUES = late_pattern(r'["\'“‘{}\[\]()<`/#]')
_LINE_END = late_pattern(r"\n")
_BRACKETS = {"}": "{", "]": "[", ")": "("}
_QUOTES = tuple(QUOTES)


class Source:
    """The text received so far, with a read position.

    Positions count from the beginning of the whole text. What precedes `mark` is discarded; later positions can be
    returned to. `ended`: no more text will come. `was_cut`: it was truncated by the token limit.
    """

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._base = 0
        self._passed: list[str] = []
        self._mark = 0
        self.ended = False
        self.was_cut = False

    @property
    def place(self) -> int:
        """The read position."""
        return self._base + self._at

    @property
    def marked(self) -> int:
        """The position of the mark."""
        return self._mark

    @property
    def text(self) -> str:
        """The received text that is still unread."""
        return self._text[self._at :]

    def push(self, text: str) -> None:
        """Append received text."""
        if self._at:
            kept = self._text[max(self._mark - self._base, 0) : self._at]
            if kept:
                self._passed.append(kept)
            self._base += self._at
            self._text = self._text[self._at :] + text
            self._at = 0
        else:
            self._text += text

    def mark(self) -> None:
        """Discard the text before the read position."""
        self._passed.clear()
        self._mark = self.place

    def since(self, place: int) -> str:
        """Return the text from `place`, which is not before the mark, to the read position."""
        if place >= self._base:
            return self._text[place - self._base : self._at]
        return "".join(self._passed)[place - self._mark :] + self._text[: self._at]

    def go(self, place: int) -> None:
        """Move to `place`, which is not before the mark."""
        if place < self._base:
            self._text = "".join(self._passed) + self._text
            self._passed.clear()
            self._base = self._mark
        self._at = place - self._base

    def more(self) -> Reading[bool]:
        """Wait for more text; return False if none will come."""
        if self.ended:
            return False
        yield
        return True

    def peek(self, count: int = 1) -> Reading[str]:
        """Return the next `count` characters, fewer at the end, without moving."""
        while len(self._text) - self._at < count and (yield from self.more()):
            pass
        return self._text[self._at : self._at + count]

    def skip(self, count: int) -> None:
        """Skip `count` characters, already peeked at."""
        self._at += count

    def find(self, pattern: re.Pattern[str]) -> Reading[str]:
        """Move to the next match of the character set `pattern` and return it; else to the end and return ""."""
        while True:
            if hit := pattern.search(self._text, self._at):
                self._at = hit.start()
                return hit.group()
            self._at = len(self._text)
            if not (yield from self.more()):
                return ""

    def blank(self, besides: str = "") -> Reading[str]:
        """Skip white space and the characters `besides`; return the next character."""
        pattern = re.compile(rf"[^{BLANK}{besides}]") if besides else _NOT_BLANK
        return (yield from self.find(pattern))

    def gap(self) -> Reading[str]:
        """Skip white space and comments as in some JSON; return the next character."""
        while True:
            char = yield from self.blank()
            if char != "#" and not (char == "/" and (yield from self.peek(2)) in ("//", "/*")):
                return char
            yield from self._comment()

    def accept(self, *literals: str) -> Reading[str]:
        """Skip and return the first of `literals` found here, ignoring case; "" if there is none."""
        for literal in literals:
            wanted = literal.lower()
            here = self._here(literal)
            while len(here) < len(literal) and wanted.startswith(here):
                if not (yield from self.more()):
                    break
                here = self._here(literal)
            if here == wanted:
                self._at += len(literal)
                return literal
        return ""

    def _here(self, literal: str) -> str:
        """Return the next characters, at most the literal's length, in lower case."""
        return self._text[self._at : self._at + len(literal)].lower()

    def word(self, pattern: re.Pattern[str], longest: int = 120) -> Reading[str]:
        """Skip and return the characters that match the set `pattern`; "" if there are more than `longest`."""
        start = self.place
        while True:
            char = yield from self.peek()
            if not char or not pattern.match(char):
                return self.since(start)
            if self.place - start >= longest:
                return ""
            self._at += 1

    def until(self, stops: re.Pattern[str], longest: int) -> Reading[tuple[str, str]]:
        """Return the text up to the first match of `stops`, at most `longest` long, and the match, skipped too."""
        start = self.place
        searched = self._at
        while True:
            if hit := stops.search(self._text, searched):
                self._at = hit.start()
                text = self.since(start)
                self._at = hit.end()
                return text, hit.group()
            # The possible start of a stop is searched again; the rest is skipped.
            self._at = max(self._at, len(self._text) - longest + 1)
            if not (yield from self.more()):
                self._at = len(self._text)
                return self.since(start), ""
            searched = self._at

    def line(self) -> Reading[tuple[str, str]]:
        """Return the rest of the line and its line break, "" at the end of the text."""
        return (yield from self.until(_LINE_END, 1))

    def value(self) -> Reading[bool]:
        """Skip a bracketed value, JSON or similar; return whether its last bracket was found.

        If not, the position is the end, or what cannot occur in such a value: the start of a tag or fence.
        """
        open_brackets: list[str] = []
        while True:
            char = yield from self.find(_OF_VALUES)
            match char:
                case "" | "`":
                    return False
                case "{" | "[" | "(":
                    open_brackets.append(char)
                    self._at += 1
                case "}" | "]" | ")":
                    self._at += 1
                    _close(open_brackets, _BRACKETS[char])
                    if not open_brackets:
                        return True
                case "/" | "#":
                    yield from self._comment()
                case _:
                    if not (yield from self.string()):
                        return False

    def string(self) -> Reading[str]:
        """Skip a terminated string, if there is one here; return its opening quote, else ""."""
        quote = yield from self.accept(*_QUOTES)
        if not quote:
            return ""
        endings = QUOTES[quote]
        first = re.compile("[" + "".join({ending[0] for ending in endings}) + ("]" if quote in VERBATIM else r"\\]"))
        while True:
            char = yield from self.find(first)
            if not char:
                return ""
            if char == "\\":
                if not (yield from self.peek(2)):
                    return ""
                self._at += 2
            elif (yield from self.accept(*endings)):
                return quote
            else:
                self._at += 1

    def _comment(self) -> Reading[None]:
        opening = yield from self.peek(2)
        self._at += 1
        if opening == "//" or opening.startswith("#"):
            yield from self.find(_LINE_END)
        elif opening == "/*":
            yield from self.until(re.compile(r"\*/"), 2)


def _close(open_brackets: list[str], opening: str) -> None:
    """Close the innermost `opening` and the brackets open within it; an unmatched bracket is ignored."""
    if opening in open_brackets:
        while open_brackets.pop() != opening:
            pass
