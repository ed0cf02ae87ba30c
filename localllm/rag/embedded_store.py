"""Store collections in local folders, each a shard of Qdrant's engine in its own helper process."""

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec

from localllm.base.errors import KnowledgeBaseError
from localllm.base.files import write_own
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.regular_files import read_regular
from localllm.rag.locations import RECORD, is_name
from localllm.rag.open_shards import OpenShards
from localllm.rag.records import Collection, Home
from localllm.rag.shard import LEAST_FREE, OLDER, SHARD, Shard, disk_full, recover
from localllm.rag.shard_lock import ShardLock
from localllm.rag.store import SCHEMA, Reader, Writer

MANIFEST = "files.sqlite"
_LARGEST_RECORD = 1_000_000  # bytes
_READ_AT_ONCE = 4_000_000  # bytes


class EmbeddedStore:
    """Collections in `folder`, each in its own subfolder. No one but the user's own programs may write there: SQLite
    and the engine trust the files they read."""

    def __init__(self, folder: Path, home: Home) -> None:
        self._folder = folder
        self._home: Home = home
        self._open_shards = OpenShards()

    def collections(self) -> list[Collection]:
        """See Store. A collection with an unreadable record has only its name."""
        found: list[Collection] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for entry in sorted(self._folder.iterdir()):
                if is_name(entry.name) and not entry.is_symlink() and (entry / RECORD).is_file():
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
        """Return the folder of a collection."""
        return self._folder / name

    def manifest(self, name: str) -> Path:
        """See Store."""
        return self.folder(name) / MANIFEST

    def create(self, collection: Collection) -> None:
        """See Store."""
        folder = self.folder(collection.name)
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
            for place in (OLDER, SHARD):
                shutil.rmtree(self.folder(collection.name) / place, ignore_errors=True)
            self.manifest(collection.name).unlink(missing_ok=True)
            self.save(collection)

    def optimize(self, name: str) -> None:
        """See Store. Optimises a copy that then replaces the shard, so that searches are not blocked."""
        folder, copy = self.folder(name), f"{SHARD}.optimized"
        with self._locked(name, "localllm rag optimize"):
            recover(folder)
            shutil.rmtree(folder / copy, ignore_errors=True)
            if not (folder / SHARD).is_dir():
                return
            self._check_room(name, 3 * sum(file.stat().st_size for file in _files(folder / SHARD)))
            shutil.copytree(folder / SHARD, folder / copy)
        shard = self._shard(name, "localllm rag optimize", copy)
        try:
            shard.open()
            shard.optimize()
        finally:
            shard.close()
        with self._locked(name, "localllm rag optimize"):
            (folder / SHARD).rename(folder / OLDER)
            (folder / copy).rename(folder / SHARD)
        shutil.rmtree(folder / OLDER, ignore_errors=True)
        _read_ahead(folder / SHARD)

    def _check_room(self, name: str, needed: int) -> None:
        free = shutil.disk_usage(self.folder(name)).free
        if free < LEAST_FREE + needed:
            raise disk_full(name, self.folder(name), free, LEAST_FREE + needed)

    def delete(self, name: str) -> None:
        """See Store. Deletes the record first: an interrupted deletion leaves no collection."""
        with self._locked(name, "localllm rag delete"):
            folder = self.folder(name)
            (folder / RECORD).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def reading(self, name: str) -> Generator[Reader]:
        """See Store. The shard stays open for a moment unless another process waits for it."""
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

    def _shard(self, name: str, what: str, place: str = SHARD) -> Shard:
        if (collection := self.collection(name)) is None:
            names = ", ".join(one.name for one in self.collections())
            raise KnowledgeBaseError("rag_no_collection", name=name, names=names or "–", hint="")
        return Shard(self.folder(name), collection, what, place)

    def _locked(self, name: str, what: str) -> AbstractContextManager[None]:
        self._let_go(name)
        return ShardLock(self.folder(name), name, what).held()


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder."""
    for place, _folders, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


def _read_ahead(folder: Path) -> None:
    """Read the segments of a shard into the system's page cache, from which the engine has dropped them: otherwise each
    passage of the first searches is a separate disk read."""
    for file in _files(folder / "segments"):
        with suppress(OSError), file.open("rb", buffering=0) as stream:
            while stream.read(_READ_AT_ONCE):
                pass
