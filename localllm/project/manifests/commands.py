"""Derive the commands that build, test, run and check a project; the single set of rules."""

import re
from collections.abc import Iterator, Mapping

from localllm.project.manifests import compiled, javascript, managed, python, recipes
from localllm.project.manifests.signs import Command, CommandKind, Rules, Signs, quoted

ECOSYSTEMS: Mapping[str, frozenset[str]] = {
    "python": frozenset({"Python", "Jupyter Notebook", "Cython"}),
    "javascript": frozenset({"JavaScript", "TypeScript", "Vue", "Svelte", "Astro"}),
    "rust": frozenset({"Rust"}),
    "go": frozenset({"Go"}),
    "java": frozenset({"Java", "Kotlin", "Groovy"}),
    "scala": frozenset({"Scala"}),
    "csharp": frozenset({"C#", "F#", "Visual Basic"}),
    "ruby": frozenset({"Ruby"}),
    "php": frozenset({"PHP", "Blade"}),
    "elixir": frozenset({"Elixir"}),
    "dart": frozenset({"Dart"}),
    "swift": frozenset({"Swift"}),
    "zig": frozenset({"Zig"}),
    "c": frozenset({"C", "C++", "Objective-C", "CUDA", "Fortran"}),
    "haskell": frozenset({"Haskell"}),
    "ocaml": frozenset({"OCaml"}),
    "clojure": frozenset({"Clojure"}),
    "julia": frozenset({"Julia"}),
    "r": frozenset({"R"}),
    "perl": frozenset({"Perl"}),
}
"""The languages of each `Command.by`; those of make, just, task and workflows have none."""

_RULES: tuple[Rules, ...] = (
    python.commands,
    javascript.commands,
    compiled.rust,
    compiled.go,
    managed.jvm,
    managed.dotnet,
    managed.ruby,
    managed.php,
    managed.elixir,
    managed.dart,
    compiled.swift,
    compiled.zig,
    compiled.functional,
    managed.scientific,
    compiled.c,
)


def commands(signs: Signs) -> tuple[Command, ...]:
    """Return all commands of the folder, the best of each kind first: by the share of their language
    (`signs.languages`), then those of make and similar tools.

    Without known languages, the order is that of the rules.
    """
    found = [command for rules in _RULES for command in rules(signs)]
    found.sort(key=lambda command: _place(command, signs))
    every = dict.fromkeys([*found, *recipes.recipes(signs)])
    return tuple({(command.kind, command.line): command for command in reversed(every)}.values())[::-1]


def best(found: tuple[Command, ...], kind: CommandKind) -> Command | None:
    """Return the first command of a kind, None if there is none."""
    return next((command for command in found if command.kind == kind), None)


def narrowed(line: str, path: str) -> str:
    """Return the command that runs the tests of one file, if it can be derived; otherwise all tests."""
    if not path:
        return line
    if line.endswith(("pytest", "rspec", "phpunit", "pest", "rails test", "artisan test", "mix test")):
        return f"{line} {quoted(path)}"
    if found := re.match(r"(.*-m unittest)\b", line):
        return f"{found[1]} {quoted(path)}"
    if line == "go test ./...":
        return f"go test ./{quoted(path.rpartition('/')[0])}".rstrip("/")
    if line == "npm test":
        return f"npm test -- {quoted(path)}"
    return line


def _place(command: Command, signs: Signs) -> int:
    """Return the rank of the ecosystem's first language in the project; equal if nothing is known."""
    languages = ECOSYSTEMS.get(command.by, frozenset())
    places = (place for place, language in enumerate(signs.languages) if language in languages)
    return next(places, len(signs.languages))


def entry_points(signs: Signs) -> Iterator[str]:
    """Yield the programs the manifests name."""
    yield from python.entry_points(signs)
    yield from javascript.entry_points(signs)
    yield from compiled.rust_programs(signs)
