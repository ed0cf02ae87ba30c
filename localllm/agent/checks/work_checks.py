"""Compare an answer with the single pieces of work that were ordered or that it claims."""

import asyncio
import re
import time
from collections.abc import Iterator

from localllm.agent.checks.findings import LONGEST_COMMAND, Finding, short_command
from localllm.agent.checks.git_checks import CommitLog, head_of, left_behind
from localllm.agent.checks.run_facts import RunFacts, is_code
from localllm.agent.checks.selected_tests import files_with_tests, is_test, named_tests, places_of
from localllm.agent.checks.stated_checks import StatedChecks
from localllm.agent.checks.test_options import leaves_out
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import request_phrases, requested_checks
from localllm.agent.phrases.agreements import is_agreement
from localllm.agent.phrases.open_requests import waits_for_user, wants_words_only
from localllm.agent.phrases.phrase_search import has_any
from localllm.agent.plan_mode import is_told_to_plan, plan_over_note
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import UserMessage
from localllm.safety.path_names import shown, some_of
from localllm.text.sanitising import shorten
from localllm.tools.call_judge import is_among
from localllm.tools.tool_system import ToolSystem

_INLINE = late_pattern(r" -[ce] |<<")
_NOT_NEEDED = late_pattern(r"(?i)\b(?:not|no longer) (?:needed|necessary|required)\b|不要|必要は?(?:な|ありませ)")
_MOST_NAMED = 20
"""Names in a request that are looked for in the project."""
_MOST_SHOWN = 3
_TELLING_LINE = 8  # characters
_WRITERS = frozenset({"edit_file", "write_file"})
_OF_ALL = ("all", "every", "each", "全", "すべて", "各", "それぞれ")
_EVERYWHERE = ("everywhere", "throughout", "across", "whole", "entire", *_OF_ALL)
_COMMITTERS = ("git_commit", "run_command")


