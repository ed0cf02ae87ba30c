"""Whole outputs that are kept in files of the project. Each file is named after its content, by which it is known to be
as it was written, whoever could write there."""

import hashlib
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from localllm.base.files import atomic_write_at, open_made
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import read_regular

_MARK = 16
"""Characters of the SHA-256 of its content in the name of a file."""

OF_WEB = frozenset({"ensemble_answer", "fetch_page", "web_search"})
"""The kinds that hold text of strangers: pages, results, and what models of other machines have answered."""

_NAMED_OF_WEB = late_pattern(rf"tool-output/(?:{'|'.join(sorted(OF_WEB))})-[0-9a-f]{{16}}\.txt", re.IGNORECASE)
_NAME = late_pattern(r"[a-z][a-z_]{0,60}-([0-9a-f]{16})\.txt")


def keep_output(folder: Path, kind: str, text: str) -> Path:
    """The file in `folder` that holds `text`, readable by its owner alone: output may hold what the user would not show
    around. `kind` is what its name begins with.

    A project one has been given could have links where the folders should be: then nothing is written, and OSError
    raised.
    """
    data = text.encode("utf-8", "replace")
    file = folder / f"{kind}-{_mark_of(data)}.txt"
    with suppress(OSError):
        if read_regular(file, len(data)) == data:
            return file
    base = folder.parents[1]
    base.mkdir(parents=True, exist_ok=True)
    opened = open_made(base, str(folder.relative_to(base)))
    try:
        _write(opened, file.name, data)
    finally:
        os.close(opened)
    return file


def is_kept_output(file: Path, most: int) -> bool:
    """Whether a file of at most so many bytes is one that `keep_output` has written, or could have."""
    name = _NAME.fullmatch(file.name)
    with suppress(OSError):
        return bool(name) and _mark_of(read_regular(file, most)) == name[1]
    return False


def names_page(text: str) -> bool:
    """Whether a text names a kept output that came from the web."""
    return "tool-output" in text.casefold() and bool(_NAMED_OF_WEB.search(text))


def has_pages(folder: Path) -> bool:
    """Whether outputs that came from the web are kept in `folder`."""
    with suppress(OSError):
        return any(name.rpartition("-")[0] in OF_WEB for name in os.listdir(folder))  # noqa: PTH208 - names are enough
    return False


def _mark_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_MARK]


def _write(folder: int, name: str, data: bytes) -> None:
    """Let the file be there at once and whole: who looks at the folder meanwhile sees no part of it."""
    if sys.platform == "linux":
        try:
            return _link_new(folder, name, data)
        except OSError:  # something else has the name, or the file system has no files without one
            pass
    return atomic_write_at(folder, name, data, mode=0o600)


def _link_new(folder: int, name: str, data: bytes) -> None:
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder, follow_symlinks=True)
