#!/usr/bin/env python3
"""Searching what is remembered, and what of it the first request carries, as the history grows. Medians of one run
beside the budgets.

.venv/bin/python benchmarks/memory.py [ENTRIES]
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from localllm.memory.document import Document
from localllm.memory.external_memory import ExternalMemorySystem
from localllm.memory.search import MemoryEntry
from localllm.memory.session_records import SessionRecord, put

ENTRIES = 10_000
ROUNDS = 15
SESSIONS = (1, 10, 100, 1_000)
QUERIES = ("where is the login token checked", "検索の速度を上げる", "rate limit", "テストが失敗する理由")

ENGLISH = "login token search index cache retry limit parser config session window prompt model server test build"
JAPANESE = "ログイン トークン 検索 索引 速度 再試行 上限 設定 セッション 窓 モデル サーバー テスト 失敗 理由 構築"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    with tempfile.TemporaryDirectory() as name:
        cold, warm, changed = search(Path(name), count)
        sizes = {sessions: digest_bytes(Path(name, str(sessions)), sessions) for sessions in SESSIONS}
    rows = [
        (f"search of {count:,} entries, the first", f"{1000 * cold:,.0f} ms", ""),
        ("the next ones", f"{1000 * warm:.1f} ms", "50 ms"),
        ("after one entry has changed", f"{1000 * changed:.1f} ms", "50 ms"),
        *(
            (f"digest after {sessions:,} sessions", f"{size:,} bytes", "1,200 bytes")
            for sessions, size in sizes.items()
        ),
    ]
    print(f"{'median of ' + str(ROUNDS):40} {'measured':>12} {'budget':>12}")
    for row in rows:
        print("{:40} {:>12} {:>12}".format(*row))


def search(root: Path, count: int) -> tuple[float, float, float]:
    """Seconds of the first search, of one after it, and of one after an entry has changed."""
    entries = past(count)
    (root / "LOCALLLM.md").write_text("## TODO\n\n- [ ] Speed up the search\n", "utf-8")
    memory = ExternalMemorySystem(root, sessions=lambda: entries)
    cold = timed(memory, QUERIES[0])
    warm = statistics.median(timed(memory, QUERIES[n % len(QUERIES)]) for n in range(ROUNDS))
    changed: list[float] = []
    for number in range(ROUNDS):
        entries[number] = MemoryEntry(entries[number].id, "conversation", sentence(random.Random(-number - 1)))
        changed.append(timed(memory, QUERIES[number % len(QUERIES)]))
    return cold, warm, statistics.median(changed)


def timed(memory: ExternalMemorySystem, query: str) -> float:
    began = time.perf_counter()
    found = asyncio.run(memory.search_memory(query))
    seconds = time.perf_counter() - began
    if not found:
        sys.exit(f"nothing was found for {query}")
    return seconds


def past(count: int) -> list[MemoryEntry]:
    """What people asked for in so many sessions, in English and Japanese."""
    days = (date(2026, 1, 1) + timedelta(days=n % 300) for n in range(count))
    return [
        MemoryEntry(f"s{n}", "conversation", sentence(random.Random(n)), day.isoformat()) for n, day in enumerate(days)
    ]


def sentence(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return " ".join(chance.choices(ENGLISH.split(), k=15))
    return "の".join(chance.choices(JAPANESE.split(), k=15))


def digest_bytes(root: Path, sessions: int) -> int:
    """Bytes of what a conversation is told after so many sessions, each of which has left a record and a TODO."""
    root.mkdir()
    memory = ExternalMemorySystem(root)
    began = datetime(2026, 1, 1, 9, tzinfo=UTC)
    todos = "".join(f"- [ ] {sentence(random.Random(n))}\n" for n in range(sessions))
    memory.file.path.write_text(f"## TODO\n\n{todos}", "utf-8")

    def add_all(document: Document) -> tuple[Document, None]:
        for number in range(sessions):
            goal, done = sentence(random.Random(number)), (sentence(random.Random(number + 1)),)
            when = began + timedelta(hours=number)
            document = put(document, SessionRecord(f"s{number}", when, goal, (), done))
        return document, None

    memory.file.edit(add_all)
    return len(memory.digest().encode())


if __name__ == "__main__":
    main()
