"""Ingest files into a collection: skip unchanged files, delete removed ones, resume an interrupted ingest.

A file is recorded as begun, then its chunks are written, then it is recorded as finished once they are on disk. After
any interruption, the next ingest knows which files to write again; their chunks keep their ids and replace themselves.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import UNKNOWN, is_settled, stamp_of
from localllm.rag.chunking import cut
from localllm.rag.description import Contents
from localllm.rag.document_files import Listed, in_utf8, is_beneath, listed_files
from localllm.rag.embedding import TextEmbedder
from localllm.rag.file_blocks import SkippedError, read_blocks, read_content
from localllm.rag.manifest import KnownFile, Manifest
from localllm.rag.records import (
    Chunk,
    Collection,
    EventKind,
    FileRecord,
    IngestEvent,
    IngestReport,
    OnEvent,
)
from localllm.rag.sparse_vectors import passage_vector
from localllm.rag.store import Payload, Point, Store, Writer, point_id
from localllm.text.tokenising import terms

_CHECKPOINT = 1_000
"""Chunks written before their files are recorded as finished."""
_CHECKPOINT_SECONDS = 5.0
_BATCH = 256
"""Points written or fetched at once."""
_EMBEDDED_AT_ONCE = 32


class _Prepared(msgspec.Struct):
    """A file that is read and split, and not yet written."""

    known: KnownFile
    before: int
    """Most chunks of the file that the collection may have."""
    payloads: list[Payload]
    terms: list[list[str]]
    vectors: list[tuple[float, ...]]


class Ingest:
    """One ingest of files into an existing collection. `embedder` makes the vectors; None if the collection has none or
    another model made them. `exclude`: the patterns of a root. `is_closed`: whether a rule denies reading a path."""

    def __init__(
        self,
        store: Store,
        collection: Collection,
        embedder: TextEmbedder | None,
        *,
        exclude: Callable[[Path], Sequence[str]],
        is_closed: Callable[[str], bool],
        on_event: OnEvent | None = None,
    ) -> None:
        self._store = store
        self._collection = collection
        self._embedder = embedder
        self._exclude = exclude
        self._is_closed = is_closed
        self._on_event = on_event
        self._manifest = Manifest(store.manifest(collection.name), collection.name)
        self._known: dict[str, KnownFile] = {}
        self._waiting: list[_Prepared] = []
        self._refreshed: list[KnownFile] = []
        """Unchanged files with new times, which are recorded."""
        self._checked = time.monotonic()
        self._done = self._total = 0
        self._indexed = self._unchanged = self._removed = self._chunks = 0
        self._skipped: list[FileRecord] = []
        self._taken: set[str] = set()
        self._odd: set[str] = set()
        self.has_closed = False
        """Passages were deleted because a rule now denies reading their file."""
        self.contents = Contents()
        """Titles and words of the ingested passages, after `note_unchanged` of all."""

    async def run(self, roots: Sequence[Path]) -> IngestReport:
        """Ingest the files of the roots. Raises KnowledgeBaseError, and LLMConnectionError if the embedding model
        fails; what was written before is kept."""
        self._known = await asyncio.to_thread(self._manifest.files)
        await asyncio.to_thread(self._manifest.add_roots, (in_utf8(str(root)) for root in roots))
        listed = await asyncio.to_thread(lambda: list(self._listed(roots)))
        there = {one.path for one in listed}
        gone = [path for path in self._known if path not in there and is_beneath(path, roots)]
        self._total = len(listed) + len(gone)
        self._tell("listed")
        if any(not one.finished for one in self._known.values()):
            self._tell("resumed")
        writer = _LateWriter(self._store, self._collection.name)
        try:
            await self._remove(gone, writer)
            for one in listed:
                await self._take(one, writer)
            await self._checkpoint(writer)
        finally:
            await asyncio.to_thread(writer.close)
        return await asyncio.to_thread(self._report, roots)

    def _listed(self, roots: Sequence[Path]) -> Iterator[Listed]:
        """List the files. One whose name is not UTF-8 can be neither recorded nor cited: it is listed as it can be
        shown, to be skipped."""
        for one in listed_files(roots, self._exclude):
            shown = Listed(in_utf8(one.path), in_utf8(one.file))
            if shown != one:
                self._odd.add(shown.path)
            yield shown

    def note_unchanged(self) -> None:
        """Add the passages of files that this ingest left as they were to `contents`, after `run`."""
        files = [one for path, one in self._manifest.files().items() if path not in self._taken and one.record.chunks]
        with self._store.reading(self._collection.name) as reader:
            for known in (one for one in files if not self._is_closed(one.record.path)):
                numbers = range(known.record.chunks)
                for start in numbers[::_BATCH]:
                    if self.contents.is_full:
                        return
                    batch = numbers[start : start + _BATCH]
                    points = reader.fetch([point_id(known.record.path, number) for number in batch])
                    self.contents.note(sorted((one.payload for one in points), key=lambda one: one.number))

    def _report(self, roots: Sequence[Path]) -> IngestReport:
        return IngestReport(
            collection=self._noted(roots),
            indexed=self._indexed,
            unchanged=self._unchanged,
            removed=self._removed,
            chunks=self._chunks,
            skipped=tuple(self._skipped),
        )

    def _noted(self, roots: Sequence[Path] = ()) -> Collection:
        """Update the totals in the collection's record, for searches; its description may have changed meanwhile."""
        files, chunks, _terms, skipped = self._manifest.totals()
        current = self._store.collection(self._collection.name) or self._collection
        self._collection = msgspec.structs.replace(
            current,
            files=files,
            chunks=chunks,
            skipped=skipped,
            average_terms=self._collection.average_terms,
            roots=tuple(dict.fromkeys((*current.roots, *(in_utf8(str(root)) for root in roots)))),
        )
        self._store.save(self._collection)
        return self._collection

    async def _take(self, listed: Listed, writer: "_LateWriter") -> None:
        """Read a file and queue it for writing, unless it is unchanged or skipped."""
        known = self._known.get(listed.path)
        if self._is_closed(listed.path):
            self.has_closed |= bool(known and known.record.chunks)
            return await self._skip(listed, known, SkippedError("closed"), "", writer)
        if listed.path in self._odd:
            return await self._skip(listed, known, SkippedError("name"), "", writer)
        if known and known.finished and known.stamp != UNKNOWN and known.stamp == _stamp(listed.path):
            return self._leave(known)
        digest = ""
        try:
            content = await asyncio.to_thread(read_content, Path(listed.path))
            digest = content.hash
            record = FileRecord(path=listed.path, file=listed.file, hash=content.hash)
            if known and known.finished and known.record.hash == content.hash and not _may_be_read_now(known.record):
                self._refreshed.append(msgspec.structs.replace(known, stamp=content.stamp))
                return self._leave(known)
            blocks = await read_blocks(Path(listed.path), content.data)
        except SkippedError as error:
            return await self._skip(listed, known, error, digest, writer)
        size = self._collection.chunk_tokens, self._collection.overlap
        chunks = await asyncio.to_thread(cut, blocks, *size)
        prepared = await asyncio.to_thread(_prepare, record, chunks)
        prepared.before = known.record.chunks if known else 0
        self.contents.note(prepared.payloads)
        self._taken.add(listed.path)
        prepared.known = msgspec.structs.replace(prepared.known, stamp=content.stamp)
        self._waiting.append(prepared)
        await self._embed(at_least=_EMBEDDED_AT_ONCE)
        waiting = sum(len(one.payloads) for one in self._waiting)
        if waiting >= _CHECKPOINT or time.monotonic() - self._checked > _CHECKPOINT_SECONDS:
            await self._checkpoint(writer)
        return None

    def _leave(self, known: KnownFile) -> None:
        if known.record.reason:
            self._skipped.append(known.record)
            return self._tell("skipped", known.record)
        self._unchanged += 1
        return self._tell("unchanged", known.record)

    async def _skip(
        self, listed: Listed, known: KnownFile | None, error: SkippedError, digest: str, writer: "_LateWriter"
    ) -> None:
        """Record why a file is skipped. Its chunks are deleted, unless it is only changing at the moment."""
        record = FileRecord(path=listed.path, file=listed.file, hash=digest, reason=error.reason, detail=error.detail)
        if error.reason != "changing":
            if known and known.record.chunks:
                await self._delete([known], writer)
            again = _may_be_read_now(record) or error.reason in ("unreadable", "closed", "name")
            stamp = _stamp(listed.path)
            stamp = UNKNOWN if again or not is_settled(stamp) else stamp
            await asyncio.to_thread(self._manifest.finish, [KnownFile(record=record, stamp=stamp)])
        self._skipped.append(record)
        self._tell("skipped", record)

    async def _remove(self, paths: Sequence[str], writer: "_LateWriter") -> None:
        files = [self._known[path] for path in paths]
        await self._delete(files, writer)
        for known in files:
            self._removed += 1
            self._tell("removed", known.record)

    async def _delete(self, files: Sequence[KnownFile], writer: "_LateWriter") -> None:
        """Delete the chunks of files, then their records."""
        ids = [point_id(one.record.path, number) for one in files for number in range(one.record.chunks)]
        if ids:
            await asyncio.to_thread(self._manifest.begin, files)
            await asyncio.to_thread(lambda: (writer.get().delete(ids), writer.get().flush()))
        await asyncio.to_thread(self._manifest.remove, [one.record.path for one in files])

    async def _embed(self, at_least: int = 1) -> None:
        """Embed queued chunks in batches."""
        if self._embedder is None:
            return
        missing = [(one, at) for one in self._waiting for at in range(len(one.vectors), len(one.payloads))]
        while len(missing) >= at_least:
            batch, missing = missing[:_EMBEDDED_AT_ONCE], missing[_EMBEDDED_AT_ONCE:]
            texts = [embedded_text(one.payloads[at]) for one, at in batch]
            vectors = await self._embedder.embed_passages(texts)
            for (one, _at), vector in zip(batch, vectors, strict=True):
                one.vectors.append(vector)

    async def _checkpoint(self, writer: "_LateWriter") -> None:
        """Write and flush the queued files, and record them as finished."""
        await self._embed()
        waiting, self._waiting = self._waiting, []
        refreshed, self._refreshed = self._refreshed, []
        if refreshed:
            await asyncio.to_thread(self._manifest.finish, refreshed)
        if waiting:
            await asyncio.to_thread(self._write, waiting, writer)
        for one in waiting:
            self._indexed += 1
            self._chunks += len(one.payloads)
            self._tell("indexed", one.known.record)
        self._checked = time.monotonic()

    def _write(self, waiting: Sequence[_Prepared], late: "_LateWriter") -> None:
        if not self._collection.average_terms:
            counts = [len(found) for one in waiting for found in one.terms]
            self._collection = msgspec.structs.replace(
                self._collection, average_terms=sum(counts) / max(1, len(counts))
            )
            self._noted()
        self._manifest.begin(_with_chunks(one.known, max(one.before, len(one.payloads))) for one in waiting)
        writer = late.get()
        points = [point for one in waiting for point in self._points(one)]
        for start in range(0, len(points), _BATCH):
            writer.upsert(points[start : start + _BATCH])
            if who := writer.give_way():
                self._tell("waiting", detail=str(who))
        stale = [
            point_id(one.known.record.path, number)
            for one in waiting
            for number in range(len(one.payloads), one.before)
        ]
        if stale:
            writer.delete(stale)
        writer.flush()
        self._manifest.finish(one.known for one in waiting)
        self._noted()

    def _points(self, one: _Prepared) -> list[Point]:
        vectors = one.vectors or [None] * len(one.payloads)
        average = self._collection.average_terms
        return [
            Point(point_id(payload.path, payload.number), passage_vector(found, average), vector, payload)
            for payload, found, vector in zip(one.payloads, one.terms, vectors, strict=True)
        ]

    def _tell(self, kind: EventKind, record: FileRecord | None = None, detail: str = "") -> None:
        if record:
            self._done += 1
        if self._on_event:
            self._on_event(
                IngestEvent(
                    kind=kind,
                    file=record.file if record else "",
                    done=self._done,
                    total=self._total,
                    chunks=record.chunks if record else 0,
                    record=record,
                    detail=detail,
                )
            )


