"""What a folder shows of how it is built and tested, and how its manifests are read."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, cast

import msgspec

from localllm.base.events import Json

CommandKind = Literal["build", "test", "run", "lint"]

LARGEST_MANIFEST = 1_000_000
"""Bytes; what is larger is not read."""

_LARGEST_OF_LINES, _LONGEST_LINE, _LONGEST_OF_TOML = 300_000, 400, 4_000
_STRICT = (".json", ".toml", "Pipfile")


class Command(msgspec.Struct, frozen=True):
    """A command line to be run in the folder, and the file that tells of it. `by`: the ecosystem it belongs to."""

    kind: CommandKind
    line: str
    source: str
    by: str


class Signs(msgspec.Struct, frozen=True):
    """What commands are told from.

    `names`: what is at the top of the folder, a folder's name ends with `/`. `texts`: what those of them hold that
    `is_manifest`. `pytest`: whether a test imports it. `unittests`: the files that import unittest; `packages`: the
    folders with an `__init__.py`. `own_python`: the interpreter of the folder's own environment;
    `python`: what another is called. `above`: names at the
    top of the project this is a part of. `languages`: by how much there is of them, the most first. `programs`: the Go
    folders below cmd/.
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
        """The first of `names` that is there, else ""."""
        return next((name for name in names if name in self.names), "")

    def says(self, name: str, pattern: str) -> bool:
        """Whether `pattern` occurs in a file, at a line's beginning where it starts with ^."""
        return re.search(pattern, self.texts.get(name, ""), re.MULTILINE) is not None

    def json(self, name: str) -> Json:
        """What a JSON file holds; None where it cannot be read as such."""
        return parse_json(self.texts.get(name, ""))

    def toml(self, name: str) -> Json:
        """What a TOML file holds; None where it cannot be read as such."""
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
    """Whether a file of this name says how its folder is built, tested or run."""
    return MANIFESTS.fullmatch(name) is not None


def tame(name: str, text: str) -> str:
    """A manifest without what no honest one has, and what reading it line by line may take for ever with: very long
    lines and runs of empty ones."""
    if name.endswith(_STRICT):
        return text
    lines = text[:_LARGEST_OF_LINES].replace("\r\n", "\n").split("\n")
    kept = (line.rstrip() for line in lines if len(line) <= _LONGEST_LINE)
    return re.sub("\n{3,}", "\n\n", "\n".join(kept))


def is_broken(name: str, text: str) -> bool:
    """Whether a file is no JSON or TOML though its name says so."""
    if name.endswith(".json"):
        return parse_json(text) is None
    return name.endswith(_STRICT) and bool(text.strip()) and parse_toml(text) is None


def parse_json(text: str) -> Json:
    """None where it is no JSON."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def parse_toml(text: str) -> Json:
    """None where it is no TOML, or so large that it would take long."""
    import tomllib

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > _LARGEST_OF_LINES or max(map(len, text.split("\n"))) > _LONGEST_OF_TOML:
        return None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def at(data: Json, *keys: str) -> Json:
    """What is in nested tables under these keys; None where it is not there."""
    for key in keys:
        if not isinstance(data, dict):
            return None
        data = cast("dict[str, Json]", data).get(key)
    return data


def table(data: Json, *keys: str) -> dict[str, Json]:
    """A nested table; an empty one where there is none."""
    found = at(data, *keys)
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}


def tables(data: Json, *keys: str) -> list[dict[str, Json]]:
    """The tables of a nested list; none where there is no list."""
    found = at(data, *keys)
    listed = cast("list[Json]", found) if isinstance(found, list) else []
    return [cast("dict[str, Json]", item) for item in listed if isinstance(item, dict)]


def texts_in(data: Json, *keys: str) -> tuple[str, ...]:
    """The texts of a nested list; none where there is no list."""
    found = at(data, *keys)
    return tuple(item for item in cast("list[Json]", found) if isinstance(item, str)) if isinstance(found, list) else ()


def quoted(path: str) -> str:
    """A path as a shell takes it."""
    return path if re.fullmatch(r"[\w./@-]+", path) else "'" + path.replace("'", "'\\''") + "'"
