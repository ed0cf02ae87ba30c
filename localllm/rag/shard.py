"""Run a shard of Qdrant's engine in a helper process: open, search, write, close."""

import importlib.util
import shutil
import signal
import subprocess
import sys
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.environment import base_interpreter
from localllm.base.errors import KnowledgeBaseError
from localllm.base.i18n import Phrase
from localllm.base.own_modules import source_of
from localllm.rag.records import Collection
from localllm.rag.shard_lock import ShardLock
from localllm.rag.shard_process import BOOT, WirePoint, read_message, write_message
from localllm.rag.sparse_vectors import SparseVector
from localllm.rag.store import Legs, Payload, Point, Scored, understood

SHARD = "shard"
OLDER = "shard.older"
"""The shard being replaced; between the two renames it is the only one."""

LEAST_FREE = 200_000_000
"""Bytes kept free on the disk for the engine's log and its temporary files."""

_LEAST_FREE_TO_READ = 80_000_000
"""Free bytes needed to open a shard: the engine rewrites its log and flushes its memory."""

_LONGEST_CLOSING = 30.0
"""Seconds to wait for a shard to close."""

_PER_POINT = 3_000
"""Bytes of a point besides text and vector: terms, ids, log."""


def recover(folder: Path) -> None:
    """Complete an interrupted replacement of the shard. The caller holds the lock."""
    if not (folder / SHARD).exists() and (folder / OLDER).is_dir():
        (folder / OLDER).rename(folder / SHARD)


