"""A definition that an edit leaves twice is named: the later one overrides the earlier."""

import pytest

from localllm.code.double_definitions import new_doubles
from tests.support.each import each

F = "def f(a, b):\n    return a + b\n"
NEW = "import operator\n\n\ndef f(a, b):\n    return operator.add(a, b)\n\n\n"


@each(
    ("path", "before", "after", "named"),
    [
        ("a.py", F, NEW + F, ["[f is defined twice now (lines 4, 8): the last one counts.]"]),
        (
            "a.py",
            "class A:\n    def f(self): ...\n",
            "class A:\n    def f(self): ...\n    def f(self): ...\n",
            ["[A.f is defined twice now (lines 2, 3): the last one counts.]"],
        ),
        ("a.py", F, NEW, []),
        ("a.py", F + F, F + F + F, []),
        ("a.py", F, F + "def g(): ...\n", []),
        ("a.py", F, "@overload\n" + F + "@overload\n" + F + F, []),
        ("a.py", F, "if x:\n    def f(): ...\nelse:\n    def f(): ...\n", []),
        ("a.py", F, F + F + "(", []),
        ("a.js", F, F + F, []),
    ],
)
def test_a_second_definition_is_named(path: str, before: str, after: str, named: list[str]) -> None:
    assert new_doubles(path, before, after) == named


def test_an_edit_that_repeats_no_name_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.code.double_definitions.ast", None)
    assert new_doubles("a.py", F + F, (F + F).replace("a + b", "b + a")) == []
    assert new_doubles("a.py", F, F + "def g(): ...\n") == []
