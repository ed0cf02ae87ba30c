#!/usr/bin/env python3
"""Score `localllm --provider embedded` on questions in TOML; see evals/README.md.

    [[question]]
    tree = "/path/of/a/tree"      # or a name, with --tree NAME=PATH
    ask = "where is the retry logic?"
    kind = "paraphrase"           # or "identifier", or "none": nothing in the tree answers it
    right = ["pkg/retry.py:120", "pkg/other.py"]

Right is an answer that names one of these places among its first three: the file, and the line (give or take
--slack) where one is given. A question of the kind "none" is right where no place is named, or "not sure" stands above.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "localllm"
COUNTED = 3
_SETTLED = 2.5  # seconds: the program takes a file that has just been written for one that may change again
PLACE = re.compile(r"(?<![\w/.@+-])((?:\./)?(?:[\w.@+-]+/)*[\w.@+-]+):(\d+)(?!\w)", re.ASCII)
FILE = re.compile(r"(?<![\w/.@+-])((?:\./)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*)(?![\w/])", re.ASCII)
NOT_SURE = re.compile(r"\bnot sure\b|確かではありません", re.IGNORECASE)


@dataclass
class Scored:
    """One question's result. `first`: whether it was the first of its tree."""

    kind: str
    ask: str
    right: bool
    unsure: bool
    seconds: float
    first: bool
    places: list[str]
    answer: str


def ask(program: str, question: str, folder: Path, home: Path) -> tuple[str, float]:
    """The answer, and the CPU seconds it took."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALLLM_")}
    environment |= {"LOCALLLM_STATE_DIR": str(home / "state"), "LOCALLLM_CONFIG_DIR": str(home / "config")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "-p", question, "--provider", "embedded", "--output", "json"]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        answer = str(json.loads(done.stdout)["answer"] or "")
    except (ValueError, KeyError):
        raise SystemExit(f"no answer to {question!r}: {done.stderr[-500:]}") from None
    return answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def places_in(answer: str, folder: Path) -> list[tuple[str, int]]:
    """The distinct places an answer names, `path:line` or (line 0) a path alone, in their order."""
    found: dict[tuple[str, int], None] = {}
    lined = {match.start(): (match[1].removeprefix("./"), int(match[2])) for match in PLACE.finditer(answer)}
    for match in FILE.finditer(answer):
        place = lined.get(match.start()) or (match[1].removeprefix("./"), 0)
        if (folder / place[0]).is_file() and (place[1] or "/" in place[0]):
            found.setdefault(place)
    return list(found)


def meets(place: tuple[str, int], right: str, slack: int) -> bool:
    """Whether a place is the one that is right."""
    path, colon, line = right.rpartition(":")
    if not colon or not line.split("-")[0].isdigit():
        return place[0] == right
    first, _, last = line.partition("-")
    return place[0] == path and int(first) - slack <= place[1] <= int(last or first) + slack


def score(questions: list[dict[str, object]], trees: dict[str, str], options: argparse.Namespace) -> list[Scored]:
    """Ask every question, the trees one after the other; each tree is a copy, with a state of its own."""
    results: list[Scored] = []
    by_tree: dict[str, list[dict[str, object]]] = defaultdict(list)
    for question in questions:
        tree = str(question.get("tree", ""))
        by_tree[trees.get(tree, trees.get("", tree))].append(question)
    for tree, asked in by_tree.items():
        with tempfile.TemporaryDirectory(prefix="localllm-score-") as temporary:
            home, folder = Path(temporary), Path(temporary, "project", Path(tree).name)
            shutil.copytree(tree, folder, symlinks=True, ignore=shutil.ignore_patterns(".localllm"))
            if not (folder / ".git").exists():
                (folder / ".git").mkdir()  # so that the project begins here
            time.sleep(_SETTLED)
            for number, question in enumerate(asked):
                answer, seconds = ask(options.program, str(question["ask"]), folder, home)
                places = places_in(answer, folder)[:COUNTED]
                unsure = NOT_SURE.search(answer) is not None
                if question["kind"] == "none":
                    right = not places or unsure
                else:
                    expected = [str(one) for one in question["right"]]  # type: ignore[attr-defined]
                    right = any(meets(place, one, options.slack) for place in places for one in expected)
                named = [f"{path}:{line}" if line else path for path, line in places]
                kind = str(question["kind"])
                results.append(Scored(kind, str(question["ask"]), right, unsure, seconds, not number, named, answer))
                print("." if right else "x", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results


def report(results: list[Scored], *, verbose: bool) -> None:
    """Print what is wrong, and the counts."""
    for one in results:
        if verbose or not one.right:
            print(f"{'ok ' if one.right else 'NO '} [{one.kind}] {one.ask}")
            print(f"     {'not sure: ' * one.unsure}{', '.join(one.places) or '-'}")
    print()
    for kind in sorted({one.kind for one in results}):
        own = [one for one in results if one.kind == kind]
        right = [one for one in own if one.right]
        print(f"{kind:<12}{len(right):>4}/{len(own):<4}{100 * len(right) / len(own):>6.1f} %")
    answered = [one for one in results if one.kind != "none"]
    right = [one for one in answered if one.right]
    if right:
        unsure = sum(one.unsure for one in right)
        print(f"{'answerable':<12}{len(right):>4}/{len(answered):<4}{100 * len(right) / len(answered):>6.1f} %")
        print(f"not sure, of the right ones: {unsure}/{len(right)} ({100 * unsure / len(right):.0f} %)")
    for label, is_first in (("first", True), ("later", False)):
        if times := sorted(one.seconds for one in results if one.first == is_first):
            median, worst = times[len(times) // 2], times[-1]
            print(f"CPU seconds, {label} question of a tree: median {median:.2f}, worst {worst:.2f}")


def main() -> None:
    """Score a file of questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, help="the questions, in TOML")
    parser.add_argument(
        "--tree",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="where a tree is; PATH alone: of all questions",
    )
    parser.add_argument("--program", default=str(PROGRAM), help="the program to measure")
    parser.add_argument("--slack", type=int, default=3, help="lines a place may be off (default: 3)")
    parser.add_argument("--verbose", action="store_true", help="show right answers, too")
    options = parser.parse_args()
    trees = {name: path for name, _, path in (("=" * ("=" not in one) + one).partition("=") for one in options.tree)}
    results = score(tomllib.loads(options.questions.read_text("utf-8"))["question"], trees, options)
    report(results, verbose=options.verbose)


if __name__ == "__main__":
    main()
