"""What the user has answered about projects' settings files: remembered for one content of one project's file."""

import errno
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from localllm.base.config.reading import read_text
from localllm.base.errors import ConfigurationError
from localllm.base.files import FileLock, atomic_write
from localllm.base.i18n import Phrase
from localllm.base.paths import state_folder

Value = TypeVar("Value")

KEPT_PROJECTS = 500
KEPT_CONTENTS = 8
"""How many projects, and contents of each one's file, are remembered: those answered last."""


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
        return store.projects.get(_name(root), {}).get(digest), fault

    def remember(self, root: Path, digest: str, *, believed: bool) -> None:
        """Keep an answer. ConfigurationError config_unwritable where it cannot be kept."""

        def put(store: _Store) -> None:
            contents = store.projects.pop(_name(root), {})
            contents.pop(digest, None)
            contents[digest] = believed
            store.projects[_name(root)] = _newest(contents, KEPT_CONTENTS)
            store.projects = _newest(store.projects, KEPT_PROJECTS)

        self._change(put)

    def forget(self, root: Path) -> bool:
        """Drop all answers about the project; whether there were any. ConfigurationError config_unwritable."""
        if _name(root) not in self._read()[0].projects:
            return False
        self._change(lambda store: store.projects.pop(_name(root), None))
        return True

    def _read(self) -> tuple[_Store, Phrase | None]:
        try:
            text = read_text(self._file)
            return (_Store() if text is None else msgspec.json.decode(text, type=_Store)), None
        except ConfigurationError as error:
            reason = error.params.get("reason", "")
        except msgspec.DecodeError as error:
            reason = str(error)
        return _Store(), Phrase("trust.unreadable", file=self._file, reason=reason)

    def _change(self, change: Callable[[_Store], object]) -> None:
        """Read, change and write while no other process does."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._file.with_suffix(".lock")):
                store, _ = self._read()
                change(store)
                text = msgspec.json.format(msgspec.json.encode(store), indent=1)
                atomic_write(self._file, text + b"\n", mode=0o600)
        except OSError as error:
            reason = os.strerror(error.errno or errno.EIO)
            raise ConfigurationError("config_unwritable", file=self._file, reason=reason) from error


def _name(root: Path) -> str:
    """The project's path as JSON can hold it, whatever its bytes."""
    return os.fsencode(root).decode("utf-8", "backslashreplace")


def _newest(entries: dict[str, Value], most: int) -> dict[str, Value]:
    return dict(list(entries.items())[-most:])
