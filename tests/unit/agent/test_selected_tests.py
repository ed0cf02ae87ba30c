"""Which tests a command leaves out, as its words tell it."""

from pathlib import Path

from localllm.agent.selected_tests import failed_tests, files_with_tests, is_test, leaves_out, named_tests, weakens
from tests.support.each import each


@each(
    ("command", "is_left_out"),
    [
        ("pytest", False),
        ("pytest -q tests -k greet", True),
        ("pytest -q tests -k add", False),
        ("pytest -k 'greet or add'", False),
        ("pytest -k 'not add'", True),
        ("pytest -k 'not greet'", False),
        ("pytest -k='test_app and greet'", True),
        ("pytest tests/test_app.py", False),
        ("pytest tests/test_app.py::test_greet", True),
        ("pytest tests/test_app.py::test_add", False),
        ("pytest 'tests/test_app.py::test_add[1-2]'", False),
        ("pytest tests/test_app.py::TestApp", False),
        ("pytest tests/test_app.py::test_greet tests/test_other.py", False),
        ("pytest --deselect tests/test_app.py::test_add", True),
        ("pytest --deselect=tests/test_app.py::test_greet", False),
        ("python -m pytest -k greet && python -m pytest", False),
        ("cd app && python -m unittest -k greet", True),
        ("make test", False),
        ("npm test -- -k greet", False),
        ("pytest -k 'gr", False),
    ],
)
def test_whether_a_test_is_left_out(command: str, is_left_out: bool) -> None:
    assert leaves_out(command, "test_add") == is_left_out


def test_the_name_of_a_file_selects_its_tests(tmp_path: Path) -> None:
    (tmp_path / "test_greeting.py").touch()
    (tmp_path / "greet.py").touch()
    assert files_with_tests(tmp_path) == ["test_greeting"]
    assert not leaves_out("pytest -k greet", "test_add", ["test_greeting"])
    assert leaves_out("pytest -k greet", "test_add", ["test_app"])


@each(
    ("output", "tests"),
    [
        ("FAILED tests/test_a.py::test_add - assert 1 == 3", ["test_add"]),
        ("FAILED tests/test_a.py::TestA::test_add[1-2] - x", ["test_add"]),
        ("FAIL: test_add (test_a.T.test_add)\nERROR: test_b (x)", ["test_add", "test_b"]),
        ("____ TestA.test_add ____\nE  x", ["test_add"]),
        ("2 passed", []),
    ],
)
def test_which_tests_an_output_says_have_failed(output: str, tests: list[str]) -> None:
    assert [*failed_tests(output)] == tests


@each(
    ("request", "tests"),
    [
        ("The test test_add fails. Fix it.", ["test_add"]),
        ("tests/test_app.py::test_add が失敗します", ["test_add"]),
        ("Fix tests/test_app.py and test_app.py.", []),
        ("Fix the failing test.", []),
    ],
)
def test_which_tests_a_request_names(request: str, tests: list[str]) -> None:
    assert [*named_tests(request)] == tests


@each(
    ("path", "holds_tests"),
    [
        ("tests/test_a.py", True),
        ("test_a.py", True),
        ("src/a_test.go", True),
        ("src/a.test.ts", True),
        ("spec/a_spec.rb", True),
        ("src/test/java/ATest.java", True),
        ("src/a.py", False),
        ("latest.py", False),
        ("contest_a.py", False),
        ("src/testing.py", False),
    ],
)
def test_whether_a_file_holds_tests(path: str, holds_tests: bool) -> None:
    assert is_test(path) == holds_tests


@each(
    ("diff", "is_weaker"),
    [
        ("--- a/t.py\n+++ b/t.py\n-    assert add(1, 2) == 3\n+    assert add(1, 2) == -1\n", True),
        ("-    expect(add(1, 2)).toBe(3);\n", True),
        ("-def test_add():\n-    pass\n", True),
        ("+@pytest.mark.xfail\n", True),
        ("--- a/assert.py\n+++ b/assert.py\n+def test_b():\n+    assert f() == 1\n", False),
        ("-import os\n+import re\n", False),
    ],
)
def test_whether_a_diff_takes_away_what_is_checked(diff: str, is_weaker: bool) -> None:
    assert weakens(diff) == is_weaker
