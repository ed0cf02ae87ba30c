"""Tell what the user typed from what was pasted: a pasted text is a stranger's, as piped text is.

It is recognised by its words, so wherever it gets to: into the queue, back into the line, out of the history, edited.
"""

import re
from collections.abc import Iterator, Set
from itertools import pairwise

from localllm.base.lazy_patterns import late_pattern

Span = tuple[int, int]
"""The begin and end of a passage."""

_LONGEST_NAME = 300  # characters of a pasted address or path that counts as typed
_RUN = 4  # successive words of a pasted text that are recognised without the rest of it
_LEAST_RUN = 12  # characters of these
_MOST_COMPARED = 200_000_000  # characters: a line of a pasted text may stand amid what was typed
_UNSPACED = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_WORD = late_pattern(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_QUOTED_PATH = late_pattern(r"""(["'])(?:/|~/|file:///|[A-Za-z]:\\)[^"'\n@＠]*\1""")


def is_one_name(pasted: str) -> bool:
    """Return whether a pasted text is just an address or a path, or another word: these are pasted on purpose."""
    text = pasted.strip()
    if len(text) > _LONGEST_NAME or "\n" in text:
        return False
    if _QUOTED_PATH.fullmatch(text):  # as terminals paste a file that is dropped on them
        return "://" not in text[len("'file://") :]
    if re.search(r"(?<!\\)\s", text) or re.search(r".[@＠]", text.partition("://")[0]):
        return False
    if re.match(r"[A-Za-z]+://", text):
        return text.isascii() and text.count("://") == 1
    return "://" not in text and (text.isascii() or text.startswith(("@", "＠", "/", "~", ".")))


class StrangersWords:
    """The pasted texts of this chat, and those of recalled lines."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._recalled: dict[str, list[str]] = {}

    def add(self, pasted: str) -> None:
        """Note that this was pasted."""
        if (text := _encodable(pasted).strip()) and not is_one_name(text):
            self._texts[text] = None

    def keep(self, line: str, pasted: list[str]) -> None:
        """Note what was pasted of a line of the history, for the case that it is recalled."""
        self._recalled[line] = pasted

    def recall(self, line: str) -> None:
        """Take note of the text in the prompt: it may be a line of the history."""
        for text in self._recalled.get(line, ()):
            self._texts[text] = None

    def typed(self, text: str) -> str:
        """Return what the user typed of a text: all but what was pasted."""
        edges = [0, *(edge for span in self.spans(text) for edge in span), len(text)]
        return "\n".join(text[begin:end] for begin, end in list(pairwise(edges))[::2]) if len(edges) > 2 else text

    def spans(self, text: str) -> list[Span]:
        """Return the pasted passages of a text, in order."""
        if not self._texts:
            return []
        found: list[Span] = []
        lines: set[str] = set()
        for pasted in self._texts:
            if whole := list(_places(pasted, text)):
                found += whole
            elif "\n" in pasted:
                lines.update(line for one in pasted.split("\n") if len((line := one.strip()).split()) >= _RUN)
        if lines:
            found += _whole_lines(lines, text)
            rest = _between(_merged(found), len(text))
            if len(lines) * sum(end - begin for begin, end in rest) <= _MOST_COMPARED:
                found += [place for span in rest for line in lines for place in _places(line, text, *span)]
        rest = _between(_merged(found), len(text))
        return _merged([*found, *_runs(text, rest, self._texts)])


def _places(part: str, text: str, begin: int = 0, end: int | None = None) -> Iterator[Span]:
    at = text.find(part, begin, end)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + len(part), end)


def _whole_lines(lines: Set[str], text: str) -> Iterator[Span]:
    """Yield the lines of a text that are among `lines`."""
    end = -1
    for line in text.split("\n"):
        begin, end = end + 1, end + 1 + len(line)
        if (bare := line.strip()) in lines:
            start = begin + line.index(bare)
            yield start, start + len(bare)


def _runs(text: str, within: list[Span], pasted: dict[str, None]) -> list[Span]:
    """Return the passages of at least `_RUN` words that are in a pasted text as well, whatever was edited around."""
    places: dict[tuple[str, ...], list[Span]] = {}
    for begin, end in within:
        words = [(word[0], word.span()) for word in _WORD.finditer(text, begin, end)]
        for at in range(len(words) - _RUN + 1):
            run = words[at : at + _RUN]
            places.setdefault(tuple(word for word, _ in run), []).append((run[0][1][0], run[-1][1][1]))
    if not places:
        return []
    found: list[Span] = []
    for other in pasted:
        words = _WORD.findall(other)
        for run in zip(*(words[at:] for at in range(_RUN)), strict=False):
            found += places.pop(run, ())
    return [(begin, end) for begin, end in _merged(found) if end - begin >= _LEAST_RUN]


def _merged(spans: list[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _between(spans: list[Span], length: int) -> list[Span]:
    edges = [0, *(edge for span in spans for edge in span), length]
    return list(pairwise(edges))[::2]


def _encodable(text: str) -> str:
    """Replace lone surrogates, as the prompt does in what it sends."""
    return text.encode("utf-8", "replace").decode("utf-8")
