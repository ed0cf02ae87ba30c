"""What a run notes of its calls, for its end and for whoever asks what was missing."""

import json
from typing import Any

import pytest

from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.run_stats import Tally
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.events import ToolCall
from localllm.tools.results import ToolResult, failed
from tests.support.each import each


def result(name: str, error: LocalLLMError | None = None, **arguments: str) -> ToolResult:
    call = ToolCall("c", name, json.dumps(arguments))
    if error:
        return failed(call, error)
    return ToolResult(call=call, success=True, payload={}, for_model="Done.", summary="done", acted=True)


def denied(name: str) -> SafetyViolationError:
    return SafetyViolationError("denied_unattended", name=name)


def test_an_edit_that_was_refused_is_none_that_failed() -> None:
    facts = RunFacts()
    facts.note([result("edit_file", denied("edit_file"), file_path="a.py")])
    assert (facts.failed_edit, facts.was_refused) == ("", True)
    facts.note([result("edit_file", ToolExecutionError("edit_empty", path="a.py"), file_path="a.py")])
    assert facts.failed_edit == "a.py"


def test_an_edit_with_a_tool_that_is_not_there_is_none_that_failed() -> None:
    facts = RunFacts()
    facts.note(
        [result("edit_file", ToolExecutionError("tool_unknown", name="edit_file", near="", known=""), file_path="a.py")]
    )
    assert (facts.failed_edit, facts.left_edits) == ("", {})


def test_what_was_refused_is_missing_until_another_of_its_kind_has_done_something() -> None:
    tally = Tally()
    for name, arguments in (("run_command", {"command": "make"}), ("write_file", {"file_path": "a.py"})):
        tally.note(result(name, denied(name), **arguments))
    both = tally.missing
    assert len(both) == 2
    tally.note(result("run_command", command="ls"))
    assert tally.missing == both[1:]
    tally.note(result("write_file", file_path="b.py"))
    assert tally.missing == []
    assert tally.refused == both


def command(line: str, code: int | None = 0, output: str = "", *changed: str, **payload: Any) -> ToolResult:
    """What came of a command, which has changed these files."""
    told = {"return_code": code, "stdout": output} | payload
    name = "run_command" if line else "command_output"
    call = ToolCall("c", name, json.dumps({"command": line} if line else {}))
    changes = dict.fromkeys(changed, "x")
    return ToolResult(call=call, success=not code, payload=told, for_model="", summary="", changes=changes)


def edited(*paths: str, tool: str = "edit_file") -> ToolResult:
    call = ToolCall("c", tool, json.dumps({"file_path": paths[0]}))
    return ToolResult(call=call, success=True, payload={}, for_model="", summary="", changes=dict.fromkeys(paths, "x"))


def noted(*results: ToolResult) -> RunFacts:
    facts = RunFacts()
    for one in results:
        facts.note([one])
    return facts


MISSED = result("edit_file", ToolExecutionError("edit_empty", path="a.py"), file_path="a.py")
RED, GREEN = command("pytest", 1, "1 failed"), command("pytest")


def piped(part: str, code: int, behind: str, output: str, *changed: str) -> ToolResult:
    """What came of a pipe whose last program succeeded, though this part of it failed."""
    return command(f"{part} | {behind}", 0, output, *changed, failed_parts=[{"command": part, "return_code": code}])


