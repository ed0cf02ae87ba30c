"""The facts of a run that its end is checked against: changes, failed edits, commands and tests."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from localllm.agent.checks.command_kinds import (
    NOT_FOUND,
    CommandKind,
    changed_after_testing,
    changes_files,
    command_kind,
    commits,
    crashed,
    error_line,
    has_committed,
    missing_reason,
    only_brings_back,
    only_formats,
    outcome,
    program_failed,
    ran_after_changing,
    shows_built,
    shows_parsed,
    tool_failed,
)
from localllm.agent.checks.last_answers import ended_by_answer
from localllm.agent.checks.selected_tests import failed_tests
from localllm.agent.checks.test_output import found_no_tests
from localllm.agent.phrases import claimed_runs
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import arguments_in, path_of
from localllm.tools.results import ToolResult

if TYPE_CHECKING:
    from localllm.agent.checks.sql_queries import Query

_EDITORS = frozenset({"edit_file", "write_file", "create_file", "apply_patch"})
_READERS = (
    "analyze_code command_output explore fetch_page git_diff git_log git_status list_files list_rag_collections"
    " read_file recall search_files search_rag_knowledge_base searxng_search web_search"
)
_LOOKERS = frozenset({"analyze_code", "git_diff", "list_files", "read_file", "run_command", "search_files"})
_UNREADABLE = ("file_not_text", "file_is_database", "pdf_", "docx_", "workbook_")
_WOULD_LOSE = ("would_destroy", "loss_refused")
DOCUMENTS = "search_rag_knowledge_base"
_MERGING = late_pattern(r"\bgit\b[^\n]*\b(?:am|cherry-pick|merge|pull|rebase|revert|stash)\b")
_GIT = late_pattern(
    r"\bgit (?:-\S{1,80} (?:\w[\w.]{0,40}=\S{0,80} )?){0,4}"
    r"(merge|pull|rebase|cherry-pick|revert|tag|push|stash|branch|checkout|switch)(?![\w-])"
    r"(?! +(?:pop|apply|list|show|drop|clear|-[dDl]|--(?:abort|quit|skip|list|delete|show-current|all))\b)"
    r"(?![^\n;&|]{0,200} -- )"
)
"""Matches no looking at tags and branches, no deleting of them, no way back, and no checkout of single files."""
_ELSE_RUNS = late_pattern(r"(?:&&|\|\||[;\n]|(?<!\|)\|(?!\|)) *+(?!exit\b)[^\s;]")
_STOPPING = ("merge", "pull", "rebase", "cherry-pick", "revert")
"""Operations that exit with 1 where they stop at a conflict."""
_FATAL = 128
_ALIKE_IN_GIT = (frozenset({"merge", "pull", "rebase", "cherry-pick"}), frozenset({"checkout", "switch", "branch"}))
"""Operations by which the same may be reached."""
_NOTHING_TO_DO = ("edit_already_applied", "edit_no_change")


class TestRun(msgspec.Struct, frozen=True):
    """A test or build run as call number `at`, with the names of tests that failed in it."""

    command: str
    kind: CommandKind
    passed: bool
    at: int
    failed_tests: tuple[str, ...] = ()


class Crash(msgspec.Struct, frozen=True):
    """A program that ended by an error, as call number `at`."""

    command: str
    error: str
    at: int
    is_tool: bool = False
    """Whether the program is none of the project: then other files than code count as changed, too."""


class LostEdit(msgspec.Struct, frozen=True):
    """An edit that failed: the lines that it would have added and replaced."""

    added: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]

    def is_made_by(self, other: "LostEdit") -> bool:
        """Return whether another edit shares a line with it, or adds and replaces what is nearly the same."""
        if not {*self.old, *self.new}.isdisjoint((*other.old, *other.new)):
            return True
        return _are_alike(self.added, other.added) and _are_alike(self.old, other.old)


class RunFacts:
    """Records the results of a run's calls, counted from 1."""

    def __init__(self) -> None:
        self.known_test = ""
        """The command of the last test that was run, also in an earlier run."""
        self.searches: list[dict[str, Any]] = []
        """The results of searches in the collections of documents, also in earlier runs."""
        self.had_committed = False
        """Whether git has committed in an earlier run."""
        self.has_committed = False
        self.begin()

    def begin(self) -> None:
        """Reset the facts for a new run."""
        self.calls = 0
        self._earlier_searches = len(self.searches)
        self.edited: dict[str, None] = {}
        """Files changed by editing tools, in order."""
        self.changed: dict[str, int] = {}
        """All changed files, each with the number of the last call that changed more than its layout, or 0."""
        self.failed_edit = ""
        """The file of the latest edit, if that failed and no later one succeeded."""
        self.outside_edit = ""
        """The path of the newest edit, if that was refused as it is outside of the project."""
        self._open_edits: dict[str, int] = {}
        self.lost_edits: dict[str, LostEdit] = {}
        """The newest edit of a file that failed, if only other places of the file were edited since."""
        self._is_droppable = False
        """Whether that edit was refused for what would be lost, and an earlier one of the file was made."""
        self.needless: set[str] = set()
        """The files in which an edit found nothing to do."""
        self.has_looked = False
        """Whether the model has looked at the project."""
        self.has_result = False
        """Whether a call has succeeded."""
        self.was_refused = False
        self.said_refusing = ""
        """What the user said in place of a yes or no to the newest refused call, for the model."""
        self.unreadable = ""
        """The newest file that could not be read as text, or a picture not seen, if no call has succeeded since."""
        self.unseen: dict[str, Any] = {}
        """What is known of that picture."""
        self.by_git: set[str] = set()
        """Changed files that only git has changed, in commands that restore files from commits."""
        self.has_run = False
        """Whether a command has run to its end."""
        self.failed_program: Crash | None = None
        """The newest program, if it failed, whatever was changed."""
        self.failed_deeds: dict[str, Crash] = {}
        """The newest command for each deed of `claimed_runs`, if it failed and nothing else may have done it since."""
        self.failed_change: Crash | None = None
        """The newest that was to move, format or otherwise change files, if it failed."""
        self.query: Query | None = None
        """The newest command that has ended, if it was a query of a database, or the first and printed a number."""
        self.every_row = ""
        """A statement that has changed every row of a table."""
        self.may_have_changed = False
        """Whether a call has succeeded whose changes are not tracked."""
        self.had_committed = self.had_committed or self.has_committed
        self.has_committed = False
        """Whether git has committed: the changes of the files may be on a branch, then."""
        self.has_failed_commit = False
        """Whether the newest commit was not made, though there was something to commit."""
        self.failed_git: dict[str, Crash] = {}
        """Operations of git that have failed, and not been done since."""
        self.may_be_merging = False
        """Whether git may have begun a merge, a rebase or the like, or gone on with it."""
        self.marked: dict[str, None] = {}
        """Files that were taken as merged though they held conflict markers."""
        self.tests: list[TestRun] = []
        self._checked_at = 0
        self._crash: Crash | None = None
        self._not_run, self._not_run_at, self._is_empty, self._is_missing = "", 0, False, False
        self.why_not_run = ""
        """What the newest test or build that could not be run has said of it; empty if there was no such program."""
        self._in_background: dict[object, str] = {}

    def note(self, results: Sequence[ToolResult]) -> None:
        """Record the results of an answer's calls."""
        for result in results:
            self.calls += 1
            self.has_result = self.has_result or result.success
            self.was_refused = self.was_refused or result.refused
            if result.refused and result.error:
                said = result.error.params.get("feedback") if result.error.key == "denied_with_words" else None
                self.said_refusing = said.english if isinstance(said, Phrase) else ""
            tool = result.call.name.strip().lower()
            self.has_looked = self.has_looked or (result.success and tool in _LOOKERS)
            self._note(result, tool)

    def _note(self, result: ToolResult, tool: str) -> None:
        if result.success:
            self.unseen = result.payload["image"] if result.payload.get("unseen") else {}
            self.unreadable = _path_of(result) if self.unseen else ""
        elif tool == "read_file" and result.error and result.error.key.startswith(_UNREADABLE):
            self.unreadable = _path_of(result)
        changed = dict.fromkeys(result.changes, self.calls)
        if "return_code" in result.payload:
            self._note_command(result, changed)
            return
        if tool == DOCUMENTS and result.success:
            self.searches.append(result.payload)
        if tool == "git_commit" and not result.refused:
            is_empty = result.error is not None and result.error.key == "git_nothing_to_commit"
            self._note_commit(is_made=result.success, is_empty=is_empty)
        if tool in _EDITORS:
            self._note_edit(result, changed)
        elif result.success and tool not in _READERS.split():
            self.may_have_changed = True
        self.by_git.difference_update(changed)
        self.changed |= changed

    def _note_deeds(self, command: str, kind: CommandKind, failed: Crash | None, *, has_changed: bool) -> None:
        """Record what a command was to do and did not. What one has failed to do, another program may do by itself."""
        changes = changes_files(command)
        if not failed and (kind == "program" or changes or has_changed):
            self.failed_deeds = {deed: one for deed, one in self.failed_deeds.items() if deed == "install"}
        for deed in claimed_runs.deeds_of(command):
            self.failed_deeds.pop(deed, None)
            self.failed_deeds |= {deed: failed} if failed else {}
        if kind == "files" and changes:
            self.failed_change = failed

    def _note_git(self, command: str, code: int, output: str) -> None:
        """Record which operations of git have failed. One that stopped at a conflict is in progress. Of a command that
        does more, the exit code tells only of the last part."""
        found = [*_GIT.finditer(command)]
        if not found:
            return
        last = found[-1][1]
        if code >= _FATAL or (code and last not in _STOPPING):
            if not _ELSE_RUNS.search(command, found[-1].end()):
                self.failed_git[last] = Crash(command, error_line(output), self.calls)
            return
        done = {one[1] for one in found}
        for group in _ALIKE_IN_GIT:
            done |= group if done & group else set()
        for operation in done:
            self.failed_git.pop(operation, None)

    def _note_commit(self, *, is_made: bool, is_empty: bool) -> None:
        self.has_committed = self.has_committed or is_made
        for operation in _STOPPING if is_made else ():
            self.failed_git.pop(operation, None)
        self.has_failed_commit = not (is_made or is_empty)

    def _note_edit(self, result: ToolResult, changed: dict[str, int]) -> None:
        key = result.error.key if result.error else ""
        self.outside_edit = _path_of(result) if key.startswith("path_outside") else ""
        if result.success and not changed and result.payload.get("changed", True):  # earlier versions are not stored
            changed[str(result.payload.get("file_path") or _path_of(result))] = self.calls
        if result.success:
            self.failed_deeds.pop("format", None)
            self._close_edits(changed)
            self._find_lost_edits(result, changed)
            self.edited |= dict.fromkeys(changed)
            self.may_have_changed = self.may_have_changed or not changed
            self.failed_edit = ""
        elif key in _NOTHING_TO_DO:  # whether a file that this run has not edited is as it should be, is not known
            self.may_have_changed = self.may_have_changed or _path_of(result) in self.edited
            self.needless.add(_path_of(result))
            self._close_edits([_path_of(result)])
        elif not result.refused and key != "tool_unknown":  # a sub-agent can only read
            self.failed_edit = _path_of(result) or "a file"
            if (edit := _edit_in(result)).added:
                self.lost_edits[self.failed_edit] = edit
            self._is_droppable = key in _WOULD_LOSE and self.failed_edit in self.edited
            if not self._is_droppable:
                self._open_edits[self.failed_edit] = self._open_edits.get(self.failed_edit, 0) + 1

    def _find_lost_edits(self, result: ToolResult, changed: Iterable[str]) -> None:
        """Count a failed edit as made good by one like it, or that writes the whole file."""
        edit = _edit_in(result)
        for path in changed:
            if (lost := self.lost_edits.get(path)) and (not (edit.old or edit.new) or lost.is_made_by(edit)):
                del self.lost_edits[path]

    def _close_edits(self, paths: Iterable[str]) -> None:
        """Count failed edits as made good by one of a file of that name: the model may have mistaken the folder."""
        names = {path.rpartition("/")[2] for path in paths}
        self._open_edits = {
            path: count for path, count in self._open_edits.items() if path.rpartition("/")[2] not in names
        }

    def _note_command(self, result: ToolResult, changed: dict[str, int]) -> None:
        payload, number = result.payload, result.payload.get("id")
        command = str(_argument(result, "command") or self._in_background.get(number, ""))
        if number is not None:
            self._in_background[number] = command
        if payload.get("return_code") is None:
            return
        self.has_run = True
        output = "\n".join(str(payload.get(name, "")) for name in ("stdout", "stderr", "output"))
        kind = command_kind(command)
        code = _code_of(payload, kind, command, output)
        failed = Crash(command, error_line(output), self.calls) if payload["return_code"] else None
        self._note_deeds(command, kind, failed, has_changed=bool(changed))
        from localllm.agent.checks.sql_queries import query_of  # most runs begin without a command

        self.query = query_of(command, int(payload["return_code"]), output, is_first=self.calls == 1)
        self.every_row = self.every_row or (self.query.every_row if self.query else "")
        self._note_git(command, int(payload["return_code"]), output)
        if commits(command):
            is_made = has_committed(int(payload["return_code"]), output)
            self._note_commit(is_made=is_made, is_empty="nothing to commit" in output)
        self.may_be_merging = self.may_be_merging or bool(_MERGING.search(command))
        self.marked |= dict.fromkeys(payload.get("conflict_markers", ()))
        if is_layout := only_formats(command):
            changed = {path: self.changed.get(path, 0) for path in changed}
        if kind in ("test", "build"):
            changed = {one: at for one, at in changed.items() if is_code(one) or one in command}  # no caches, reports
            self._note_test(command, kind, code, output, changed)
        elif kind == "program" and not is_layout:
            self._note_program(command, code, output, changed)
        if kind not in ("test", "reading") and result.success:
            self.may_have_changed = True
        self._close_edits(changed)
        self.lost_edits = {path: lost for path, lost in self.lost_edits.items() if path not in changed}
        if self.failed_edit in changed:
            self.failed_edit = ""
        if only_brings_back(command):
            self.by_git |= changed.keys() - self.changed.keys()
        else:
            self.by_git.difference_update(changed)
        self.changed |= changed

    def _note_test(
        self, command: str, kind: CommandKind, return_code: int, output: str, changed: dict[str, int]
    ) -> None:
        passed = outcome(command, return_code, output)
        if passed is None:
            self._not_run, self._not_run_at = command, self.calls
            self._is_empty, self._is_missing = found_no_tests(output), return_code in NOT_FOUND
            self.why_not_run = missing_reason(output)
            return
        at = self.calls - changed_after_testing(command, changed)
        self.tests.append(TestRun(command, kind, passed, at, () if passed else failed_tests(output)))
        self.known_test = command if kind == "test" else self.known_test
        self._checked_at = at
        if passed and kind == "test" and self._is_droppable:
            self.failed_edit = ""

    def _note_program(self, command: str, return_code: int, output: str, changed: dict[str, int]) -> None:
        from localllm.agent.checks.sql_queries import only_queries, sql_error

        code = [path for path in changed if is_code(path)]
        has_failed = program_failed(command, return_code)
        self.failed_program = Crash(command, error_line(output), self.calls) if has_failed else None
        if crashed(command, return_code, output):
            self._crash = Crash(command, error_line(output), self.calls)
        elif (error := sql_error(command, output)) or tool_failed(command, return_code, output):
            self._crash = Crash(command, error or error_line(output), self.calls, is_tool=True)
        elif self._crash and self._crash.is_tool and not changed and only_queries(command):
            return  # it mends nothing
        elif outcome(command, return_code, output) is None:
            return  # there is no such program, which `|| true` hides
        elif not code or ran_after_changing(command, code, succeeded=return_code == 0):
            if return_code == 0 and (failed := self.failed_test) and shows_parsed(command, failed.command):
                self.tests.append(TestRun(failed.command, failed.kind, passed=True, at=self.calls))
            self._checked_at = self.calls if return_code not in NOT_FOUND else self._checked_at

    @property
    def has_begun(self) -> bool:
        """Whether a command was begun, also one that still runs in the background."""
        return self.has_run or bool(self._in_background)

    @property
    def found_nothing(self) -> bool:
        """Whether documents were searched in this run, and no search gave a passage, nor did an earlier one."""
        return self.has_searched and not any(found.get("results") for found in self.searches)

    @property
    def has_searched(self) -> bool:
        """Whether documents were searched in this run."""
        return len(self.searches) > self._earlier_searches

    @property
    def has_changed(self) -> bool:
        """Whether any file was changed, or may have been."""
        return bool(self.changed) or self.may_have_changed

    @property
    def failed_test(self) -> TestRun | None:
        """The latest failed test without a later success. Or such a build, without a later successful test, or build
        that shows it to pass. (The same build, run again at once, may pass by chance.)"""
        built: list[TestRun] = []
        for run in reversed(self.tests):
            if run.passed and run.kind == "test":
                return None
            if run.passed:
                built.append(run)
            elif run.kind == "test" or not any(_is_made_good(run, by) for by in built):
                return run
        return None

    @property
    def unchecked(self) -> list[str]:
        """Code changed after the last program or test was run."""
        return [path for path, at in self.changed.items() if at > self._checked_at and is_code(path)]

    @property
    def left_edits(self) -> dict[str, int]:
        """Files whose newest edit failed before another file was edited, with how often it had failed."""
        return {path: count for path, count in self._open_edits.items() if path != self.failed_edit}

    @property
    def changed_at(self) -> int:
        """The number of the newest call that changed code; 0 if none did."""
        return max((at for path, at in self.changed.items() if is_code(path)), default=0)

    @property
    def crash(self) -> Crash | None:
        """The newest program if it ended by an error after the last change of code, and no other ran well since."""
        crash = self._crash
        has_changed = bool(self.changed) if crash and crash.is_tool else self.changed_at > 0
        return crash if crash and crash.at > max(self.changed_at, self._checked_at) and has_changed else None

    @property
    def not_run(self) -> str:
        """The newest test or build that was to check the unchecked code and could not be run; empty where none was."""
        changed_at = max((self.changed[path] for path in self.unchecked), default=0)
        return self._not_run if self._not_run_at > changed_at > 0 else ""

    @property
    def empty_test(self) -> str:
        """The newest test or build if it found no tests and nothing was changed since; else empty."""
        is_newest = self._is_empty and self._not_run_at > max((*self.changed.values(), self._checked_at), default=0)
        return self._not_run if is_newest else ""

    @property
    def missing_test(self) -> str:
        """The newest test or build if it could not be run and no test was since, nor any code changed, which brings no
        program that is missing."""
        changed_at = 0 if self._is_missing else self.changed_at
        is_newest = self._not_run_at > max((changed_at, *(test.at for test in self.tests)))
        return self._not_run if is_newest and not self._is_empty else ""

    @property
    def is_tested(self) -> bool:
        """Whether the latest test passed, and no code was changed since."""
        test = next((test for test in reversed(self.tests) if test.kind == "test"), None)
        return bool(test and test.passed) and not any(
            at > test.at for path, at in self.changed.items() if test and is_code(path)
        )


