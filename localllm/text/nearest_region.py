"""Find the region of a text that most likely corresponds to a passage without exact match."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from localllm.text.diffing import Alignment, TooMuchWorkError

_CANDIDATES = 8
_LINES_COMPARED = 5_000
_CHARACTERS_COMPARED = 600
_ALIKE = 0.6
_NEARLY = 0.8
_AS_ALIKE = 0.1
_TELLING = 8  # characters: shorter lines occur anywhere
_LINES_LEFT_OUT = 10
_LINES_ALIGNED = 400
_LINES_LIKENED = 20


class Region(NamedTuple):
    """Lines `start` to `end` (from 1, inclusive).
    `similarity` is between 0 and 1; 1 means equal except for white space around lines."""

    start: int
    end: int
    similarity: float


def closest_region(text: str, passage: str) -> Region | None:
    """Return the lines of `text` most similar to `passage`, None if nothing is similar enough.

    White space around lines is ignored. The work is bounded: only the first lines of a very long text are compared by
    characters, and the beginning of a very long passage.
    """
    return next(iter(closest_regions(text, passage)), None)


def closest_regions(text: str, passage: str) -> list[Region]:
    """Return the region of `closest_region`, followed by others of about the same similarity."""
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in passage.strip().split("\n")]
    starts = window_starts(text, passage.strip())
    regions = sorted((_region(lines, wanted, start) for start in starts), key=lambda r: (-r.similarity, r.start))
    alike = [region for region in regions if region.similarity >= _ALIKE or _shares_line(lines, wanted, region)]
    found: list[Region] = []
    for region in alike:
        if region.similarity < alike[0].similarity - _AS_ALIKE:
            break
        grown = _grown(lines, wanted, region) if len(wanted) <= _LINES_ALIGNED else region
        if all(grown.end < other.start or other.end < grown.start for other in found):
            found.append(grown)
    return found


def _shares_line(lines: Sequence[str], wanted: Sequence[str], region: Region) -> bool:
    """Return whether a significant whole line is equal, or the longest one nearly."""
    present = lines[region.start - 1 : region.end]
    there = {line for line in present if len(line) >= _TELLING}
    if not there.isdisjoint(wanted):
        return True
    longest = max(wanted, key=len)
    return len(longest) >= _TELLING and any(similarity(longest, line) >= _NEARLY for line in present[:_LINES_LIKENED])


def _grown(lines: Sequence[str], wanted: Sequence[str], region: Region) -> Region:
    """Extend the region by lines before and after it that the passage has too, where it omits some between them."""
    first = _first_line(lines, wanted, region)
    last = min(region.end + len(wanted) + _LINES_LEFT_OUT, len(lines))
    try:
        matching = Alignment(wanted, lines[first:last]).get_matching_blocks()
    except TooMuchWorkError:
        return region
    blocks = [(i, j, size) for i, j, size in matching if any(wanted[i : i + size])]
    if not blocks:
        return region
    start = max(first + blocks[0][1] - blocks[0][0], first)
    after = len(wanted) - blocks[-1][0] - blocks[-1][2]
    end = min(first + blocks[-1][1] + blocks[-1][2] + after, len(lines))
    shared = sum(len(line) for i, _, size in blocks for line in wanted[i : i + size])
    before = Counter(wanted) & Counter(lines[region.start - 1 : region.end])
    if shared <= sum(len(line) * count for line, count in before.items()):
        return region
    return Region(start + 1, end, region.similarity)


def _first_line(lines: Sequence[str], wanted: Sequence[str], region: Region) -> int:
    """Return the line (from 0) where the region begins, or a significant one before it that begins the passage, if it
    is not in the region."""
    start, first = region.start - 1, next((line for line in wanted if line), "")
    if len(first) < _TELLING or first in lines[start : region.end]:
        return start
    return next((at for at in range(start - 1, max(start - _LINES_LEFT_OUT, 0) - 1, -1) if lines[at] == first), start)


@lru_cache(maxsize=2)  # a failed search is followed by closest_region for the same passage
def window_starts(text: str, passage: str) -> frozenset[int]:
    """Return the lines (from 0) at which the passage (without surrounding white space) may begin."""
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in passage.split("\n")]
    if not any(wanted):
        return frozenset()
    return frozenset((*_by_shared_lines(lines, wanted), *_by_similar_line(lines, wanted)))


def similarity(one: str, other: str) -> float:
    """Return the similarity, 0 to 1 (equal), of the first 600 characters."""
    matcher = Alignment(one[:_CHARACTERS_COMPARED], other[:_CHARACTERS_COMPARED])
    try:
        return matcher.ratio()
    except TooMuchWorkError:
        return matcher.quick_ratio()


def _region(lines: Sequence[str], wanted: Sequence[str], start: int) -> Region:
    there = "\n".join(lines[start : start + len(wanted)])
    return Region(start + 1, min(start + len(wanted), len(lines)), similarity(there, "\n".join(wanted)))


def _by_shared_lines(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the windows that share the most text in whole lines with the passage, in any order."""
    shared = list(_shared(lines, wanted))
    return [start for size, start in nlargest(_CANDIDATES, shared, key=lambda pair: (pair[0], -pair[1])) if size]


def _shared(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield for each window the characters of the lines it shares with the passage, and its start."""
    missing = Counter(wanted)
    size = 0
    for end, line in enumerate(lines):
        missing[line] -= 1
        size += len(line) if missing[line] >= 0 else 0
        start = end - len(wanted) + 1
        if start > 0:
            left = lines[start - 1]
            size -= len(left) if missing[left] >= 0 else 0
            missing[left] += 1
        yield size, max(start, 0)


def _by_similar_line(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the starts of the passage if its longest line is aligned with each of the most similar lines."""
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    matcher = difflib.SequenceMatcher(None, "", wanted[longest][:_CHARACTERS_COMPARED], autojunk=False)
    ratios: list[tuple[float, int]] = []
    for index, line in enumerate(lines[:_LINES_COMPARED]):
        matcher.set_seq1(line[:_CHARACTERS_COMPARED])
        if matcher.real_quick_ratio() >= _ALIKE and (ratio := matcher.quick_ratio()) >= _ALIKE:
            ratios.append((ratio, index))
    return [max(index - longest, 0) for _, index in nlargest(_CANDIDATES, ratios)]
