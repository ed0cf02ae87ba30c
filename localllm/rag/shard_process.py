"""The helper process of a shard. Qdrant's engine maps its files into memory: on a full disk the system kills the
process that touches them (SIGBUS), even if the shard is only opened for reading. That must not be the main program.

The source of this module is sent to the process from memory (`source_of`), so it imports nothing of localllm.
"""

import array
import marshal
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

BOOT = """
import sys
source = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "big"))
names = {"__name__": "shard_process"}
exec(compile(source, "shard_process", "exec"), names)
names["serve"](sys.argv[1])
"""
"""The program of the helper process. Its argument is the folder of installed packages; its input begins with the length
of this source and the source."""

_SECONDS = 3.0
"""Seconds to wait for a dead process to release the shard."""

_HELD = "WouldBlock"
"""Part of the engine's error for a shard that another process has open."""

WirePoint = tuple[int, tuple[int, ...], tuple[float, ...], bytes, dict[str, object]]
"""A point as sent: id, indices and values of its terms, its vector as 32-bit floats (or empty), its payload."""


def write_message(stream: IO[bytes], value: Any) -> None:
    """Write a length (8 bytes, big-endian) and the marshalled value."""
    data = marshal.dumps(value)
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """Read the next value; None at the end. Only from our own parent or child, since it is marshalled."""
    size = int.from_bytes(stream.read(8), "big")
    return marshal.loads(stream.read(size)) if size else None  # noqa: S302 - see above


def serve(packages: str) -> None:
    """Serve requests until the input ends. A request is the name of a method of EngineShard and its arguments; the
    response is "ok" and a value, or "error" and the engine's message."""
    sys.path.append(packages)
    shard = EngineShard()
    while message := read_message(sys.stdin.buffer):
        name, arguments = message
        method: Callable[..., object] = getattr(shard, name)
        try:
            answer: tuple[str, object] = ("ok", method(*arguments))
        except Exception as error:  # noqa: BLE001 - the engine raises nothing more exact
            answer = ("error", str(error))
        write_message(sys.stdout.buffer, answer)
    shard.leave()


