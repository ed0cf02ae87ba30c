"""Find what was ordered by name to be removed or moved, and stands where it stood, though the run changed files for it.

A text has to stand in a file that was changed, and no line with it to be gone. A definition has to stand as it did in a
file that was changed, or, if it was to be moved, in another one than that to which it was.
"""

import re
from collections.abc import Iterator, Mapping

from localllm.agent.checks.findings import Finding
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.ordered_removals import OrderedRemoval, ordered_removals, says_it_stays
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_regular
from localllm.safety.path_names import shown
from localllm.tools.tool_system import ToolSystem

_BODY = 6
"""Lines of a definition, of which none was written in the run if it stands as it did."""
_LARGEST, _MOST_BYTES, _MOST_PLACES = 500_000, 30_000_000, 3


def findings(
    tools: ToolSystem, listing: ProjectListing, state: RunState, text: str, position: int
) -> Iterator[Finding]:
    """Yield what still stands, unless the answer tells of anything as left. Reads files."""
    ordered = ordered_removals(state.query)
    if not ordered or says_it_stays(text) or phrases.admits_failure(text) or phrases.needs_nothing(text):
        return
    diffs = {one.path: one.diff for one in tools.changes.diffs_since(position)}
    if not all(diffs.values()):
        return  # what was done to a file without a diff is not known
    for one in ordered:
        if places := [*_places(tools, listing, one, diffs)]:
            listed = ", ".join(places[:_MOST_PLACES])
            reason = Phrase("{old} still stands in {places}", old=one.what, places=listed)
            params = {"old": one.what, "places": listed}
            yield Finding("still_stands", reason, contradicts=phrases.says_changed(text), params=params)


def _places(
    tools: ToolSystem, listing: ProjectListing, ordered: OrderedRemoval, diffs: Mapping[str, str]
) -> Iterator[str]:
    """Yield where it stands; nothing if any of it was taken away, or, of a move, if it is not where it was to be."""
    gone = "\n".join(line[1:] for diff in diffs.values() for line in diff.splitlines() if line[:1] == "-")
    if ordered.is_text:
        new = "\n".join(_lines(_added(diff)) for diff in diffs.values())
        for path in diffs if gone.count(ordered.what) == new.count(ordered.what) else ():
            lines = enumerate((tools.readable_text(path) or "").splitlines(), 1)
            yield from (f"{shown(path)}:{at}" for at, line in lines if ordered.what in line)
        return
    defined = definition_of(ordered.what)
    if defined.search(gone):
        return
    if ordered.to:
        if not any(_is_same(path, ordered.to) and defined.search(_lines(_added(diffs[path]))) for path in diffs):
            return
        paths = [path for path in _with(listing, ordered.what) if not _is_same(path, ordered.to)]
    else:
        paths = list(diffs)
    for path in paths:
        content = tools.readable_text(path) or ""
        new = _added(diffs.get(path, ""))
        lines = content.splitlines()
        for match in defined.finditer(content):
            at = content.count("\n", 0, match.start())
            body = [line for line in lines[at : at + _BODY] if line.strip()]
            if not any(line in new for line in body):
                yield f"{shown(path)}:{at + 1}"


def definition_of(name: str) -> re.Pattern[str]:
    """Return the pattern of a line that defines a function, a class or the like of this name, or a constant."""
    word = re.escape(name)
    return re.compile(
        r"(?m)^[ \t]*(?:(?:pub(?:\(\w{1,20}\))?|export|default|async|static|public|private|protected|abstract|final"
        r"|unsafe|const) ){0,4}(?:def|function\*?|fn|func(?: ?\([^()\n]{0,80}\))?|class|struct|enum|interface|trait"
        rf"|type|const|let|var|val|sub) {word}\b|^{word} ?(?::[^=\n]{{1,60}})?=(?!=)"
    )


def _added(diff: str) -> set[str]:
    return {line[1:] for line in diff.splitlines() if line[:1] == "+" and line[:4] != "+++ "}


def _lines(lines: set[str]) -> str:
    return "\n".join(lines)


def _is_same(path: str, named: str) -> bool:
    return path == named or path.endswith(f"/{named}") or named.endswith(f"/{path}")


def _with(listing: ProjectListing, word: str) -> Iterator[str]:
    """Yield the files of the project that hold a word; of a very large project not all."""
    left, sought = _MOST_BYTES, word.encode()
    try:
        entries = listing.entries
    except OSError:
        return
    for entry in entries:
        if entry.is_dir or entry.is_link or entry.size > _LARGEST:
            continue
        left -= entry.size
        if left < 0:
            return
        try:
            if sought in read_regular(listing.root / entry.path, _LARGEST):
                yield entry.path
        except OSError:  # deleted since, or closed to the user
            continue
