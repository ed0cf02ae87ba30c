"""Select the relevant parts of texts: rank files by relevance, compress code to its outline."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.code.grammars import language_of
from localllm.code.outline import parse, valid_utf8
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

if TYPE_CHECKING:
    from tree_sitter import Node


Rank = Callable[[str], float]
"""Returns a file's centrality in the project, from 0 to 1."""

_WORDS, _RANK, _RECENT, _MENTIONED = 0.5, 0.15, 0.15, 0.2
"""Weights of the components, with sum 1: words in the file, centrality, recency, mention by name."""

_PATH_COUNTS = 3
"""Weight of a term in the path, in occurrences in the text."""

_HALF = 4.0
"""BM25 score that counts as half: about two rare words found."""

_FORGET = 0.8
"""Factor on the recency for each file looked at since."""

_SYMBOL = (
    r"^[ \t]*(?:async |export |pub |public |static |private |final )*"
    r"(?:def|class|func|function|fn|struct|enum|trait|interface|type|module)\s+(\w+)"
)


class Relevance:
    """The files looked at, by path, and their relevance for queries."""

    def __init__(self, rank: Rank | None = None) -> None:
        self._rank = rank
        self._index = Bm25()
        self._digests: dict[str, int] = {}
        self._order: list[str] = []

    def __contains__(self, path: object) -> bool:
        return path in self._index

    def note(self, path: str, text: str, *, looked_at: bool = True) -> None:
        """Record the text of a file as last seen. `looked_at`: it is the file the conversation now deals with."""
        if looked_at:
            self._order = [other for other in self._order if other != path]
            self._order.append(path)
        if self._digests.get(path) == (digest := hash(text)):
            return
        self._digests[path] = digest
        self._index.add(path, [*(terms(path) * _PATH_COUNTS), *_symbols(text), *terms(text)])

    def score(self, path: str, query: str) -> float:
        """Return the relevance from 0 to 1. It grows with the query's rarer terms in path, symbols and text, the file's
        centrality, its recency, and most if the query names it."""
        found = self._index.scores(terms(query)).get(path, 0.0)
        words = found / (found + _HALF)
        rank = min(1.0, max(0.0, self._rank(path))) if self._rank else 0.0
        return _WORDS * words + _RANK * rank + _RECENT * self._recency(path) + _MENTIONED * _mention(path, query)

    def _recency(self, path: str) -> float:
        if path not in self._order:
            return 0.0
        return _FORGET ** (len(self._order) - 1 - self._order.index(path))


def _symbols(text: str) -> list[str]:
    """Return the terms of the symbols the text defines, for additional weight."""
    return [term for name in re.findall(_SYMBOL, text, re.MULTILINE) for term in terms(name)]


def _mention(path: str, query: str) -> float:
    """Return 1 if the query has the path, a little less for the file's name, half for its name without extension."""
    lower, name = query.lower(), path.rpartition("/")[2].lower()
    stem = name.partition(".")[0]
    if path.lower() in lower:
        return 1.0
    if name in lower:
        return 0.9
    return 0.5 if len(stem) > 3 and stem in lower else 0.0


_FUNCTIONS = ("function", "method", "constructor")
_STRINGS = ("string", "concatenated_string")


class Body(NamedTuple):
    """Lines of a function's body, from 1, `last` included, without signature, docstring and closing bracket."""

    first: int
    last: int


def bodies(text: bytes, language: str) -> list[Body]:
    """Return the bodies of at least two lines, in order, none within another.
    `language` is a key of `grammars.GRAMMARS`. Raises NotParsedError."""
    text = valid_utf8(text)
    waiting = [parse(text, language).root_node]
    found: list[Body] = []
    while waiting:
        node = waiting.pop()
        inner = node.child_by_field_name("body") if any(name in node.type for name in _FUNCTIONS) else None
        if inner is None:
            waiting += node.children
        elif (body := _lines(inner, text)).last > body.first:
            found.append(body)
    return sorted(found)


def _lines(block: "Node", text: bytes) -> Body:
    first, last = block.start_point.row + 1, block.end_point.row + (block.end_point.column > 0)
    if text[block.start_byte : block.start_byte + 1] == b"{":
        return Body(first + 1, last - 1)
    statement = block.named_children[0] if block.named_children else None
    string = statement.named_children[0] if statement is not None and statement.named_children else None
    if statement is not None and statement.type == "expression_statement" and string and string.type in _STRINGS:
        return Body(statement.end_point.row + 2, last)
    return Body(first, last)


_MARK = "… lines {first}-{last} left out"
_HEAD = 0.65
"""Share of the head in a text without grammar, whose beginning says what it is."""
_FILLED = 0.7
"""If whole lines fill less than this share of the room, the text is cut within lines."""
_GAP = "[… {count:,} characters left out …]"
_NEAR = 0.8
"""A cut moves back to a sentence or word end that is after this share of the piece."""
_BORDER = late_pattern(r"[\s。、，．,;；!?！？}\]]+")

