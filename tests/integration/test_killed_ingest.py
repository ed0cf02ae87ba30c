"""A collection stays consistent: kill -9 at every step of an ingest, a dead helper, two at once, a search in between, a
full disk."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import KnowledgeBaseError
from localllm.rag import ingest, shard
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import IngestEvent
from localllm.rag.shard_lock import ShardLock
from localllm.rag.sparse_vectors import SparseVector
from localllm.rag.store import Payload, Point, point_id
from tests.support.killed_ingest import NAME, knowledge_base

PROGRAM = (sys.executable, "-m", "tests.support.killed_ingest")


def write_files(folder: Path, version: int) -> None:
    """Ten files of some chunks; the second version has one more and one less, and others of another length."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number in range(version, 10 + version):
        rows = 2 + (number * (3 if version else 5)) % 7
        lines = [f'{{"text": "file{number} row{row} version{version} word{number * 10 + row}"}}' for row in range(rows)]
        (folder / f"{number}.jsonl").write_text("\n".join(lines))


def texts(knowledge: KnowledgeBase) -> dict[str, list[str]]:
    """All that is in the collection, by file, and nothing but what its record says."""
    collection = knowledge.collection(NAME)
    files = [one for one in knowledge.files(NAME) if not one.reason]
    store = knowledge._find(NAME)[0]
    with store.reading(NAME) as reader:
        found = reader.fetch([point_id(one.path, number) for one in files for number in range(one.chunks)])
        assert reader.count() == len(found) == collection.chunks
    by_file: dict[str, list[str]] = {one.file: [] for one in files}
    for point in sorted(found, key=lambda point: point.payload.number):
        by_file[point.payload.file].append(point.payload.text)
    return by_file


def run(data: Path, folder: Path, when: str = "never", step: int = 0) -> subprocess.CompletedProcess[str]:
    command = (*PROGRAM, str(data), str(folder), when, str(step))
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize("when", ["before", "after", "child"])
def test_whatever_ends_an_ingest_the_next_one_completes_it(when: str, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    write_files(folder, 0)
    first = tmp_path / "first"
    assert run(first, folder).returncode == 0
    write_files(folder, 1)
    shutil.copytree(first, tmp_path / "whole")
    steps = int(run(tmp_path / "whole", folder).stdout.split()[0])
    expected = asyncio.run(_texts(tmp_path / "whole"))
    assert "docs/0.jsonl" not in expected
    assert len(expected["docs/3.jsonl"]) == 4
    assert steps > 10
    for step in range(1, steps + 1, 4):
        data = tmp_path / f"killed-{step}"
        shutil.copytree(first, data)
        ended = run(data, folder, when, step)
        died = ended.returncode == -9 or ended.stdout.strip() == "rag_writer_died"
        assert died or (when == "child" and ended.returncode == 0), ended
        events: list[IngestEvent] = []
        asyncio.run(_ingest(data, folder, events))
        assert asyncio.run(_texts(data)) == expected, (when, step)


async def _ingest(data: Path, folder: Path, events: list[IngestEvent]) -> None:
    async with knowledge_base(data) as knowledge:
        await knowledge.ingest([folder], NAME, events.append)


async def _texts(data: Path) -> dict[str, list[str]]:
    async with knowledge_base(data) as knowledge:
        return await asyncio.to_thread(texts, knowledge)


def test_two_ingests_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    folder, data = tmp_path / "docs", tmp_path / "data"
    write_files(folder, 0)
    command = (*PROGRAM, str(data), str(folder), "never", "0")
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [process.communicate(timeout=50)[0].strip() for process in both]
    assert sorted(said.partition(" ")[2] for said in ended) == ["0", "10"]
    assert len(asyncio.run(_texts(data))) == 10


def test_a_search_gets_its_turn_in_the_middle_of_an_ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, data = tmp_path / "docs", tmp_path / "data"
    write_files(folder, 0)
    monkeypatch.setattr(ingest, "_CHECKPOINT", 1)
    kinds: list[str] = []
    found: list[str] = []
    searching = threading.Thread(target=lambda: found.extend(asyncio.run(_search(data))))

    def on_event(event: IngestEvent) -> None:
        kinds.append(event.kind)
        if event.kind == "indexed" and not searching.ident:
            searching.start()
            lock = ShardLock(data / "collections" / NAME, NAME, "test")
            while not lock.is_wanted():
                assert searching.is_alive()

    async def fill() -> None:
        async with knowledge_base(data) as knowledge:
            await knowledge.ingest([folder], NAME, on_event)

    asyncio.run(fill())
    searching.join()
    assert found == ["docs/0.jsonl"]
    assert "indexed" in kinds[kinds.index("waiting") :]


async def _search(data: Path) -> list[str]:
    async with knowledge_base(data) as other:
        return [hit.file for hit in (await other.search("file0 row1 version0", NAME)).hits[:1]]


def test_who_holds_a_collection_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, data = tmp_path / "docs", tmp_path / "data"
    write_files(folder, 0)
    asyncio.run(_ingest(data, folder, []))
    monkeypatch.setattr("localllm.rag.shard_lock.PATIENCE", 0.05)
    holder = ShardLock(data / "collections" / NAME, NAME, "a long job")
    holder.acquire()
    with pytest.raises(KnowledgeBaseError) as caught:
        asyncio.run(_search(data))
    assert (caught.value.key, "a long job" in caught.value.why) == ("rag_busy", True)
    holder.release()
    assert asyncio.run(_search(data)) == ["docs/0.jsonl"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=150m", "tmpfs", str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.root
def test_a_disk_that_is_too_full_is_said_before_anything_is_written(small_disk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    write_files(folder, 0)
    with pytest.raises(KnowledgeBaseError) as caught:
        asyncio.run(_ingest(small_disk, folder, []))
    assert caught.value.key == "rag_disk_full"


@pytest.mark.root
def test_a_disk_that_runs_full_ends_the_helper_and_no_more(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    write_files(folder, 0)
    monkeypatch.setattr(shard.Shard, "_check_space", lambda *_: None)
    asyncio.run(_ingest(small_disk, folder, []))
    with pytest.raises(KnowledgeBaseError) as caught:
        _fill(small_disk)
    assert caught.value.key == "rag_disk_full"
    with pytest.raises(KnowledgeBaseError) as caught:  # to open it is too much by now, also for reading
        asyncio.run(_search(small_disk))
    assert caught.value.key == "rag_disk_full"
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    assert asyncio.run(_search(small_disk)) == ["docs/0.jsonl"]
    asyncio.run(_ingest(small_disk, folder, []))
    assert set(asyncio.run(_texts(small_disk))) == {f"docs/{number}.jsonl" for number in range(10)}


def _fill(data: Path) -> None:
    """Write large points of a file that is in no record, and take them away before anybody sees them."""
    store = knowledge_base(data)._find(NAME)[0]
    with store.writing(NAME) as writer:
        for batch in range(200):
            payloads = [
                Payload(path="x", file="x", hash="", number=0, text=os.urandom(20_000).hex()) for _ in range(50)
            ]
            points = [
                Point(batch * 50 + at + 1, SparseVector((1,), (1.0,)), None, one) for at, one in enumerate(payloads)
            ]
            writer.upsert(points)
            writer.delete([point.id for point in points])
