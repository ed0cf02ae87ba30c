"""Completion checks: compare an answer with the facts of its run before accepting it.

A model that announces a step without a call is asked for it, then required to call a tool. If facts of the run
contradict its answer it is told once of each, at most three times in all, but not at the last step that it may take;
then the answer is accepted, and the user is told what was not checked or is wrong. docs/agent.md lists these reasons.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from localllm.agent.checks.answer_calls import calls_in, command_in, ends_with_replacement, holds_change, holds_commands
from localllm.agent.checks.command_kinds import command_kind
from localllm.agent.checks.findings import Finding
from localllm.agent.checks.git_checks import unfinished_merge
from localllm.agent.checks.run_facts import DOCUMENTS, RunFacts
from localllm.agent.checks.test_run_checks import TestRunChecks
from localllm.agent.checks.unreadable_places import unless_unreadable
from localllm.agent.checks.work_checks import WorkChecks
from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import request_phrases, requested_checks
from localllm.agent.phrases.announcements import announces, is_only_call, last_command
from localllm.agent.phrases.answer_language import language_notice, unwanted_language
from localllm.agent.phrases.open_requests import may_need_nothing
from localllm.agent.plan_mode import is_told_to_plan
from localllm.agent.system_prompt import remark
from localllm.base.directory_walk import ProjectListing
from localllm.base.events import Notice, ToolCall
from localllm.base.i18n import Phrase, _
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, Completion, ToolMessage
from localllm.tools.results import ToolResult
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agent.checks.written_texts import WrittenTexts

_BROKEN_OFF = frozenset({"length", "content_filter", "chanting", "interrupted"})

_LONGEST_BEFORE_PLAN = 200
_MOST_REMARKS = 3
_MOST_NAMED = 3
_WRITERS = frozenset({"edit_file", "write_file", "create_file"})
_SHORTEST_FIRST = 200
"""Characters of an answer below which nothing is lost with it."""
_STANDS_ALONE = 0.6
"""An answer of this share of the first one's length replaces it."""
_PLACES = frozenset({"no_such_file", "not_there"})
"""Remarks on a place that an answer names wrongly: the rest of it holds, and what follows corrects that."""


def has_announced(state: RunState, answer: Completion, *, is_asked: bool = False) -> bool:
    """Return whether the answer is an announcement, and there are tools to carry it out.
    In plan mode only a short one counts: a plan ends with what will be done."""
    text = answer.message.text
    is_plan = len(text) > _LONGEST_BEFORE_PLAN and is_told_to_plan(state.history)
    may_be = bool(state.tools) and answer.finish_reason not in _BROKEN_OFF and not is_plan
    return may_be and announces(text, is_asked=is_asked)


def mismatch(reason: Phrase) -> Notice:
    """Return the notice of an answer that the model is asked to correct."""
    return Notice(text=_("The answer does not match what was done: {reason}.", reason=str(reason).rstrip(".。")))


def unverified(reason: Phrase) -> Notice:
    """Return the notice of an answer that the model is asked about, and that nothing contradicts: the run may end well
    with it."""
    text = _("The model was asked about what could not be verified: {reason}.", reason=str(reason).rstrip(".。"))
    return Notice(text=text)


class Ending(msgspec.Struct, frozen=True):
    """How a run's answer compares with its facts: what `contradicts` it, and what else was not checked. `first`: the
    answer to which it only adds."""

    contradicts: tuple[Phrase, ...] = ()
    unverified: tuple[Phrase, ...] = ()
    first: str = ""


class FirstAnswer:
    """The longest answer of a run that was doubted and not contradicted, for where the one after it only adds to it.

    A small model responds to a remark with a line ("All tests pass."), which would be all that a one-shot prints. A
    chat shows both anyway."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start a new run."""
        self._text, self._position, self.is_about_place = "", 0, False

    def doubt(self, text: str, position: int, name: str) -> None:
        """Keep an answer about which the remark `name` is made; `position`: that of the changes of files so far."""
        if len(text) >= _SHORTEST_FIRST and len(text) > len(self._text):
            self._text, self._position, self.is_about_place = text, position, name in _PLACES

    def before(self, last: str, position: int) -> str:
        """Return what goes before the last answer: the first, if that is much longer, and no file changed since."""
        is_addition = len(last) < _STANDS_ALONE * len(self._text) and position == self._position
        return self._text if is_addition else ""


