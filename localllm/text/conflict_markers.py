"""Find what a merge leaves in a file: the lines `<<<<<<< ours`, `=======` and `>>>>>>> theirs`."""

from collections.abc import Iterator

_MARKERS = ("<<<<<<<", "|||||||", ">>>>>>>")
_MAY_FOLLOW = {
    "": ("<<<<<<<",),
    "<<<<<<<": ("|||||||", "======="),
    "|||||||": ("=======",),
    "=======": (">>>>>>>",),
}


def marker_lines(text: str) -> list[int]:
    """Return the lines (from 1) that begin or end a side of a conflict. Not those between two sides, for `=======` may
    as well underline a heading."""
    lines = enumerate(text.split("\n"), 1) if any(marker in text for marker in _MARKERS) else ()
    return [number for number, line in lines if line[:7] in _MARKERS and line[7:8] in ("", " ", "\r")]


def sides(text: str) -> tuple[str, str] | None:
    """Return the two versions of a text with conflicts: with our side of each, and with theirs. None if it has none, or
    they are not whole."""
    if not marker_lines(text):
        return None
    ours: list[str] = []
    theirs: list[str] = []
    part = ""
    for line in text.split("\n"):
        mark = line[:7] if line[7:8] in ("", " ", "\r") else ""
        if mark in _MAY_FOLLOW.get(part, ()):
            part = "" if mark == ">>>>>>>" else mark
        elif mark in _MARKERS:
            return None
        else:
            ours += [line] if part in ("", "<<<<<<<") else []
            theirs += [line] if part in ("", "=======") else []
    return None if part else ("\n".join(ours), "\n".join(theirs))


def lost_side(old: str, new: str) -> list[str]:
    """Return the lines of one side of a conflict, if `new` resolves it by the other side alone; empty if it has
    something of both, or of neither. `old` may lack the first marker, as an edit before may have taken it away."""
    if not marker_lines(old) or marker_lines(new) or _separators(new):
        return []
    ours, theirs, part = list[str](), list[str](), "before"
    for line in old.split("\n"):
        mark = line[:7] if line[7:8] in ("", " ", "\r") else ""
        if mark in (*_MARKERS, "======="):
            ours = [] if mark == "<<<<<<<" and not theirs and part == "before" else ours
            part = "" if mark == ">>>>>>>" else mark
        elif line.strip() and part in ("before", "<<<<<<<", "======="):
            (theirs if part == "=======" else ours).append(line.strip())
    kept = {line.strip() for line in new.split("\n")}
    own, others = ([line for line in dict.fromkeys(side) if line not in rest] for side, rest in _apart(ours, theirs))
    if own and others and kept.isdisjoint(others) and kept.issuperset(own):
        return others
    return own if own and others and kept.isdisjoint(own) and kept.issuperset(others) else []


def _apart(ours: list[str], theirs: list[str]) -> Iterator[tuple[list[str], set[str]]]:
    yield ours, set(theirs)
    yield theirs, set(ours)


def left_markers(old: str, new: str) -> list[int]:
    """Return the lines of `new` with what is left of the conflicts of `old`, if `new` resolves some of it; empty if it
    resolves all or nothing."""
    if not (before := marker_lines(old)):
        return []
    if after := marker_lines(new):
        return after if len(after) != len(before) else []
    lines = old.split("\n")
    others = len(_separators(old)) - sum(lines[number - 1].startswith("<") for number in before)
    return left if len(left := _separators(new)) > max(0, others) else []


def _separators(text: str) -> list[int]:
    return [number for number, line in enumerate(text.split("\n"), 1) if line.rstrip("\r") == "======="]
