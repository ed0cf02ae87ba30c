"""Tell which lines a command has added to `.git/info/exclude`: git then leaves files out, and nothing else shows it."""

import errno
from contextlib import suppress
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_regular
from localllm.safety.path_names import some_of
from localllm.sandbox.protect.repositories.repository import find_place
from localllm.text.sanitising import shorten

_LARGEST = 1_000_000  # bytes
_LONGEST = 60  # characters shown of a line


def excluded(root: Path) -> frozenset[str]:
    """Return the patterns in the exclude file of the repository that `root` is in; "…" for one that is too large."""
    with suppress(LocalLLMError, OSError):
        if place := find_place(root):
            try:
                lines = read_regular(place.common / "info/exclude", _LARGEST).decode("utf-8", "replace").splitlines()
            except OSError as error:
                return frozenset({"…"} if error.errno == errno.EFBIG else ())
            return frozenset(line for line in map(str.rstrip, lines) if line and not line.startswith("#"))
    return frozenset()


def remarks_on_excluded(root: Path, before: frozenset[str]) -> list[Phrase]:
    """Return a remark for model and user if a command has added patterns to those `before` it."""
    new = sorted(excluded(root) - before)
    if not new:
        return []
    lines = some_of([shorten(line, _LONGEST) for line in new])
    return [Phrase("The command has git leave out what .git/info/exclude lists now: {lines}.", lines=lines)]
