"""The interface of a collection store: points with a sparse and a dense vector, and the collections' records."""

import hashlib
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from localllm.base.errors import KnowledgeBaseError
from localllm.base.i18n import Phrase
from localllm.rag.records import Chunk, Collection, Place, PlaceKind
from localllm.rag.sparse_vectors import SparseVector

SCHEMA = 1
"""Version of the stored format; newer ones are not readable."""

TERMS, DENSE = "terms", "dense"
"""The names of the two vectors of a point."""


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of a point: a chunk and its file."""

    path: str
    file: str
    hash: str
    """Hash of the file's content."""
    number: int
    """Number of the chunk in its file, from 0."""
    text: str
    headings: tuple[str, ...] = ()
    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0
    sheet: str = ""

    @property
    def chunk(self) -> Chunk:
        """Return the chunk."""
        place = Place(self.kind, self.first, self.last, self.sheet)
        return Chunk(text=self.text, headings=self.headings, place=place)


@contextmanager
def understood(collection: str, place: object) -> Generator[None]:
    """Convert decoding errors of data stored at `place` to KnowledgeBaseError (rag_damaged)."""
    try:
        yield
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise KnowledgeBaseError("rag_damaged", name=collection, reason=str(error), path=place) from error


class Point(NamedTuple):
    """A stored chunk; `vector` is None if the collection has no embedder."""

    id: int
    terms: SparseVector
    vector: Sequence[float] | None
    payload: Payload


class Scored(NamedTuple):
    """A point found by one kind of vector, with its score."""

    id: int
    score: float


class Legs(NamedTuple):
    """The results of each kind of vector, best first, and the number of points searched."""

    size: int
    rarities: dict[int, float]
    """The inverse document frequency of each term; terms that no point has are missing."""
    bm25: list[Scored]
    dense: list[Scored]


def point_id(path: str, number: int) -> int:
    """Return the id of a chunk (63 bits), equal at every ingest, so that rewriting the chunk replaces it."""
    digest = hashlib.blake2b(f"{path}\0{number}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


class Reader(Protocol):
    """A collection opened for searching."""

    def count(self) -> int:
        """Return the number of points."""
        ...

    def search(self, terms: SparseVector, vector: Sequence[float] | None, limit: int, most: int) -> Legs:
        """Return the `limit` best points by the `most` rarest of the terms, and by the dense vector."""
        ...

    def fetch(self, ids: Sequence[int]) -> list[Point]:
        """Fetch the existing points of these ids, without dense vectors, in no order."""
        ...


class Writer(Protocol):
    """A collection opened for writing. All methods raise KnowledgeBaseError."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Delete points; missing ones are ignored."""
        ...

    def flush(self) -> None:
        """Flush all writes to the disk."""
        ...

    def give_way(self) -> Phrase | None:
        """Let waiting processes use the collection for a moment; return who waited, None for nobody."""
        ...


class Store(Protocol):
    """A set of collections. All methods raise KnowledgeBaseError."""

    def collections(self) -> list[Collection]:
        """List all collections by name."""
        ...

    def collection(self, name: str) -> Collection | None:
        """Return the collection of this name; None if there is none."""
        ...

    def create(self, collection: Collection) -> None:
        """Create an empty collection."""
        ...

    def save(self, collection: Collection) -> None:
        """Save a changed record of an existing collection."""
        ...

    def reset(self, collection: Collection) -> None:
        """Empty a collection and replace its record."""
        ...

    def manifest(self, name: str) -> Path:
        """Return the path of a collection's manifest on this machine; its folder exists."""
        ...

    def optimize(self, name: str) -> None:
        """Build the indexes that make a large collection fast to search, without blocking searches. It must not be
        written to meanwhile."""
        ...

    def delete(self, name: str) -> None:
        """Delete a collection with all its data."""
        ...

    def reading(self, name: str) -> AbstractContextManager[Reader]:
        """Open a collection for searching."""
        ...

    def writing(self, name: str) -> AbstractContextManager[Writer]:
        """Open a collection for writing."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...
