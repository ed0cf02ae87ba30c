#!/usr/bin/env python3
"""Change single places of the code at random and see whether a test notices.

    python scripts/mutants.py ROOM… [--count 50] [--seed 1] [--jobs 2] [--list]

A ROOM is a folder or a file below localllm/, such as `agent`, `agent/panel` or `sandbox/runner.py`. Each change is made
in the checkout itself, which must have nothing uncommitted, and is taken back. The tests of a change are those that
mirror its module, then those of its room, then others that name it; the first that fails ends it. What survives is
printed as a diff; some changes make no difference that could be seen.
"""

import argparse
import ast
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "localllm"
SECONDS = 300
"""A change that is not noticed in this time has made a test hang, which counts as noticed."""

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_LARGE = 10
"""A number from here on is made ten times as large: one more would seldom make a difference."""
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.BitOr: "&", ast.BitAnd: "|",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of `file` become `new`."""

    file: Path
    line: int
    start: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


class Places:
    """Where the nodes of a source stand in its bytes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.source = file.read_bytes()
        self._lines = [0]
        for line in self.source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self.start(node) : self.end(node)].decode()

    def mutant(self, node: ast.expr | ast.stmt, new: str) -> Mutant:
        return Mutant(self.file, node.lineno, self.start(node), self.end(node), new)


def mutants(file: Path) -> list[Mutant]:
    """Every change that is tried in a file. Annotations, decorators and texts are left alone."""
    places = Places(file)
    return [change for node in _code(ast.parse(places.source)) for change in _changes(node, places)]


_LEFT_ALONE = ("annotation", "returns", "decorator_list", "type_params")


def _code(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in _LEFT_ALONE:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.AST):
                yield child
                yield from _code(child)


def _changes(node: ast.AST, places: Places) -> Iterator[Mutant]:
    match node:
        case ast.If(test) | ast.While(test):
            yield places.mutant(test, f"not ({places.text(test)})")
        case ast.Expr(ast.Call() | ast.Await()):
            yield places.mutant(node, "pass")
        case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield places.mutant(value, "None")
        case ast.Continue():
            yield places.mutant(node, "break")
        case ast.Break():
            yield places.mutant(node, "continue")
        case ast.expr():
            yield from _other_values(node, places)
        case _:
            pass


def _other_values(node: ast.expr, places: Places) -> Iterator[Mutant]:
    text = places.text
    match node:
        case ast.Compare(left, [op], [right]) if new := COMPARISONS.get(type(op)):
            yield places.mutant(node, f"({text(left)} {new} {text(right)})")
        case ast.BoolOp(op, values):
            other = " or " if isinstance(op, ast.And) else " and "
            yield places.mutant(node, "(" + other.join(f"({text(value)})" for value in values) + ")")
            yield places.mutant(node, f"({text(values[0])})")
        case ast.UnaryOp(ast.Not(), operand):
            yield places.mutant(node, f"bool({text(operand)})")
        case ast.BinOp(left, op, right) if (new := ARITHMETIC.get(type(op))) and not _is_text(left, right):
            yield places.mutant(node, f"(({text(left)}) {new} ({text(right)}))")
        case ast.Constant(bool() as value):
            yield places.mutant(node, str(not value))
        case ast.Constant(int() | float() as value):
            yield places.mutant(node, str(value + 1 if abs(value) < _LARGE else value * _LARGE))
        case ast.IfExp(test, body, orelse):
            yield places.mutant(node, f"(({text(orelse)}) if ({text(test)}) else ({text(body)}))")
        case _:
            pass


def _is_text(*operands: ast.expr) -> bool:
    return any(
        isinstance(o, ast.JoinedStr) or (isinstance(o, ast.Constant) and isinstance(o.value, str)) for o in operands
    )


def tests_of(file: Path) -> list[list[str]]:
    """Arguments of pytest for the tests of a module, those most likely to notice first."""
    inner = file.relative_to(PACKAGE)
    mirror = ROOT / "tests/unit" / inner.parent / f"test_{inner.stem}.py"
    room = ROOT / "tests/unit" / inner.parts[0]
    names = (
        f"localllm.{'.'.join(inner.with_suffix('').parts)}",
        f"localllm.{'.'.join(inner.parent.parts)} import {inner.stem}",
    )
    naming = [
        str(test)
        for test in sorted((ROOT / "tests").rglob("test_*.py"))
        if not test.is_relative_to(room) and any(name in test.read_text(encoding="utf-8") for name in names)
    ]
    return [found for found in ([str(mirror)] * mirror.exists(), [str(room)] * room.exists(), naming) if found]


def is_noticed(file: Path, jobs: int) -> bool:
    for arguments in tests_of(file):
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", str(jobs), *arguments]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return True
        if done.returncode not in (0, 5):  # 5: no test was found
            return True
    return False


def try_one(mutant: Mutant, jobs: int) -> str:
    """The diff of a change that no test notices; "" otherwise. The file is as before afterwards."""
    before = mutant.file.read_bytes()
    try:
        mutant.file.write_bytes(mutant.applied(before))
        if is_noticed(mutant.file, jobs):
            return ""
        return subprocess.run(["git", "diff", "-U1"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    finally:
        mutant.file.write_bytes(before)
        Path(cache_from_source(str(mutant.file))).unlink(missing_ok=True)  # no bytecode of a change may outlive it


def chosen(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """So many changes at random places of the rooms, at most one a line."""
    files = sorted({file for room in rooms for file in _files(PACKAGE / room)})
    by_line = {(m.file, m.line): m for file in files for m in _shuffled(mutants(file), seed)}
    return _shuffled([by_line[key] for key in sorted(by_line)], seed)[:count]


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _shuffled(changes: list[Mutant], seed: int) -> list[Mutant]:
    return random.Random(seed).sample(changes, len(changes))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only print the changes")
    options = parser.parse_args()
    if missing := [room for room in options.rooms if not (PACKAGE / room).exists()]:
        parser.error(f"not below localllm/: {', '.join(missing)}")
    if not options.list and subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        parser.error("the checkout has uncommitted changes")
    changes = chosen(options.rooms, options.count, options.seed)
    survivors = 0
    for number, change in enumerate(changes, start=1):
        where = f"{number}/{len(changes)} {change.file.relative_to(ROOT)}:{change.line}"
        if options.list:
            print(f"{where}  {change.file.read_bytes()[change.start : change.end].decode()!r} → {change.new!r}")
        elif diff := try_one(change, options.jobs):
            survivors += 1
            print(f"{where}: survived\n{diff}", flush=True)
        else:
            print(f"{where}: noticed", flush=True)
    if not options.list:
        print(f"{len(changes) - survivors} of {len(changes)} were noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
