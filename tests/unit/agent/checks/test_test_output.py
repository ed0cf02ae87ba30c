"""Whether any test was run, as the output of a test runner tells it."""

from localllm.agent.checks.test_output import found_no_tests
from tests.support.each import each


@each(
    ("output", "is_empty"),
    [
        ("# tests 0\n# pass 0", True),
        ("ℹ tests 0\nℹ pass 0", True),
        ("Ran 0 tests in 0.000s", True),
        ("?   shop [no test files]\nok  \tshop/cart\t0.01s", False),
        ("collected 5 items / 5 deselected / 0 selected\n\n===== 5 deselected in 0.27s =====", True),
        ("5 deselected in 0.11s", True),
        ("0 examples, 0 failures", True),
        ("  0 passing (1ms)", True),
        ("Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds", True),
        ("No tests were found!!!", True),
        ("0 examples, 0 failures, 1 error occurred outside of examples", False),
        (
            "collected 0 items / 1 error\nE   ModuleNotFoundError: No module named 'shop'\n=== 1 error in 0.58s ===",
            False,
        ),
        ("collected 6 items / 5 deselected / 1 selected\n=== 1 passed, 5 deselected in 0.3s ===", False),
        ('npm error Missing script: "test"', False),
        ("3 passed", False),
    ],
)
def test_whether_a_runner_found_tests(output: str, is_empty: bool) -> None:
    assert found_no_tests(output) is is_empty
