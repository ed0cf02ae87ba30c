#!/usr/bin/env python3
"""A project of 100,000 files: list, search and complete, beside ripgrep and git. Seconds (the best of three runs) and
the memory of a
process that does nothing else; ours begin with importing what they need.

.venv/bin/python benchmarks/search.py [FOLDER] [FILES]

FOLDER is made where it is not there, and kept; without it a temporary one is used.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

FILES = 100_000
ROUNDS = 3
JAPANESE = "設定を読み込む"


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        one(sys.argv[2], Path(sys.argv[3]))
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else FILES
    if len(sys.argv) > 1:
        compare(Path(sys.argv[1]), count)
    else:
        with tempfile.TemporaryDirectory() as name:
            compare(Path(name, "project"), count)


def compare(root: Path, count: int) -> None:
    if not root.exists():
        generate(root, count)
    print(f"{root}: {count:,} files\n{'':34} {'seconds':>8} {'MB':>6}")
    for name in TASKS:
        row(name, [sys.executable, __file__, "--one", name, str(root)])
    for name, command in PEERS.items():
        row(name, command, root)


def row(name: str, command: list[str], cwd: Path | None = None) -> None:
    """Runs a task in a process of its own; what it prints last, if that is a number, is its own measure of time."""
    best, memory = float("inf"), 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.PIPE, stderr=None if cwd is None else subprocess.DEVNULL
        )
        output = process.stdout.read() if process.stdout else b""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = 0
        if status and cwd is None:
            sys.exit(f"{name} failed")
        seconds = float(output.split()[-1]) if cwd is None else time.perf_counter() - began
        best, memory = min(best, seconds), max(memory, used.ru_maxrss)
    print(f"{name:34} {best:8.2f} {memory / 1024:6.0f}", flush=True)


def one(name: str, root: Path) -> None:
    began = time.perf_counter()
    asyncio.run(_run(TASKS[name], root))
    print(time.perf_counter() - began)


async def _run(task: Callable[[Path], Awaitable[object]], root: Path) -> None:
    print(str(await task(root))[:200])


# What is measured is imported where it runs: a child's peak of memory begins with that of the process it came from.


async def listed(root: Path) -> object:
    from localllm.tools.files import list_files
    from tests.support.tools import make_context, use

    return await use(list_files, make_context(root))


async def listed_by_glob(root: Path) -> object:
    from localllm.tools.files import list_files
    from tests.support.tools import make_context, use

    return await use(list_files, make_context(root), pattern="**/*.{rs,ts,py}")


def searching(pattern: str, *, literal: bool = False, use_ripgrep: bool = True) -> Callable[[Path], Awaitable[object]]:
    async def search(root: Path) -> object:
        import msgspec

        from localllm.tools.file_search import Request, find
        from localllm.tools.search_backends import Query
        from tests.support.tools import make_context

        found = await find(make_context(root), Request(Query(pattern, literal=literal)), use_ripgrep=use_ripgrep)
        return msgspec.structs.replace(found, hits=found.hits[:1])

    return search


async def completed(root: Path) -> object:
    from localllm.tui.input.completion import Suggester

    return len(Suggester(root, (), lambda: ()).suggest("look at @part000/"))


TASKS: dict[str, Callable[[Path], Awaitable[object]]] = {
    "list_files": listed,
    "list_files **/*.{rs,ts,py}": listed_by_glob,
    "search: a literal in 100 files": searching("needle_in_hay", literal=True),
    "search: a regex": searching(r"needle_\w+_hay"),
    "search: Japanese": searching(JAPANESE, literal=True),
    "search: no hit": searching("nothing_has_this", literal=True),
    "search: everywhere": searching("import"),
    "search: no hit, without ripgrep": searching("nothing_has_this", use_ripgrep=False),
    "@-completion": completed,
}
PEERS: dict[str, list[str]] = {
    "rg --files": ["rg", "--files", "--hidden"],
    "rg, a literal": ["rg", "--hidden", "-F", "needle_in_hay"],
    "rg, a regex": ["rg", "--hidden", r"needle_\w+_hay"],
    "rg, Japanese": ["rg", "--hidden", "-F", JAPANESE],
    "rg, no hit": ["rg", "--hidden", "-F", "nothing_has_this"],
    "git ls-files": ["git", "ls-files"],
    "git grep, a literal": ["git", "grep", "-F", "needle_in_hay"],
    "git grep, no hit": ["git", "grep", "-F", "nothing_has_this"],
}


def generate(root: Path, count: int) -> None:
    """A repository of `count` files of some 500 bytes: 1 in 1,000 has the needle, 1 in 1,000 is binary, 1 in 200 is
    Shift_JIS, and 1 in 200 of the others has a line of Japanese."""
    for number in range(count):
        folder = root / f"part{number // 1000:03}" / f"module{number // 100 % 10}"
        if number % 100 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        name = folder / f"file{number % 100:02}.{('py', 'ts', 'rs', 'md')[number % 4]}"
        name.write_bytes(content(number))
    (root / ".gitignore").write_text("*.log\nbuild/\n", "utf-8")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-c", "core.autocrlf=false", *command], cwd=root, check=True, capture_output=True)


def content(number: int) -> bytes:
    text = f"import os\n\n\ndef function_{number}(value):\n    return value + {number}\n" + "# a line of filling\n" * 20
    if number % 1000 == 7:
        text += "needle_in_hay = 1\n"
    if number % 1000 == 500:
        return b"\x7fELF\0" + bytes(500)
    if number % 200 == 9:
        return (text + f"# {JAPANESE}\n").encode("cp932")
    return (text + (f"# {JAPANESE}\n" if number % 200 == 11 else "")).encode()


if __name__ == "__main__":
    main()
