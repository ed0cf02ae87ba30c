"""Find the commands of a line that take files out of the project: `rm -r`, and `mv` to a place outside.

Where a sandbox confines commands, /tmp and the home are theirs alone and thrown away with them: to move something there
is to delete it.
"""

import os
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress

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
_COMES_BACK = late_pattern(r"\(|\bpopd\b|\bcd\s+-")
_MOST_COMPARED = 1_000_000  # commands of a line in its two readings
_MOST_FOLDERS = 20  # that a line may have come back to
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
    if target is None or not places.leave(words, sources, target):
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


def _entered(line: Line, start: str) -> Iterator[tuple[int, str]]:
    """Yield the folders that a line enters, each with the number of the first command in it."""
    places = [start]
    for number, command in enumerate(line.script.commands):
        name, *rest = [word.text for word in command.words]
        if name not in ("cd", "pushd", "popd"):
            continue
        to = next((text for text in rest if text == "-" or text[:1] != "-"), "~" if name == "cd" else "-")
        if name == "popd" or to == "-":
            places.append(places[-2] if len(places) > 1 else start)
        else:
            places.append(posixpath.join(places[-1], f"/{to}" if to[:1] == "~" else to))
        yield number + 1, places[-1]


def _is_alike(one: Sequence[Word], other: Sequence[Word]) -> bool:
    """Return whether the end of a command may be another reading of the other words."""
    return len(one) >= len(other) and all(
        first.computed or second.computed or first.text == second.text
        for first, second in zip(one[-len(other) :], other, strict=True)
    )


class _Places:
    """Where the commands of a line run that starts in `start`, and what is outside of the project from there."""

    def __init__(self, line: Line, start: str, root: str) -> None:
        self._root = root
        entered = [(0, start), *_entered(line, start)]
        self._since = [number for number, _ in entered]
        self._folders = [folder for _, folder in entered]
        self._script = line.script.commands
        self._numbered: dict[tuple[Word, ...], list[int]] = {}
        for number, command in enumerate(self._script):
            self._numbered.setdefault(command.words, []).append(number)
        self._room = _MOST_COMPARED
        self._may_come_back = bool(_COMES_BACK.search(line.text))
        self._links: list[str] = []
        for words in line.commands:
            self._links += self._links_of(words)

    def leave(self, words: Sequence[Word], sources: Sequence[Word], target: Word) -> bool:
        """Return whether `mv` with these words moves something of the project out of it."""
        return any(self._leave_at(number, sources, target) for number in self._numbers(words))

    def _numbers(self, words: Sequence[Word]) -> list[int]:
        """Return at which places of the line the command stands, which the second reader may read otherwise."""
        if found := self._numbered.get(tuple(words)):
            return found
        self._room -= len(self._script)
        if self._room < 0:
            return [len(self._script)]
        tail = words[begins_at(words, "mv") :]
        alike = [number for number, command in enumerate(self._script) if _is_alike(command.words, tail)]
        return alike or [len(self._script)]

    def _leave_at(self, number: int, sources: Sequence[Word], target: Word) -> bool:
        end = bisect_right(self._since, number)
        place, before = self._folders[end - 1], self._folders[max(0, end - _MOST_FOLDERS) : end - 1]
        if self._leave_from(place, sources, target):
            return True
        for folder in dict.fromkeys(
            (*self._folders[: end - 1][:1], *before)
        ):  # it may have come back, as from `(cd …)`, and then it moves what is there
            there = [word for word in sources if self._may_be_there(word, folder)]
            if there and self._leave_from(folder, there, target):
                return True
        return False

    def _may_be_there(self, source: Word, folder: str) -> bool:
        return self._may_come_back if source.computed else os.path.lexists(self._at(source.text, folder))

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
            for place in self._folders[:_MOST_FOLDERS]:
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
