"""The LOCALLLM.md that `localllm init` makes: what a quick look at the folder tells about the project."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import cast

import msgspec

from localllm.base.config.schema import ProjectSettings
from localllm.base.events import Json
from localllm.base.i18n import tr
from localllm.base.walking import Entry, walk
from localllm.syntax.grammars import language_of
from localllm.text.cleaning import clean

_MOST_ENTRIES = 20_000  # files and folders looked at
_MOST_LANGUAGES = 4
_MOST_FOLDERS = 12
_LONGEST_MANIFEST = 200_000  # bytes

_LANGUAGES = {
    "bash": "Shell",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "php": "PHP",
    "python": "Python",
    "ruby": "Ruby",
    "rust": "Rust",
    "tsx": "TypeScript",
    "typescript": "TypeScript",
}
_MORE_LANGUAGES = {
    ".dart": "Dart",
    ".ex": "Elixir",
    ".exs": "Elixir",
    ".hs": "Haskell",
    ".jl": "Julia",
    ".kt": "Kotlin",
    ".lua": "Lua",
    ".r": "R",
    ".scala": "Scala",
    ".sql": "SQL",
    ".svelte": "Svelte",
    ".swift": "Swift",
    ".tex": "TeX",
    ".vue": "Vue",
    ".zig": "Zig",
}

_MANIFESTS = {
    "pyproject.toml": "python -m pytest",
    "setup.py": "python -m pytest",
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "package.json": "npm test",
    "pom.xml": "mvn test",
    "build.gradle": "./gradlew test",
    "build.gradle.kts": "./gradlew test",
    "mix.exs": "mix test",
    "Makefile": "make test",
}
"""Files that say how a project is built, the more telling first, and the command that runs its tests."""


class Survey(msgspec.Struct, frozen=True):
    """`languages`: name → files, the most frequent first; `folders`: those at the top → files in them;
    `manifests`: as in _MANIFESTS; `test_command`: "" where none is obvious."""

    languages: dict[str, int]
    folders: dict[str, int]
    manifests: tuple[str, ...]
    test_command: str


def survey(folder: Path) -> Survey:
    """A quick look at `folder`. Raises OSError where it cannot be opened."""
    entries = list(islice(walk(folder, exclude=ProjectSettings().exclude_patterns), _MOST_ENTRIES))
    top = {entry.path for entry in entries if "/" not in entry.path and not entry.is_link}
    manifests = tuple(name for name in _MANIFESTS if name in top)
    languages = Counter(name for entry in entries if (name := _language(entry)))
    return Survey(
        languages=dict(languages.most_common(_MOST_LANGUAGES)),
        folders=_folders(entries),
        manifests=manifests,
        test_command=next((_MANIFESTS[name] for name in manifests if _has_tests(folder, name, top)), ""),
    )


def _language(entry: Entry) -> str:
    if entry.is_dir or entry.is_link:
        return ""
    known = _LANGUAGES.get(language_of(entry.path) or "")
    return known or _MORE_LANGUAGES.get(PurePosixPath(entry.path).suffix.lower(), "")


def _folders(entries: list[Entry]) -> dict[str, int]:
    """The folders at the top with their files, hidden ones left out."""
    counts = {entry.path: 0 for entry in entries if entry.is_dir and "/" not in entry.path}
    for entry in entries:
        top, inside, _ = entry.path.partition("/")
        if inside and not entry.is_dir:
            counts[top] += 1
    shown = ((name, count) for name, count in counts.items() if count and not name.startswith("."))
    return dict(islice(shown, _MOST_FOLDERS))


def _has_tests(folder: Path, manifest: str, top: set[str]) -> bool:
    """Whether the command of the manifest would find tests, as far as that can be told without running it."""
    with (folder / manifest).open("rb") as file:
        text = file.read(_LONGEST_MANIFEST).decode("utf-8", "replace")
    match manifest:
        case "pyproject.toml" | "setup.py":
            return bool({"tests", "test"} & top) or "[tool.pytest" in text
        case "package.json":
            return _npm_has_tests(text)
        case "Makefile":
            return re.search(r"^test\s*:", text, re.MULTILINE) is not None
        case _:
            return True


def _npm_has_tests(text: str) -> bool:
    """Whether package.json has a script for tests, and not the one npm init puts there."""
    try:
        manifest: Json = json.loads(text)
    except ValueError:
        return False
    scripts = cast("dict[str, Json]", manifest).get("scripts") if isinstance(manifest, dict) else None
    command = cast("dict[str, Json]", scripts).get("test", "") if isinstance(scripts, dict) else ""
    return bool(command) and "no test specified" not in str(command)


def project_notes(folder: Path) -> str:
    """The text of LOCALLLM.md for `folder`, in the current language. Raises OSError."""
    found = survey(folder)
    sections = {
        "notes.dna": _dna(found),
        "notes.folders": _folder_lines(found),
        "notes.style": (tr("notes.style_hint"),),
        "notes.todo": (tr("notes.todo_hint"),),
    }
    parts = [f"## {tr(heading)}\n\n" + "".join(f"{line}\n" for line in lines) for heading, lines in sections.items()]
    return f"# {tr('notes.title')}\n\n" + "\n".join(parts)


def _dna(found: Survey) -> Iterator[str]:
    if found.languages:
        languages = ", ".join(f"{name} ({count})" for name, count in found.languages.items())
        yield tr("notes.languages", languages=languages)
    if found.manifests:
        yield tr("notes.manifest", names=", ".join(found.manifests))
    if found.test_command:
        yield tr("notes.tests", command=found.test_command)
    yield tr("notes.dna_hint")


def _folder_lines(found: Survey) -> Iterator[str]:
    for name, count in found.folders.items():
        yield tr("notes.folder", name=_name(name), count=count)
    if not found.folders:
        yield tr("notes.folders_hint")


def _name(name: str) -> str:
    """A folder's name as Markdown can hold it on one line."""
    return clean(name, keep_newlines=False).replace("`", "'")
