#!/usr/bin/env python3
"""The map of a repository: the first drawing, one by a new process over what was kept, one after a file was changed;
memory, and what the map costs a model. Of 5,000 generated files in six languages, or of a folder given.

.venv/bin/python benchmarks/repo_map.py [FOLDER] [--words "what is asked"] [--show]

Each drawing runs in a process of its own, as in the life of a session; "again" is the second in the same process.
"""

import argparse
import asyncio
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOM = 8_000
FILES = 5_000
SEED = 6
BUDGETS = {"cold": 30.0, "kept": 1.0, "changed": 1.3}
MEGABYTES = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--words", default="")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--draw", type=Path, metavar="CACHE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.draw:
        print(json.dumps(asyncio.run(draw(given.folder, given.draw, given.words))))
        return
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        root = given.folder or generate(scratch / "project")
        measure(root, scratch / "repomap.msgpack", given.words, show=given.show)


def measure(root: Path, cache: Path, words: str, *, show: bool) -> None:
    print(f"{'':10} {'seconds':>8} {'budget':>8} {'of CPU':>8} {'again':>8} {'stall':>8} {'resident':>9}")
    for case, budget in BUDGETS.items():
        changed = add_line(root) if case == "changed" else None
        try:
            found = in_new_process(root, cache, words)
        finally:
            if changed:
                changed[0].write_bytes(changed[1])
        print(
            f"{case:10} {found['first']:6.2f} s {budget:6.1f} s {found['cpu']:6.2f} s "
            f"{found['again']:6.2f} s "
            f"{found['stall'] * 1000:5.0f} ms {found['memory'] // 1024:6d} MB"
        )
    print(f"budget of memory: {MEGABYTES} MB; “stall”: the longest that nothing else could run")
    print(f"{found['files']:,} files, {found['all']:,} definitions; kept in {cache.stat().st_size / 1e6:.1f} MB")
    print(f"the map: {found['shown']} definitions of {found['shown_files']} files, about {found['tokens']:,} tokens")
    if show:
        print(found["text"])


def in_new_process(root: Path, cache: Path, words: str) -> dict[str, int | float | str]:
    command = [sys.executable, __file__, str(root), "--draw", str(cache), "--words", words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


async def draw(root: Path, cache: Path, words: str) -> dict[str, int | float | str]:
    """Draw it twice, and see how long the loop stands still."""
    from localllm.llm.tokens import estimate_tokens
    from localllm.repo_map.repo_map import RepoMap

    stalls: list[float] = []
    watching = asyncio.create_task(watch(stalls))
    repo_map = RepoMap(root, cache, seconds=300.0)
    times: list[float] = []
    cpu: list[float] = []
    for _ in range(2):
        begun, used = time.perf_counter(), time.process_time()
        drawn = await asyncio.to_thread(repo_map.draw, ROOM, words=words)
        times.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    watching.cancel()
    return {
        "first": times[0],
        "again": times[1],
        "cpu": cpu[0],
        "stall": max(stalls, default=0.0),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "files": len(drawn.records),
        "all": drawn.all_definitions,
        "shown": drawn.definitions,
        "shown_files": drawn.files,
        "tokens": estimate_tokens(drawn.text),
        "text": drawn.text,
    }


async def watch(stalls: list[float]) -> None:
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.01)
        stalls.append(time.perf_counter() - begun - 0.01)


def add_line(root: Path) -> tuple[Path, bytes]:
    """Change the first source file of some size; it and its old content."""
    path = next(path for path in sorted(root.rglob("*.py")) if path.is_file() and path.stat().st_size > 200)
    data = path.read_bytes()
    path.write_bytes(data + b"\n\ndef added_by_benchmark():\n    return 1\n")
    return path, data


class Language(NamedTuple):
    """How a generated file looks: a line for each file it uses, at its top and where it uses it, its thirty functions,
    and the whole. NAME and TITLE are the file's own, USED, TYPE and PART the other's, N is a number."""

    use: str
    call: str
    step: str
    whole: str


