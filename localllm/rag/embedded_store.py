"""Collections in folders of this machine, each a shard of Qdrant's engine in a helper process of its own."""

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.environment import base_interpreter
from localllm.base.errors import KnowledgeBaseError
from localllm.base.files import write_own
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.own_modules import source_of
from localllm.base.regular_files import read_regular
from localllm.rag.locations import RECORD
from localllm.rag.open_shards import OpenShards
from localllm.rag.records import Collection, Home
from localllm.rag.shard_lock import ShardLock
from localllm.rag.shard_process import BOOT, WirePoint, read_message, write_message
from localllm.rag.sparse_vectors import SparseVector
from localllm.rag.store import SCHEMA, Legs, Payload, Point, Reader, Scored, Writer

MANIFEST, SHARD = "files.sqlite", "shard"
_LARGEST_RECORD = 1_000_000  # bytes
_ABOVE = 2  # folders of the project's above that of a collection
_MOST_FILES = 20_000  # of a collection; the engine makes some dozens of a segment

LEAST_FREE = 200_000_000
"""Bytes that stay free on the disk: the engine's log and what it moves about need room."""

_LEAST_FREE_TO_READ = 80_000_000
"""To open a shard: the engine writes its log anew, and what it had in memory."""

_PER_POINT = 3_000
"""Bytes a point takes besides its text and its vector: terms, ids, the log."""


class EmbeddedStore:
    """Collections in `folder`, each in a folder of its own. Of a project's none is used that holds a link, or lies
    behind one: whoever packed the project, or a command, could lead what is written there anywhere."""

    def __init__(self, folder: Path, home: Home) -> None:
        self._folder = folder
        self._home: Home = home
        self._open_shards = OpenShards()

    def collections(self) -> list[Collection]:
        """See Store. One whose record cannot be read is named without anything else."""
        found: list[Collection] = []
        if self._home == "project" and self._folder.is_symlink():
            return found
        with suppress(FileNotFoundError, NotADirectoryError):
            for entry in sorted(self._folder.iterdir()):
                if not entry.is_symlink() and (entry / RECORD).is_file():
                    found += [collection] if (collection := self.collection(entry.name)) else []
        return found

    def collection(self, name: str) -> Collection | None:
        """See Store."""
        file = self.folder(name) / RECORD
        try:
            collection = decode_json(read_regular(file, _LARGEST_RECORD), Collection)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise KnowledgeBaseError("rag_damaged", name=name, reason=str(error), path=file) from error
        if collection.schema > SCHEMA:
            raise KnowledgeBaseError("rag_newer", name=name, schema=collection.schema, known=SCHEMA)
        return msgspec.structs.replace(collection, name=name, home=self._home)

    def folder(self, name: str) -> Path:
        """Where a collection is."""
        return self._folder / name

    def manifest(self, name: str) -> Path:
        """See Store."""
        self._refuse_links(name)
        return self.folder(name) / MANIFEST

    def create(self, collection: Collection) -> None:
        """See Store."""
        folder = self.folder(collection.name)
        self._refuse_links(collection.name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise KnowledgeBaseError("rag_no_space", folder=folder, reason=error.strerror or str(error)) from error
        self.save(collection)

    def save(self, collection: Collection) -> None:
        """See Store."""
        folder = self.folder(collection.name)
        try:
            write_own(folder / RECORD, encode_json(collection))
        except OSError as error:
            raise KnowledgeBaseError("rag_no_space", folder=folder, reason=error.strerror or str(error)) from error

    def reset(self, collection: Collection) -> None:
        """See Store."""
        with self._locked(collection.name, "localllm rag reindex"):
            shutil.rmtree(self.folder(collection.name) / SHARD, ignore_errors=True)
            self.manifest(collection.name).unlink(missing_ok=True)
            self.save(collection)

    def delete(self, name: str) -> None:
        """See Store. The record goes first: what is left of a deletion that was broken off is no collection."""
        with self._locked(name, "localllm rag delete"):
            folder = self.folder(name)
            (folder / RECORD).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def reading(self, name: str) -> Generator[Reader]:
        """See Store. The shard stays open for a moment, unless somebody waits for it."""
        shard = self._open_shards.take(name)
        shard = shard if isinstance(shard, Shard) else self._shard(name, "localllm")
        try:
            shard.open()
            yield shard
        except BaseException:
            shard.close()
            raise
        self._open_shards.keep(name, shard)

    @contextmanager
    def writing(self, name: str) -> Generator[Writer]:
        """See Store."""
        self._let_go(name)
        shard = self._shard(name, "localllm rag ingest")
        try:
            shard.open()
            yield shard
        finally:
            shard.close()

    def close(self) -> None:
        """See Store."""
        self._open_shards.close()

    def _let_go(self, name: str) -> None:
        if shard := self._open_shards.take(name):
            shard.close()

    def _shard(self, name: str, what: str) -> "Shard":
        self._refuse_links(name)
        if (collection := self.collection(name)) is None:
            raise KnowledgeBaseError("rag_no_collection", name=name, names="")
        return Shard(self.folder(name), collection, what)

    def _refuse_links(self, name: str) -> None:
        """Raise KnowledgeBaseError (rag_damaged) for a link, or anything but files and folders, in a project's."""
        if self._home != "project":
            return
        folder = self.folder(name)
        pending = [folder.parent.parent, folder.parent, folder]
        for number, path in enumerate(pending):
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue  # not there yet, or gone
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)) or number > _MOST_FILES:
                raise KnowledgeBaseError("rag_damaged", name=name, reason=Phrase("There is a link in it"), path=path)
            if number >= _ABOVE and stat.S_ISDIR(mode):
                pending += sorted(path.iterdir())

    @contextmanager
    def _locked(self, name: str, what: str) -> Generator[None]:
        self._refuse_links(name)
        self._let_go(name)
        lock = ShardLock(self.folder(name), name, what)
        lock.acquire()
        try:
            yield
        finally:
            lock.release()