class _LateWriter:
    """The writer of a collection, opened on first use: an ingest that finds nothing new opens none."""

    def __init__(self, store: Store, name: str) -> None:
        self._opening = store.writing(name)
        self._writer: Writer | None = None

    def get(self) -> Writer:
        """Return the writer, opening it on first use."""
        if self._writer is None:
            self._writer = self._opening.__enter__()
        return self._writer

    def close(self) -> None:
        """Close the writer if it was opened."""
        if self._writer is not None:
            self._writer = None
            self._opening.__exit__(None, None, None)


def indexed_text(payload: Payload, lead: str = "") -> str:
    """Compose the text a chunk is indexed by: its file name, the file's first line (`lead`), its text, and its
    headings, which count twice because they name the subject."""
    return "\n".join((payload.file, lead, *payload.headings, *payload.headings, payload.text))


_LONGEST_LEAD = 200
_MARKS = " \t\r\"'#/*-=<>!;"
"""Characters that decorate a first line."""
_FRONT_MATTER = late_pattern(r"\s*---[^\S\n]*\n(?:.*\n)*?---[^\S\n]*(?:\n|$)")
_FORMAL = late_pattern(
    r"(?i)^#!|^#.*\b(?:fileen)?coding[:=]|\bSPDX-|^\W*(?:copyright\s+(?:\(c\)|©|\d|the\b)|\(c\)\s*\d|©)"
    r"|\blicensed under\b|\ball rights reserved\b|^<\?xml|^<!doctype"
    r"|^\W*(?:社外秘|部外秘|機密|極秘|confidential|use strict)\W*$"
)
"""A line that does not describe the file: a shebang, encoding, licence."""


