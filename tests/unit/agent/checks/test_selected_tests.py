"""Which tests have failed, which a request names, and where they are."""

import os
from pathlib import Path

from localllm.agent.checks.selected_tests import failed_tests, is_test, named_tests, places_of
from localllm.agent.checks.weaker_tests import weakens
from localllm.base.directory_walk import ProjectListing
from tests.support.each import each


@each(
    ("output", "tests"),
    [
        ("FAILED tests/test_a.py::test_add - assert 1 == 3", ["test_add"]),
        ("FAILED tests/test_a.py::TestA::test_add[1-2] - x", ["test_add"]),
        ("FAIL: test_add (test_a.T.test_add)\nERROR: test_b (x)", ["test_add", "test_b"]),
        ("____ TestA.test_add ____\nE  x", ["test_add"]),
        ("2 passed", []),
        ("test tests::greets ... ok\ntest tests::adds ... FAILED\n\nfailures:\n    tests::adds\n", ["tests::adds"]),
        ("--- FAIL: TestAdd (0.00s)\n    --- FAIL: TestAdd/zero (0.00s)\nFAIL\tapp\t0.1s", ["TestAdd", "TestAdd/zero"]),
        ("FAIL src/math.test.ts\n  ● math › adds numbers\n\n    expect(received)", ["math > adds numbers"]),
        ("  ● Console\n\n  ● Test suite failed to run\n\n  ● Validation Warning:\n", []),
        (" FAIL  src/math.test.ts > math > adds numbers\nAssertionError: x", ["math > adds numbers"]),
        (" FAIL  |unit| src/math.test.ts > math > adds numbers", ["math > adds numbers"]),
        ("ok 1 - price\nnot ok 2 - slug of two words\nnot ok 3 - later # TODO not yet\n", ["slug of two words"]),
        ("✔ price (0.4ms)\n✖ slug of two words (1.25ms)\n\n✖ failing tests:\n", ["slug of two words"]),
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


def test_where_a_test_is(tmp_path: Path) -> None:
    for path, text in {
        "src/lib.rs": "mod tests {\n    fn adds() {}\n}\n",
        "calc/add_test.go": "func TestAdd(t *testing.T) {}\n",
        "src/math.test.ts": "it('adds numbers', () => {})\n",
        "src/math.ts": "log('adds numbers')\n",
        "tests/test_app.py": "def test_add():\n    pass\ndef test_twice(): ...\n",
        "tests/test_other.py": "def test_twice(): ...\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    tests = ["tests::adds", "TestAdd/zero", "math > adds numbers", "test_add", "test_twice", "test_nowhere"]
    assert places_of(ProjectListing(tmp_path), tests) == {
        "tests::adds": "src/lib.rs",
        "TestAdd/zero": "calc/add_test.go",
        "math > adds numbers": "src/math.test.ts",
        "test_add": "tests/test_app.py",
        "test_twice": "",
    }


def test_links_are_not_read_to_find_a_test(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "test_a.py").symlink_to("pipe")
    (tmp_path / "test_b.py").write_text("def test_x(): pass")
    (tmp_path / "test_c.py").symlink_to("missing")
    assert places_of(ProjectListing(tmp_path), ["test_x"]) == {"test_x": "test_b.py"}
