"""How a project's files are told in few bytes: every name if they fit, else folders with the number of their files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from localllm.base.i18n import tr
from localllm.base.walking import Entry
from localllm.tools.guard.paths import shown


class Listing(NamedTuple):
    """The lines to show; the items that stand in them by name; and how many files do not."""

    lines: list[str]
    named: list[str]
    left_out: int


def items(entries: Iterable[Entry]) -> Iterator[str]:
    """The paths of files, and of folders in which the walk found nothing (or did not look), these with a `/`."""
    folder = ""
    for entry in entries:
        if folder and not entry.path.startswith(folder + "/"):
            yield folder + "/"
        folder = entry.path if entry.is_dir else ""
        if not entry.is_dir:
            yield entry.path
    if folder:
        yield folder + "/"


def fit(found: Sequence[str], preferred: Callable[[str], bool], *, above: int, limit: int) -> Listing:
    """The items in at most `limit` characters, the preferred ones first.

    Where they do not fit, the deeper folders are folded into one line each: those of the other files first.
    `above` is how many folders deep the listing begins.
    """
    first = [item for item in found if preferred(item)]
    others = [item for item in found if not preferred(item)]
    folded: list[tuple[str, int]] = []
    for depth, depth_of_others in _depths(found, above):
        folded = [*_fold(first, above + depth).items(), *_fold(others, above + depth_of_others).items()]
        if sum(len(path) + 14 * (count > 0) for path, count in folded) + len(folded) <= limit:
            return _listing(found, folded)
    return _listing(found, _cut(folded, limit))


def _depths(found: Sequence[str], above: int) -> Iterator[tuple[int, int]]:
    deepest = max((item.count("/") - above + 1 for item in found), default=1)
    yield from ((deepest, depth) for depth in range(deepest, 0, -1))
    yield from ((depth, 1) for depth in range(deepest - 1, 0, -1))


def _fold(found: Iterable[str], depth: int) -> dict[str, int]:
    """Each item with 0, or, for those deeper than `depth`, their folder (with `/`) and how many files are below it."""
    folded: dict[str, int] = {}
    for item in found:
        parts = item.split("/", depth)
        if len(parts) <= depth or not parts[depth]:
            folded.setdefault(item, 0)
        else:
            folder = "/".join(parts[:depth]) + "/"
            folded[folder] = folded.get(folder, 0) + (not item.endswith("/"))
    return folded


def _cut(folded: list[tuple[str, int]], limit: int) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    for path, count in folded:
        limit -= len(path) + 15
        if limit < 0:
            break
        kept.append((path, count))
    return kept


def _listing(found: Sequence[str], folded: list[tuple[str, int]]) -> Listing:
    lines = [
        tr("files.folder_count", path=shown(path), count=count) if count else shown(path) for path, count in folded
    ]
    named = [path for path, count in folded if not count]
    files = sum(not item.endswith("/") for item in found)
    return Listing(lines, named, files - sum(not path.endswith("/") for path in named))
