"""Find the commands of a line that take files out of the project: `rm -r`, and `mv` to a place outside.

Where a sandbox confines commands, /tmp and the home are theirs alone and thrown away with them: to move something there
is to delete it.
"""

import os
import posixpath
import re
from collections.abc import Collection, Sequence
from itertools import accumulate

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.command_line import Line
from localllm.safety.dangerous_commands import begins_at, has_all
from localllm.safety.shell_words import Word

_OUTSIDE = late_pattern(r"~(?:/|$)|\$\{?(?:HOME|TMPDIR|TMP|TEMP)\b")
_TARGET = late_pattern(r"-[a-su-zA-Z]*t(.*)|--target-directory(?:=(.*))?", re.DOTALL)
_SUFFIX = frozenset({"-S", "--suffix"})
"""Options of `mv` that take the next word."""


class Departure(msgspec.Struct, frozen=True):
    """A simple command that takes files out of the project, by its words. `sources`: what it moves, as
    written, and `target`: where to; nothing for `rm`."""

    words: tuple[str, ...]
    sources: tuple[str, ...] = ()
    target: str = ""


def departures(line: Line, folder: str, root: str) -> list[Departure]:
    """Return the commands of a line that take files out of the project at `root`; it runs in `folder`."""
    start = posixpath.join(root, folder)
    places = list(accumulate(line.folders, posixpath.join, initial=start))[1:] or [start]
    found = (_departure(words, line.text, places, root) for words in line.commands)
    return [one for one in found if one]


def _departure(words: Sequence[Word], text: str, places: Collection[str], root: str) -> Departure | None:
    texts = tuple(word.text for word in words)
    at = begins_at(words, "rm")
    if at >= 0 and has_all(texts[at + 1 :], ["-r"]):
        return Departure(texts)
    if (at := begins_at(words, "mv")) < 0:
        return None
    sources, target = moved(words[at + 1 :])
    if target is None or not any(_leaves(sources, target, text, place, root) for place in places):
        return None
    return Departure(texts, tuple(word.text for word in sources), target.text)


def taken(line: Line) -> set[str]:
    """Return what the commands of a line move or copy, as written."""
    found: set[str] = set()
    for words in line.commands:
        for program in ("mv", "cp"):
            if (at := begins_at(words, program)) >= 0:
                found.update(word.text for word in moved(words[at + 1 :])[0])
    return found


def moved(words: Sequence[Word]) -> tuple[list[Word], Word | None]:
    """Return what `mv` or `cp` with these words moves, and where to; None if that is not said."""
    sources: list[Word] = []
    target: Word | None = None
    at, is_open = 0, True
    while at < len(words):
        word = words[at]
        at += 1
        if not is_open or word.text[:1] != "-":
            sources.append(word)
        elif word.text == "--":
            is_open = False
        elif found := _TARGET.fullmatch(word.text):
            if value := found[1] or found[2]:
                target = Word(value, computed=word.computed)
            elif at < len(words):
                target, at = words[at], at + 1
        elif word.text in _SUFFIX:
            at += 1
    if target is None and len(sources) > 1:
        target = sources.pop()
    return sources, target


def _leaves(sources: Sequence[Word], target: Word, line: str, place: str, root: str) -> bool:
    """Return whether it moves something of the project out of it, if it runs in `place`."""
    is_temporary = target.text == "$" and "mktemp" in line
    if not (is_temporary or _OUTSIDE.match(target.text)) and (target.computed or _is_in(target.text, place, root)):
        return False  # also `mv "$f" "${f%.txt}.md"`
    return not sources or any(word.text[:1] != "~" and _is_in(word.text, place, root) for word in sources)


def _is_in(path: str, place: str, root: str) -> bool:
    there = os.path.normpath(posixpath.join(place, path))
    return there == root or there.startswith(f"{root}/")