_GUESSES = (
    ("python", r"^(?:async )?def \w+\(.*|^class \w+.*:$|^from [\w.]+ import |^import [\w.]+$"),
    ("go", r"^package \w+$|^func (?:\(|\w+\()"),
    ("rust", r"^(?:pub )?(?:fn|impl|mod|struct|enum) \w|^use [\w:]+"),
    ("java", r"^(?:public |final |abstract )+(?:class|interface|enum) \w+|^import [\w.]+;$"),
    ("cpp", r"^#include [<\"]|^namespace \w+|^template ?<"),
    ("typescript", r"^(?:export |import .* from )|^(?:async )?function \w+\(|^(?:const|let) \w+ = "),
)
"""Patterns that reveal the language without a file name: the one with the most matching lines, at least two, wins."""


class _Row(msgspec.Struct, frozen=True):
    """A line of the text, or the note that replaces the lines `first` to `last`."""

    text: str
    first: int
    last: int


def compress(content: str, target_ratio: float, *, file_path: str = "", first_line: int = 1) -> str:
    """Compress `content` to about `target_ratio` of its characters, never more. `file_path` determines the language,
    else the text itself; `first_line` is the number of its first line in the file."""
    target = int(len(content) * min(max(target_ratio, 0.0), 1.0))
    if len(content) <= target:
        return content
    rows = [_Row(line, number, number) for number, line in enumerate(content.split("\n"), first_line)]
    language = language_of(file_path, content[:2_000].encode("utf-8", "replace")) or guess_language(content)
    if language:
        rows = _without_bodies(rows, _bodies(content, language, first_line), target)
    shorter = _written(_without_middle(rows, target))
    return shorter if len(shorter) <= target else _cut_within(content, target)


def guess_language(content: str) -> str | None:
    """Guess the language of a text as a key of `grammars.GRAMMARS`."""
    counts = {language: len(re.findall(pattern, content, re.MULTILINE)) for language, pattern in _GUESSES}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] > 1 else None


def _bodies(content: str, language: str, first_line: int) -> list[tuple[int, int]]:
    from localllm.code.outline import NotParsedError

    try:
        found = bodies(content.encode("utf-8", "replace"), language)
    except NotParsedError:
        return []
    return [(body.first + first_line - 1, body.last + first_line - 1) for body in found]


def _without_bodies(rows: Sequence[_Row], found: Sequence[tuple[int, int]], target: int) -> list[_Row]:
    """Remove the largest bodies from the rows, as many as necessary. Of the last one only the part necessary."""
    start = rows[0].first
    size = _size(rows)
    gone: list[_Row] = []
    for first, last in sorted(found, key=lambda body: -_size(rows[body[0] - start : body[1] - start + 1])):
        if size <= target:
            break
        body = _last(rows[first - start : last - start + 1], size - target + len(_MARK) + 12)
        mark = _mark(body)
        if (gain := _size(body) - len(mark.text) - 1) > 0:
            gone.append(mark)
            size -= gain
    kept = {row.first: row for row in rows if not any(mark.first <= row.first <= mark.last for mark in gone)}
    return [row for _, row in sorted((kept | {mark.first: mark for mark in gone}).items())]


def _last(rows: Sequence[_Row], size: int) -> Sequence[_Row]:
    """Return the last rows that have `size` characters; all if they have less."""
    for number in range(len(rows) - 1, -1, -1):
        size -= len(rows[number].text) + 1
        if size <= 0:
            return rows[number:]
    return rows


def _without_middle(rows: Sequence[_Row], target: int) -> list[_Row]:
    """Remove rows from the middle to reach the target.
    A single truncated row if the rows are too long to select from."""
    if _size(rows) - 1 <= target:
        return list(rows)
    room = max(0, target - len(_MARK) - 12)
    head = _fitting(rows, int(room * _HEAD))
    tail = _fitting(rows[: len(head) - 1 if head else None : -1], room - _size(head))[::-1]
    if _size(head) + _size(tail) <= room * _FILLED:
        return [_Row(_cut_within(_written(rows), target), rows[0].first, rows[-1].last)]
    middle = rows[len(head) : len(rows) - len(tail)]
    return [*head, _mark(middle), *tail] if middle else list(rows)


def _fitting(rows: Sequence[_Row], room: int) -> list[_Row]:
    kept: list[_Row] = []
    for row in rows:
        room -= len(row.text) + 1
        if room < 0:
            break
        kept.append(row)
    return kept


def _mark(rows: Sequence[_Row]) -> _Row:
    """Return the note that replaces `rows`, indented like the first of them."""
    first, last = rows[0].first, rows[-1].last
    indent = rows[0].text[: len(rows[0].text) - len(rows[0].text.lstrip())]
    return _Row(indent + _MARK.format(first=first, last=last), first, last)


def _size(rows: Sequence[_Row]) -> int:
    return sum(len(row.text) + 1 for row in rows)


def _written(rows: Sequence[_Row]) -> str:
    return "\n".join(row.text for row in rows)


def _cut_within(text: str, target: int) -> str:
    """Truncate a text in the middle to `target` characters, near sentence or word borders."""
    room = target - len(_GAP) - 8
    if room <= 0:
        return f"{text[: target - 1]}…" if target > 0 else ""
    head = text[: int(room * _HEAD)]
    if ends := [border.end() for border in _BORDER.finditer(head, int(len(head) * _NEAR))]:
        head = head[: ends[-1]]
    tail = text[len(text) - (room - len(head)) :]
    if border := _BORDER.search(tail, 0, int(len(tail) * (1 - _NEAR))):
        tail = tail[border.end() :]
    return head + _GAP.format(count=len(text) - len(head) - len(tail)) + tail
