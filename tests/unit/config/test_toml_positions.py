"""Positions in a TOML text agree with what tomllib reads there."""

import tomllib
from functools import reduce
from typing import Any

import pytest
from hypothesis import given

from localllm.config.reader import Entry, scan
from localllm.config.reader import value_lines as lines
from tests.support.settings_files import SettingsFile, settings_files


def at(data: dict[str, Any], path: tuple[str, ...]) -> Any:
    return reduce(lambda table, name: table[name], path, data)


def leaves(data: dict[str, Any]) -> set[tuple[str, ...]]:
    return {
        (name, *below)
        for name, value in data.items()
        for below in (leaves(value) if isinstance(value, dict) and value else {()})
    }


def check(text: str) -> None:
    """Every value stands where it is said to stand, and none is missing."""
    data = tomllib.loads(text.removeprefix("\ufeff"))
    values = [entry for entry in scan(text) if entry.kind == "value"]
    for entry in values:
        assert tomllib.loads(f"x = {text[entry.value_start : entry.end]}")["x"] == at(data, entry.path)
    empty = {path for path in leaves(data) if at(data, path) == {}}
    assert {entry.path for entry in values} == leaves(data) - empty


@given(settings_files())
def test_settings_files(file: SettingsFile) -> None:
    check(file.data.decode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1979-05-27 07:32:00 # when\nb = 07:32:00.5\nc = -inf\nd = 1_000\n",
        'a = """"""\nb = \'\'\'\'\'\'\nc = """x\\""""\nd = """""\\\\"""\ne = "\\\\"\nf = 1',
        "a = [[1, [2]], [{x = [1, {y = '}'}], \"k,]\" . z = 2}]] # ]\nb = {}\nc = {d = {e.f = [1]}, g = 'x'}\n",
        "[a]\n[a.b]\nx = 1\n[ a . \"c d\" ]\n'y.z' = 2\n[e]",
        'a.b.c = 1\na.d = 2\n"\\u0061".e = 3\n',
        "[x]\r\na = [\r\n# c\r\n1,\r\n]\r\n",
    ],
)
def test_other_toml(text: str) -> None:
    check(text)


def test_headers_and_inline_tables() -> None:
    text = "[a] # x\nb = {c = 1}\n"
    assert scan(text) == [
        Entry("header", ("a",), ("a",), 0, 3, 3, 0),
        Entry("inline table", ("a", "b"), ("a",), 8, 12, 19, 0),
        Entry("value", ("a", "b", "c"), ("a", "b"), 13, 17, 18, 1),
    ]


def test_lines_of_keys_and_of_the_tables_they_make() -> None:
    text = "# 1\r\nllm.lmstudio.timeout = 3\r\n\r\n[safety]\r\n'deny' = [\r\n]\r\n\"allow\" = []\r\n"
    assert lines(text) == {
        ("llm",): 2,
        ("llm", "lmstudio"): 2,
        ("llm", "lmstudio", "timeout"): 2,
        ("safety",): 4,
        ("safety", "deny"): 5,
        ("safety", "allow"): 7,
    }


@pytest.mark.parametrize("text", ["= 1", "a = ", "a = [1", "a = [1 1, =", 'a = "', "a = {b", "[a", "\\"])
def test_what_is_no_toml_ends_in_an_error_and_not_in_a_circle(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        scan(text)
