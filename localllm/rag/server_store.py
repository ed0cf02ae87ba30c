"""Store collections on a Qdrant server: large ones, and those several users share.

A collection's record is a point of its own (id 0, without vectors), so that everyone who reaches the server can read
it. The manifest of its files is on the machine that ingested them.
"""

import hashlib
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from localllm.base.errors import KnowledgeBaseError, KnowledgeBaseUsageError
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.offline import offline_error_in
from localllm.llm.addresses import is_loopback
from localllm.rag.locations import is_name
from localllm.rag.manifest import Manifest
from localllm.rag.records import Collection
from localllm.rag.sparse_vectors import SparseVector
from localllm.rag.store import DENSE, SCHEMA, TERMS, Legs, Payload, Point, Reader, Scored, Writer, understood

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client import models as wire

PREFIX = "localllm_"
"""Prefix of our collections' names on a server, which may have others'."""

_RECORD_ID = 0
_RECORD = "localllm"
_SECONDS = 10

T = TypeVar("T")


class ServerStore:
    """Collections on the server at `url`, with their manifests in `folder`. `client`: an existing connection, which is
    not closed."""

    def __init__(self, url: str, key: str, folder: Path, client: "QdrantClient | None" = None) -> None:
        self.url = url
        self._key = key
        self._folder = folder / "servers" / hashlib.sha256(url.encode()).hexdigest()[:16]
        self._made = client
        self._is_ours = client is None

    def collections(self) -> list[Collection]:
        """See Store."""
        names = [one.name for one in self._call(lambda client: client.get_collections()).collections]
        ours = sorted(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))
        return [found for name in ours if is_name(name) and (found := self.collection(name))]

    def collection(self, name: str) -> Collection | None:
        """See Store."""
        if not self._call(lambda client: client.collection_exists(PREFIX + name)):
            return None
        found = self._call(lambda client: client.retrieve(PREFIX + name, [_RECORD_ID], with_payload=True), name)
        text = (found[0].payload or {}).get(_RECORD) if found else None
        if not isinstance(text, str):
            return None
        try:
            collection = decode_json(text, Collection)
        except msgspec.DecodeError as error:
            raise KnowledgeBaseError("rag_damaged", name=name, reason=str(error), path=self.url) from error
        if collection.schema > SCHEMA:
            raise KnowledgeBaseError("rag_newer", name=name, schema=collection.schema, known=SCHEMA)
        return msgspec.structs.replace(collection, name=name, home="server")

    def manifest(self, name: str) -> Path:
        """See Store."""
        try:
            self._folder.joinpath(name).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise KnowledgeBaseError(
                "rag_no_space", folder=self._folder, reason=error.strerror or str(error)
            ) from error
        return self._folder / name / "files.sqlite"

    def create(self, collection: Collection) -> None:
        """See Store."""
        models = _models()
        size = collection.embedder.dimension if collection.embedder else 0
        dense = {DENSE: models.VectorParams(size=size, distance=models.Distance.COSINE)} if size else {}
        terms = {TERMS: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        self._call(
            lambda client: client.create_collection(
                PREFIX + collection.name, vectors_config=dense, sparse_vectors_config=terms
            ),
            collection.name,
        )
        self.save(collection)

    def save(self, collection: Collection) -> None:
        """See Store."""
        payload = {_RECORD: encode_json(collection).decode()}
        point = _models().PointStruct(id=_RECORD_ID, vector={}, payload=payload)
        self._call(lambda client: client.upsert(PREFIX + collection.name, [point], wait=True), collection.name)

    def reset(self, collection: Collection) -> None:
        """See Store."""
        self._call(lambda client: client.delete_collection(PREFIX + collection.name), collection.name)
        Manifest(self.manifest(collection.name), collection.name).clear()
        self.create(collection)

    def optimize(self, name: str) -> None:
        """See Store. Does nothing: a server optimises by itself."""

    def delete(self, name: str) -> None:
        """See Store."""
        self._call(lambda client: client.delete_collection(PREFIX + name), name)
        self.manifest(name).unlink(missing_ok=True)

    @contextmanager
    def reading(self, name: str) -> Generator[Reader]:
        """See Store."""
        yield ServerCollection(self, name)

    @contextmanager
    def writing(self, name: str) -> Generator[Writer]:
        """See Store."""
        yield ServerCollection(self, name)

    def close(self) -> None:
        """See Store."""
        if self._made and self._is_ours:
            self._made.close()
            self._made = None

    def call(self, ask: "Callable[[QdrantClient], T]", name: str) -> T:
        """Call the server and return its answer. Raises KnowledgeBaseError."""
        return self._call(ask, name)

    def _call(self, ask: "Callable[[QdrantClient], T]", name: str = "") -> T:
        client = self._client()
        from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

        try:
            return ask(client)
        except UnexpectedResponse as error:
            reason = f"{error.status_code} {error.reason_phrase}"
            if error.status_code in (401, 403):
                raise KnowledgeBaseUsageError("rag_server_key", url=self.url, reason=reason) from error
            raise KnowledgeBaseError("rag_store_failed", name=name or "?", reason=reason) from error
        except (ApiException, OSError, ValueError) as error:
            if offline_error_in(error):
                raise KnowledgeBaseUsageError("rag_offline", url=self.url) from error
            raise KnowledgeBaseError("rag_server_unreachable", url=self.url, reason=str(error)) from error

    def _client(self) -> "QdrantClient":
        if self._made is None:
            try:
                from qdrant_client import QdrantClient
            except ImportError as error:
                raise KnowledgeBaseError("rag_missing", package="qdrant-client", extra="qdrant") from error
            if self._key and not (self.url.startswith("https://") or is_loopback(self.url)):
                raise KnowledgeBaseUsageError("rag_server_insecure", url=self.url)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about an API key sent to this machine; checked above
                self._made = QdrantClient(
                    url=self.url, api_key=self._key or None, timeout=_SECONDS, check_compatibility=False
                )
        return self._made


class ServerCollection:
    """A collection on a server: a Reader and a Writer."""

    def __init__(self, store: ServerStore, name: str) -> None:
        self._store = store
        self._name = name

    def count(self) -> int:
        """See Reader."""
        found = self._store.call(lambda client: client.count(PREFIX + self._name, exact=True), self._name)
        return max(0, found.count - 1)  # without the record

    def search(self, terms: SparseVector, vector: Sequence[float] | None, limit: int, most: int) -> Legs:
        """See Reader."""
        rarities = self._rarities(terms.indices)
        known = [(index, value) for index, value in zip(*terms, strict=True) if index in rarities]
        if len(known) > most:
            known = sorted(sorted(known, key=lambda one: -rarities[one[0]])[:most])
        models = _models()
        sparse = models.SparseVector(indices=[index for index, _ in known], values=[value for _, value in known])
        asked = [models.QueryRequest(query=sparse, using=TERMS, limit=limit)] if known else []
        asked += [models.QueryRequest(query=list(vector), using=DENSE, limit=limit)] if vector else []
        answers = self._batch(asked)
        with self._understood():
            legs = [[Scored(int(point.id), point.score) for point in found] for found in answers]
        by_terms = legs.pop(0) if known else []
        return Legs(self.count(), rarities, by_terms, legs.pop(0) if vector else [])

    def _rarities(self, terms: Sequence[int]) -> dict[int, float]:
        """Compute the inverse document frequency of each term: the score of its best point divided by its weight."""
        models = _models()
        asked = [
            models.QueryRequest(
                query=models.SparseVector(indices=[term], values=[1.0]), using=TERMS, limit=1, with_vector=[TERMS]
            )
            for term in terms
        ]
        known: dict[int, float] = {}
        answers = self._batch(asked)
        with self._understood():
            for term, found in zip(terms, answers, strict=True):
                for point in found:
                    vector = _sparse(point.vector)
                    known[term] = point.score / vector.values[vector.indices.index(term)]
        return known

    def fetch(self, ids: Sequence[int]) -> list[Point]:
        """See Reader."""
        found = self._store.call(
            lambda client: client.retrieve(PREFIX + self._name, list(ids), with_payload=True, with_vectors=[TERMS]),
            self._name,
        )
        with self._understood():
            return [
                Point(int(one.id), _sparse(one.vector), None, msgspec.convert(one.payload, Payload)) for one in found
            ]

    def upsert(self, points: Sequence[Point]) -> None:
        """See Writer."""
        models = _models()
        made = [
            models.PointStruct(
                id=point.id,
                vector={
                    TERMS: models.SparseVector(indices=list(point.terms.indices), values=list(point.terms.values)),
                    **({DENSE: list(point.vector)} if point.vector else {}),
                },
                payload=msgspec.to_builtins(point.payload),
            )
            for point in points
        ]
        self._store.call(lambda client: client.upsert(PREFIX + self._name, made, wait=True), self._name)

    def delete(self, ids: Sequence[int]) -> None:
        """See Writer."""
        selector = _models().PointIdsList(points=list(ids))
        self._store.call(lambda client: client.delete(PREFIX + self._name, selector, wait=True), self._name)

    def flush(self) -> None:
        """See Writer. Does nothing: a write is on the server's disk once it is acknowledged."""

    def give_way(self) -> Phrase | None:
        """See Writer. Does nothing: a server has concurrent clients."""

    def _understood(self) -> AbstractContextManager[None]:
        return understood(self._name, self._store.url)

    def _batch(self, asked: "list[wire.QueryRequest]") -> "list[list[wire.ScoredPoint]]":
        if not asked:
            return []
        found = self._store.call(lambda client: client.query_batch_points(PREFIX + self._name, asked), self._name)
        return [one.points for one in found]


def _models() -> Any:
    from qdrant_client import models

    return models


class _Terms(msgspec.Struct):
    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


def _sparse(vector: Any) -> SparseVector:
    """Extract the sparse vector of a point."""
    named: dict[str, object] = vector or {}
    found = msgspec.convert(named.get(TERMS) or _Terms(), _Terms, from_attributes=True)
    return SparseVector(found.indices, found.values)
