"""Rules made by the user's answers: in memory for a session, in the user's state folder for a project.

They are never kept in the project: files that come with a repository must not allow anything.
"""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.jsontext import decode_json
from localllm.base.paths import state_folder
from localllm.base.project_state import change_file, name_of, newest
from localllm.config.reader import read_text
from localllm.safety.rules import Rule

Scope = Literal["session", "project"]


class Remembered(msgspec.Struct, frozen=True):
    """A rule and its scope."""

    rule: Rule
    scope: Scope


class _Store(msgspec.Struct):
    """The file: project root → its rules, newest last; and when the folder there was made, if known."""

    projects: dict[str, list[Rule]] = {}
    born: dict[str, str] = {}


_Stamp = tuple[int, int, int]


class RememberedRules:
    """The rules of the project at `root`, in `file` together with those of other projects.

    They hold as long as the folder is the same: another one at its path, such as another repository that was cloned
    there, has none.
    Other programs may add and remove rules meanwhile: they are read again when the file has changed. A damaged file
    counts as empty; the next rule rewrites it.
    """

    def __init__(self, file: Path, root: Path) -> None:
        self.file = file
        self._root, self._folder = name_of(root), root
        self._session: list[Rule] = []
        self._read_at: _Stamp | None = None
        self._kept: list[Rule] = []

    @classmethod
    def of_user(cls, root: Path, environ: Mapping[str, str] = os.environ) -> "RememberedRules":
        """Load those in the user's state folder."""
        return cls(rules_file(environ), root)

    @property
    def all(self) -> list[Remembered]:
        """Return every rule: the project's, then the session's."""
        kept = [Remembered(rule, "project") for rule in self._project()]
        return kept + [Remembered(rule, "session") for rule in self._session]

    def rules(self) -> list[Rule]:
        """Return every rule, as the policy needs them."""
        return [*self._project(), *self._session]

    def add(self, rule: Rule, scope: Scope) -> None:
        """Save a rule. Raises ConfigurationError config_unwritable if a project's cannot be saved."""
        if scope == "session":
            self._session = [*(known for known in self._session if known != rule), rule]
            return

        def put(store: _Store) -> None:
            rules = self._of(store)
            store.projects.pop(self._root, None)
            store.projects[self._root] = [*(known for known in rules if known != rule), rule]
            store.projects = newest(store.projects)
            store.born[self._root] = self._born
            store.born = {name: born for name, born in store.born.items() if born and name in store.projects}

        self._change(put)

    def remove(self, remembered: Remembered) -> None:
        """Remove a rule. Raises ConfigurationError config_unwritable."""
        if remembered.scope == "session":
            self._session = [rule for rule in self._session if rule != remembered.rule]
            return

        def drop(store: _Store) -> None:
            left = [rule for rule in self._of(store) if rule != remembered.rule]
            store.projects.pop(self._root, None)
            if left:
                store.projects[self._root] = left

        self._change(drop)

    def forget_session(self) -> None:
        """Remove the rules of this session."""
        self._session = []

    def _project(self) -> list[Rule]:
        stamp = self._stamp()
        if stamp != self._read_at:
            self._kept = self._of(self._read())
            self._read_at = stamp
        return self._kept

    def _of(self, store: _Store) -> list[Rule]:
        rules = store.projects.get(self._root, [])
        return rules if rules and store.born.get(self._root, self._born) == self._born else []

    @cached_property
    def _born(self) -> str:
        from localllm.base.birth_times import birth_time  # few projects have rules of their own

        return birth_time(self._folder)

    def _stamp(self) -> _Stamp | None:
        try:
            found = self.file.stat()
        except OSError:
            self._kept = []
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def _read(self) -> _Store:
        try:
            text = read_text(self.file)
            return _Store() if text is None else decode_json(text, _Store)
        except (ConfigurationError, msgspec.DecodeError):
            return _Store()

    def _change(self, change: Callable[[_Store], object]) -> None:
        change_file(self.file, self._read, change)


def rules_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file with the rules of all projects; it may be missing."""
    return state_folder(environ) / "rules.json"
