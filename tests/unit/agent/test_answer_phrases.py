"""What an answer says of itself, as its words tell it."""

from localllm.agent.answer_phrases import admits_failing_tests
from tests.support.each import each


@each(
    ("answer", "fails"),
    [
        ("I fixed the failing test.", False),
        ("The broken test is fixed now.", False),
        ("I repaired the two failing tests in a.py.", False),
        ("All tests pass.", False),
        ("The test in b.py still fails.", True),
        ("I fixed one failing test. Two tests still fail.", True),
        ("3 failed, 10 passed.", True),
        ("b.py のテストは失敗したままです。", True),
    ],
)
def test_a_test_that_was_fixed_is_none_that_fails(answer: str, fails: bool) -> None:
    assert admits_failing_tests(answer) == fails
