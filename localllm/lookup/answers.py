"""Answers put together: the best place with its own words, then a few more."""

from collections.abc import Iterable, Sequence

from localllm.lookup.places import is_secret
from localllm.lookup.ranking import Candidate
from localllm.lookup.wording import say

_LONGEST_LINE = 160


def place(path: str, line: int) -> str:
    """A citation."""
    return f"{path}:{line}"


def led_by(japanese: bool, best: Candidate, others: Sequence[Candidate], opening: str = "best") -> str:
    """An answer that begins with `best` in full and names `others` in a line each."""
    lines = [say(japanese, opening, name=named(best), place=place(best.path, best.line))]
    if not is_secret(best.path):
        lines += _own_words(best)
    if others := _apart(best, others):
        lines += ["", say(japanese, "also"), *(in_a_line(japanese, other) for other in others)]
    return "\n".join(lines)


def _apart(best: Candidate, others: Sequence[Candidate]) -> list[Candidate]:
    """The others without the lines of what is named already."""
    told = {(candidate.path, named(candidate)) for candidate in (best, *others) if candidate.kind != "mention"}
    return [other for other in others if other.kind != "mention" or (other.path, other.parent) not in told]


def named(candidate: Candidate) -> str:
    """The candidate's name, with what it is in."""
    if candidate.kind == "mention":
        return candidate.parent
    return f"{candidate.parent}.{candidate.name}" if candidate.parent else candidate.name


def in_a_line(japanese: bool, candidate: Candidate) -> str:
    """A place, what it is, and its first words."""
    start = f"- {place(candidate.path, candidate.line)}"
    if is_secret(candidate.path):
        return start
    if candidate.kind == "mention":
        inside = say(japanese, "in", name=candidate.parent) + ": " if candidate.parent else ""
        return f"{start} — {inside}`{shorten(candidate.text)}`"
    return f"{start} — `{named(candidate)}`" + (f": {shorten(candidate.doc)}" if candidate.doc else "")


def numbered(hits: Iterable[tuple[str, int, str]]) -> list[str]:
    """Lines of files, each with its place; what stands in files of secrets is not shown."""
    return [
        f"- {place(path, line)}" + ("" if is_secret(path) or not text.strip() else f" — `{shorten(text)}`")
        for path, line, text in hits
    ]


def shorten(text: str, most: int = _LONGEST_LINE) -> str:
    """`text` in one line of at most `most` characters."""
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"


def _own_words(candidate: Candidate) -> list[str]:
    lines: list[str] = []
    shown = candidate.signature or candidate.text
    if shown:
        lines += ["", "    " + shown]
    if candidate.doc:
        lines += ["", "> " + candidate.doc]
    return lines
