"""Store whole outputs in files of the project.
Each file is named after its content's hash, which shows any modification."""

import errno
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
"""Hexadecimal digits of the content's SHA-256 in a file name."""

OF_WEB = frozenset({"ensemble_answer", "fetch_page", "web_search"})
"""Kinds with text from outside: pages, search results, and answers of models on other machines."""

_NAMED_OF_WEB = late_pattern(rf"tool-output/(?:{'|'.join(sorted(OF_WEB))})-[0-9a-f]{{16}}\.txt", re.IGNORECASE)
_NAME = late_pattern(r"[a-z][a-z_]{0,60}-([0-9a-f]{16})\.txt")


def keep_output(folder: Path, kind: str, text: str) -> Path:
    """Store `text` in `folder` and return its file, readable only by the user, as output may be confidential. `kind` is
    the prefix of its name.

    If folders on the way are links, as in a prepared project, nothing is written and OSError raised.
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
    """Return whether a file of at most `most` bytes is intact output of `keep_output`."""
    name = _NAME.fullmatch(file.name)
    with suppress(OSError):
        return bool(name) and _mark_of(read_regular(file, most)) == name[1]
    return False


def names_page(text: str) -> bool:
    """Return whether a text names a stored output that came from the web."""
    return "tool-output" in text.casefold() and bool(_NAMED_OF_WEB.search(text))


def has_pages(folder: Path) -> bool:
    """Return whether `folder` contains stored outputs that came from the web."""
    with suppress(OSError):
        return any(name.rpartition("-")[0] in OF_WEB for name in os.listdir(folder))  # noqa: PTH208 - names are enough
    return False


def _mark_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_MARK]


def _write(folder: int, name: str, data: bytes) -> None:
    """Create the file atomically, so that readers of the folder never see a part of it."""
    try:
        return _link_new(folder, name, data)
    except OSError:  # the name exists, or the system or the file system lacks O_TMPFILE
        return atomic_write_at(folder, name, data, mode=0o600)


def _link_new(folder: int, name: str, data: bytes) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), name)
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder, follow_symlinks=True)
