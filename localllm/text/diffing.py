"""Compute differences between two versions of a text, with bounded work."""

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate, takewhile

MOST = 2_000_000
"""Step limit, about 0.3 s; a step compares an item of the first sequence with one of the second."""


class TooMuchWorkError(Exception):
    """The sequences have too many similar items to be aligned in time."""


class Budget:
    """A step budget shared by several alignments."""

    def __init__(self, steps: int = MOST) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Consume `steps`. Raises TooMuchWorkError, now and from then on, if fewer are left."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchWorkError


class Alignment(SequenceMatcher[str]):
    """A SequenceMatcher whose `get_matching_blocks`, `get_opcodes` and `ratio` raise TooMuchWorkError."""

    a: Sequence[str]
    b2j: dict[str, list[int]]

    def __init__(
        self, one: Sequence[str], other: Sequence[str], *, autojunk: bool = False, budget: Budget | None = None
    ) -> None:
        super().__init__(None, one, other, autojunk)
        self._budget = budget or Budget()
        self._steps = [0, *accumulate(1 + len(self.b2j.get(item, ())) for item in one)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """See SequenceMatcher. Raises TooMuchWorkError."""
        self._budget.spend(self._steps[len(self.a) if ahi is None else ahi] - self._steps[alo])
        return super().find_longest_match(alo, ahi, blo, bhi)


_CONTEXT = 3
"""Unchanged lines shown around a change, as in diff -u."""

_MOST_STEPS = 10_000_000
"""Step limit (1 to 2 s), beyond which everything from the first to the last difference is replaced."""


def unified(old: str | None, new: str | None, path: str) -> str:
    """Return the change from `old` to `new` (None for no file) as a unified diff; "" if there is none."""
    if old == new:
        return ""
    before, after = _lines(old or ""), _lines(new or "")
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    head = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    return "".join(head + [line for hunk in _hunks(before, after) for line in hunk])


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    added = removed = 0
    for tag, i1, i2, j1, j2 in opcodes(_lines(old), _lines(new)):
        if tag != "equal":
            added, removed = added + j2 - j1, removed + i2 - i1
    return added, removed


def _lines(text: str) -> list[str]:
    """Split into lines with newlines; a last line without one is marked as in diff."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([f"{last}\n\\ No newline at end of file\n"] if last else [])


def opcodes(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Return the opcodes that turn `before` into `after`, removing common ends first, which is fast."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    changed = _changes(before[head : len(before) - tail], after[head : len(after) - tail])
    moved = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in changed]
    ends = (("equal", 0, head, 0, head), ("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return [ends[0], *moved, ends[1]]


def _changes(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    if before and after and set(before).isdisjoint(after):  # fast, even for very long texts
        return [("replace", 0, len(before), 0, len(after))]
    if not before and after:
        return [("insert", 0, 0, 0, len(after))]
    try:
        return list(Alignment(before, after, autojunk=True, budget=Budget(_MOST_STEPS)).get_opcodes())
    except TooMuchWorkError:
        return [("replace", 0, len(before), 0, len(after))]


def _common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _hunks(before: list[str], after: list[str]) -> Iterator[list[str]]:
    changes = [code for code in opcodes(before, after) if code[0] != "equal"]
    while changes:
        group = [changes.pop(0)]
        while changes and changes[0][1] - group[-1][2] <= 2 * _CONTEXT:
            group.append(changes.pop(0))
        yield _hunk(before, after, group)


def _hunk(before: list[str], after: list[str], group: list[tuple[str, int, int, int, int]]) -> list[str]:
    """Format a hunk: the changes of `group` with the unchanged lines around and between them."""
    lead = min(_CONTEXT, group[0][1])
    trail = min(_CONTEXT, len(before) - group[-1][2])
    at, body = group[0][1] - lead, list[str]()
    for _, i1, i2, j1, j2 in group:
        body += [" " + line for line in before[at:i1]]
        body += ["-" + line for line in before[i1:i2]] + ["+" + line for line in after[j1:j2]]
        at = i2
    body += [" " + line for line in before[at : at + trail]]
    old = _span(group[0][1] - lead, group[-1][2] + trail)
    new = _span(group[0][3] - lead, group[-1][4] + trail)
    return [f"@@ -{old} +{new} @@\n", *body]


def _span(start: int, end: int) -> str:
    """Format a line range as in diff: counted from 1, or the preceding line if it is empty."""
    return f"{start + 1 if end > start else start},{end - start}"


def line_differences(old: str, new: str, *, most: int) -> list[str]:
    """Return the differing lines, `- ` before those of `old`, `+ ` before those of `new`; at most `most`."""
    before, after = old.split("\n"), new.split("\n")
    found: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(before, after):
        if tag != "equal":
            found += ["- " + line for line in before[i1:i2]] + ["+ " + line for line in after[j1:j2]]
    return found if len(found) <= most else [*found[:most], "…"]
