"""List the files to ingest: a folder's files that .gitignore does not exclude, each with its display name."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from localllm.base.directory_walk import walk
from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.files import real_path
from localllm.base.hidden_in_home import hidden_patterns
from localllm.base.named_paths import follow


class Listed(NamedTuple):
    """An existing file."""

    path: str
    """The absolute path."""
    file: str
    """The display name: the folder that was named, and the path in it."""


def real_roots(paths: Sequence[Path], project: Path) -> list[Path]:
    """Resolve the paths, without duplicates and without those inside another. Raises KnowledgeBaseUsageError for a link
    in the project that leads out of it."""
    resolved = sorted({_real(path.expanduser(), project) for path in paths})
    return [path for path in resolved if not any(other != path and path.is_relative_to(other) for other in resolved)]


def _real(path: Path, project: Path) -> Path:
    try:
        followed = follow(path, project)
    except OSError as error:  # circular links
        raise KnowledgeBaseUsageError("rag_no_path", path=path) from error
    if followed.leads_out:
        raise KnowledgeBaseUsageError("rag_link_out", path=path, target=followed.real)
    return followed.real


def listed_files(roots: Sequence[Path], exclude: Callable[[Path], Sequence[str]]) -> Iterator[Listed]:
    """List all files of the roots that neither .gitignore nor the patterns of their root (`exclude`) exclude, without
    links and what is hidden in a home that a root holds. A root that is a file is always listed. Raises
    KnowledgeBaseUsageError for an unreadable folder."""
    for root in roots:
        if root.is_file():
            yield Listed(str(root), root.name)
        elif root.is_dir():
            yield from _of_folder(root, exclude(root))


def _of_folder(folder: Path, exclude: Sequence[str]) -> Iterator[Listed]:
    repository = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    start = folder.relative_to(repository).as_posix()
    prefix = "" if start == "." else f"{start}/"
    try:
        for entry in walk(repository, exclude=(*exclude, *hidden_patterns(folder, repository)), start=start):
            if not entry.is_dir and not entry.is_link:
                yield Listed(str(repository / entry.path), f"{folder.name}/{entry.path.removeprefix(prefix)}")
    except OSError as error:
        raise KnowledgeBaseUsageError("rag_no_path", path=folder) from error


def exclusion(project: Path, own: Sequence[str], others: Sequence[str]) -> Callable[[Path], Sequence[str]]:
    """Return a function that gives the patterns of a root: `own` for those in the project, `others` for any other."""
    real = Path(real_path(project))
    return lambda root: own if root.is_relative_to(real) else others


def in_utf8(path: str) -> str:
    """Return a path as it can be recorded: bytes of a name that is not UTF-8 are written out (`\\xe9`)."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def is_beneath(path: str, roots: Sequence[Path]) -> bool:
    """Whether a path is one of the roots or inside one."""
    return any(Path(path).is_relative_to(root) for root in roots)