LANGUAGES = {
    "py": Language(
        "from partPART.USED import TYPE, load_USED",
        "        total += TYPE(key).value() + load_USED(key)",
        "    def step_N(self, key, value=N):\n        return [key, value, self.key]\n",
        "USES\n\nclass TITLE:\n    def __init__(self, key):\n        self.key = key\n\nSTEPS\n    def value(self):\n"
        "        key, total = self.key, 0\nCALLS\n        return total\n\n\n"
        "def load_NAME(key):\n    return TITLE(key).step_1(key)\n",
    ),
    "ts": Language(
        'import { TYPE } from "../partPART/USED";',
        "    total += new TYPE(key).value();",
        "  stepN(key: string): number {\n    return N + key.length;\n  }",
        "USES\nexport class TITLE {\n  constructor(private key: string) {}\nSTEPS\n  value(): number {\n"
        "    const key = this.key;\n    let total = 0;\nCALLS\n    return total;\n  }\n}\n",
    ),
    "go": Language(
        'import "example.org/project/partPART"',
        "\ttotal += partPART.LoadTYPE(key)",
        "func (it TITLE) StepN(key int) int {\n\treturn key + N\n}",
        "package partHERE\nUSES\ntype TITLE struct {\n\tKey int\n}\nSTEPS\n"
        "func LoadTITLE(key int) int {\n\ttotal := 0\nCALLS\n\treturn total\n}\n",
    ),
    "java": Language(
        "import org.example.partPART.TYPE;",
        "        total += new TYPE().value(key);",
        "    public int stepN(int key) {\n        return key + N;\n    }",
        "package org.example.partHERE;\nUSES\npublic class TITLE {\nSTEPS\n    public int value(int key) {\n"
        "        int total = 0;\nCALLS\n        return total;\n    }\n}\n",
    ),
    "rs": Language(
        "use crate::partPART::USED::TYPE;",
        "        total += TYPE::load(key).value();",
        "    pub fn step_N(&self, key: u32) -> u32 {\n        key + N\n    }",
        "USES\npub struct TITLE {\n    key: u32,\n}\nimpl TITLE {\nSTEPS\n    pub fn load(key: u32) -> Self {\n"
        "        Self { key }\n    }\n    pub fn value(&self) -> u32 {\n        let key = self.key;\n"
        "        let mut total = 0;\nCALLS\n        total\n    }\n}\n",
    ),
    "c": Language(
        '#include "../partPART/USED.h"',
        "    total += load_USED(key);",
        "static int step_NAME_N(int key) {\n    return key + N;\n}",
        "USES\nstruct NAME {\n    int key;\n};\nSTEPS\nint load_NAME(int key) {\n    int total = 0;\nCALLS\n"
        "    return total;\n}\n",
    ),
}
WORDS = ("order", "invoice", "user", "cache", "token", "parser", "request", "session", "stock", "price", "route")


def generate(root: Path) -> Path:
    """5,000 files, a hundred to a folder, about 100 lines each; each uses six of its language, early ones most."""
    lots = random.Random(SEED)
    suffixes = list(LANGUAGES)
    for number in range(FILES):
        suffix = suffixes[number % len(suffixes)]
        earlier = range(number % len(suffixes), number, len(suffixes))
        uses = sorted({earlier[int(len(earlier) * lots.random() ** 3)] for _ in range(6)}) if earlier else []
        path = root / f"part{number // 100}" / f"{name_of(number)}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(LANGUAGES[suffix], number, uses), "ascii")
    return root


def source(language: Language, number: int, uses: list[int]) -> str:
    steps = "\n".join(re.sub(r"\bN\b|(?<=[a-z_])N(?=\()", str(i), language.step) for i in range(30))
    text = language.whole.replace("STEPS", steps)
    text = text.replace("USES", "\n".join(filled(language.use, use) for use in uses))
    text = text.replace("CALLS", "\n".join(filled(language.call, use) for use in uses))
    return text.replace("NAME", name_of(number)).replace("TITLE", title_of(number)).replace("HERE", str(number // 100))


def filled(line: str, use: int) -> str:
    return line.replace("USED", name_of(use)).replace("TYPE", title_of(use)).replace("PART", str(use // 100))


def name_of(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]}_{number}"


def title_of(number: int) -> str:
    return f"{WORDS[number % len(WORDS)].title()}{number}"


if __name__ == "__main__":
    main()
