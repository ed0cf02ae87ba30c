"""Find the part of a line that most likely corresponds to a passage without exact match.

Paragraphs are often one long line, in Japanese nearly always: as a whole such a line resembles no sentence of it.
"""

import difflib
from collections.abc import Iterator
from typing import NamedTuple

_SHORTEST = 6  # characters of a passage: a shorter one is similar to too much
_LONGEST = 600
_CHARACTERS_READ = 1_000_000
_GRAM = 2  # characters: Japanese words are short
_CANDIDATES = 4
_ALIKE = 0.7


class Passage(NamedTuple):
    """A part of line `line` (from 1)."""

    line: int
    text: str


def closest_passage(text: str, passage: str) -> Passage | None:
    """Return the part of a line of `text` most similar to `passage`, which is one line; None if nothing is similar
    enough, or it is too short or too long for that. Only the first megabyte is read."""
    wanted = passage.strip()
    if not _SHORTEST <= len(wanted) <= _LONGEST or "\n" in wanted:
        return None
    likely = sorted(_windows(text[:_CHARACTERS_READ], wanted), key=lambda one: (-one[0], one[1]))[:_CANDIDATES]
    matcher = difflib.SequenceMatcher(None, "", wanted, autojunk=False)
    best, found = _ALIKE, None
    for _, number, line, start in likely:
        part = _aligned(matcher, line, start, len(wanted))
        matcher.set_seq1(part)
        if (similarity := matcher.ratio()) > best:
            best, found = similarity, Passage(number, part)
    return found


def _windows(text: str, wanted: str) -> Iterator[tuple[int, int, str, int]]:
    """Yield of each line how many pairs of characters the most similar part as long as `wanted` shares with it: that
    number, the line's, the line, and where the part begins."""
    grams = {wanted[at : at + _GRAM] for at in range(len(wanted) - _GRAM + 1)}
    least = len(grams) // 3
    for number, line in enumerate(text.split("\n"), start=1):
        shares = [line[at : at + _GRAM] in grams for at in range(len(line) - _GRAM + 1)]
        if sum(shares) <= least:
            continue
        count, best, start = 0, 0, 0
        for at, is_shared in enumerate(shares):
            count += is_shared - (at >= len(wanted) and shares[at - len(wanted)])
            if count > best:
                best, start = count, max(at - len(wanted) + 1, 0)
        yield best, number, line, start


def _aligned(matcher: difflib.SequenceMatcher[str], line: str, start: int, size: int) -> str:
    """Return the part of the line near `start` that begins and ends where the passage does."""
    first = max(start - size // 2, 0)
    near = line[first : start + size * 3 // 2 + 1]
    matcher.set_seq1(near)
    blocks = [block for block in matcher.get_matching_blocks() if block.size > 1]
    if not blocks:
        return near
    begin = max(blocks[0].a - blocks[0].b, 0)
    end = blocks[-1].a + blocks[-1].size + size - blocks[-1].b - blocks[-1].size
    return near[begin:end].strip()
