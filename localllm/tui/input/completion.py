"""Complete commands after a leading slash, their arguments, and paths after an @."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from localllm.text.sanitising import clean

MAX_PATHS = 200
_COMMAND = re.compile(r"/(\S*)\Z")
_ARGUMENT = re.compile(r"/(\S+)\s+(?:(\S+)\s+)?(\S*)\Z")
_PATH = re.compile(r"(?:^|\s)[@＠](\S*)\Z")
_BLANK = re.compile(r"\s")


class Suggestion(msgspec.Struct, frozen=True):
    """`text` replaces the last `replaces` characters before the cursor; `note` explains it."""

    text: str
    replaces: int
    note: str = ""


class Suggester:
    """`commands` returns the names (without slash) with a line of help; `choices` the completions of a command's
    argument after an optional first word, with or without a note; `root` is the project, `here` the current folder in
    it."""

    def __init__(
        self,
        root: Path,
        hidden: Sequence[str],
        commands: Callable[[], Iterable[tuple[str, str]]],
        choices: Callable[[str, str], Iterable[str | tuple[str, str]]] = lambda _command, _after: (),
        here: Path | None = None,
    ) -> None:
        self._root = root
        self._here = here or root
        self._hidden = frozenset(hidden)
        self._commands = commands
        self._choices = choices

    @staticmethod
    def applies(before_cursor: str) -> bool:
        """Whether completions are possible, without searching."""
        return any((_COMMAND.match(before_cursor), _ARGUMENT.match(before_cursor), _PATH.search(before_cursor)))

    def suggest(self, before_cursor: str) -> list[Suggestion]:
        """Return the completions of the text before the cursor."""
        if match := _COMMAND.match(before_cursor):
            return [
                Suggestion(f"/{name}", len(match[0]), note)
                for name, note in self._commands()
                if name.startswith(match[1])
            ]
        match = _ARGUMENT.match(before_cursor)
        is_path = match is not None and match[3].startswith(("@", "＠"))
        if match and not is_path and (found := list(self._choices(match[1], match[2] or ""))):
            return list(_fitting(found, match[3]))
        if match := _PATH.search(before_cursor):
            return self._paths(match[1])
        return []

    def _paths(self, typed: str) -> list[Suggestion]:
        """Return the entries of the typed folder, folders first, those of the current folder before the project's;
        nothing outside the project. A file name with a space is quoted; a folder with one cannot be continued."""
        folder, _, start = typed.rpartition("/")
        is_dotted = folder.split("/")[0] in (".", "..")
        bases = [self._here] if is_dotted or self._here == self._root else [self._here, self._root]
        found: dict[tuple[bool, str], None] = {}
        for base in bases:
            there = [
                (not entry.is_dir(), entry.name)
                for entry in self._entries(base / folder)
                if entry.name.lower().startswith(start.lower()) and self._is_shown(entry.name, start)
            ]
            found |= dict.fromkeys(one for one in sorted(there) if one[0] or not _BLANK.search(one[1]))
        return [_path(typed, start, name, is_file=is_file) for is_file, name in list(found)[:MAX_PATHS]]

    def _entries(self, folder: Path) -> Iterable[os.DirEntry[str]]:
        place = folder.resolve()
        if not place.is_relative_to(self._root.resolve()):
            return []
        try:
            return list(os.scandir(place))
        except OSError:
            return []

    def _is_shown(self, name: str, start: str) -> bool:
        """Whether a path can be completed: no invisible characters, no quotation mark, not hidden."""
        if name in self._hidden or (name.startswith(".") and not start.startswith(".")):
            return False
        return '"' not in name and clean(name, keep_newlines=False) == name


def _path(typed: str, start: str, name: str, *, is_file: bool) -> Suggestion:
    if _BLANK.search(name):
        return Suggestion(f'"{typed.removesuffix(start)}{name}"', len(typed))
    return Suggestion(name if is_file else name + "/", len(start))


def _fitting(choices: Iterable[str | tuple[str, str]], typed: str) -> Iterable[Suggestion]:
    """Return the choices that contain the typed text, in the name or the note."""
    for choice in choices:
        name, note = (choice, "") if isinstance(choice, str) else choice
        if typed.casefold() in name.casefold() or (typed and typed.casefold() in note.casefold()):
            yield Suggestion(name, len(typed), note)
