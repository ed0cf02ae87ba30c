#!/usr/bin/env python3
"""Check that the documents tell the truth about the command line.

    .venv/bin/python scripts/check_docs.py         check everything
    python3 scripts/check_docs.py --print test  print one command of README.md: "first" or "test"

Every `localllm …` in README.md, CONTRIBUTING.md, docs/ and examples/ must name commands and options that --help
knows, and every line of README.md's ```sh blocks must run. Blocks marked ```console are shown, not run: what needs
a model server or a person goes there.
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.executable).with_name("localllm")
NAMED = {"first": " -p ", "test": "-m pytest"}
"""README's two promised commands and what they are known by."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`(localllm(?: [^`]*)?)`")


def main() -> None:
    if sys.argv[1:2] == ["--print"]:
        print(named(sys.argv[2]))
        return
    found = [*wrong_mentions(), *failing_commands()]
    print("\n".join(found) or "check_docs: the commands and options exist, and README's commands run")
    sys.exit(bool(found))


def named(what: str) -> str:
    """The first line of README.md's sh blocks that is the command `what`."""
    return next(line for line in readme_commands() if NAMED[what] in line)


def readme_commands() -> list[str]:
    blocks = BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    return [line for kind, text in blocks if kind == "sh" for line in text.splitlines() if line.strip()]


def wrong_mentions() -> Iterator[str]:
    """Every mention of a command or option that --help does not know, as `file: mention: what is wrong`."""
    folders = [path for name in ("docs", "examples") for path in sorted((ROOT / name).rglob("*.md"))]
    for path in [*sorted(ROOT.glob("*.md")), *folders]:
        for mention in mentions(path.read_text("utf-8")):
            if complaint := judge(mention):
                yield f"{path.relative_to(ROOT)}: {mention}: {complaint}"


def mentions(text: str) -> Iterator[str]:
    """The localllm command lines in a document, each cut where the shell's part or an explanation begins."""
    lines = [line for _, block in BLOCK.findall(text) for line in block.splitlines()]
    for line in [*lines, *INLINE.findall(BLOCK.sub("", text))]:
        for command in re.split(r"&&|\|\||[|;>#]|(?<=\S)  ", line):
            if match := re.match(r"\s*(?:\$ )?(?:[\w./]*/)?(localllm(?: .*)?)$", command):
                yield match[1].strip()


def judge(mention: str) -> str:
    """What is wrong with a command line, or nothing."""
    _, *words = shlex.split(mention.replace("…", "X").partition(" -- ")[0])
    path: tuple[str, ...] = ()
    while words and re.search(rf"^ +{re.escape(words[0])}\b", commands_section(help_of(path)), re.M):
        path = (*path, words.pop(0))
    if words and commands_section(help_of(path)) and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        return f"no command {words[0]}"
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    unknown = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", help_of(path))]
    return f"no option {', '.join(unknown)}" if unknown else ""


def commands_section(text: str) -> str:
    return text.partition("Commands:\n")[2]


@functools.cache
def help_of(path: tuple[str, ...]) -> str:
    return subprocess.run(
        [PROGRAM, *path, "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", "LC_ALL": "C.UTF-8"},
    ).stdout


def failing_commands() -> Iterator[str]:
    """Run README's other sh lines in a copy of the tree with a home of its own; what failed, one line each."""
    rest = [line for line in readme_commands() if line not in {named(what) for what in NAMED}]
    if not rest:
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = copied_tree(Path(folder, "localllm"))
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
        environment["PATH"] = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
        for line in rest:
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=120,
                check=False,
            )
            if done.returncode:
                yield f"README.md: {line}: exit {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}"


def copied_tree(target: Path) -> Path:
    """The files git tracks, with the same .venv."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    target.mkdir()
    for name in filter(None, listed.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name, follow_symlinks=False)
    (target / ".venv").symlink_to(ROOT / ".venv")
    return target


if __name__ == "__main__":
    main()
