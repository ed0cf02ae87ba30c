"""Find the commands of a line that take files out of the project: `rm -r`, and `mv` to a place outside.

Where a sandbox confines commands, /tmp and the home are theirs alone and thrown away with them: to move something there
is to delete it.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.command_line import Line
from localllm.safety.dangerous_commands import begins_at, has_all
from localllm.safety.shell_words import Word

_OUTSIDE = late_pattern(r"~(?:/|$)|\$\{?(?:HOME|TMPDIR|TMP|TEMP)\b")
_MADE = late_pattern(r"/(?:tmp|var/tmp|dev/shm)/[^/]*XXX")
"""Matches what stands for a path that `mktemp` makes outside of the project."""
_TEMPORARY = late_pattern(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)")
_TARGET = late_pattern(r"-[a-su-zA-Z]*t(.*)|--t[a-z-]*(?:=(.*))?", re.DOTALL)
_MOST_LINKS = 40  # of one path, as in the kernel
_SUFFIX = late_pattern(r"-S|--su[a-z]*")
"""Matches options of `mv` that take the next word."""


class Departure(msgspec.Struct, frozen=True):
    """A simple command that takes files out of the project, by its words. `sources`: what it moves, as
    written, and `target`: where to; nothing for `rm`."""

    words: tuple[str, ...]
    sources: tuple[str, ...] = ()
    target: str = ""


def departures(line: Line, folder: str, root: str) -> list[Departure]:
    """Return the commands of a line that take files out of the project at `root`; it runs in `folder`."""
    places = _Places(line, posixpath.join(root, folder), root)
    found = (_departure(words, places) for words in line.commands)
    return [one for one in found if one]


def _departure(words: Sequence[Word], places: "_Places") -> Departure | None:
    texts = tuple(word.text for word in words)
    at = begins_at(words, "rm")
    if at >= 0 and has_all(texts[at + 1 :], ["-r"]):
        return Departure(texts)
    if (at := begins_at(words, "mv")) < 0:
        return None
    sources, target = moved(words[at + 1 :])
    if target is None or not places.leave(sources, target):
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
        elif _SUFFIX.fullmatch(word.text):
            at += 1
    if target is None and len(sources) > 1:
        target = sources.pop()
    return sources, target


class _Places:
    """Where the commands of a line may run that starts in `start`, and what is outside of the project from there."""

    def __init__(self, line: Line, start: str, root: str) -> None:
        self._root = root
        self._start = start
        self._entered = list(accumulate(line.folders, posixpath.join, initial=start))[1:]
        self._links: list[str] = []
        for words in line.commands:
            self._links += self._links_of(words)

    def leave(self, sources: Sequence[Word], target: Word) -> bool:
        """Return whether `mv` with these words moves something of the project out of it."""
        if any(self._leave_from(place, sources, target) for place in self._entered):
            return True
        if self._entered:  # it may have come back, as from `(cd …)`, and then it moves what is there
            sources = [word for word in sources if word.computed or os.path.lexists(self._at(word.text, self._start))]
        return bool(sources or not self._entered) and self._leave_from(self._start, sources, target)

    def _leave_from(self, place: str, sources: Sequence[Word], target: Word) -> bool:
        if not self._is_outside(target, place):
            return False
        return not sources or any(self._is_of_project(word, place) for word in sources)

    def _is_outside(self, target: Word, place: str) -> bool:
        """Return whether what is moved there leaves the project. Of a computed word that is so only if it shows."""
        path = self._at(target.text, place)
        if _OUTSIDE.match(target.text) or any(path == link or path.startswith(f"{link}/") for link in self._links):
            return True
        if target.computed:
            return bool(_MADE.match(target.text)) and not self._is_in(path)  # not `mv "$f" "${f%.txt}.md"`
        return not self._is_in(path) or self._leads_out(path)

    def _is_of_project(self, source: Word, place: str) -> bool:
        if self._is_in(self._at(source.text, place)):
            return source.text[:1] != "~"
        return source.computed and not (_TEMPORARY.match(source.text) or source.text[:1] == "~")

    def _links_of(self, words: Sequence[Word]) -> Iterator[str]:
        """Yield the links to places outside that `ln -s` makes."""
        if (at := begins_at(words, "ln")) < 0 or not has_all([word.text for word in words[at + 1 :]], ["-s"]):
            return
        sources, name = moved(words[at + 1 :])
        for source in sources:
            link = name.text if name else posixpath.basename(source.text)
            for place in (*self._entered, self._start):
                path = self._at(link, place)
                if self._is_outside(source, posixpath.dirname(path)):
                    yield path

    def _leads_out(self, path: str) -> bool:
        """Return whether a link of the project is on the way that leads to what a command has for itself. Its target is
        not touched: that could be a name which another machine is asked for."""
        current, names = self._root, path[len(self._root) + 1 :].split("/")[::-1]
        links = 0
        while names and links < _MOST_LINKS:
            current = posixpath.join(current, names.pop())
            with suppress(OSError, ValueError):  # no link
                current = self._at(os.readlink(current), posixpath.dirname(current))  # noqa: PTH115 - strings
                links += 1
                if not self._is_in(current):
                    return bool(_TEMPORARY.match(current)) or current == os.path.expanduser("~")  # noqa: PTH111
                names += current[len(self._root) + 1 :].split("/")[::-1]
                current = self._root
        return links == _MOST_LINKS

    def _is_in(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")

    @staticmethod
    def _at(path: str, place: str) -> str:
        return os.path.normpath(posixpath.join(place, path))
