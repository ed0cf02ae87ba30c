"""Stream the final answer out of a reviewer's reply while the reply is being generated.

Text already sent cannot be revoked, so only replies in one of the requested forms are parsed, and only text that must
be part of the answer is sent. If the run's final answer differs after all, it follows as a whole.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.review_headings import BOLD, RULE, Heading, closing_tag, headings
from localllm.ensemble.review_leftovers import is_scores_heading
from localllm.text.markdown_blocks import FENCE

_THINKING = late_pattern(r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|◁think▷|<\|)", re.IGNORECASE)
_SOLID = late_pattern(r"\s{0,3}[^\s#*_<>=`~\[【〈《「『■◆●▼▶◇□◎★(|+\d:-]")
"""The beginning of a line that cannot become a heading, a rule, a fence or a tag."""

_PLAIN_HEADING = 40
"""Characters after which a line of plain words is no heading."""

_KEYS = late_pattern(r'(?<!\\)"(comment|final_answer)"\s*:\s*"')
_STRING = late_pattern(
    r'"|[^"\\]+|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|u(?![dD][89abAB])[0-9a-fA-F]{4}|[^u])'
)
"""The end of a JSON string, characters of it, or a complete escape: the first half of a surrogate pair needs the
second."""

_SHORT = {"n": "\n", "t": "\t", "r": "", "b": "\b", "f": "\f"}
_LONGEST_KEY = 40
"""Characters of a text that may be the beginning of a key of the JSON form."""


class Piece(NamedTuple):
    """A piece of a reply to show: of the evaluation, or of the final answer."""

    part: Literal["comment", "answer"]
    text: str


class AnswerStream:
    """Parse a reply from pieces of any size."""

    def __init__(self) -> None:
        self._reader: _Reader | None = None
        self._begun = ""
        self._given: list[str] = []
        self._is_closed = False

    def begin(self) -> None:
        """Start another reply. If the previous one has sent part of an answer, nothing more is sent, since the final
        answer is known only at the end."""
        self._reader, self._begun = None, ""
        self._is_closed = bool(self._given)

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that `text` adds."""
        if self._is_closed:
            return []
        if self._reader is None:
            self._begun += text
            if not (begun := self._begun.lstrip()):
                return []
            self._reader = _JsonReader() if begun[0] == "{" else _HeadingReader()
            text = begun
        pieces = [piece for piece in self._reader.feed(text.replace("\r", "")) if piece.text]
        self._given += [piece.text for piece in pieces if piece.part == "answer"]
        return pieces

    def rest(self, final_answer: str) -> str:
        """Return the rest of the run's final answer after what was sent; all of it, set apart, if it differs from
        that."""
        given = "".join(self._given)
        if final_answer.startswith(given):
            return final_answer[len(given) :]
        return f"\n\n{final_answer}"


class _HeadingReader:
    """Parse the form with two headings."""

    def __init__(self) -> None:
        self._line = ""
        self._is_over = self._has_comment = False
        self._final: Heading | None = None
        self._answer = _AnswerText(self._ends_answer)

    def feed(self, text: str) -> Iterator[Piece]:
        """See AnswerStream."""
        while text and self._final is None:
            piece, end, text = text.partition("\n")
            self._line += piece
            if end:
                yield from self._read(self._line)
                self._line = ""
        if self._final is not None and not self._is_over:
            yield Piece("answer", self._answer.feed(text))

    def _read(self, line: str) -> Iterator[Piece]:
        """Parse a line before the final answer."""
        found = _heading(line)
        if self._is_over or (not self._has_comment and (_THINKING.match(line) or FENCE.match(line))):
            self._is_over = True
        elif found is None:
            self._has_comment = self._has_comment or bool(line.strip())
            yield Piece("comment", f"{line}\n" if self._has_comment else "")
        elif found.part == "evaluation":
            self._has_comment = True
        elif found.strength >= BOLD:
            self._final = found
            yield Piece("answer", self._answer.feed(f"{found.rest}\n"))

    def _ends_answer(self, line: str) -> bool:
        """Whether a line of the answer is a heading that may end it or begin another answer."""
        if is_scores_heading(line):
            return True
        found = _heading(line)
        return found is not None and self._final is not None and found.strength >= min(self._final.strength, BOLD)