class Finishing(Middleware):
    """Asks for an announced call, then requires one.
    Tells the model what is wrong in what it wrote and what contradicts its answer; finally judges the end of the run.
    `max_steps`: the run's limit, 0 for none. `is_exact`: whether the answer comes from the rule-based engine, whose
    words need no interpretation."""

    def __init__(self, tools: ToolSystem, max_steps: int = 0, is_exact: Callable[[], bool] = lambda: False) -> None:
        self._tools = tools
        self._max_steps = max_steps
        self._is_exact = is_exact
        self._facts = RunFacts()
        self._listing = ProjectListing(tools.root)
        self._work = WorkChecks(tools, self._facts, self._listing)
        self._test_runs = TestRunChecks(tools, self._facts)
        self._written: WrittenTexts | None = None
        self._first = FirstAnswer()
        self.begin()

    def begin(self) -> None:
        """Reset the state for a new run."""
        self._asked = 0
        self._told: set[str] = set()
        self._facts.begin()
        self._work.begin()
        self._test_runs.begin()
        self._written = None
        self._position = self._tools.changes.position
        self._first.begin()
        self.ending = Ending()

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Record the results of calls."""
        self._asked = 0
        self._facts.note(results)
        self._test_runs.note(results)
        if self._written is None:
            from localllm.agent.checks.written_texts import WrittenTexts  # not needed for the first request

            self._written = WrittenTexts(self._tools, self._position)
        self._written.note(results)

    async def before_step(self, state: RunState) -> Decision:
        """Tell the model what is wrong with the text that its newest edits have written."""
        said = await self._written.remark(state) if self._written and not self._is_exact() else ""
        return Inject(said) if said else None

    def with_calls(self, state: RunState, answer: Completion) -> Completion:
        """Return the answer with the calls it clearly stands for: not in plan mode, nor if untrusted text may have
        suggested them."""
        text = answer.message.text
        if answer.message.tool_calls or answer.finish_reason in _BROKEN_OFF or not text.strip():
            return answer
        if self._is_exact() or self._tools.tainted:
            return answer
        calls = self._calls_of(state, text)
        offered = {tool.name for tool in state.tools}
        if not calls or not all(call.name in offered for call in calls):
            return answer
        state.emit(
            Notice(
                text=_(
                    "The model wrote out a step instead of calling a tool: it is run as {calls}.", calls=_names(calls)
                )
            )
        )
        message = msgspec.structs.replace(answer.message, tool_calls=tuple(calls))
        return msgspec.structs.replace(answer, message=message, finish_reason="tool_calls")

    def _calls_of(self, state: RunState, text: str) -> Sequence[ToolCall]:
        """Return the calls that stand in a text: code and commands only where a change is awaited."""

        def is_announced(said: str) -> bool:
            return announces(said, is_asked=True)

        if self._awaits_change(state) and (calls := calls_in(text, self._tools.root, is_announced)):
            return calls
        names_tool = '"name"' in text or any(tool.name in text for tool in state.tools)
        if is_told_to_plan(state.history) or not names_tool:
            return ()
        from localllm.agent.checks.written_calls import written_calls  # few answers name a tool

        asked = [tool for tool in state.tools if tool.name not in state.goal]  # those are explained
        return written_calls(text, asked, is_announced)

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Ask for an announced call; report what contradicts the answer; else accept it as the last."""
        if self._is_exact():
            return None
        text, is_last = answer.message.text, 0 < self._max_steps <= state.step
        if self._is_announcement(state, answer):
            self._asked += 1
            if self._asked <= 2:
                return self._ask_for_call(state, text)
            state.emit(
                Notice(
                    text=_("The model announced a step but did not take it, though it was asked to twice."),
                    level="warning",
                )
            )
            self.ending = Ending((Phrase("a step was announced but not taken"),))
            return None
        if not is_last and "language" not in self._told:
            given = (one.text for one in state.history.messages if not isinstance(one, AssistantMessage | ToolMessage))
            if name := unwanted_language(text, state.goal, given):
                self._told.add("language")
                state.emit(Notice(text=language_notice(name)))
                return Inject(remark(name))
        self._listing.forget()
        findings = [] if answer.finish_reason in _BROKEN_OFF else await unless_unreadable(self._findings(state, text))
        if not is_last and len(self._told) < _MOST_REMARKS:
            for finding in findings:
                if finding.name and finding.name not in self._told:
                    self._told.add(finding.name)
                    if not finding.contradicts:
                        self._first.doubt(text, self._tools.changes.position, finding.name)
                    state.emit((mismatch if finding.contradicts else unverified)(finding.reason))
                    return Inject(remark(finding.name, **finding.params))
        self.ending = Ending(
            tuple(finding.reason for finding in findings if finding.contradicts),
            tuple(finding.reason for finding in findings if not finding.contradicts),
            await self._first_of(state, text),
        )
        if hint := self._work.hint(state):
            state.emit(Notice(text=hint))
        return None

    async def _first_of(self, state: RunState, last: str) -> str:
        """Return the answer to which the last one only adds, where nothing speaks against it now; "" in a chat, which
        shows both."""
        first = "" if self._tools.is_attended else self._first.before(last, self._tools.changes.position)
        if not first or self._first.is_about_place:
            return first
        again = await unless_unreadable(self._findings(state, first))
        return "" if any(finding.name for finding in again) else first

    # Announcements.

    def _is_announcement(self, state: RunState, answer: Completion) -> bool:
        text, is_asked = answer.message.text, self._awaits_change(state)
        if has_announced(state, answer, is_asked=is_asked):
            return True
        if not state.tools or answer.finish_reason in _BROKEN_OFF:
            return False
        if _alone(text) and self._is_wanted(_alone(text), state.goal):
            return True
        if phrases.is_plan(text) and (self._facts.failed_test or self._facts.failed_edit):
            return True
        return self._asked > 0 and bool(last_command(text))

    def _is_wanted(self, command: str, request: str) -> bool:
        """Return whether a request is to be answered by running commands, not by naming them: it asks for work, or for
        output of commands, of which none has been read yet."""
        if request_phrases.asks_for_change(request) or requested_checks.asks_for_check(request):
            return True
        return (
            not self._facts.calls
            and command_kind(command) == "reading"
            and not request_phrases.asks_for_command(request)
        )

    def _ask_for_call(self, state: RunState, text: str) -> Inject:
        if self._asked == 1 and not command_in(text) and not is_only_call(text):
            state.emit(Notice(text=_("The model announced a step without taking it and was asked to take it.")))
            return Inject(remark("announced"))
        if self._asked == 1:
            state.emit(Notice(text=_("The model wrote out a call without making it and was asked to make it.")))
        else:
            state.emit(Notice(text=_("The model announced a step again and must take one now.")))
        command = command_in(text) or last_command(text)
        call = f": run_command {encode_json({'command': command}).decode()}" if command else ""
        return Inject(remark("call_required", call=call), require_call=True)

    # Contradictions of the answer.

    def _awaits_change(self, state: RunState) -> bool:
        """Return whether files are to be changed and could be, and none has been."""
        return not self._facts.was_refused and self._lacks_change(state)

    def _lacks_change(self, state: RunState) -> bool:
        return (
            not self._facts.changed
            and any(tool.name in _WRITERS for tool in state.tools)
            and not is_told_to_plan(state.history)
            and request_phrases.asks_for_change(state.goal)
        )

    async def _findings(self, state: RunState, text: str) -> list[Finding]:
        """Return all that contradicts the answer, or was not checked, the most urgent first."""
        found = [
            *self._of_failed_edit(state, text),
            *await self._of_syntax(text),
            *await self._of_merge(state, text),
            *await self._of_reverted(state, text),
        ]
        of_tests = await self._test_runs.findings(state, text)
        of_nothing = [*self._of_nothing_done(state, text)]
        of_work = await self._work.findings(state, text)
        found = [
            *found,
            *of_tests,
            *of_nothing,
            *(one for one in of_work if not (of_nothing and one.name == "only_shown")),
            *(() if of_tests else self._test_runs.unrun_code(state, text)),
            *await self._of_passages(state, text),
            *(await self._written.findings(state, text) if self._written and not self._facts.searches else []),
        ]
        is_said = any(one.name or one.contradicts for one in found)
        return found if is_said else [*found, *self._test_runs.of_failed_run(state, text)]

    def _of_failed_edit(self, state: RunState, text: str) -> list[Finding]:
        if not (self._facts.failed_edit or self._facts.outside_edit):
            return []
        from localllm.agent.checks import failed_edits  # most edits are made

        return [*failed_edits.findings(state, text, self._facts, is_told="edit_failed" in self._told)]

    async def _of_syntax(self, text: str) -> list[Finding]:
        facts, changes = self._facts, self._tools.changes
        broken = await asyncio.to_thread(changes.broken_since, self._position, facts.edited, facts.marked)
        if not broken:
            return []
        is_denied = not phrases.admits_failure(text)
        return [
            Finding(
                "syntax_error" if is_denied else None,
                Phrase("{path} still holds a part of a merge conflict", path=path)
                if one.in_conflict
                else Phrase("{path} uses {names}, which nothing in it defines or imports", path=path, names=one.unbound)
                if one.unbound
                else Phrase("{path} has had a syntax error since it was changed", path=path),
                is_denied and not one.unbound,
                {"path": path, "errors": one.errors},
            )
            for path, one in broken.items()
        ]

    async def _of_merge(self, state: RunState, text: str) -> list[Finding]:
        """Return that a merge or the like which the run has to do with is in progress."""
        if not self._facts.may_be_merging:
            return []
        found = await asyncio.to_thread(unfinished_merge, self._tools.root, state.goal, text)
        if found is None:
            return []
        name = "in_progress" if found.is_denied else None
        return [Finding(name, found.reason, found.is_denied, {"what": found.what})]

    async def _of_reverted(self, state: RunState, text: str) -> list[Finding]:
        """Return that the answer claims a change, though the files are again as they were before the run. Where
        something was committed, the change may be on another branch."""
        facts = self._facts
        if not facts.changed or not phrases.says_changed(text):
            return []
        if phrases.admits_failure(text) or phrases.says_reverted(text):
            return []
        if not request_phrases.asks_for_change(state.goal):
            return []
        if not await asyncio.to_thread(self._tools.changes.are_reverted, self._position, facts.changed):
            return []
        reason = Phrase("the answer claims a change, but the files are as they were before it")
        return [Finding("reverted", reason, contradicts=not facts.has_committed)]

    def _of_nothing_done(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that a requested change was not made, unless the answer explains why."""
        facts, is_alone = self._facts, not self._tools.is_attended
        claimed = Phrase("the answer claims a change, but no file was changed")
        lacks_input = is_alone and bool(state.tools) and not facts.calls and phrases.wants_input(text)
        if lacks_input:
            yield Finding("nobody", Phrase("the answer asks for something the model can read itself"), contradicts=True)
        elif is_alone and (path := self._file_asked_about(state, text)):
            reason = Phrase("the answer asks a question, and {path} was not changed as requested", path=path)
            yield Finding("nobody", reason, contradicts=True)
        elif self._claims_unasked(state, text):
            yield Finding("no_change", claimed, contradicts=False)
        elif self._claims_refused(state, text):
            said = facts.said_refusing
            yield Finding("refused_for" if said else "refused", claimed, contradicts=True, params={"said": said})
        elif facts.changed and ends_with_replacement(text) and request_phrases.asks_for_change(state.goal):
            yield Finding("not_written", Phrase("the change shown in the answer was not made"), contradicts=True)
        elif not (
            not self._awaits_change(state)
            or facts.may_have_changed
            or facts.failed_edit
            or phrases.needs_nothing(text)
            or phrases.admits_failure(text)
        ):
            yield from self._of_words_alone(state, text)

    def _file_asked_about(self, state: RunState, text: str) -> str:
        """Return the file that a final question is about instead of a change of it; "" if the answer says that it is
        not there."""
        path = phrases.asks_about_file(text, state.goal, self._facts.changed)
        is_told = phrases.needs_nothing(text) or phrases.admits_failure(text)
        return "" if path and is_told and not (self._tools.root / path).exists() else path

    def _of_words_alone(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what the answer gives in place of a requested change."""
        from localllm.agent.phrases.kept_code import says_it_is_used  # most runs change something

        facts, is_alone = self._facts, not self._tools.is_attended
        if holds_change(text):
            yield Finding("not_written", Phrase("the change shown in the answer was not made"), contradicts=True)
        elif holds_commands(text):
            yield Finding("not_run", Phrase("the commands in the answer were not run"), contradicts=True)
        elif phrases.says_changed(text):
            reason = Phrase("the answer claims a change, but no file was changed")
            yield Finding("no_change", reason, contradicts=True)
        elif (
            phrases.finds_none(text, state.goal)
            or (facts.has_looked and says_it_is_used(text))
            or (facts.is_tested and requested_checks.asks_for_passing(state.goal))
        ):
            return  # what was to be changed is not there, or is used, or the tests that were to pass do
        elif phrases.asks_user(text):
            if is_alone:
                reason = Phrase("the answer asks a question, and nothing was changed")
                yield Finding("nobody", reason, contradicts=True)
        elif path := self._work.missing_file(state):
            reason = Phrase("{path} does not exist", path=path)
            yield Finding("not_saved", reason, contradicts=True, params={"path": path})
        elif is_alone and phrases.is_plan(text):
            yield Finding("only_plan", Phrase("there is only a plan; nothing was changed"), contradicts=True)
        elif self._work.is_for_files(state) and not may_need_nothing(state.goal):
            how = self._work.way_to_change(state)
            yield Finding("only_words", Phrase("nothing was changed"), contradicts=True, params={"how": how})

    def _claims_unasked(self, state: RunState, text: str) -> bool:
        """Return whether the answer claims a change of its own though no tool was called, or those of the first request
        have only read, nor has any changed a file in the session, and the request may have been for one in other words
        than `asks_for_change` knows."""
        request, facts = state.goal, self._facts
        has_read = facts.calls and not (facts.has_run or facts.has_changed) and len(state.history.words) == 1
        return (
            (bool(has_read) or not facts.calls)
            and any(tool.name in _WRITERS for tool in state.tools)
            and phrases.claims_own_change(text)
            and not (request_phrases.asks_for_change(request) or request_phrases.asks_for_words(request))
            and (not facts.calls or request_phrases.may_order_change(request))
            and not (phrases.needs_nothing(text) or phrases.admits_failure(text))
            and not is_told_to_plan(state.history)
            and not self._tools.changes.made_since(0)
        )

    def _claims_refused(self, state: RunState, text: str) -> bool:
        """Return whether the answer claims a change that the user has refused. (What nobody could permit is reported
        at the end of the run.)"""
        facts = self._facts
        return (
            self._tools.is_attended
            and facts.was_refused
            and self._lacks_change(state)
            and not (facts.may_have_changed or facts.failed_edit or facts.outside_edit)
            and phrases.says_changed(text)
            and not (phrases.needs_nothing(text) or phrases.admits_failure(text) or phrases.admits_refusal(text))
        )

    async def _of_passages(self, state: RunState, text: str) -> list[Finding]:
        """Return the references that no passage has, and the numbers that are not in the passages cited."""
        if not self._facts.searches:
            return []
        from localllm.agent.checks import cited_passages  # most runs search no documents

        hits = [hit for payload in self._facts.searches for hit in cited_passages.hits_in(payload)]
        given = [one for one in state.history.messages if not isinstance(one, AssistantMessage)]
        known = [one.text for one in given]
        read = [one.text for one in given if not (isinstance(one, ToolMessage) and one.name == DOCUMENTS)]
        if self._facts.found_nothing and not self._facts.changed:
            name, found = "nothing_found", await asyncio.to_thread(cited_passages.made_up, text, state.goal, read)
            what = "; ".join(one.quantity for one in found[:_MOST_NAMED])
        else:
            is_source = self._facts.has_searched and not (self._facts.has_run or self._facts.changed)
            check = partial(cited_passages.unsupported, are_source=is_source)
            found = await asyncio.to_thread(check, text, hits, known, state.goal, read)
            name, what = "not_in_passages", "; ".join(one.for_model for one in found[:_MOST_NAMED])
        return [Finding(name, one.phrase, contradicts=False, params={"what": what}) for one in found[:_MOST_NAMED]]


def _alone(text: str) -> str:
    """Return the commands of a text that begins with them."""
    return command_in(text) if text.lstrip().startswith(("```", "~~~")) else ""


def _names(calls: Sequence[ToolCall]) -> str:
    return ", ".join(dict.fromkeys(call.name for call in calls))
