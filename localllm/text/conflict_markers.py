"""Find what a merge leaves in a file: the lines `<<<<<<< ours`, `=======` and `>>>>>>> theirs`."""

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