class WorkChecks:
    """Compares an answer with the single pieces of work of a run, which may be one of several done."""

    def __init__(self, tools: ToolSystem, facts: RunFacts, listing: ProjectListing) -> None:
        self._tools = tools
        self._facts = facts
        self._listing = listing
        self.begin()

    def begin(self) -> None:
        """Start a new run."""
        self._commits = CommitLog(self._tools.root)
        self._head = head_of(self._tools.root)
        self._plan = self._tools.plan.text
        self._position = self._tools.changes.position
        self._begun = time.time_ns()
        self._stated = StatedChecks(self._tools, self._facts, self._listing)

    async def findings(self, state: RunState, text: str) -> list[Finding]:
        """Return what was ordered or is claimed, and was not done."""
        if is_told_to_plan(state.history):
            return []
        found = await asyncio.to_thread(lambda: list(self._each(state, text)))
        return [*found, *await self._of_committed_files(state, text)]

    def hint(self, state: RunState) -> str:
        """Return how the user keeps what the run was to remember or to note; "" if nothing, or if files changed."""
        if self._facts.changed or not request_phrases.may_order_keeping(state.query):
            return ""
        from localllm.agent.checks import memory_hint  # few requests order it

        has_planned = self._tools.plan.text != self._plan
        return memory_hint.hint(state.query, has_planned=has_planned, is_chat=self._tools.is_attended)

    def is_for_files(self, state: RunState) -> bool:
        """Return whether a request orders an edit of the project: it names a file of it, or one to be saved, or the
        model has looked at it. Without a file's name, code or a text in the request may be what is to be edited."""
        request, asked = state.goal, state.history.messages
        if request_phrases.saves_file(request):
            return True
        if not request_phrases.orders_edit(request):
            return False
        if any((self._tools.root / path).is_file() for path in phrases.named_files(request)[:_MOST_NAMED]):
            return True
        has_text = "```" in request or any("<stdin>" in one.text for one in asked if isinstance(one, UserMessage))
        return self._facts.has_looked and not has_text

    def missing_file(self, state: RunState) -> str:
        """Return the file into which the request orders something to be saved, and that does not exist; "" if none."""
        if not request_phrases.saves_file(state.goal):
            return ""
        from localllm.agent.phrases.claimed_files import is_missing, saved_files  # most runs make their files

        return next((path for path in saved_files(state.goal) if is_missing(self._listing, path)), "")

    def way_to_change(self, state: RunState) -> str:
        """Return the tool that changes the first file of the project that the request names."""
        named = (path for path in phrases.named_files(state.goal)[:_MOST_NAMED] if (self._tools.root / path).is_file())
        path = next(named, "")
        is_text = not path or self._tools.readable_text(path) is not None
        may_run = any(tool.name == "run_command" for tool in state.tools)
        return "run_command" if may_run and not is_text else "edit_file"

    def _each(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the findings, the most urgent first. Reads files."""
        yield from self._of_ban(state)
        yield from self._of_left_edit(state, text)
        yield from self._of_lost_edit(text)
        yield from self._of_test(state, text)
        yield from self._of_tests_alone(state, text)
        yield from self._of_crash(state, text)
        yield from self._of_files(state, text)
        yield from self._of_folder(state.goal, text)
        yield from self._of_targets(state, text)
        yield from self._of_deeds(state, text)
        yield from self._of_empty_files(state, text)
        yield from self._of_shown(state, text)
        yield from self._of_old_names(state, text)
        yield from self._of_new_test(state, text)
        yield from self._of_commit(state, text)
        yield from self._of_head(state, text)
        yield from self._of_plan(state, text)
        yield from self._of_skipped(state, text)
        yield from self._stated.findings(state, text)

    def _of_ban(self, state: RunState) -> Iterator[Finding]:
        """Yield the files that were changed though the request forbids changes, and nobody was asked."""
        facts = self._facts
        yield from self._of_banned_files(state.query)
        yield from self._of_words_only(state.query)
        paths = [path for path in facts.changed if path in facts.edited or is_code(path)]
        if not paths or self._tools.is_attended or not request_phrases.forbids_change(state.query):
            return
        from localllm.agent.phrases.claimed_files import ordered_files  # most runs are to change something

        is_as_before = self._tools.changes.are_reverted(self._position, facts.changed)
        if not is_as_before and not ordered_files(state.query):
            listed = ", ".join(map(shown, paths[:_MOST_SHOWN]))
            reason = Phrase("{paths} changed, though the request forbids changes", paths=listed)
            yield Finding("banned", reason, contradicts=True, params={"paths": listed})

    def _of_words_only(self, request: str) -> Iterator[Finding]:
        """Yield the files that tools have edited though the request is for words, and nobody was asked."""
        if self._tools.is_attended or not self._facts.edited or not wants_words_only(request):
            return
        if not self._tools.changes.are_reverted(self._position, self._facts.edited):
            paths = some_of(list(self._facts.edited))
            reason = Phrase("only words were asked for, and {paths} changed", paths=paths)
            yield Finding(None, reason, contradicts=False)

    def _of_banned_files(self, request: str) -> Iterator[Finding]:
        """Yield the files that the request orders to leave as they are, and that are not, or that are to stay, and are
        gone: a person was asked before the tools for files, or a command that names them, changed them."""
        banned = self._tools.bans.files
        if not self._facts.changed:
            return
        from localllm.agent.phrases.banned_files import kept_files  # most runs end without a change

        kept = {path.removeprefix("./") for path in kept_files(request)}
        if not (banned or kept):
            return
        differ = self._tools.changes.changed_since(self._position)
        gone = [
            path
            for path in sorted(kept)
            if not (self._tools.root / path).exists()
            and any(one == path or (path.endswith("/") and one.startswith(path)) for one in differ)
        ]
        changed = [*gone, *(path for path in differ if path not in gone and is_among(path, banned))]
        asked = {*self._facts.edited, *self._tools.bans.permitted} if self._tools.is_attended else ()
        if paths := [path for path in changed if path not in asked]:
            listed = ", ".join(map(shown, paths[:_MOST_SHOWN]))
            reason = Phrase("{paths} changed, though the request forbids it", paths=listed)
            yield Finding("banned_file", reason, contradicts=True, params={"paths": listed})

    def _of_left_edit(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that an edit failed and was not made good before another file was edited. One of a file that does not
        exist may have been a guess: it counts if it was tried twice, or if the request or the answer names the file."""
        for path, count in self._facts.left_edits.items():
            name = re.compile(rf"(?<![\w.-]){re.escape(path.rpartition('/')[2])}(?![\w-])", re.ASCII)
            is_named = bool(name.search(state.goal) or name.search(text))
            if is_named or count > 1 or (self._tools.root / path).exists():
                is_known = phrases.admits_failure(text)
                is_open = is_named and not is_known and not phrases.needs_nothing(text)
                reason = Phrase("the last edit to {path} was not applied", path=path)
                yield Finding(None if is_known else "edit_failed", reason, contradicts=is_open, params={"path": path})

    def _of_lost_edit(self, text: str) -> Iterator[Finding]:
        """Yield that an edit failed of which the file has no line, though other places of the file were edited since.
        (What is said of a file's newest edit is not said twice.)"""
        facts = self._facts
        if not facts.lost_edits or phrases.needs_nothing(text) or _NOT_NEEDED.search(text):
            return
        for path, lost in facts.lost_edits.items():
            if path == facts.failed_edit or path in facts.left_edits or path not in facts.edited:
                continue
            file = self._tools.readable_text(path)
            if file is None or any(line in " ".join(file.split()) for line in lost.added):
                continue
            reason = Phrase("an edit to {path} failed and was not made since", path=path)
            params = {"path": path, "line": shorten(lost.added[0], LONGEST_COMMAND)}
            is_known = phrases.admits_failure(text)
            yield Finding(None if is_known else "edit_lost", reason, contradicts=False, params=params)

    def _of_test(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that a test that the request names, or that failed before, was left out of those that passed since."""
        facts = self._facts
        passed = [one for one in facts.tests if one.kind == "test" and one.passed and one.at > facts.changed_at]
        if not passed or not facts.changed_at or facts.failed_test:
            return
        wanted = [*named_tests(state.goal), *(name for one in facts.tests for name in one.failed_tests)]
        files = files_with_tests(self._listing) if wanted else []
        places = places_of(self._listing, wanted) if wanted else {}
        for test, place in places.items():
            if not all(leaves_out(one.command, test, files, place) for one in passed):
                continue
            command = short_command(passed[-1].command)
            is_known = phrases.admits_not_run(text) or requested_checks.forbids_check(state.goal)
            may_run = self._tools.may_run(passed[-1].command, by_asking=not facts.was_refused)
            reason = Phrase("{test} was not run after the change ({command} leaves it out)", test=test, command=command)
            name = "left_out" if may_run and not is_known else None
            yield Finding(name, reason, contradicts=False, params={"test": test, "command": command})
            return

    def _of_tests_alone(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that what fails was to be fixed, and what tests check was changed, alone or with the code."""
        changed = [path for path in self._facts.changed if is_code(path)]
        if not any(map(is_test, changed)):
            return
        from localllm.agent.checks import weaker_tests  # most runs change no tests

        has_failed = any(not one.passed for one in self._facts.tests)
        diffs = self._tools.changes.diffs_since(self._position)
        yield from weaker_tests.findings(changed, diffs, state.goal, text, has_failed=has_failed)

    def _of_crash(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that the last program that ran after the change ended by an error, unless the answer says so, or it was
        a few lines of the model's own and the tests passed."""
        crash, request = self._facts.crash, state.goal
        if crash is None or phrases.says_it_raises(text):
            return
        if (self._facts.is_tested and _INLINE.search(crash.command)) or self._is_meant(crash.error, text):
            return
        command = short_command(crash.command)
        reason = Phrase("the last run ended by an error ({command})", command=command)
        error = f": {crash.error}" if crash.error else ""
        is_open = requested_checks.asks_for_working(request)
        from localllm.agent.phrases.admitted_failures import says_it_is_missing  # few runs end by an error

        is_known = phrases.admits_failing_tests(text) or says_it_is_missing(text, crash.error)
        params = {"command": command, "error": error}
        yield Finding(None if is_known else "crashed", reason, contradicts=is_open and not is_known, params=params)

    def _is_meant(self, error: str, text: str) -> bool:
        """Return whether the answer names an error whose message is in a line that this run has added."""
        name, _colon, message = error.partition(": ")
        message = message[:_TELLING_LINE]
        if len(message) < _TELLING_LINE // 2 or not (name in text or message in text):
            return False
        lines = (line for one in self._tools.changes.diffs_since(self._position) for line in one.diff.splitlines())
        return any(line.startswith("+") and message in line for line in lines)

    def _of_files(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the files that were ordered or are claimed, and are not there, or were not changed. Where nothing at
        all was changed, that is said instead."""
        facts, request = self._facts, state.goal
        if not facts.has_changed or facts.was_refused:
            return
        from localllm.agent.phrases import claimed_files as files  # most runs end without a change
        from localllm.agent.phrases.claimed_places import orders_work

        if not orders_work(request):
            return

        known = {made.path for made in self._tools.changes.made_since(0)} | facts.changed.keys() | facts.needless
        claimed = [one for one in files.claimed_files(text) if not files.is_touched(known, one.path)]
        is_open = not phrases.admits_failure(text) and not (self._tools.is_attended and phrases.asks_user(text))
        ordered = files.ordered_files(request) if is_open else []
        named = dict.fromkeys([*(one.path for one in claimed), *ordered])
        untouched = (path for path in named if not files.is_touched(known, path))
        missing = [path for path in untouched if files.is_missing(self._listing, path)]
        for path in missing:
            reason = Phrase("{path} does not exist", path=shown(path))
            yield Finding("missing_file", reason, contradicts=True, params={"path": path})
        may_be = [one.path for one in claimed if one.how == "changed" or one.path in request]
        same = [path for path in may_be if path != facts.failed_edit and self._is_older(path)]
        if is_open:
            from localllm.agent.checks import untouched_places as places

            changed = places.Changed(frozenset(known), self._position)
            same += places.untouched_places(self._tools, self._listing, changed, request, text)
        if same := list(dict.fromkeys(same)):
            reason = Phrase("{path} was not changed", path=some_of(same))
            yield Finding("unchanged_file", reason, contradicts=True, params={"path": some_of(same)})

    def _of_folder(self, request: str, text: str) -> Iterator[Finding]:
        """Yield the files of a folder that were to be changed with the others of it."""
        if not self._facts.changed or self._facts.was_refused or not has_any(request, _OF_ALL):
            return
        if phrases.admits_failure(text) or request_phrases.forbids_change(request):
            return
        from localllm.agent.checks import folder_counts  # few requests are for all files of a folder

        yield from folder_counts.findings(self._tools, self._listing, request, text, self._position)

    def _of_targets(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the values and names that were ordered and stand in no changed file, and the files that were to be
        changed, too, and were not even read; not if the answer says so."""
        facts, request = self._facts, state.goal
        is_open = not phrases.admits_failure(text) and not (self._tools.is_attended and phrases.asks_user(text))
        if not facts.changed or facts.was_refused or not is_open or waits_for_user(request):
            return
        if request_phrases.forbids_change(request) or request_phrases.wants_words_ja(request):
            return
        from localllm.agent.checks import unmet_orders  # most runs end without a change

        has_claimed = phrases.says_changed(text)
        found = unmet_orders.unmet_orders(self._tools, self._listing, state, text, has_claimed=has_claimed)
        what = "; ".join(one.what for one in found)
        for one in found:
            yield Finding("order_unmet", one.reason, contradicts=one.is_claimed, params={"what": what})
        if not request_phrases.asks_for_change(request):
            return
        from localllm.agent.phrases.claimed_files import claimed_files, is_touched

        told = {one.path for one in claimed_files(text)}
        unseen = (path for path in unmet_orders.unseen_files(self._tools, state, text) if self._is_older(path))
        if left := [path for path in unseen if path not in what and not is_touched(told, path)]:
            reason = Phrase("{path} was neither read nor changed", path=some_of(left))
            yield Finding("unseen_file", reason, contradicts=has_claimed, params={"path": some_of(left)})

    def _of_deeds(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what the answer says was deleted, or done with git, and was not."""
        if self._facts.calls:
            from localllm.agent.checks import claimed_deeds  # not needed at the start

            commands = claimed_deeds.commands_in(state.history)
            yield from claimed_deeds.findings(self._facts, self._tools.root, state.goal, text, self._is_older, commands)

    def _of_shown(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that a change of the project's code is only shown, where the request may have been for it."""
        facts = self._facts
        if (
            "```" not in text
            or facts.has_changed
            or facts.was_refused
            or not any(tool.name in _WRITERS for tool in state.tools)
        ):
            return
        from localllm.agent.checks import shown_changes as shown  # most answers show no code

        if phrases.needs_nothing(text) or phrases.admits_failure(text) or not shown.may_be_ordered(state.goal):
            return
        if path := shown.shown_change(text, self._listing, self._tools.readable_text):
            reason = Phrase("the change shown in the answer was not made")
            is_ordered = request_phrases.asks_for_change(state.goal)
            yield Finding("only_shown", reason, contradicts=is_ordered, params={"path": path})

    def _of_old_names(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the names that were to be renamed everywhere and still stand somewhere; not if the answer says so."""
        request = state.goal
        may_be = request_phrases.may_rename(request) or has_any(request, _EVERYWHERE)
        if not self._facts.has_changed or self._facts.was_refused or not may_be:
            return
        from localllm.agent.phrases import old_names  # most runs rename nothing

        ordered = old_names.ordered_renamings(request) if request_phrases.asks_for_change(request) else []
        diffs = self._tools.changes.diffs_since(self._position)
        changed = [(one.path, one.diff) for one in diffs]
        made = [*old_names.renamings_made(request, changed), *old_names.replaced_everywhere(request, changed)]
        told: set[str] = set()
        for one in (*made, *ordered):
            places = old_names.places_of_old(self._listing, one, self._tools.readable_text)
            if one.old in told or not places or phrases.admits_failure(text):
                continue
            if not old_names.says_why(text, one.old, places):
                told.add(one.old)
                reason = Phrase("{old} still stands in {places}", old=one.old, places=old_names.listed(places))
                what = {"old": one.old, "places": old_names.listed(places)}
                yield Finding("old_name", reason, contradicts=False, params=what)

    def _of_new_test(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that a test was asked for, or is claimed, and none was written."""
        facts, request, changes = self._facts, state.goal, self._tools.changes
        if not facts.has_changed or facts.was_refused or not phrases.speaks_of_tests(request + text):
            return
        from localllm.agent.checks import claimed_tests as tests  # most runs are to write none

        paths = {made.path for made in changes.made_since(0)} | facts.changed.keys() | facts.needless
        diffs = changes.diffs_since(self._position)
        yield from tests.findings(request, text, paths, diffs, lambda: tests.has_newer(self._listing, self._begun))

    def _is_older(self, path: str) -> bool:
        """Return whether a file of the project was last written before this run."""
        try:
            return (self._tools.root / path).stat().st_mtime_ns < self._begun
        except OSError:
            return False

    def _of_head(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what commands have left in the repository: another place in the history, or a stash."""
        left = left_behind(self._head, head_of(self._tools.root), state.goal, text) if self._facts.calls else []
        params = {"what": ". ".join(one.what for one in left), "back": "; ".join(one.back for one in left)}
        for one in left:
            yield Finding("left_behind", one.reason, contradicts=False, params=params)

    def _of_plan(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what is left of the plan that the model made in this run, or that the user accepted with it. A run that
        changes nothing, and was not to, may only plan."""
        is_work = bool(self._facts.changed) or request_phrases.asks_for_change(state.goal)
        is_own = is_work and self._tools.plan.text != self._plan
        if not is_own and not any(plan_over_note() in one.text for one in state.history.messages):
            return
        from localllm.agent.checks import plan_checks as plans  # most runs have no plan

        is_known = plans.names_rest(text) or phrases.admits_failure(text) or self._facts.was_refused
        is_known = is_known or (self._tools.is_attended and phrases.asks_user(text))
        name = None if is_known else "plan_open"
        done = "" if is_known else text
        if items := plans.open_items(self._plan, self._tools.plan, state.goal, done) if is_own else []:
            said = plans.listed(items)
            yield Finding(
                name, Phrase("open in the plan: {items}", items=said), contradicts=False, params={"what": said}
            )
        elif accepted := plans.accepted_plan(state.history, state.query):
            touched = {made.path for made in self._tools.changes.made_since(0)} | self._facts.changed.keys()
            if steps := plans.open_steps(accepted, touched | self._facts.needless):
                said = plans.listed(steps)
                reason = Phrase("steps of the plan look open: {steps}", steps=said)
                yield Finding(name, reason, contradicts=not is_known, params={"what": said})

    def _of_empty_files(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the files that were to be written, and are empty."""
        if self._facts.changed:
            from localllm.agent.checks import empty_files  # not needed at the start

            made = self._tools.changes.made_since(self._position)
            yield from empty_files.findings(self._tools, self._facts, made, state.goal, text)

    def _of_skipped(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the parts of the request that were skipped, and that the answer claims."""
        if self._facts.calls:
            from localllm.agent.checks import left_in_place, refused_commands, skipped_parts  # not needed at the start

            yield from skipped_parts.findings(state, text, self._tools, self._facts, self._position)
            yield from refused_commands.findings(state, text, self._facts)
            if self._facts.changed and not self._facts.was_refused:
                yield from left_in_place.findings(self._tools, self._listing, state, text, self._position)

    def _of_commit(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that a commit was ordered, or one failed that the answer claims, and none was made. An answer that
        speaks of the commit in another way is taken for an explanation."""
        facts, request = self._facts, state.goal
        is_asked = request_phrases.asks_for_commit(request)
        if facts.has_committed or facts.was_refused or not (is_asked or facts.has_failed_commit):
            return
        tool = next((name for name in _COMMITTERS if any(one.name == name for one in state.tools)), "")
        is_continued = facts.had_committed and is_agreement(state.query)
        if not tool or is_continued or self._commits.has_new():
            return
        if is_claimed := phrases.says_committed(text):
            is_excused = phrases.needs_nothing(text) and not facts.has_failed_commit
        elif phrases.speaks_of_commit(text):
            is_excused = self._tools.is_attended or not phrases.asks_user(text)
        else:
            is_excused = phrases.admits_failing_tests(text) or (phrases.needs_nothing(text) and not facts.changed)
        if is_excused or not (is_claimed or is_asked):
            return
        reason = (
            Phrase("the answer claims a commit, but none was made")
            if is_claimed
            else Phrase("the commit that was asked for was not made")
        )
        why = ": the last commit failed" if facts.has_failed_commit else ""
        yield Finding("not_committed", reason, contradicts=True, params={"why": why, "tool": tool})

    async def _of_committed_files(self, state: RunState, text: str) -> list[Finding]:
        """Return that besides the files that were to be committed others are, which the answer does not name."""
        if not self._facts.has_committed or not request_phrases.asks_for_commit(state.query):
            return []
        from localllm.agent.phrases.ordered_commits import files_to_commit, is_ordered  # few requests order a commit

        ordered = files_to_commit(state.query)
        if not ordered:
            return []
        committed = await self._tools.changes.files_between(*self._commits.committed_between())
        beside = [path for path in committed if not is_ordered(path, ordered) and path.rpartition("/")[2] not in text]
        if not beside:
            return []
        files, wanted = some_of(list(map(shown, beside))), some_of(list(map(shown, ordered)))
        reason = Phrase("{paths} committed as well, though only {wanted} was to be", paths=files, wanted=wanted)
        return [Finding("committed_beside", reason, contradicts=True, params={"paths": files, "files": wanted})]
