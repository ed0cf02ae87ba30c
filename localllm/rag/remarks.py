"""Notes on collections that are not searched as configured now."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from localllm.base.errors import KnowledgeBaseError
from localllm.base.i18n import N_, Phrase, Phrases
from localllm.rag import chunking
from localllm.rag.document_files import is_beneath
from localllm.rag.ingest import is_outdated
from localllm.rag.manifest import Manifest
from localllm.rag.records import Collection, Hit
from localllm.rag.store import Store
from localllm.text import tokenising

_OTHER_VERSION = N_(
    "{name} was made by another version of localllm, and fewer of its words are found: localllm rag reindex {name}"
)
_OUTDATED = N_(
    "Changed or deleted since the ingest: {files}. To update the collection: localllm rag ingest {roots} -c {name}"
)

_MOST_NAMED = 10  # files


def another_model(collection: Collection, reason: Phrase | None) -> Phrase:
    """Explain that the vectors of a collection are not usable."""
    model = collection.embedder.name if collection.embedder else ""
    if reason:
        return Phrase(
            "{name} is searched by words alone, since its embedding model {model} does not answer: {reason}",
            name=collection.name,
            model=model,
            reason=reason,
        )
    return Phrase(
        "{name} is searched by words alone: its vectors were made by {model}, and another embedding model "
        "is set. localllm rag reindex {name} rebuilds them.",
        name=collection.name,
        model=model,
    )


def other_version(collection: Collection) -> list[Phrase]:
    """Explain that a collection was ingested by another version; empty if it was not."""
    if (collection.tokenizer, collection.chunker) == (tokenising.VERSION, chunking.VERSION):
        return []
    return [Phrase(_OTHER_VERSION, name=collection.name)]


def outdated_files(collection: Collection, files: Sequence[str], paths: Sequence[str]) -> Phrase:
    """Explain that files of a collection have changed since, and which ingest renews them."""
    more = [Phrase("[and {count} more]", count=len(files) - _MOST_NAMED)] if files[_MOST_NAMED:] else []
    roots = [root for root in collection.roots if any(is_beneath(path, [Path(root)]) for path in paths)]
    return Phrase(
        _OUTDATED,
        files=Phrases([*files[:_MOST_NAMED], *more], ", "),
        roots=shlex.join(roots or paths[:_MOST_NAMED]),
        name=shlex.quote(collection.name),
    )


def outdated_hits(named: Sequence[tuple[Store, Collection]], hits: Sequence[Hit]) -> list[tuple[Collection, list[Hit]]]:
    """Return the hits whose files have changed or are gone since, by collection; none of a collection whose manifest
    cannot be read."""
    found: list[tuple[Collection, list[Hit]]] = []
    for store, one in named:
        paths = {hit.path for hit in hits if hit.collection == one.name}
        if not paths:
            continue
        try:
            manifest = Manifest(store.manifest(one.name), one.name)
            old = {path for path in paths if (known := manifest.file(path)) and is_outdated(known)}
        except (KnowledgeBaseError, ValueError, OSError):
            continue
        if old:
            found.append((one, [hit for hit in hits if hit.collection == one.name and hit.path in old]))
    return found
