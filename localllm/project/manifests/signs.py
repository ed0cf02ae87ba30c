"""The evidence in a folder of how it is built and tested, and its parsed manifests."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, cast

import msgspec

from localllm.base.events import Json

CommandKind = Literal["build", "test", "run", "lint"]

LARGEST_MANIFEST = 1_000_000
"""Bytes; larger files are not read."""

_LARGEST_OF_LINES, _LONGEST_LINE, _LONGEST_OF_TOML = 300_000, 400, 4_000
_STRICT = (".json", ".toml", "Pipfile")


class Command(msgspec.Struct, frozen=True):
    """A command line to run in the folder, and the file it was derived from. `by`: its ecosystem."""

    kind: CommandKind
    line: str
    source: str
    by: str


class Signs(msgspec.Struct, frozen=True):
    """The evidence commands are derived from.

    `names`: the entries of the folder; a folder's name ends with `/`. `texts`: the content of those that `is_manifest`.
    `pytest`: whether a test imports it. `unittests`: the files that import unittest; `packages`: the folders with an
    `__init__.py`. `own_python`: the interpreter of the folder's own environment; `python`: the name of another one.
    `above`: entries at the top of the project this is a part of. `languages`: by share, largest first. `programs`: the
    Go folders below cmd/.
    """

    names: frozenset[str]
    texts: Mapping[str, str]
    pytest: bool = False
    unittests: tuple[str, ...] = ()
    packages: frozenset[str] = frozenset()
    own_python: str = ""
    python: str = "python"
    above: frozenset[str] = frozenset()
    languages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    def has(self, *names: str) -> str:
        """Return the first of `names` that exists, else ""."""
        return next((name for name in names if name in self.names), "")

    def says(self, name: str, pattern: str) -> bool:
        """Whether `pattern` occurs in a file; ^ matches at the beginning of a line."""
        return re.search(pattern, self.texts.get(name, ""), re.MULTILINE) is not None

    def json(self, name: str) -> Json:
        """Parse a JSON file; None if it is invalid."""
        return parse_json(self.texts.get(name, ""))

    def toml(self, name: str) -> Json:
        """Parse a TOML file; None if it is invalid."""
        return parse_toml(self.texts.get(name, ""))


Rules = Callable[[Signs], Iterator[Command]]

MANIFESTS = re.compile(
    r"pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|noxfile\.py|\.?pytest\.ini|Pipfile|requirements[\w.-]*\.(?:txt|in)"
    r"|conftest\.py|manage\.py|environment\.ya?ml"
    r"|package\.json|deno\.jsonc?|pnpm-workspace\.yaml|Cargo\.toml|go\.(?:mod|work)|pom\.xml"
    r"|(?:build|settings)\.gradle(?:\.kts)?|build\.sbt|Gemfile|[\w.-]+\.gemspec|Rakefile|composer\.json|mix\.exs"
    r"|pubspec\.yaml|Package\.swift|CMakeLists\.txt|meson\.build|configure\.ac|(?:GNUm|m|M)akefile|\.?[jJ]ustfile"
    r"|Taskfile\.ya?ml|[\w.-]+\.(?:cs|fs|vb)proj|build\.zig|Project\.toml|DESCRIPTION|cpanfile|[\w.-]+\.cabal"
)


def is_manifest(name: str) -> bool:
    """Whether a file of this name defines how its folder is built, tested or run."""
    return MANIFESTS.fullmatch(name) is not None


def tame(name: str, text: str) -> str:
    """Strip very long lines and runs of empty ones, on which line-by-line parsing may take forever, from a manifest."""
    if name.endswith(_STRICT):
        return text
    lines = text[:_LARGEST_OF_LINES].replace("\r\n", "\n").split("\n")
    kept = (line.rstrip() for line in lines if len(line) <= _LONGEST_LINE)
    return re.sub("\n{3,}", "\n\n", "\n".join(kept))


def is_broken(name: str, text: str) -> bool:
    """Whether a file is invalid JSON or TOML despite its name."""
    if name.endswith(".json"):
        return parse_json(text) is None
    return name.endswith(_STRICT) and bool(text.strip()) and parse_toml(text) is None


def parse_json(text: str) -> Json:
    """Parse JSON; None if it is invalid."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def parse_toml(text: str) -> Json:
    """Parse TOML; None if it is invalid, or so large that it would take long."""
    import tomllib

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > _LARGEST_OF_LINES or max(map(len, text.split("\n"))) > _LONGEST_OF_TOML:
        return None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def at(data: Json, *keys: str) -> Json:
    """Return the value in nested tables under these keys; None if it is missing."""
    for key in keys:
        if not isinstance(data, dict):
            return None
        data = cast("dict[str, Json]", data).get(key)
    return data


def table(data: Json, *keys: str) -> dict[str, Json]:
    """Return a nested table; empty if there is none."""
    found = at(data, *keys)
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}


def tables(data: Json, *keys: str) -> list[dict[str, Json]]:
    """Return the tables of a nested list; empty if there is no list."""
    found = at(data, *keys)
    listed = cast("list[Json]", found) if isinstance(found, list) else []
    return [cast("dict[str, Json]", item) for item in listed if isinstance(item, dict)]


def texts_in(data: Json, *keys: str) -> tuple[str, ...]:
    """Return the strings of a nested list; empty if there is no list."""
    found = at(data, *keys)
    return tuple(item for item in cast("list[Json]", found) if isinstance(item, str)) if isinstance(found, list) else ()


def quoted(path: str) -> str:
    """Quote a path for a shell."""
    return path if re.fullmatch(r"[\w./@-]+", path) else "'" + path.replace("'", "'\\''") + "'"
