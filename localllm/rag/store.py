"""What a store of collections is: points with a sparse and a dense vector, searched by either, and their records."""

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
"""Of what is kept; one that is newer than this cannot be read."""

TERMS, DENSE = "terms", "dense"
"""The names of the two vectors of a point."""


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What a point keeps besides its vectors: a chunk, and the file it is of."""

    path: str
    file: str
    hash: str
    """Of the file's content."""
    number: int
    """Of the chunk in its file, from 0."""
    text: str
    headings: tuple[str, ...] = ()
    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0

    @property
    def chunk(self) -> Chunk:
        """The chunk."""
        return Chunk(text=self.text, headings=self.headings, place=Place(self.kind, self.first, self.last))


@contextmanager
def understood(collection: str, place: object) -> Generator[None]:
    """Raise KnowledgeBaseError (rag_damaged) for what is kept at `place` and is none of ours."""
    try:
        yield
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise KnowledgeBaseError("rag_damaged", name=collection, reason=str(error), path=place) from error


class Point(NamedTuple):
    """A chunk as it is stored; `vector` is None where the collection has no embedder."""

    id: int
    terms: SparseVector
    vector: Sequence[float] | None
    payload: Payload


class Scored(NamedTuple):
    """A point that one kind of vector found."""

    id: int
    score: float


class Legs(NamedTuple):
    """What each kind of vector found, best first, of how many points there are."""

    size: int
    rarities: dict[int, float]
    """The inverse document frequency of each term; one that no point has is not there."""
    bm25: list[Scored]
    dense: list[Scored]


def point_id(path: str, number: int) -> int:
    """The id of a chunk, the same at every ingest, so that writing it again replaces it. 63 bits."""
    digest = hashlib.blake2b(f"{path}\0{number}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


class Reader(Protocol):
    """A collection that is open for searching."""

    def count(self) -> int:
        """How many points there are."""
        ...

    def search(self, terms: SparseVector, vector: Sequence[float] | None, limit: int, most: int) -> Legs:
        """The `limit` best points by the `most` rarest of the terms, and by the dense vector."""
        ...

    def fetch(self, ids: Sequence[int]) -> list[Point]:
        """The points of these ids that there are, without their dense vectors, in no order."""
        ...


class Writer(Protocol):
    """A collection that is open for writing. All methods raise KnowledgeBaseError."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, in place of those with the same ids."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Delete points; those that are not there are no error."""
        ...

    def flush(self) -> None:
        """See that all of it is on the disk."""
        ...

    def give_way(self) -> Phrase | None:
        """Let others who wait have the collection for a moment; who waited, None where nobody did."""
        ...


class Store(Protocol):
    """Where collections are. All methods raise KnowledgeBaseError."""

    def collections(self) -> list[Collection]:
        """All collections, by name."""
        ...

    def collection(self, name: str) -> Collection | None:
        """The collection of this name; None where there is none."""
        ...

    def create(self, collection: Collection) -> None:
        """Make an empty collection of this name."""
        ...

    def save(self, collection: Collection) -> None:
        """Keep a changed record of a collection that is there."""
        ...

    def reset(self, collection: Collection) -> None:
        """Empty a collection, and keep the record in place of its own."""
        ...

    def manifest(self, name: str) -> Path:
        """Where the record of a collection's files is, on this machine; its folder is there."""
        ...

    def optimize(self, name: str) -> None:
        """Build the indexes that make searching a large collection fast, while others search it. It must not be written
        to meanwhile."""
        ...

    def delete(self, name: str) -> None:
        """Delete a collection and all that is kept of it."""
        ...

    def reading(self, name: str) -> AbstractContextManager[Reader]:
        """Open a collection for searching."""
        ...

    def writing(self, name: str) -> AbstractContextManager[Writer]:
        """Open a collection for writing."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...
