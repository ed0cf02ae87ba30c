"""Detect stored web text in the output of a tool, even if the file is not named."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from localllm.base.kept_outputs import OF_WEB, has_pages, names_page
from localllm.base.regular_files import read_beginning
from localllm.safety.rules import COMMAND_TOOL

_OWN_FOLDERS = (".localllm", "tool-output")
_SHOWING_COMMANDS = (COMMAND_TOOL, "command_output", "git_commit", "git_diff", "git_status", "git_log")
"""Tools by which programs of the project print: hooks and drivers as well."""

_WINDOW = 32
"""Characters compared, without blanks: a passage of twice the length is always detected."""

_MOST_BYTES = 16_000_000  # of stored pages, the newest first: as many as the sandbox shows to a command
_MOST_PAGES = 500
_LONGEST = 200_000  # characters of a text that are examined


class KeptPages:
    """The outputs in `folder` that came from the web, in any session.
    Each is read once, as its name is a hash of its content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, frozenset[int]] = {}

    def are_shown(self, tool: str, arguments: Mapping[str, Any], output: str) -> bool:
        """Return whether a tool's output for the model may contain one of them.

        A command may print one without naming it, so commands that mention the folder count, and those whose output
        contains a passage; so does stored output of such a command.
        """
        if tool == COMMAND_TOOL and any(name in arguments["command"].casefold() for name in _OWN_FOLDERS):
            return has_pages(self._folder)
        texts = (output, *map(str, arguments.values()))
        if any(map(names_page, texts)):
            return True
        is_of_command = tool in _SHOWING_COMMANDS or any("tool-output" in text.casefold() for text in texts)
        return is_of_command and self.are_in(output)

    def are_in(self, text: str) -> bool:
        """Return whether a text contains a passage of one of them."""
        if not (names := self._names()):
            return False
        self._known = {name: self._known.get(name) or self._windows_of(name) for name in names}
        plain = _plain(text[:_LONGEST])
        there = {hash(plain[at : at + _WINDOW]) for at in range(max(len(plain) - _WINDOW + 1, 0))}
        return any(not there.isdisjoint(known) for known in self._known.values())

    def _names(self) -> list[str]:
        """Return the names of the newest ones, up to the limit."""
        found: list[tuple[float, int, str]] = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.rpartition("-")[0] in OF_WEB and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    found.append((about.st_mtime, about.st_size, entry.name))
        names: list[str] = []
        room = _MOST_BYTES
        for _, size, name in sorted(found, reverse=True)[:_MOST_PAGES]:
            room -= size
            if room >= 0 or not names:
                names.append(name)
        return names

    def _windows_of(self, name: str) -> frozenset[int]:
        try:
            plain = _plain(read_beginning(self._folder / name, _MOST_BYTES).decode("utf-8", "replace"))
        except OSError:
            return frozenset()
        return frozenset(hash(plain[at : at + _WINDOW]) for at in range(0, len(plain) - _WINDOW + 1, _WINDOW))


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()
