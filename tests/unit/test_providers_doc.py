"""docs/providers.md tells nothing that no test shows."""

import ast
import json
import re
from functools import cache
from pathlib import Path

from tests.support.each import each

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "providers.md").read_text("utf-8")
WIRES = ROOT / "tests" / "fixtures" / "wire"

CELL = re.compile(r"—|(real|abridged|documented) (\d+)")
SOURCES = {"abridged": {"abr"}, "documented": {"doc", "src"}}
"""Where the wires of each kind come from, as their files say."""


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose first heading is `first`."""
    _, _, rest = TEXT.partition(f"| {first} |")
    table = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


CLAIMS = [(row[0], cell) for row in rows("provider") for cell in row[1:]]
EVIDENCE = {number: (kind, test.strip("`"), wire.strip("`")) for number, kind, test, wire in rows("test")}


def test_every_provider_is_there() -> None:
    names = [row[0].partition(":")[0] for row in rows("provider")]
    assert list(dict.fromkeys(names)) == [
        "lmstudio",
        "ollama",
        "openai",
        "azure",
        "gemini",
        "gguf",
        "embedded",
        "scripted",
    ]
    assert len({len(row) for row in rows("provider")}) == 1


@each(("provider", "claim"), CLAIMS)
def test_a_claim_is_as_strong_as_its_test(provider: str, claim: str) -> None:
    found = CELL.fullmatch(claim)
    assert found, f"{provider}: {claim}"
    if found[2]:
        assert EVIDENCE[found[2]][0] == found[1]


@cache
def names_in(file: str) -> set[str]:
    """The functions a file of tests defines."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@each("number", EVIDENCE)
def test_the_test_exists_and_is_what_it_is_called(number: str) -> None:
    kind, test, wire = EVIDENCE[number]
    file, _, name = test.partition("::")
    assert name in names_in(file)
    assert any(claim.endswith(f" {number}") for _, claim in CLAIMS), "nothing rests on it"
    if wire:
        assert wire.rpartition("/")[2] in (ROOT / file).read_text("utf-8")
        assert json.loads((WIRES / f"{wire}.json").read_text("utf-8"))["prov"] in SOURCES[kind]
    if kind == "abridged":
        assert wire