class EngineShard:
    """A shard of the engine, initially closed."""

    def __init__(self) -> None:
        import qdrant_edge

        self._edge: Any = qdrant_edge
        self._shard: Any = None

    def open(self, path: str, dimension: int) -> None:
        """Open the shard in a folder, creating it if missing; `dimension` 0 creates one without dense vectors."""
        if not Path(path).is_dir():
            self._create(path, dimension)
        end = time.monotonic() + _SECONDS
        while self._shard is None:
            try:
                self._shard = self._edge.EdgeShard.load(path)
            except Exception as error:
                if _HELD not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def _create(self, path: str, dimension: int) -> None:
        """Create a shard under a temporary name and rename it, so that an existing shard is complete."""
        import shutil

        edge, made = self._edge, path + ".new"
        shutil.rmtree(made, ignore_errors=True)
        Path(made).mkdir()
        half = edge.VectorStorageDatatype.Float16  # three digits suffice for vectors of length 1, in half the memory
        dense = {"dense": edge.EdgeVectorParams(dimension, edge.Distance.Cosine, datatype=half)} if dimension else None
        terms = {"terms": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
        edge.EdgeShard.create(made, edge.EdgeConfig(vectors=dense, sparse_vectors=terms)).close()
        Path(made).rename(path)

    def close(self) -> None:
        """Close the shard if it is open."""
        shard, self._shard = self._shard, None
        if shard is not None:
            shard.close()

    def leave(self) -> None:
        """End the process. The shard is flushed, not closed: closing evicts its files from the page cache, and the next
        process would read them from disk again."""
        try:
            if self._shard is not None:
                self._shard.flush()
        finally:
            os._exit(0)

    def upsert(self, points: list[WirePoint]) -> None:
        """Write points, replacing those with the same ids."""
        made: list[object] = []
        for number, indices, values, vector, payload in points:
            vectors: dict[str, object] = {"terms": self._edge.SparseVector(list(indices), list(values))}
            if vector:
                vectors["dense"] = _floats(vector)
            made.append(self._edge.Point(number, vectors, payload))
        self._shard.update(self._edge.UpdateOperation.upsert_points(made))

    def delete(self, ids: list[int]) -> None:
        """Delete points."""
        self._shard.update(self._edge.UpdateOperation.delete_points(ids))

    def flush(self) -> None:
        """Flush pending writes to the disk."""
        self._shard.flush()

    def optimize(self) -> None:
        """Build all pending indexes."""
        self._shard.optimize()

    def count(self) -> int:
        """Return the number of points."""
        return self._shard.count(self._edge.CountRequest(exact=True))

    def search(
        self, indices: tuple[int, ...], values: tuple[float, ...], vector: bytes, limit: int, most: int
    ) -> tuple[int, dict[int, float], list[tuple[int, float]], list[tuple[int, float]]]:
        """Return the number of points, the rarity of each term that occurs, and the best points by the `most` rarest
        terms and by the dense vector, as pairs of id and score."""
        weights = dict(zip(indices, values, strict=True))
        rarities: dict[int, float] = {}
        if is_long := len(weights) > most:  # rarities are needed first
            rarities = self._rarities(indices, self._batch(map(self._top, indices)))
            rarest = sorted(rarities, key=lambda term: -rarities[term])[:most]
            weights = {term: weights[term] for term in sorted(rarest)}
        sparse = self._edge.SparseVector(list(weights), list(weights.values()))
        legs = [self._nearest(sparse, "terms", limit)] if weights else []
        legs += [self._nearest(_floats(vector), "dense", limit)] if vector else []
        found = self._batch([*legs, *([] if is_long else map(self._top, weights))])
        best = [[(point.id, point.score) for point in leg] for leg in found[: len(legs)]]
        if not is_long:
            rarities = self._rarities(list(weights), found[len(legs) :])
        by_terms = best.pop(0) if weights else []
        return self._shard.info().points_count, rarities, by_terms, best.pop(0) if vector else []

    def _top(self, term: int) -> object:
        """Build the request for the best point by one term."""
        return self._nearest(self._edge.SparseVector([term], [1.0]), "terms", 1)

    def _rarities(self, terms: Sequence[int], tops: Sequence[list[Any]]) -> dict[int, float]:
        """Compute the inverse document frequency of each term: the score of its best point divided by its weight there.
        The points are fetched separately: including vectors in the search takes three times as long."""
        scored = {term: top[0] for term, top in zip(terms, tops, strict=True) if top}
        ids = list({point.id for point in scored.values()})
        points: list[Any] = self._shard.retrieve(ids, with_payload=False, with_vector=["terms"]) if ids else []
        vectors: dict[int, Any] = {one.id: one.vector["terms"] for one in points}
        return {
            term: point.score / vector.values[vector.indices.index(term)]
            for term, point in scored.items()
            for vector in (vectors[point.id],)
        }

    def fetch(self, ids: list[int]) -> list[tuple[int, list[int], list[float], dict[str, object]]]:
        """Fetch points by id: the id, indices and values of the terms, the payload."""
        found: list[Any] = self._shard.retrieve(ids, with_payload=True, with_vector=["terms"])
        return [(one.id, one.vector["terms"].indices, one.vector["terms"].values, one.payload) for one in found]

    def _nearest(self, query: object, using: str, limit: int) -> object:
        return self._edge.QueryRequest(limit, query=self._edge.Query.Nearest(query, using=using), with_payload=False)

    def _batch(self, asked: Iterable[object]) -> list[list[Any]]:
        requests = list(asked)
        return self._shard.query_batch(self._edge.QueryBatchRequest(requests)) if requests else []


def _floats(vector: bytes) -> list[float]:
    return array.array("f", vector).tolist()