class Shard:
    """A collection's shard, open in a helper process: a Reader and a Writer. Raises KnowledgeBaseError."""

    def __init__(self, folder: Path, collection: Collection, what: str) -> None:
        self._folder = folder
        self._name = collection.name
        self._dimension = collection.embedder.dimension if collection.embedder else 0
        self._lock = ShardLock(folder, self._name, what)
        self._process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Wait for the shard and open it, if it is not open."""
        if self._lock.fd >= 0:
            return
        self._check_space(_LEAST_FREE_TO_READ)
        self._lock.acquire()
        if self._process is None:
            self._process = self._start()
        self._ask("open", str(self._folder / SHARD), self._dimension)

    def is_wanted(self) -> bool:
        """Whether another process waits for the shard."""
        return self._lock.is_wanted()

    def close(self) -> None:
        """Close the shard, so that another process may have it, and end the helper."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # it has died
                    stream.close() if stream else None
            process.wait()  # it closes the shard at the end of its input
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
        return [
            Point(number, SparseVector(tuple(indices), tuple(values)), None, msgspec.convert(payload, Payload))
            for number, indices, values, payload in self._ask("fetch", list(ids))
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
        """See Writer."""
        self._check_space(LEAST_FREE + 2 * sum(_sizes(self._folder / SHARD)))
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
        """Raise KnowledgeBaseError where the disk has not so many bytes free."""
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise KnowledgeBaseError(
                "rag_no_space", folder=self._folder, reason=error.strerror or str(error)
            ) from error
        if free < needed:
            raise self._full(free, needed)

    def _full(self, free: int, needed: int) -> KnowledgeBaseError:
        return KnowledgeBaseError(
            "rag_disk_full",
            name=self._name,
            folder=self._folder,
            free_mb=free // 1_000_000,
            needed_mb=-(-needed // 1_000_000),
        )

    def _start(self) -> "subprocess.Popen[bytes]":
        place = str(package_folder("qdrant_edge", "qdrant-edge-py"))
        command = (base_interpreter(), "-I", "-S", "-E", "-c", BOOT, place)
        kept = () if sys.platform == "win32" else (self._lock.fd,)  # the lock lives as long as whoever has the shard
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            pass_fds=kept,
            start_new_session=True,  # Ctrl+C is for us: it must not end a write in the middle
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


def package_folder(module: str, package: str, extra: str = "rag") -> Path:
    """The folder of installed packages that `module` is in. Raises KnowledgeBaseError where it is missing."""
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


def _sizes(folder: Path) -> Iterator[int]:
    """The sizes of all files below a folder."""
    for place, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield (Path(place) / name).stat().st_size
