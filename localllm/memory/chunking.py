"""A task too large for one go, cut at the borders it has: headings, list items, lines, sentences."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from localllm.memory import markdown
from localllm.text.cleaning import clusters

_SENTENCE_END = re.compile(r"[。！？]+[」』）】〉》]*\s*|(?<![.!?])[.!?]++[\"'’”)\]]*+\s+")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_BLANK_START = re.compile(r"^(?:[ \t]*[\r\n])+")


def chunk(text: str, max_size: int) -> list[str]:
    """`text` in parts of at most `max_size` characters, in order; joined they are the text but for white space at the
    borders. A code fence is only cut where it alone is larger. ValueError unless `max_size` is positive."""
    if max_size < 1:
        raise ValueError(max_size)
    parts: list[str] = []
    current = heading = ""  # a heading goes with what it stands over
    for piece, leads in _pieces(text, max_size):
        if _size(current + heading + piece) > max_size:
            if heading and _size(heading + piece) > max_size:
                current, heading = current + heading, ""
            parts.append(current)
            current = ""
        current, heading = (current, heading + piece) if leads else (current + heading + piece, "")
    trimmed = (_BLANK_START.sub("", part).rstrip() for part in [*parts, current + heading])
    return [part for part in trimmed if part]


def _size(text: str) -> int:
    return len(_BLANK_START.sub("", text).rstrip())


def _pieces(text: str, max_size: int) -> Iterator[tuple[str, bool]]:
    """The text in pieces that fit, as large as they can be, and whether a piece is a heading."""
    lines = markdown.lines_of(text)
    for block in markdown.scan(lines):
        whole = "".join(lines[block.start : block.end])
        if _size(whole) <= max_size:
            yield whole, block.kind in ("heading", "blank")
        else:
            for piece in _smaller(lines[block.start : block.end], max_size):
                yield piece, False


def _smaller(lines: Sequence[str], max_size: int) -> Iterator[str]:
    """A block that is too large: its lines, a fence in it as one; then sentences, words, characters."""
    for group in _groups(lines):
        whole = "".join(group)
        if _size(whole) <= max_size:
            yield whole
            continue
        for line in group:
            if _size(line) <= max_size:
                yield line
            else:
                yield from _of_line(line, max_size)


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines one by one, those of a fence together."""
    fence: list[str] = []
    mark = ""
    for line in lines:
        bare = line.strip()
        if mark:
            fence.append(line)
            if len(bare) >= len(mark) and not bare.strip(mark[0]):
                yield fence
                fence, mark = [], ""
        elif opened := _FENCE.match(line.rstrip("\r\n")):
            fence, mark = [line], opened[1]
        else:
            yield [line]
    if fence:
        yield fence


def _of_line(line: str, max_size: int) -> Iterator[str]:
    at = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
        sentence, at = line[at:end], end
        if _size(sentence) <= max_size:
            yield sentence
        else:
            yield from _cut(sentence, max_size)


def _cut(sentence: str, max_size: int) -> Iterator[str]:
    """A sentence that is too large: at white space, and a word that is too large between characters."""
    for word in re.findall(r"\S+\s*|\s+", sentence):
        if len(word.strip()) <= max_size:
            yield word
            continue
        borders = [start for start, _, _ in clusters(word)] + [len(word)]
        at = 0
        for last, border in pairwise(borders):
            if border - at > max_size:
                yield from _sliced(word[at:last], max_size)
                at = last
        yield from _sliced(word[at:], max_size)


def _sliced(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
