"""Two changes of one text put together, where they do not contradict each other."""

from itertools import pairwise
from typing import NamedTuple

from localllm.text.diffing import opcodes

_MOST_LINES = 50_000


class _Hunk(NamedTuple):
    """Lines `start` to `end` of the text both began with become these."""

    start: int
    end: int
    lines: tuple[str, ...]


def merged(base: bytes, one: bytes, other: bytes, *, is_list: bool = False) -> bytes | None:
    """`base` after both changes, the one to `one` and the one to `other`; None where they contradict.

    They do where they change the same lines, each in its own way, or add different lines at the same place; also where
    neighbouring lines are changed, unless each line stands for itself (`is_list`) and one of the two only deletes.
    Lines are compared byte by byte, in any encoding. None as well for what is no text (a zero byte), and above some
    50,000 lines.
    """
    if any(b"\0" in text or text.count(b"\n") > _MOST_LINES for text in (base, one, other)):
        return None
    lines = base.decode("latin-1").split("\n")
    hunks = sorted({*_hunks(lines, one), *_hunks(lines, other)})
    if any(_contradict(first, second, is_list=is_list) for first, second in pairwise(hunks)):
        return None
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.end] = hunk.lines
    return "\n".join(lines).encode("latin-1")


def _hunks(before: list[str], changed: bytes) -> set[_Hunk]:
    after = changed.decode("latin-1").split("\n")
    return {_Hunk(i1, i2, tuple(after[j1:j2])) for tag, i1, i2, j1, j2 in opcodes(before, after) if tag != "equal"}


def _contradict(first: _Hunk, second: _Hunk, *, is_list: bool) -> bool:
    """Of two hunks in order: whether both cannot be made."""
    if second.start != first.end:
        return second.start < first.end
    return not is_list or bool(first.lines and second.lines)
