"""The lines around the matches of a search."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from localllm.safety.paths import ProjectRoot
from localllm.tools.search_backends import Hit, around, load_lines

MOST = 20
"""Lines before and after a match."""

_BETWEEN = "--"
"""Separates passages, as in grep's output."""


def rows_in(root: ProjectRoot, hits: Sequence[Hit], before: int, after: int, room: int) -> Iterator[str]:
    """Yield each hit with as many of the wanted lines around it as fit into `room` characters for the first one."""
    before, after = (min(max(0, count), MOST) for count in (before, after))
    while hits and (before or after):
        rows = _passages(root, hits, before, after)
        first = next(rows)
        if len(first) < room:
            yield first
            yield from rows
            return
        before, after = before // 2, after // 2
    yield from map(row, hits)


def _passages(root: ProjectRoot, hits: Sequence[Hit], before: int, after: int) -> Iterator[str]:
    """Yield each hit with the lines around it, none of them twice. Only the line of a hit begins with its path."""
    is_first = True
    for path, found in groupby(hits, key=lambda hit: hit.path):
        loaded = load_lines(root, path)
        lines = [] if isinstance(loaded, str) else loaded
        mine, done = list(found), 0
        for hit, following in zip(mine, [*(hit.line for hit in mine[1:]), len(lines) + 1], strict=True):
            start = max(done + 1, hit.line - before)
            end = min(hit.line + after, following - 1)
            gap = [] if is_first or start == done + 1 > 1 else [_BETWEEN]
            rows = [*gap, *_numbered(lines, start, hit.line - 1), row(hit), *_numbered(lines, hit.line + 1, end)]
            yield "\n".join(rows)
            is_first, done = False, max(hit.line, end)


def row(hit: Hit) -> str:
    """Return the line of a match."""
    return f"{hit.path}:{hit.line}: {hit.text}"


def _numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    return [f"{number}- {around(lines[number - 1], 0)}" for number in range(first, min(last, len(lines)) + 1)]
