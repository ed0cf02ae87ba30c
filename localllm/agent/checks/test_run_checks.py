"""Compare an answer with the runs of tests: those that failed, found none, could not be run, or are missing; and with
other runs that it claims, though none was made, or what was to do it has failed."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from localllm.agent.checks.findings import Finding, short_command
from localllm.agent.checks.git_checks import brought_back
from localllm.agent.checks.run_facts import Crash, RunFacts, TestRun
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import claimed_runs, request_phrases, requested_checks
from localllm.base.i18n import Phrase, _
from localllm.llm.messages import UserMessage
from localllm.safety.path_names import shown
from localllm.safety.rules import COMMAND_TOOL
from localllm.text.sanitising import shorten
from localllm.tools.results import ToolResult
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agent.checks.failed_runs import NewestRun

_MOST_NAMED = 3
_CODE = frozenset("\n`(){}=;<>")
"""Characters of requests that may hold code."""
_LONGEST_COMMAND, _LONGEST_WHY = 60, 120
_TESTS_WANTED = ("run_tests", "run_again", "no_tests_found", "cannot_run")
"""Remarks that ask for tests to be run."""
_ANY_TEST = "make test"
"""Stands for a project's tests when checking whether a test command may run and none has run yet."""


class TestRunChecks:
    """Compares an answer with the runs of tests, and finds code that nothing has run."""

    def __init__(self, tools: ToolSystem, facts: RunFacts) -> None:
        self._tools = tools
        self._facts = facts
        self.begin()

    def begin(self) -> None:
        """Start a new run."""
        self._position = self._tools.changes.position
        self._same_code: frozenset[str] = frozenset()
        self._newest: NewestRun | None = None

    def note(self, results: Sequence[ToolResult]) -> None:
        """Record the results of an answer's calls."""
        if self._newest is None:
            if not any("return_code" in one.payload for one in results):
                return
            from localllm.agent.checks.failed_runs import NewestRun  # the first request runs nothing

            self._newest = NewestRun()
        self._newest.note(results, self._facts.calls - len(results) + 1)

    def of_failed_run(self, state: RunState, text: str) -> list[Finding]:
        """Return that the newest run failed, if the answer says nothing of it. For where nothing else is said."""
        if self._newest is None or self._facts.crash:
            return []
        from localllm.agent.checks import failed_runs

        return [*failed_runs.findings(self._newest, self._facts.changed, state.goal, text)]

    async def findings(self, state: RunState, text: str) -> list[Finding]:
        """Return that the last test failed, or that the answer claims passed tests which did not pass."""
        if unchecked := self._facts.unchecked:
            changes = self._tools.changes
            in_words = await asyncio.to_thread(changes.with_same_code, self._position, unchecked)
            self._same_code = in_words | await brought_back(changes, self._facts, self._position)
        return [*self._of_tests(state, text)] or [*self._of_runs(state, text)]

    def _of_tests(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that the last test failed, or that the answer claims passed tests which did not pass.
        Where they were to pass, the work is not finished, even if the answer says so itself."""
        facts, failed = self._facts, self._facts.failed_test
        passed = phrases.says_tests_pass(text) if failed is None else phrases.says_all_pass(text)
        if failed is None:
            if passed and not facts.is_tested and self._could_know_of_no_test(state):
                yield self._to_be_run(state, text, Phrase("no test was run after the last change"), is_wanted=True)
            return
        command, is_to_pass = short_command(failed.command), requested_checks.asks_for_passing(state.goal)
        if since := [path for path in facts.unchecked if facts.changed[path] > failed.at]:
            reason = Phrase(
                "the last test run failed ({command}), and {paths} changed since",
                command=command,
                paths=_listed(since),
            )
            finding = self._to_be_run(state, text, reason, is_wanted=True)
            is_denied = finding.name in _TESTS_WANTED and not phrases.admits_failing_tests(text)
            name = finding.name if is_denied or passed else None
            is_failed = phrases.admits_failing_tests(text) and not phrases.admits_not_run(text)
            is_open = is_denied or (is_failed and is_to_pass)
            yield msgspec.structs.replace(finding, name=name, contradicts=is_open)
        elif facts.changed_at or passed or is_to_pass:
            is_named = not passed and phrases.names_as_open(text, failed.failed_tests)
            is_known = is_named or phrases.admits_failing_tests(text) or _marks_failing(text, failed, not passed)
            is_denied = not is_known and (bool(facts.changed_at) or passed)
            is_to_pass = is_to_pass and not (passed and is_known and self._is_of_another(state, text))
            if not is_denied and not is_to_pass and requested_checks.knows_of_failing(state.goal):
                return  # the user knows, and reads it in the answer
            name, reason = "tests_failed", Phrase("the last test run failed ({command})", command=command)
            if failed.kind == "build":
                name, reason = "crashed", Phrase("the last run ended by an error ({command})", command=command)
            params = {"command": command, "error": ""}
            yield Finding(name if is_denied else None, reason, is_denied or is_to_pass, params)

    def _of_runs(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that the answer claims a run though none was made in the session, or that the program works whose only
        run failed."""
        facts = self._facts
        is_admitted = phrases.admits_failure(text) or phrases.says_it_raises(text)
        if failed := self._failed_deed(state.goal, text):
            if not (is_admitted or phrases.needs_nothing(text)):
                yield _ended_by_error(failed, contradicts=True)
        elif (failed := facts.failed_program) and not facts.crash:
            if claimed_runs.claims_works(text) and not is_admitted:
                yield _ended_by_error(failed, contradicts=requested_checks.asks_for_check(state.goal))
        elif (
            not (facts.has_begun or facts.was_refused or facts.may_have_changed)
            and self._knows_of_no_run(state)
            and not phrases.admits_failure(text)
            and (claimed_runs.claims_run(text) or self._passes_over(state, text))
        ):
            reason = Phrase("the answer claims a run, but no command was run")
            is_ordered = requested_checks.orders_run(state.goal) or requested_checks.asks_for_check(state.goal)
            yield Finding("nothing_run", reason, contradicts=is_ordered)
        elif not facts.calls and claimed_runs.claims_look(text) and self._could_look(state):
            reason = Phrase("the answer claims to have looked, but nothing was looked at")
            yield Finding("nothing_seen", reason, contradicts=False)

    def _failed_deed(self, request: str, text: str) -> Crash | None:
        """Return the failed command that was to do what the answer claims: an installation, or the only change."""
        facts = self._facts
        may_be_ordered = request_phrases.asks_for_change(request) or request_phrases.may_order_change(request)
        for deed, failed in facts.failed_deeds.items():
            if (may_be_ordered or deed == "install") and claimed_runs.claims_deed(deed, text):
                return failed
        is_all = may_be_ordered and not facts.has_changed
        return facts.failed_change if is_all and phrases.says_changed(text) else None

    def _knows_of_no_run(self, state: RunState) -> bool:
        """Return whether the model could run a command, and neither it nor the user has told of one."""
        told = [one.text for one in state.history.messages if isinstance(one, UserMessage)]
        is_told = any("<stdin>" in one or "[The user ran" in one for one in told)
        return len(state.history.words) == 1 and not is_told and any(one.name == COMMAND_TOOL for one in state.tools)

    def _is_of_another(self, state: RunState, text: str) -> bool:
        """Return whether the answer says that a test fails which the request, for the test of something, is not for."""
        from localllm.agent.phrases.admitted_failures import fails_elsewhere  # few runs end with a failed test

        failed = self._facts.failed_test
        is_named = failed is not None and any(name in state.goal for name in failed.failed_tests)
        return not is_named and fails_elsewhere(state.goal, text)

    def _passes_over(self, state: RunState, text: str) -> bool:
        """Return whether the only thing asked for is a run, and the answer does not say that there was none."""
        request, facts = state.goal, self._facts
        if not requested_checks.asks_for_check(request) and (facts.calls or not requested_checks.orders_run(request)):
            return False
        if request_phrases.asks_for_change(request) or phrases.asks_user(text) or phrases.admits_not_run(text):
            return False
        from localllm.agent.checks.failed_runs import says_nothing_of_failure  # few runs begin no command

        return says_nothing_of_failure(request, text)

    def _could_look(self, state: RunState) -> bool:
        """Return whether the model could look at files, and has none of them in the only request."""
        asked = next((one.text for one in reversed(state.history.messages) if isinstance(one, UserMessage)), "")
        is_given = any(one in asked for one in ("<stdin>", "<file ", "[The user ran", "```"))
        is_given = is_given or not _CODE.isdisjoint(state.query.strip())
        is_first = len(state.history.words) == 1 and not is_given
        return is_first and any(one.name == "read_file" for one in state.tools)

    def _could_know_of_no_test(self, state: RunState) -> bool:
        """Return whether the model cannot know of passed tests from elsewhere: an earlier run, or the user."""
        if self._facts.changed:
            return True
        request = state.goal
        is_about_work = request_phrases.asks_for_change(request) or requested_checks.asks_for_check(request)
        asked = next((one.text for one in reversed(state.history.messages) if isinstance(one, UserMessage)), "")
        is_told = "<stdin>" in asked or "<file " in asked or "[The user ran" in asked
        return is_about_work and not is_told and len(state.history.words) == 1 and not self._facts.tests

    def unrun_code(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that code was changed after the last command."""
        if (paths := self._unchecked) and not self._facts.crash:
            is_known = bool(self._facts.tests or self._facts.known_test)
            is_wanted = is_known or requested_checks.asks_for_check(state.goal)
            yield self._to_be_run(state, text, _nothing_run(self._facts, _listed(paths)), is_wanted=is_wanted)

    @property
    def _unchecked(self) -> list[str]:
        return [path for path in self._facts.unchecked if path not in self._same_code]

    def _to_be_run(self, state: RunState, text: str, reason: Phrase, *, is_wanted: bool) -> Finding:
        """Return the finding of a missing test.
        It is requested if that is sensible and needs no confirmation, or that of a person who wanted tests, or would
        read that they passed, and has refused nothing; a wrong claim is corrected in any case."""
        facts, passed, request = self._facts, phrases.says_tests_pass(text), state.goal
        command = facts.known_test.strip()  # not that of a build
        reason = _no_result(facts, _listed(self._unchecked), is_claimed=passed) or reason
        is_admitted = phrases.admits_not_run(text) or (facts.empty_test and phrases.admits_no_tests(text))
        is_known = is_admitted and not passed
        by_asking = not facts.was_refused and (bool(facts.tests) or passed or requested_checks.asks_for_check(request))
        if (
            is_wanted
            and not is_known
            and not requested_checks.forbids_check(request)
            and self._tools.may_run(command or _ANY_TEST, by_asking=by_asking)
        ):
            if told := _said_of_no_result(facts):
                return Finding(told[0], reason, contradicts=False, params=told[1])
            changed = _listed(self._unchecked)
            why = f"{changed} changed, and no test was run since" if changed else "No test was run"
            if changed and not passed and not command and facts.tests:  # only builds: there may be no tests
                params = {"paths": changed, "command": short_command(facts.tests[-1].command)}
                return Finding("run_again", reason, contradicts=False, params=params)
            is_nameable = 0 < len(command) <= _LONGEST_COMMAND and not set("\n`") & set(command)
            named = f": `{command}`" if is_nameable else ""
            return Finding("run_tests", reason, contradicts=False, params={"why": why, "command": named})
        return Finding("no_test" if passed else None, reason, contradicts=False)


def _marks_failing(text: str, failed: TestRun, may_be_unnamed: bool) -> bool:
    from localllm.agent.phrases.admitted_failures import marks_failing  # few runs end with a failed test

    return marks_failing(text, failed.failed_tests, may_be_unnamed=may_be_unnamed)


def _ended_by_error(failed: Crash, *, contradicts: bool) -> Finding:
    command = short_command(failed.command)
    reason = Phrase("the last run ended by an error ({command})", command=command)
    params = {"command": command, "error": f": {failed.error}" if failed.error else ""}
    return Finding("crashed", reason, contradicts, params)


def _nothing_run(facts: RunFacts, paths: str) -> Phrase:
    """Return for the user that nothing was run after `paths` changed, or could not be."""
    if facts.not_run and not facts.empty_test:
        return _could_not_be_run(facts, facts.not_run, paths)
    return Phrase("nothing was run after {paths} changed", paths=paths)


def _no_result(facts: RunFacts, paths: str, *, is_claimed: bool) -> Phrase | None:
    """Return for the user that the newest test found none, or could not be run though the answer claims that it passed;
    None otherwise. `paths` are what was changed before it."""
    if facts.empty_test:
        return Phrase("{command} ran no tests", command=short_command(facts.empty_test, _LONGEST_COMMAND))
    return _could_not_be_run(facts, facts.missing_test, paths) if facts.missing_test and is_claimed else None


def _said_of_no_result(facts: RunFacts) -> tuple[str, dict[str, str]] | None:
    """Return the remark for the model on such a test, and its parameters."""
    if facts.empty_test:
        return "no_tests_found", {"command": short_command(facts.empty_test, _LONGEST_COMMAND)}
    if facts.missing_test:
        why = shorten(facts.why_not_run, _LONGEST_WHY) or "no such program"
        return "cannot_run", {"command": short_command(facts.missing_test, _LONGEST_COMMAND), "why": why}
    return None


def _could_not_be_run(facts: RunFacts, command: str, paths: str) -> Phrase:
    command, why = short_command(command, _LONGEST_COMMAND), shorten(facts.why_not_run, _LONGEST_WHY)
    if not paths:
        return Phrase("{command} could not be run: {why}", command=command, why=why or _("no such program"))
    if why:
        return Phrase("{command} could not be run after {paths} changed: {why}", command=command, paths=paths, why=why)
    return Phrase("{command} could not be run after {paths} changed", command=command, paths=paths)


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(shown(path) for path in paths[:_MOST_NAMED]) + (" …" if len(paths) > _MOST_NAMED else "")
