"""Running the project's tests: which command does it, and how it went."""

import re
from collections.abc import Generator

from localllm.llm.embedded.calls import Call, Plan, Result, names, read, search
from localllm.llm.embedded.conversation import Talk
from localllm.llm.embedded.orders import Order
from localllm.llm.embedded.plans.actions import run_command
from localllm.llm.embedded.results import read_hits, read_listing
from localllm.llm.embedded.wording import say

_OF_PYTEST = (
    r"^[ \t]*(?:import pytest|from pytest|@pytest)|\[tool\.pytest|^\[(?:tool:)?pytest\]|[\x22' ]pytest[\x22' >=<~]"
)
_OF_UNITTEST = r"^[ \t]*(?:import unittest|from unittest|from django\.test)"
_FILES = (
    "{/package.json,/Cargo.toml,/go.mod,/Makefile,/pyproject.toml,/setup.cfg,/tox.ini,/pytest.ini,/setup.py,/conftest.py"
    ",/manage.py,/Gemfile,/pom.xml,/build.gradle,/build.gradle.kts,/mix.exs,/composer.json}"
)
_NO_TEST = "no test specified"

Choosing = Generator[tuple[Call, ...], list[Result], str]


def run_tests(talk: Talk, order: Order) -> Plan:
    """Run the tests with the command that was named, or the one the project's files tell."""
    command = order.text or (yield from _command(order.path))
    if not command:
        return say(talk.japanese, "no_test_command")
    return (yield from run_command(talk, command))


def _command(path: str) -> Choosing:
    listed, pytest, unittest = yield (
        names(pattern=_FILES),
        search(_OF_PYTEST, include="*.{py,toml,cfg,ini,txt}", most=20),
        search(_OF_UNITTEST, include="*.py", most=20),
    )
    files = set(read_listing(listed.text).files)
    python_tests = [hit.path for hit in read_hits(unittest.text).hits]
    uses_pytest = bool(read_hits(pytest.text).hits) or bool(files & {"pytest.ini", "conftest.py"})
    if path.endswith(".py") or uses_pytest or (python_tests and not files & {"package.json", "Cargo.toml", "go.mod"}):
        return (yield from _python(path, uses_pytest=uses_pytest, tests=python_tests, files=files))
    if "package.json" in files:
        (manifest,) = yield (read("package.json"),)
        if re.search(r"\"test\"\s*:\s*\"", manifest.text) and _NO_TEST not in manifest.text:
            return "npm test"
    return (yield from _by_manifest(files))


def _by_manifest(files: set[str]) -> Choosing:
    for name, command in (
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("mix.exs", "mix test"),
        ("pom.xml", "mvn test"),
        ("build.gradle", "gradle test"),
        ("build.gradle.kts", "gradle test"),
        ("Gemfile", "bundle exec rake test"),
    ):
        if name in files:
            return command
    if "Makefile" in files:
        (found,) = yield (search(r"^(?:test|tests|check)[ ]*:", path="Makefile"),)
        hits = read_hits(found.text).hits
        return f"make {hits[0].text.split(':')[0].strip()}" if hits else ""
    return ""


def _python(path: str, *, uses_pytest: bool, tests: list[str], files: set[str]) -> Choosing:
    (found,) = yield (names(".venv/bin", pattern="python"),)
    own = read_listing(found.text).files if not found.error else ()
    python = ".venv/bin/python" if any(name.endswith("bin/python") for name in own) else "python3"
    if uses_pytest:
        return f"{python} -m pytest {_quoted(path)}".strip()
    if "manage.py" in files and not path:
        return f"{python} manage.py test"
    if path:
        return f"{python} -m unittest {_quoted(path)}"
    below = {name.rsplit("/", 1)[0] if "/" in name else "." for name in tests}
    (packages,) = yield (names(pattern="__init__.py"),)
    marked = {name.rsplit("/", 1)[0] for name in read_listing(packages.text).files if "/" in name}
    loose = sorted(folder for folder in below if folder != "." and folder not in marked)
    start = f" -s {_quoted(loose[0])}" if len(below) == 1 and loose else ""
    return f"{python} -m unittest discover{start}"


def _quoted(path: str) -> str:
    return path if re.fullmatch(r"[\w./-]*", path) else "'" + path.replace("'", "'\\''") + "'"