class _JsonReader:
    """Parse the JSON form: the members `comment` and `final_answer` of one object."""

    def __init__(self) -> None:
        self._text = ""
        self._part: Literal["", "comment", "answer"] = ""
        self._answer = _AnswerText(is_scores_heading)

    def feed(self, text: str) -> Iterator[Piece]:
        """See AnswerStream."""
        self._text += text
        while self._part or self._begin_string():
            said, is_over = self._read_string()
            if self._part == "comment":
                yield Piece("comment", f"{said}\n" if is_over else said)
            elif self._part:
                yield Piece("answer", self._answer.feed(said))
            if not is_over:
                return
            self._part = ""
        self._text = self._text[-_LONGEST_KEY:]

    def _begin_string(self) -> bool:
        """Whether one of the two members begins in the received text."""
        found = _KEYS.search(self._text)
        if found is None:
            return False
        self._part = "comment" if found[1] == "comment" else "answer"
        self._text = self._text[found.end() :]
        return True

    def _read_string(self) -> tuple[str, bool]:
        """Return the complete part of the string being read, and whether it has ended."""
        said: list[str] = []
        at = 0
        while found := _STRING.match(self._text, at):
            at = found.end()
            if found[0] == '"':
                self._text = self._text[at:]
                return "".join(said), True
            said.append(_unescaped(found[0]) if found[0][0] == "\\" else found[0])
        self._text = self._text[at:]
        return "".join(said), False


class _AnswerText:
    """The text of an answer; lines that may turn out not to belong to its end are held back until more follows. `ends`
    decides whether a line ends it."""

    def __init__(self, ends: Callable[[str], bool]) -> None:
        self._ends = ends
        self._line = ""
        self._given = 0
        """Characters of the current line already returned."""
        self._held = ""
        self._fence = ""
        self._has_begun = self._is_over = False
        self._behind_rule: Literal["", "rule", "text"] = ""

    def feed(self, text: str) -> str:
        """Return the text that can be shown after this piece."""
        pieces: list[str] = []
        *ended, rest = text.split("\n")
        for piece in ended:
            self._line += piece
            pieces.append(self._end_line())
        self._line += rest
        if self._is_solid():
            pieces.append(self._give(self._line[self._given :]))
            self._given = len(self._line)
        return "".join(pieces)

    def _is_solid(self) -> bool:
        """Whether the line is certainly part of the answer, whatever follows in it."""
        if self._is_over or self._behind_rule or not self._line.strip():
            return False
        is_words = len(self._line) > _PLAIN_HEADING and _SOLID.match(self._line)
        return bool(self._given or self._fence or is_words)

    def _end_line(self) -> str:
        line, given, self._line, self._given = self._line, self._given, "", 0
        is_code = self._note_fence(line)
        rest = f"{line[given:]}\n"
        if self._is_over:
            return ""
        if not given and not is_code:
            if self._ends(line) or (not self._has_begun and _heading(line)):
                self._is_over = self._has_begun
                return ""
            if not line.strip() or RULE.fullmatch(line) or closing_tag(line):
                return self._hold(rest)
        if self._behind_rule:
            self._behind_rule = "text"
            self._held += rest
            return ""
        return self._give(rest)

    def _hold(self, line: str) -> str:
        """Hold back a line that may be the last: a blank one, a rule, a tag. A last paragraph after a rule may be a
        remark on the review, so it is held until a second one follows."""
        if not self._has_begun:
            return ""
        self._held += line
        if line.strip():
            self._behind_rule = self._behind_rule or "rule"
        elif self._behind_rule == "text":
            self._behind_rule = ""
            return self._give("")
        return ""

    def _give(self, text: str) -> str:
        whole = self._held + text
        solid = whole.rstrip()
        self._held = whole[len(solid) :]
        if not self._has_begun:
            solid = solid.lstrip()
            self._has_begun = bool(solid)
        return solid

    def _note_fence(self, line: str) -> bool:
        """Whether a line is in a code block, fences included."""
        text = line.strip()
        if self._fence:
            if text.startswith(self._fence) and not text.strip(self._fence[0]):
                self._fence = ""
            return True
        if opened := FENCE.match(line):
            self._fence = opened[1]
        return bool(self._fence)


_Reader = _HeadingReader | _JsonReader


def _heading(line: str) -> Heading | None:
    """Parse a heading; None for one that may also occur within an answer."""
    found = headings([line])
    return found[0] if found and not found[0].is_doubtful else None


def _unescaped(escape: str) -> str:
    if escape[1] != "u":
        return _SHORT.get(escape[1], escape[1])
    units = b"".join(int(unit, 16).to_bytes(2, "big") for unit in escape.split("\\u")[1:])
    return units.decode("utf-16-be", "replace")