def lead_of(chunks: Sequence[Chunk]) -> str:
    """Return the first descriptive line of a file, such as a module's docstring; "" for a table, and if it is a heading
    of the chunks anyway."""
    if not chunks or chunks[0].place.kind == "row":
        return ""
    text = chunks[0].text
    if found := _FRONT_MATTER.match(text):
        text = text[found.end() :]
    telling = (line.strip(_MARKS) for line in text.splitlines() if not _FORMAL.search(line))
    line = next(filter(None, telling), "")
    return "" if line in chunks[0].headings else line[:_LONGEST_LEAD]


def embedded_text(payload: Payload) -> str:
    """Compose the text a chunk is embedded by: "file > heading > heading", then its text."""
    return f"{' > '.join((payload.file, *payload.headings))}\n{payload.text}"


def _prepare(record: FileRecord, chunks: Sequence[Chunk]) -> _Prepared:
    payloads = [
        Payload(
            path=record.path,
            file=record.file,
            hash=record.hash,
            number=number,
            text=chunk.text,
            headings=chunk.headings,
            kind=chunk.place.kind,
            first=chunk.place.first,
            last=chunk.place.last,
            sheet=chunk.place.sheet,
        )
        for number, chunk in enumerate(chunks)
    ]
    lead = lead_of(chunks)
    found = [terms(indexed_text(payload, lead if payload.number else "")) for payload in payloads]
    record = msgspec.structs.replace(record, chunks=len(chunks))
    return _Prepared(KnownFile(record=record, terms=sum(map(len, found))), 0, payloads, found, [])


def _with_chunks(known: KnownFile, chunks: int) -> KnownFile:
    return msgspec.structs.replace(known, record=msgspec.structs.replace(known.record, chunks=chunks))


def is_outdated(known: KnownFile) -> bool:
    """Whether a file has changed or is gone since it was ingested."""
    if known.stamp != UNKNOWN and known.stamp == _stamp(known.record.path):
        return False
    try:
        return read_content(Path(known.record.path)).hash != known.record.hash
    except SkippedError:
        return True


def _may_be_read_now(record: FileRecord) -> bool:
    """Whether the reason to skip the file may be gone although the file is unchanged: a missing package."""
    return record.reason in ("pdf_missing", "docx_missing")


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        return stamp_of(os.stat(path, follow_symlinks=False))  # noqa: PTH116 - one call for each file that there is
    except OSError:
        return UNKNOWN
