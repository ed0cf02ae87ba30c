"""What the user has answered about projects' settings files: remembered for one content of one project's file."""

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.paths import state_folder
from localllm.base.project_state import change_file, name_of, newest
from localllm.config.reader import read_text

KEPT_CONTENTS = 8
"""How many contents of each project's file are remembered: those answered last."""


class _Store(msgspec.Struct):
    """The file: a project's root → the digest of its settings file → whether it is believed. The newest come last."""

    projects: dict[str, dict[str, bool]] = {}


def digest_of(text: str) -> str:
    """The SHA-256 of a settings file with this text (as `reading.read_text` gives it), in hexadecimal."""
    return sha256(text.encode()).hexdigest()


class Answers:
    """The answers in `file`. One that is damaged counts as empty, and the next answer makes it anew."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @classmethod
    def of_user(cls, environ: Mapping[str, str] = os.environ) -> "Answers":
        """Those of the user, in his state folder."""
        return cls(state_folder(environ) / "trusted.json")

    def recall(self, root: Path, digest: str) -> tuple[bool | None, Phrase | None]:
        """Whether the project at `root` is believed with this content, None where nothing was answered; and what is
        wrong with the file, if anything is."""
        store, fault = self._read()
        return store.projects.get(name_of(root), {}).get(digest), fault

    def remember(self, root: Path, digest: str, *, believed: bool) -> None:
        """Keep an answer. ConfigurationError config_unwritable where it cannot be kept."""

        def put(store: _Store) -> None:
            contents = store.projects.pop(name_of(root), {})
            contents.pop(digest, None)
            contents[digest] = believed
            store.projects[name_of(root)] = newest(contents, KEPT_CONTENTS)
            store.projects = newest(store.projects)

        self._change(put)

    def forget(self, root: Path) -> bool:
        """Drop all answers about the project; whether there were any. ConfigurationError config_unwritable."""
        if name_of(root) not in self._read()[0].projects:
            return False
        self._change(lambda store: store.projects.pop(name_of(root), None))
        return True

    def _read(self) -> tuple[_Store, Phrase | None]:
        try:
            text = read_text(self._file)
            return (_Store() if text is None else decode_json(text, _Store)), None
        except ConfigurationError as error:
            reason = error.params.get("reason", "")
        except msgspec.DecodeError as error:
            reason = str(error)
        return _Store(), Phrase("trust.unreadable", file=self._file, reason=reason)

    def _change(self, change: Callable[[_Store], object]) -> None:
        change_file(self._file, lambda: self._read()[0], change)
