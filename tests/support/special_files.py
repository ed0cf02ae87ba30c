"""A project in which something that never ends has every name that is read by itself."""

import os
from collections.abc import Callable
from pathlib import Path

NAMES = [
    ".gitignore",
    "sub/.gitignore",
    ".localllm/.gitignore",
    ".gitattributes",
    "sub/AGENTS.md",
    "AGENTS.md",
    "CLAUDE.md",
    "LOCALLLM.md",
    "README.md",
    "package.json",
    "pyproject.toml",
    "sub/pyproject.toml",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "requirements.txt",
    "setup.py",
    "setup.cfg",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
    "Gemfile",
    "composer.json",
    "tox.ini",
    ".env",
    "notes.ipynb",
    "paper.pdf",
    "picture.png",
    "main.py",
    ".localllm/sessions/20250101-000000-aaaa.jsonl",
    ".localllm/sessions/index.msgpack",
    ".localllm/tool-output/read-01234567.txt",
    ".localllm/cache/analysis.msgpack",
    ".localllm/cache/symbols.msgpack",
]


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _zeros(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _loop(place: Path) -> None:
    place.symlink_to(place.name)


def _sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(5 << 30)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": _pipe,
    "folder": Path.mkdir,
    "endless": _zeros,
    "loop": _loop,
    "sparse": _sparse,
}


def plant(root: Path, kind: str, names: list[str] = NAMES) -> None:
    """Make each of the names one of these things."""
    for name in names:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](place)
