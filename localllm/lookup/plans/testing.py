"""Running the project's tests: which command does it, and how it went."""

import re
from collections.abc import Generator

import msgspec

from localllm.lookup.calls import Call, Plan, Result, call, names, read, search
from localllm.lookup.conversation import Talk
from localllm.lookup.orders import Order
from localllm.lookup.plans.actions import run_command
from localllm.lookup.results import read_hits, read_lines, read_listing
from localllm.lookup.wording import say
from localllm.project.manifests.commands import ECOSYSTEMS, best, commands, narrowed
from localllm.project.manifests.signs import Signs, is_manifest, tame

_NOTES = "LOCALLLM.md"
_NOTED = re.compile(r"^[-*] (?:Tests?|テスト): ?`([^`]+)`")
_OF_PYTEST = r"^[ \t]*(?:import pytest|from pytest|@pytest)"
_OF_UNITTEST = r"^[ \t]*(?:import unittest|from unittest|from django\.test)"
_FILES = (
    "{/*.toml,/*.json,/*.lock,/*.ini,/*.cfg,/*.py,/*.txt,/*.in,/*.yml,/*.yaml,/*.xml,/*.xml.dist,/*.gradle,/*.kts,/*.mod"
    ",/*.work,/*.sbt,/*.exs,/*.sln,/*.*proj,/*.cabal,/*.swift,/*.zig,/*.build,/*.ac,/*.gemspec,/*.PL,/*.clj,/Gemfile"
    ",/Rakefile,/Pipfile,/[Mm]akefile,/GNUmakefile,/justfile,/Justfile,/gradlew,/mvnw,/artisan,/dune-project,/cpanfile"
    ",/DESCRIPTION,/bin/rails,/.rspec,/.pytest.ini,/WORKSPACE,/configure}"
)
_MOST_READ = 12
_SOURCES = {
    "python": "*.py",
    "javascript": "*.{js,jsx,mjs,cjs,ts,tsx,vue,svelte}",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.{java,kt,groovy}",
    "scala": "*.scala",
    "csharp": "*.{cs,fs,vb}",
    "ruby": "*.rb",
    "php": "*.php",
    "elixir": "*.{ex,exs}",
    "dart": "*.dart",
    "swift": "*.swift",
    "zig": "*.zig",
    "c": "*.{c,cc,cpp,cxx,h,hpp}",
}
"""The files of the ecosystems there may be several of."""

Choosing = Generator[tuple[Call, ...], list[Result], str]


def run_tests(talk: Talk, order: Order) -> Plan:
    """Run the tests with the command that was named, the one the project's notes name, or the one its files tell."""
    command = order.text or (yield from _command(order.path))
    if not command:
        return say(talk.japanese, "no_test_command")
    return (yield from run_command(talk, command))


def _command(path: str) -> Choosing:
    noted, pythons = yield search(_NOTED.pattern, path=_NOTES, most=1), names(".venv/bin", pattern="python")
    own = ".venv/bin/python" if any(name.endswith("bin/python") for name in _files(pythons)) else ""
    hits = read_hits(noted.text).hits if not noted.error else ()
    if hits and (line := _NOTED.match(hits[0].text)):
        return narrowed(re.sub(r"^python3?(?= )", own or "python3", line[1].strip()), path)
    signs = yield from _signs(own)
    if path.endswith(".py"):
        signs = msgspec.structs.replace(signs, unittests=signs.unittests or (path,))
    possible = dict.fromkeys(one.by for one in commands(signs) if one.kind == "test" and one.by in _SOURCES)
    if len(possible) > 1:
        languages = yield from _languages(list(possible), path)
        signs = msgspec.structs.replace(signs, languages=languages)
    found = best(commands(signs), "test")
    return narrowed(found.line, path) if found else ""


def _languages(possible: list[str], path: str) -> Generator[tuple[Call, ...], list[Result], tuple[str, ...]]:
    """A language of each of the ecosystems, that of the file that is to be tested first, then by their files."""
    listed = yield tuple(names(pattern=_SOURCES[one]) for one in possible)
    counts = {
        one: 0 if result.error else read_listing(result.text).total
        for one, result in zip(possible, listed, strict=True)
    }
    suffix = path.rpartition(".")[2]
    possible.sort(key=lambda one: (suffix not in re.findall(r"\w+", _SOURCES[one]), -counts[one]))
    return tuple(min(ECOSYSTEMS[one]) for one in possible)


def _signs(own_python: str) -> Generator[tuple[Call, ...], list[Result], Signs]:
    """What the files at the top, and what tests import, tell; the same as the analysis of a project goes by."""
    top, listed, pytest, unittest, packages = yield (
        call("list_files", recursive=False),
        names(pattern=_FILES),
        search(_OF_PYTEST, include="*.py", most=20),
        search(_OF_UNITTEST, include="*.py", most=20),
        names(pattern="__init__.py"),
    )
    at_top = {line for line in top.text.split("\n") if line and not top.error and "/" not in line[:-1]}
    files = frozenset(at_top | set(_files(listed)))
    by_weight = sorted(files, key=lambda name: (name.startswith("requirements"), name))
    wanted = [name for name in by_weight if is_manifest(name)][:_MOST_READ]
    results: list[Result] = (yield tuple(map(read, wanted))) if wanted else []
    texts = {name: _text(name, result) for name, result in zip(wanted, results, strict=True) if not result.error}
    return Signs(
        names=files,
        texts=texts,
        pytest=bool(read_hits(pytest.text).hits),
        unittests=tuple(hit.path for hit in read_hits(unittest.text).hits),
        packages=frozenset(name.rsplit("/", 1)[0] for name in _files(packages) if "/" in name),
        own_python=own_python,
        python="python3",
    )


def _files(listed: Result) -> tuple[str, ...]:
    return () if listed.error else read_listing(listed.text).files


def _text(name: str, result: Result) -> str:
    return tame(name, "\n".join(read_lines(name, result.text).values()))
