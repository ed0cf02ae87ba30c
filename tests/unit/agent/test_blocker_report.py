"""What a person reads where a run ended without its answer."""

import pytest

from localllm.agent.blocker_report import Blocker
from localllm.agent.panel.records import Attempt
from localllm.base.events import ToolCall

ERROR = "old_string was not found in a.py; nothing was changed."


def attempt(name: str, arguments: str, result: str, *, failed: bool = True) -> Attempt:
    return Attempt(ToolCall("1", name, arguments), result, failed)


MISS = attempt("edit_file", '{"old_string": "x", "file_path": "a.py"}', ERROR)
READ = attempt("read_file", '{"file_path": "a.py"}', "y = 1", failed=False)


def test_it_has_all_its_parts_in_order() -> None:
    report = Blocker(
        reason="Stopped.",
        goal="fix a.py",
        attempts=[READ, MISS, READ, MISS],
        errors=["edit_no_match"],
        advice=["Read it\n  first."],
        pattern="failed_edit",
    ).report()
    assert report == (
        "Stopped.\n\n"
        "Goal: fix a.py\n\n"
        f"What was tried:\n- edit_file a.py (2 times)\n  {ERROR}\n\n"
        "Advice received:\n- Read it first.\n\n"
        "What would help:\n"
        "- make that change by hand, or quote the lines as they should read\n"
        "- say more precisely what you want, or where to look"
    )


def test_where_nothing_failed_the_last_result_is_told() -> None:
    report = Blocker(reason="Stopped.", goal="look", attempts=[READ, READ], pattern="same_step").report()
    assert "- read_file a.py (2 times)" in report
    assert "Last result:\n  y = 1" in report


def test_what_has_lines_is_told_exactly() -> None:
    code = "def f():\n    return __init__\n\n```\n"
    seen = attempt("read_file", '{"file_path": "a.py"}', code, failed=False)
    told = "````\n  def f():\n      return __init__\n\n  ```\n  ````"
    assert f"Last result:\n  {told}\n\n" in Blocker(reason="", goal="", attempts=[seen]).report()
    failed = attempt("run_command", '{"command": "make"}', code)
    assert f"- run_command make\n  {told}\n\n" in Blocker(reason="", goal="", attempts=[failed]).report()


def test_words_with_marks_of_markdown_keep_them() -> None:
    one = attempt("run_command", '{"command": "grep __init__ *.py | wc -l"}', "no __main__ in a_b.py")
    report = Blocker(reason="Stopped: grep __init__ `x`.", goal="", attempts=[one]).report()
    assert report.startswith("Stopped: grep `__init__` `` `x`. ``\n")
    assert "- run_command grep `__init__` `*.py` | wc -l\n  no `__main__` in a_b.py" in report


def test_the_same_advice_is_told_once() -> None:
    assert Blocker(reason="", goal="", advice=["Read it.", "Read it.", "Think."]).report().count("Read it.") == 1


def test_the_same_error_of_several_calls_is_told_once() -> None:
    others = [attempt("edit_file", f'{{"file_path": "a.py", "old_string": "{n}"}}', ERROR) for n in range(4)]
    assert Blocker(reason="", goal="", attempts=others).report().count(ERROR) == 1


def test_it_stays_short() -> None:
    many = [attempt("run_command", f'{{"command": "make {n} {"x" * 500}"}}', f"{n}: {'e' * 9000}") for n in range(60)]
    report = Blocker(reason="Stopped.", goal="g" * 9000, attempts=many, advice=["p" * 9000] * 4).report()
    assert len(report) < 8_000
    assert "… and 54 more" in report
    assert "make 59" in report


def test_a_run_that_did_nothing() -> None:
    assert "- nothing has been tried yet" in Blocker(reason="Stopped.", goal="go").report()


@pytest.mark.parametrize(
    ("errors", "pattern", "hint"),
    [
        (["denied_unattended"], "same_error", "allow it"),
        (["file_missing"], "same_error", "where the file is"),
        (["network_not_allowed"], "same_error", "network_hosts"),
        (["tool_malformed_json"], "bad_call", "use a model that"),
        ([], "chanting", "use a model that"),
        ([], "thrash", "larger context window"),
        ([], "", "go on"),
    ],
)
def test_what_would_help_fits_what_is_in_the_way(errors: list[str], pattern: str, hint: str) -> None:
    assert hint in Blocker(reason="", goal="", errors=errors, pattern=pattern).report()


def test_only_what_has_failed_is_told_the_newest_six() -> None:
    tried = [attempt("run_command", f'{{"command": "make {n}"}}', f"error {n}") for n in range(8)]
    lines = Blocker(reason="", goal="", attempts=[READ, *tried, READ]).report()
    assert "… and 2 more" in lines
    assert [f"make {n}\n  error {n}" in lines for n in range(8)] == [False] * 2 + [True] * 6
    assert "read_file" not in lines
    assert "Last result" not in lines


def test_where_nothing_has_failed_all_is_told_and_the_newest_result() -> None:
    other = attempt("read_file", '{"file_path": "b.py"}', "z = 1", failed=False)
    report = Blocker(reason="", goal="", attempts=[READ, other]).report()
    assert "- read_file a.py\n- read_file b.py\n\nLast result:\n  z = 1" in report


@pytest.mark.parametrize(("failed", "told"), [(True, True), (False, False)])
def test_a_command_is_looked_at_where_it_has_failed(failed: bool, told: bool) -> None:
    one = attempt("run_command", '{"command": "make"}', "no", failed=failed)
    assert ("read the output of the command" in Blocker(reason="", goal="", attempts=[one]).report()) == told


@pytest.mark.parametrize(
    ("pattern", "hint", "other"),
    [("", "raise the limit", "say more precisely"), ("cycle", "say more precisely", "raise the limit")],
)
def test_a_limit_can_be_raised_and_a_loop_needs_words(pattern: str, hint: str, other: str) -> None:
    report = Blocker(reason="", goal="", pattern=pattern).report()
    assert hint in report
    assert other not in report


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("would_destroy", "by hand"),
        ("file_changed_since", "by hand"),
        ("path_outside", "allow it"),
        ("command_no_sandbox", "allow it"),
        ("context_full", "larger context window"),
        ("llm_context_overflow", "larger context window"),
        ("llm_empty", "use a model that"),
        ("llm_only_thought", "use a model that"),
        ("denied_plan_mode", ""),
        ("tool_crashed", ""),
        ("something_else", ""),
    ],
)
def test_each_error_has_its_hint(key: str, hint: str) -> None:
    hints = Blocker(reason="", goal="", errors=[key, key]).report().rpartition("help:\n")[2].splitlines()
    assert len(hints) == 1 + bool(hint)
    assert hint in hints[0]
