"""Where in a text a passage was probably meant, when it is not there letter by letter."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

_CANDIDATES = 8
_LINES_COMPARED = 5_000
_CHARACTERS_COMPARED = 600
_ALIKE = 0.6


class Region(NamedTuple):
    """Lines `start` to `end` (from 1, both included). `similarity` is between 0 and 1; 1 means that only white space
    at the ends of lines differs."""

    start: int
    end: int
    similarity: float


def closest_region(text: str, passage: str) -> Region | None:
    """The lines of `text` most like those of `passage`, None where nothing is much like it.

    White space around lines is not compared. The work is bounded: of a very long text the first lines are compared
    letter by letter, of a very long passage its beginning.
    """
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in passage.strip().split("\n")]
    if not any(wanted):
        return None
    starts = {*_by_shared_lines(lines, wanted), *_by_similar_line(lines, wanted)}
    windows = {tuple(lines[start : start + len(wanted)]): start for start in sorted(starts, reverse=True)}
    regions = [_region(lines, wanted, start) for start in windows.values()]
    best = max(regions, key=lambda region: region.similarity, default=None)
    return best if best and best.similarity >= _ALIKE else None


def similarity(one: str, other: str) -> float:
    """Between 0 and 1 (the same); of long texts only the first 600 characters are compared."""
    matcher = difflib.SequenceMatcher(None, one[:_CHARACTERS_COMPARED], other[:_CHARACTERS_COMPARED], autojunk=False)
    return matcher.ratio()


def _region(lines: Sequence[str], wanted: Sequence[str], start: int) -> Region:
    there = "\n".join(lines[start : start + len(wanted)])
    return Region(start + 1, min(start + len(wanted), len(lines)), similarity(there, "\n".join(wanted)))


def _by_shared_lines(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the windows begin that have the most text in whole lines of the passage, in any order."""
    shared = list(_shared(lines, wanted))
    return [start for size, start in nlargest(_CANDIDATES, shared, key=lambda pair: (pair[0], -pair[1])) if size]


def _shared(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each window: the characters in lines it shares with the passage, and where it begins."""
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
    """Where the passage begins if its longest line is one of the lines most like it."""
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    matcher = difflib.SequenceMatcher(None, "", wanted[longest][:_CHARACTERS_COMPARED], autojunk=False)
    ratios: list[tuple[float, int]] = []
    for index, line in enumerate(lines[:_LINES_COMPARED]):
        matcher.set_seq1(line[:_CHARACTERS_COMPARED])
        if matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE:
            ratios.append((matcher.quick_ratio(), index))
    return [max(index - longest, 0) for _, index in nlargest(_CANDIDATES, ratios)]