class TestAnswersBehindTests:
    """A search or comparison behind a test, which ends with exit code 1."""

    @each(
        ("line", "output"),
        [
            ("python3 test_ab.py && grep -rn '\\bg\\b' *.py", ""),
            ("python3 test_ab.py && grep -c old a.py", "0\n"),
            ("python3 test_ab.py && echo OK && grep old a.py", "OK\n"),
            (
                "python3 test_ab.py && git diff --exit-code",
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            ("python3 test_ab.py && diff a.py b.py", "1c1\n< x = 1\n---\n> x = 2\n"),
            ("python3 test_ab.py; grep -c old a.py", "0\n"),
            ("python3 test_ab.py | grep -i fail", ""),
            ("python3 test_ab.py 2>&1 | grep -c Error", "0\n"),
            ("set -e; python3 test_ab.py; [ -f x ] && echo x", ""),
            ("pytest -q && rg old", "3 passed in 0.01s\n"),
            ("sh test.sh && grep old a.py", "all tests passed\n"),
            ("python3 -m py_compile a.py && grep -n old a.py", ""),
        ],
    )
    def test_their_no_is_no_failed_test(self, line: str, output: str) -> None:
        assert noted(edited("a.py"), command(line, 1, output)).failed_test is None

    @each(
        ("line", "output"),
        [
            ("python3 test_ab.py && grep old a.py", "Traceback (most recent call last):\nAssertionError\n"),
            ("python3 test_ab.py; grep old a.py", "Traceback (most recent call last):\nAssertionError\n"),
            ("python3 test_ab.py && grep old a.py", "expected 2, got 1\n"),
            ("pytest -q && grep old a.py", "1 failed, 2 passed\n"),
            ("sh test.sh && grep old a.py", ""),
            ("./run_tests.sh && grep old a.py", ""),
            ("python3 test_ab.py", ""),
            ("grep new a.py && python3 test_ab.py", ""),
            ("python3 test_ab.py || grep old a.py", ""),
            ("python3 test_ab.py | grep -q passed", ""),
            ("set -e; sh test.sh; [ -f x ] && echo x", ""),
            ("python3 test_ab.py && python3 b.py && grep old a.py", ""),
        ],
    )
    def test_a_test_that_may_have_failed_has_failed(self, line: str, output: str) -> None:
        assert noted(edited("a.py"), command(line, 1, output)).failed_test is not None

    def test_a_test_that_failed_in_the_pipe_has_failed(self) -> None:
        line, failed = "python3 test_ab.py | grep -i fail", [{"command": "python3 test_ab.py", "return_code": 1}]
        assert noted(edited("a.py"), command(line, 1, "", failed_parts=failed)).failed_test is not None


class TestPipes:
    def test_a_test_that_failed_in_a_pipe_has_failed_whatever_is_left_of_its_output(self) -> None:
        for part, code, output in (
            ("cargo test 2>&1", 101, "error[E0277]: the trait bound is not satisfied"),
            ("make test", 2, "see above"),
            ("pytest -q", 1, ""),
        ):
            facts = noted(edited("a.py"), piped(part, code, "grep -E 'result|error'", output))
            assert facts.failed_test is not None
            assert not facts.is_tested

    @pytest.mark.parametrize(
        ("line", "code", "output", "has_failed"),
        [
            ("docker compose config -q", 125, "unknown shorthand flag: 'q' in -q\n\nUsage:  docker [OPTIONS]", False),
            ("docker compose up -d", 1, "docker: 'compose' is not a docker command.", False),
            ("docker run x", 125, "docker: Cannot connect to the Docker daemon", True),
            ("curl -sO http://x/a", 6, "curl: (6) Could not resolve host: x", True),
        ],
    )
    def test_a_plugin_that_is_missing_is_no_failure_of_the_work(
        self, line: str, code: int, output: str, has_failed: bool
    ) -> None:
        facts = noted(edited("compose.yaml"), command(line, code, output))
        assert (facts.crash is not None) == has_failed

    def test_a_program_that_failed_in_a_pipe_crashed(self) -> None:
        crash = noted(edited("a.py"), piped("python a.py 2>&1", 1, "tail -1", "ValueError: x")).crash
        assert crash is not None
        assert crash.error == "ValueError: x"

    def test_another_part_that_failed_is_not_the_test(self) -> None:
        facts = noted(edited("a.py"), command("cat a.txt | pytest", 0, "1 passed"))
        assert facts.is_tested
        facts = noted(
            edited("a.py"),
            command(
                "ls x | pytest -q | tail -1",
                0,
                "1 passed",
                failed_parts=[{"command": "ls x", "return_code": 2}],
            ),
        )
        assert facts.is_tested

    def test_a_test_that_no_pipe_could_run_is_none(self) -> None:
        output = "sh: pytest: command not found"
        assert noted(edited("a.py"), piped("pytest", 127, "tail -3", output)).not_run == "pytest | tail -3"


class TestFormatters:
    FORMATTED = command("ruff format .", 0, "1 file reformatted", "a.py", "b.py")

    def test_what_only_a_formatter_changed_is_not_to_be_run(self) -> None:
        facts = noted(self.FORMATTED)
        assert (facts.unchecked, sorted(facts.changed)) == ([], ["a.py", "b.py"])

    def test_code_that_was_tested_before_is_tested(self) -> None:
        facts = noted(edited("a.py"), GREEN, self.FORMATTED)
        assert (facts.unchecked, facts.is_tested) == ([], True)

    def test_it_checks_no_code(self) -> None:
        for later in (self.FORMATTED, command("ruff format .", 0, "1 file left unchanged")):
            assert noted(edited("a.py"), later).unchecked == ["a.py"]


class TestMissingPrograms:
    MISSING = "/bin/bash: line 1: ruby: command not found"

    def test_what_is_no_program_checks_no_code_even_if_the_line_hides_it(self) -> None:
        for line in ("ruby a.rb", "ruby a.rb || true", "ruby a.rb data.csv; echo done"):
            code = 127 if line == "ruby a.rb" else 0
            assert noted(edited("a.rb"), command(line, code, self.MISSING)).unchecked == ["a.rb"]
        assert noted(edited("a.rb"), command("ruby a.rb; echo done", 0, "3")).unchecked == []


class TestTools:
    FAILED = command("sqlite3 app.db < m.sql", 1, 'Parse error near line 6: near "COMMIT"')

    def test_a_tool_that_failed_after_a_change_is_known_whatever_was_changed(self) -> None:
        facts = noted(edited("m.sql"), self.FAILED)
        assert facts.crash is not None
        assert facts.crash.command == "sqlite3 app.db < m.sql"

    def test_one_that_was_made_good_or_changed_nothing_is_not(self) -> None:
        for later in (command("sqlite3 app.db < m.sql"), GREEN, command("python app.py")):
            assert noted(edited("m.sql"), self.FAILED, later).crash is None
        assert noted(self.FAILED).crash is None

    def test_what_was_only_read_or_edited_since_makes_it_not_good(self) -> None:
        for later in (command("cat m.sql"), edited("m.sql")):
            assert noted(edited("m.sql"), self.FAILED, later).crash is not None

    QUERY = command('sqlite3 app.db "select * from orders"')

    def test_a_query_mends_no_database(self) -> None:
        facts = noted(edited("m.sql"), self.FAILED, self.QUERY)
        assert facts.crash is not None
        assert facts.crash.error.startswith("Parse error near line 6")
        assert noted(edited("m.sql"), self.FAILED, self.QUERY, command("sqlite3 app.db < m.sql")).crash is None
        assert noted(edited("m.sql"), self.FAILED, command('sqlite3 app.db "DROP x"', 0, "", "app.db")).crash is None

    @pytest.mark.parametrize(
        ("line", "output", "failed"),
        [
            ("sqlite3 a.db < m.sql; sqlite3 a.db .schema", "Parse error near line 2: near: syntax error", True),
            ("cat m.sql | sqlite3 a.db || true", "Runtime error near line 2: no such table", True),
            ("psql -f m.sql shop", "psql:m.sql:2: ERROR:  syntax error", True),
            ("mysql shop < m.sql; echo done", "ERROR 1064 (42000) at line 2: You have an error", True),
            ("sqlite3 a.db < m.sql", "", False),
            ("./show mysql.log", "ERROR 1064 (42000) at line 2: You have an error", False),
        ],
    )
    def test_what_a_database_says_of_a_failed_statement_counts_whatever_the_exit_code(
        self, line: str, output: str, failed: bool
    ) -> None:
        assert (noted(edited("m.sql"), command(line, 0, output)).crash is not None) == failed


class TestEdits:
    def test_each_file_is_known_by_the_call_that_changed_it_last(self) -> None:
        facts = noted(edited("a.py"), edited("b.py"), result("read_file"), edited("a.py"))
        assert facts.calls == 4
        assert facts.changed == {"a.py": 4, "b.py": 2}
        assert list(facts.edited) == ["a.py", "b.py"]
        assert facts.has_changed
        assert not facts.may_have_changed

    def test_an_edit_refused_for_a_loss_is_dropped_where_the_tests_pass_without_it(self) -> None:
        lossy = result("write_file", ToolExecutionError("would_destroy", name="write_file", lost="x"), file_path="a.py")
        passed, failed = command("pytest", 0, "1 passed"), command("pytest", 1, "1 failed")
        assert noted(edited("a.py"), lossy, passed).failed_edit == ""
        for steps in (
            (edited("a.py"), lossy),
            (edited("a.py"), lossy, failed),
            (edited("b.py"), lossy, passed),
            (edited("a.py"), lossy, MISSED, passed),
        ):
            assert noted(*steps).failed_edit == "a.py"

    @pytest.mark.parametrize("tool", ["edit_file", "write_file", "create_file", "apply_patch", " Edit_File "])
    def test_every_editor_edits(self, tool: str) -> None:
        assert list(noted(edited("a.py", tool=tool)).edited) == ["a.py"]

    def test_a_command_changes_a_file_and_edits_none(self) -> None:
        facts = noted(command("sed -i s/a/b/ a.py", 0, "", "a.py"))
        assert (list(facts.changed), list(facts.edited), facts.may_have_changed) == (["a.py"], [], True)

    def test_where_nobody_keeps_earlier_versions_the_call_tells_the_file(self) -> None:
        facts = noted(result("edit_file", file_path="a.py"))
        assert (facts.changed, list(facts.edited)) == ({"a.py": 1}, ["a.py"])

    @pytest.mark.parametrize("key", ["edit_already_applied", "edit_no_change"])
    def test_an_edit_with_nothing_to_do_is_none_that_failed(self, key: str) -> None:
        error = ToolExecutionError(key, path="a.py", start=1, end=1, line=1)
        facts = noted(result("edit_file", error, file_path="a.py"))
        assert (facts.failed_edit, facts.may_have_changed) == ("", False)
        facts = noted(edited("a.py"), result("edit_file", error, file_path="a.py"))
        assert (facts.failed_edit, facts.may_have_changed) == ("", True)

    @pytest.mark.parametrize(
        ("later", "failed"),
        [
            (edited("b.py"), ""),
            (command("sed -i s/a/b/ a.py", 0, "", "a.py"), ""),
            (command("sed -i s/a/b/ b.py", 0, "", "b.py"), "a.py"),
            (result("read_file"), "a.py"),
        ],
    )
    def test_a_failed_edit_is_made_good_by_another_one(self, later: ToolResult, failed: str) -> None:
        assert noted(MISSED, later).failed_edit == failed

    @pytest.mark.parametrize(
        ("steps", "left"),
        [
            ([MISSED, edited("b.py")], {"a.py": 1}),
            ([MISSED, MISSED, edited("b.py")], {"a.py": 2}),
            ([MISSED, edited("b.py"), edited("a.py")], {}),
            ([MISSED, edited("src/a.py")], {}),
            ([MISSED, edited("b.py"), command("sed -i s/a/b/ a.py", 0, "", "a.py")], {}),
            ([MISSED], {}),
        ],
    )
    def test_a_failed_edit_is_left_where_only_others_were_made(
        self, steps: list[ToolResult], left: dict[str, int]
    ) -> None:
        assert noted(*steps).left_edits == left

    def test_a_refusal_is_not_forgotten(self) -> None:
        facts = noted(result("edit_file", denied("edit_file"), file_path="a.py"), result("read_file"))
        assert facts.was_refused
        facts.begin()
        assert (facts.was_refused, facts.calls, facts.changed, facts.tests) == (False, 0, {}, [])

    @pytest.mark.parametrize(
        ("one", "may"),
        [
            *((result(name), False) for name in ("read_file", "search_files", "git_log", "recall", "explore")),
            *((result(name), True) for name in ("git_commit", "todo", "some_plugin")),
            (command("ls"), False),
            (GREEN, False),
            (command("make"), True),
            (command("make", 2), False),
        ],
    )
    def test_what_may_have_changed_something(self, one: ToolResult, may: bool) -> None:
        assert noted(one).may_have_changed == may


class TestTests:
    def test_each_test_and_build_is_kept_with_its_call(self) -> None:
        facts = noted(command("ls"), RED, command("make"), GREEN)
        assert [(run.command, run.kind, run.passed, run.at) for run in facts.tests] == [
            *(("pytest", "test", False, 2), ("make", "build", True, 3), ("pytest", "test", True, 4)),
        ]

    @pytest.mark.parametrize(
        ("results", "failed"),
        [
            ([RED], "pytest"),
            ([RED, GREEN], ""),
            ([GREEN, RED], "pytest"),
            ([RED, command("make")], "pytest"),
            ([command("make", 2)], "make"),
            ([command("make", 2), GREEN], ""),
            ([command("make", 2), command("make")], "make"),
            ([command("make", 2), edited("Makefile"), command("make")], ""),
            ([command("make report", 2), command("make report && cat report.txt")], ""),
            ([command("javac src/**/*.java", 2), command("javac $(find src -name '*.java')")], ""),
            ([command("make", 2), edited("a.c"), command("gcc a.c")], "make"),
            ([RED, command("make", 2), edited("Makefile"), command("make")], "pytest"),
            ([command("make", 2), edited("a.c"), command("make"), command("make", 2)], "make"),
            ([command("pytest", 127)], ""),
            ([command("pytest | tail", 0, "1 failed")], "pytest | tail"),
            ([], ""),
        ],
    )
    def test_the_newest_that_failed_and_was_not_made_good(self, results: list[ToolResult], failed: str) -> None:
        run = noted(*results).failed_test
        assert (run.command if run else "") == failed

    @pytest.mark.parametrize(
        ("results", "not_run"),
        [
            ([edited("a.py"), command("pytest -q", 127)], "pytest -q"),
            ([edited("a.py"), command("python3 -m pytest", 1, "No module named pytest")], "python3 -m pytest"),
            ([edited("a.py"), command("pytest", 127), GREEN], ""),
            (
                [edited("a.rb"), command("ruby -c a.rb || true", 0, "bash: ruby: command not found")],
                "ruby -c a.rb || true",
            ),
            ([command("pytest", 127), edited("a.py")], ""),
            ([edited("notes.md"), command("pytest", 127)], ""),
            ([edited("a.py"), GREEN], ""),
            ([edited("a.py")], ""),
        ],
    )
    def test_a_test_that_could_not_be_run_is_known(self, results: list[ToolResult], not_run: str) -> None:
        assert noted(*results).not_run == not_run

    @pytest.mark.parametrize(
        ("results", "is_tested"),
        [
            ([edited("a.py"), GREEN], True),
            ([GREEN, edited("a.py")], False),
            ([GREEN, edited("notes.md")], True),
            ([GREEN, command("make", 2)], True),
            ([GREEN, RED], False),
            ([RED, GREEN], True),
            ([command("make")], False),
            ([command("sed -i s/a/b/ a.py && pytest", 0, "", "a.py")], True),
            ([command("pytest && sed -i s/a/b/ a.py", 0, "", "a.py")], False),
        ],
    )
    def test_whether_the_newest_test_holds_for_the_code_as_it_is(
        self, results: list[ToolResult], is_tested: bool
    ) -> None:
        assert noted(*results).is_tested == is_tested

    @pytest.mark.parametrize(
        ("later", "unchecked"),
        [
            ([], ["a.py"]),
            ([command("ls")], ["a.py"]),
            ([GREEN], []),
            ([command("make")], []),
            ([command("./serve")], []),
            ([command("./serve", 0, "", "b.py")], ["a.py", "b.py"]),
            ([command("pytest", 127)], ["a.py"]),
            ([GREEN, edited("c.py"), edited("c.md")], ["c.py"]),
            ([command("pytest", 0, "", ".coverage", "b.py")], []),
        ],
    )
    def test_code_that_was_changed_after_all_that_was_run(self, later: list[ToolResult], unchecked: list[str]) -> None:
        assert noted(edited("a.py"), *later).unchecked == unchecked

    def test_a_test_in_the_background_is_known_by_its_number(self) -> None:
        begun = command("pytest", None, id=4)
        facts = noted(begun, command("", None, id=4), command("", 1, output="1 failed", id=4))
        assert [(run.command, run.passed, run.at) for run in facts.tests] == [("pytest", False, 3)]
        assert noted(begun, command("", 0, id=5)).tests == []

    def test_a_script_that_ran_after_its_syntax_was_mended(self) -> None:
        failed = command("bash -n s.sh", 2, "s.sh: line 3: syntax error: unexpected end of file")
        assert noted(failed, edited("s.sh"), command("bash s.sh", 0)).failed_test is None
        assert noted(failed, edited("s.sh"), command("bash s.sh", 1)).failed_test is not None
        assert noted(failed, edited("s.sh"), command("bash other.sh", 0)).failed_test is not None
