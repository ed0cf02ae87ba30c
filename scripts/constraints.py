#!/usr/bin/env python3
"""Make constraints.txt: every package that localllm and all its extras need, with version and hashes.

    .venv/bin/python scripts/constraints.py              keep the versions there are, add and remove what is needed
    .venv/bin/python scripts/constraints.py --upgrade    take the newest versions
    .venv/bin/python scripts/constraints.py --check      only say whether the file fits pyproject.toml

The hashes are those of every file of a release, so one list serves all platforms and Pythons from 3.11 on.
The list names no address: files come from wherever pip is set up to look.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "constraints.txt"
COMPILE = ("pip", "compile", "pyproject.toml", "--output-file", "constraints.txt", "--quiet")
WHAT = ("--all-extras", "--universal", "--python-version", "3.11", "--generate-hashes")
BARE = ("--no-emit-index-url", "--no-emit-find-links", "--no-config")


def main() -> None:
    if "--check" in sys.argv[1:]:
        sys.exit("\n".join(problems()) or None)
    command = [str(Path(sys.executable).with_name("uv")), *COMPILE, *WHAT, *BARE, *sys.argv[1:]]
    header = {"UV_CUSTOM_COMPILE_COMMAND": "python scripts/constraints.py"}
    subprocess.run(command, cwd=ROOT, env={**os.environ, **header}, check=True)
    sys.exit("\n".join(problems()) or None)


def problems() -> list[str]:
    """What is wrong with constraints.txt, one line each."""
    text = FILE.read_text("utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.M))
    entries = re.findall(r"^\w.*\n(?:[ \t].*\n)*", text, re.M)
    return [
        *(unfit for r in requirements() if (unfit := judge(r, pins.get(canonicalize_name(r.name))))),
        *(f"no hash: {entry.splitlines()[0]}" for entry in entries if "--hash=sha256:" not in entry),
        *(f"an address: {line}" for line in text.splitlines() if "://" in line or "file:" in line),
    ]


def judge(requirement: Requirement, version: str | None) -> str:
    """Why the pinned `version` does not fit the requirement, or nothing."""
    if version is None:
        return f"constraints.txt lacks {requirement}"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"constraints.txt has {requirement.name} {version}, pyproject.toml asks for {requirement}"
    return ""


def requirements() -> list[Requirement]:
    """Everything pyproject.toml asks for, extras and the build tool included; not the project itself, as `all` does."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    lists = (project["build-system"]["requires"], project["project"]["dependencies"], *extras)
    wanted = [Requirement(line) for lines in lists for line in lines]
    return [requirement for requirement in wanted if requirement.name != project["project"]["name"]]


if __name__ == "__main__":
    main()
