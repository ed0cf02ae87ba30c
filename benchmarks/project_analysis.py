#!/usr/bin/env python3
"""What finding out about a project costs: this one, and generated ones. "cold": nothing is known of it yet; "warm":
another process, which finds what the first one kept; "kept": again in the same process. Seconds (the best of three),
the files read, and the memory of a process that does nothing else.

.venv/bin/python benchmarks/project_analysis.py [FILES…]
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ROUNDS = 3
PATIENCE = 120.0
FILLING = {"py": "# filling\n" * 150, "ts": "// filling\n" * 150, "go": "// filling\n" * 150}


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        one(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    print(f"{'':44} {'seconds':>8} {'read':>7} {'MB':>5}")
    compare(ROOT)
    for count in map(int, sys.argv[1:] or ["10000"]):
        with tempfile.TemporaryDirectory() as name:
            generate(Path(name), count)
            time.sleep(2.1)  # until the times of its files tell a further change
            compare(Path(name))


def compare(root: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name, "analysis.msgpack")
        cold = [run(root, cache) for _ in range(ROUNDS) if cache.unlink(missing_ok=True) is None]
        warm = [run(root, cache) for _ in range(ROUNDS)]
    files = sum(len(names) for _, _, names in os.walk(root))
    label = "this project" if root == ROOT else f"{files:,} files"
    for when, rounds in (("cold", cold), ("warm", warm)):
        seconds, read, memory, _ = min(rounds)
        print(f"{f'{label}, {when}':44} {seconds:8.2f} {read:7.0f} {memory:5.0f}", flush=True)
    print(f"{f'{label}, kept':44} {min(kept for *_, kept in warm):8.2f}", flush=True)


def run(root: Path, cache: Path) -> tuple[float, ...]:
    command = [sys.executable, __file__, "--one", str(root), str(cache)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(map(float, output.split()))


def one(root: Path, cache: Path) -> None:
    from localllm.base.cache import CacheManager
    from localllm.project.analyzer import ProjectAnalyzer

    began = time.perf_counter()
    analyzer = ProjectAnalyzer(root, cache, exclude=("node_modules",), seconds=PATIENCE, caches=CacheManager())
    analysis = asyncio.run(analyzer.analyze())
    seconds, read = time.perf_counter() - began, analyzer.read
    assert not analysis.passed_over, analysis.passed_over
    began = time.perf_counter()
    asyncio.run(analyzer.analyze())
    kept = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, read, memory, kept)


def generate(root: Path, count: int) -> None:
    """A project of `count` files in three languages, some 2 kB each, a hundred in a folder."""
    body = {
        "py": 'import os\n\n\ndef count_{0}(size: int) -> int:\n    """Count."""\n    return size + {0}\n',
        "ts": "import { x } from 'x';\n\nexport function count{0}(size: number) {\n  return size + 1;\n}\n",
        "go": "package part\n\nfunc Count{0}(size int) int {\n\treturn size\n}\n",
    }
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for number in range(count - 1):
        folder = root / f"part{number // 2000:03}" / f"module{number // 100 % 20:02}"
        if number % 100 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        ending = ("py", "ts", "go")[number % 3]
        (folder / f"file{number:06}.{ending}").write_text(body[ending].replace("{0}", str(number)) + FILLING[ending])


if __name__ == "__main__":
    main()
