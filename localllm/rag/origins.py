"""Where the documents of a collection are: the sources it can be rebuilt from, and their names in the project."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.rag.document_files import is_beneath, listed_files, real_roots
from localllm.rag.manifest import Manifest
from localllm.rag.records import Collection, Hit
from localllm.rag.store import Store, point_id

_FETCHED_AT_ONCE = 1_000


def origins(
    store: Store, collection: Collection, project: Path, exclude: Callable[[Path], Sequence[str]]
) -> list[Path]:
    """Return the files and folders a collection is rebuilt from. Raises KnowledgeBaseUsageError if rebuilding would
    lose passages: of a missing folder, of folders that hold no file, as where a drive is not mounted, or of others
    who share the server.

    The roots in a server's record are ignored: anyone who shares the server could have the user's home ingested.
    """
    manifest = Manifest(store.manifest(collection.name), collection.name)
    files = manifest.files()
    named = manifest.roots()
    if collection.home != "server":
        named = list(dict.fromkeys((*collection.roots, *named)))
    if not named and (collection.chunks or collection.home == "server"):
        raise KnowledgeBaseUsageError("rag_no_roots", name=collection.name)
    for root in map(Path, named):
        if not root.exists() and any(is_beneath(path, [root]) for path in files):
            raise KnowledgeBaseUsageError("rag_root_gone", path=root, name=collection.name)
    own = [point_id(path, number) for path, known in files.items() for number in range(known.record.chunks)]
    if collection.home == "server" and _holds_others(store, collection.name, own):
        raise KnowledgeBaseUsageError("rag_shared", name=collection.name)
    roots = real_roots([Path(root) for root in named if Path(root).exists()], project)
    if collection.chunks and not any(True for _ in listed_files(roots, exclude)):
        raise KnowledgeBaseUsageError("rag_roots_empty", name=collection.name, paths=", ".join(named))
    return roots


def named_from(project: Path, hits: Sequence[Hit]) -> list[Hit]:
    """Name the documents in the project by their path in it, where the tools that read files find them."""
    root = f"{os.path.realpath(project).rstrip(os.sep)}{os.sep}"
    return [
        msgspec.structs.replace(hit, file=Path(hit.path.removeprefix(root)).as_posix())
        if hit.path.startswith(root)
        else hit
        for hit in hits
    ]


def _holds_others(store: Store, name: str, own: list[int]) -> bool:
    """Whether the collection has passages that were not ingested on this machine."""
    with store.reading(name) as reader:
        there = sum(len(reader.fetch(some)) for some in _parts(own))
        return reader.count() > there


def _parts(ids: list[int]) -> Iterator[list[int]]:
    return (ids[start : start + _FETCHED_AT_ONCE] for start in range(0, len(ids), _FETCHED_AT_ONCE))