def _is_made_good(failed: TestRun, by: TestRun) -> bool:
    is_other = by.at > failed.at + 1 or by.command != failed.command
    return is_other and shows_built(by.command, failed.command)


def _code_of(payload: dict[str, Any], kind: CommandKind, command: str, output: str) -> int:
    """Return the exit code of a command; that of the test, build or program where the last part hides it."""
    codes = [one["return_code"] for one in payload.get("failed_parts", ()) if command_kind(one["command"]) == kind]
    code = int(codes[-1] if codes else payload["return_code"])
    is_answer = code == 1 and not codes and kind in ("test", "build") and ended_by_answer(command, output)
    return 0 if is_answer else code


def _argument(result: ToolResult, name: str) -> object:
    """Return an argument of a call: as the tool understood it, else as it was written."""
    return result.arguments.get(name) or arguments_in(result.call.arguments).get(name)


def _path_of(result: ToolResult) -> str:
    return str(result.arguments.get("file_path") or path_of(result.call))


_SHORTEST_LINE = 8
"""A shorter line says nothing of the place."""
_ALIKE = 0.7
"""Similarity of two lines of which one may be a wrong guess at the other."""
_MOST_LINES = 20


def _edit_in(result: ToolResult) -> LostEdit:
    """Return the lines of an edit; none if it writes a whole file."""
    old, new = (_lines(_argument(result, name)) for name in ("old_string", "new_string"))
    return LostEdit(tuple(line for line in new if line not in old), tuple(old), tuple(new))


def _are_alike(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a line of the one edit is nearly one of the other."""
    from localllm.text.nearest_region import similarity  # few edits fail

    return any(similarity(one, other) >= _ALIKE for one in some[:_MOST_LINES] for other in others[:_MOST_LINES])


def _lines(text: object) -> list[str]:
    """Return the lines that say something, with plain blanks."""
    lines = (" ".join(line.split()) for line in str(text or "").splitlines())
    return [line for line in lines if len(line) >= _SHORTEST_LINE]


def is_code(path: str) -> bool:
    """Return whether a file contains code that can be run or built."""
    from localllm.code.grammars import language_of  # not needed at the start

    return language_of(path) is not None
