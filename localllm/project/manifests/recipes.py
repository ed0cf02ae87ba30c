"""Recipes of make, just and task, and test commands of CI workflows."""

import re
from collections.abc import Iterator

from localllm.project.manifests.signs import Command, CommandKind, Signs

_KINDS: tuple[tuple[CommandKind, tuple[str, ...]], ...] = (
    ("test", ("test", "tests", "check", "unittest", "unit-test", "test-unit")),
    ("build", ("build", "compile", "all")),
    ("run", ("run", "serve", "start", "dev")),
    ("lint", ("lint", "typecheck")),
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TASKFILES = ("Taskfile.yml", "Taskfile.yaml")
_MAKE_TARGET = re.compile(r"^([A-Za-z0-9][\w. -]{0,200}?)[ \t]{0,9}::?(?![=:])", re.MULTILINE)
_JUST_RECIPE = re.compile(r"^@?([a-z][\w-]*)(?:[ \t][^:=\n]*+)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  ([\w:-]+):", re.MULTILINE)
_TESTING = re.compile(
    r"(?:^|[\s/])(?:pytest|tox|nox|unittest|ctest|rspec|phpunit|(?:go|cargo|mix|dotnet|swift|rake|rails) test"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? test[\w:-]*|make (?:test|check)"
    r"|mvnw? .*(?:test|verify)|gradlew? .*(?:test|check))\b"
)
_LONGEST = 120
_STEP = re.compile(r"(\s*(?:- )?)run:\s*+(.*)")


def recipes(signs: Signs) -> Iterator[Command]:
    """Yield the targets of `make`, `just` and `task` with usual names."""
    for names, program, pattern in (
        (_MAKEFILES, "make", _MAKE_TARGET),
        (_JUSTFILES, "just", _JUST_RECIPE),
        (_TASKFILES, "task", _TASK),
    ):
        name = next((name for name in names if name in signs.texts), "")
        if not name:
            continue
        there = {target for found in pattern.findall(signs.texts[name]) for target in found.split()}
        for kind, known in _KINDS:
            if target := next((target for target in known if target in there), ""):
                yield Command(kind, f"{program} {target}" if target != "all" else program, name, program)


def in_workflow(path: str, text: str) -> Iterator[Command]:
    """Yield the lines of a workflow that run tests: used only if nothing else does."""
    block = -1  # indentation of the step's `run:`, while in its script
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if block >= 0 and line.strip() and indent <= block:
            block = -1
        script = line
        if step := _STEP.fullmatch(line):
            script = step[2].strip("\"'")
            block = len(step[1]) if script[:1] in ("|", ">") else -1
        elif block < 0:
            continue
        if _TESTING.search(script) and "${{" not in script and len(script) <= _LONGEST:
            yield Command("test", script.strip(), path, "workflow")