class Shard:
    """A collection's shard, open in a helper process: a Reader and a Writer. Raises KnowledgeBaseError. `place`: the
    subfolder of the shard in `folder`, if it is not the searched one."""

    def __init__(self, folder: Path, collection: Collection, what: str, place: str = SHARD) -> None:
        self._folder = folder
        self._place = place
        self._name = collection.name
        self._dimension = collection.embedder.dimension if collection.embedder else 0
        self._lock = ShardLock(folder, self._name, what, prefix="" if place == SHARD else f"{place}.")
        self._process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Acquire the lock and open the shard, unless it is open."""
        if self._lock.fd >= 0:
            return
        self._check_space(_LEAST_FREE_TO_READ)
        self._lock.acquire()
        if self._place == SHARD:
            recover(self._folder)
        if self._process is None:
            self._process = self._start()
        self._ask("open", str(self._folder / self._place), self._dimension)

    def is_wanted(self) -> bool:
        """Whether another process waits for the shard."""
        return self._lock.is_wanted()

    def close(self) -> None:
        """Close the shard for other processes, and end the helper process."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # the process has died
                    stream.close() if stream else None
            try:
                process.wait(_LONGEST_CLOSING)  # it closes the shard at the end of its input
            except subprocess.TimeoutExpired:  # a hanging disk: writes are in the engine's log
                process.kill()
                process.wait()
        self._lock.release()

    def count(self) -> int:
        """See Reader."""
        return int(self._ask("count"))

    def search(self, terms: SparseVector, vector: Sequence[float] | None, limit: int, most: int) -> Legs:
        """See Reader."""
        size, rarities, bm25, dense = self._ask("search", terms.indices, terms.values, _packed(vector), limit, most)
        return Legs(size, rarities, [Scored(*one) for one in bm25], [Scored(*one) for one in dense])

    def fetch(self, ids: Sequence[int]) -> list[Point]:
        """See Reader."""
        found = self._ask("fetch", list(ids))
        with understood(self._name, self._folder):
            return [
                Point(number, SparseVector(tuple(indices), tuple(values)), None, msgspec.convert(payload, Payload))
                for number, indices, values, payload in found
            ]

    def upsert(self, points: Sequence[Point]) -> None:
        """See Writer."""
        texts = sum(len(point.payload.text.encode("utf-8", "surrogatepass")) for point in points)
        self._check_space(LEAST_FREE + texts + len(points) * (_PER_POINT + 8 * self._dimension))
        wired: list[WirePoint] = [
            (point.id, point.terms.indices, point.terms.values, _packed(point.vector), _plain(point.payload))
            for point in points
        ]
        self._ask("upsert", wired)

    def delete(self, ids: Sequence[int]) -> None:
        """See Writer."""
        self._check_space(LEAST_FREE)
        self._ask("delete", list(ids))

    def flush(self) -> None:
        """See Writer."""
        self._ask("flush")

    def optimize(self) -> None:
        """Build all pending indexes."""
        self._ask("optimize")

    def give_way(self) -> Phrase | None:
        """See Writer."""
        if not self._lock.is_wanted():
            return None
        self._ask("close")
        self._lock.release()
        self.open()
        return Phrase("Another process searched meanwhile")

    def _check_space(self, needed: int) -> None:
        """Raise KnowledgeBaseError if fewer than `needed` bytes are free on the disk."""
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise KnowledgeBaseError(
                "rag_no_space", folder=self._folder, reason=error.strerror or str(error)
            ) from error
        if free < needed:
            raise self._full(free, needed)

    def _full(self, free: int, needed: int) -> KnowledgeBaseError:
        return disk_full(self._name, self._folder, free, needed)

    def _start(self) -> "subprocess.Popen[bytes]":
        place = str(package_folder("qdrant_edge", "qdrant-edge-py"))
        command = (base_interpreter(), "-I", "-S", "-E", "-c", BOOT, place)
        kept = () if sys.platform == "win32" else (self._lock.fd,)  # the lock is held while the helper process lives
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            pass_fds=kept,
            start_new_session=True,  # Ctrl+C is for the parent: it must not interrupt a write
        )
        source = source_of("localllm.rag.shard_process")
        if process.stdin:
            process.stdin.write(len(source).to_bytes(8, "big") + source)
        return process

    def _ask(self, command: str, *arguments: object) -> Any:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the shard is not open")
        try:
            write_message(process.stdin, (command, arguments))
            if (answer := read_message(process.stdout)) is None:
                raise BrokenPipeError  # noqa: TRY301 - the same as a pipe that breaks while it is written to
        except (BrokenPipeError, EOFError, ValueError) as error:
            raise self._died(process) from error
        state, value = answer
        if state == "error":
            raise self._meaning(str(value))
        return value

    def _meaning(self, said: str) -> KnowledgeBaseError:
        if "No space left" in said:
            return self._full(shutil.disk_usage(self._folder).free, LEAST_FREE)
        reason = said.removeprefix("Service runtime error: ")
        return KnowledgeBaseError("rag_store_failed", name=self._name, reason=reason)

    def _died(self, process: "subprocess.Popen[bytes]") -> KnowledgeBaseError:
        status = process.wait()
        free = shutil.disk_usage(self._folder).free
        if status == -getattr(signal, "SIGBUS", 7) and free < LEAST_FREE:
            return self._full(free, LEAST_FREE)
        reason = signal.strsignal(-status) if status < 0 else Phrase("exit status {status}", status=status)
        return KnowledgeBaseError("rag_writer_died", name=self._name, reason=reason or status)


def disk_full(name: str, folder: Path, free: int, needed: int) -> KnowledgeBaseError:
    """Return the error that states the free and the needed space."""
    megabytes = {"free_mb": free // 1_000_000, "needed_mb": -(-needed // 1_000_000)}
    return KnowledgeBaseError("rag_disk_full", **{"name": name, "folder": folder, **megabytes})


def package_folder(module: str, package: str, extra: str = "rag") -> Path:
    """Return the folder of installed packages that contains `module`. Raises KnowledgeBaseError if it is missing."""
    found = None
    with suppress(ModuleNotFoundError):
        found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise KnowledgeBaseError("rag_missing", package=package, extra=extra)
    return Path(found.origin).parent.parent


def _packed(vector: Sequence[float] | None) -> bytes:
    return array("f", vector).tobytes() if vector else b""


def _plain(payload: Payload) -> dict[str, object]:
    values = msgspec.structs.asdict(payload)
    return {**values, "headings": list(payload.headings)}
