"""ToolSystem: runs every tool call: validate → policy → confirm → backup → run → verify → journal."""

import asyncio
from collections.abc import AsyncGenerator, Container, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.events import ConfirmationAnswered, ConfirmationRequested, Emit, Json, Notice, ToolCall, ToolStarted
from localllm.base.foreign_tools import NOTE, UNNAMED, own_name
from localllm.base.i18n import _
from localllm.base.jsontext import encode_json
from localllm.config.schema import Settings
from localllm.llm.messages import AssistantMessage, ToolSpec
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan
from localllm.safety.confirmation import NEEDS_PERSON, Confirmer, question, refusal, remember
from localllm.safety.journal import Journal
from localllm.safety.policy import Policy, Verdict
from localllm.safety.rules import COMMAND_TOOL
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Preview, Risk, Tool, ToolOutput
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from localllm.tools.call_judge import NO_BANS, NO_FACTS, Bans, CallJudge, preview_of
from localllm.tools.change_history import ChangeHistory
from localllm.tools.context import Knowledge, ToolContext
from localllm.tools.kept_pages import KeptPages
from localllm.tools.registry import first_line, located, parse_arguments
from localllm.tools.results import (
    Record,
    ToolResult,
    cap,
    failed,
    interrupted,
    keep_same,
    name_losses,
    own_entry,
    succeeded,
    with_changes_named,
    with_instructions_named,
    with_lost_edits_named,
)
from localllm.tools.text_files import SeenFiles, load

if TYPE_CHECKING:
    from localllm.tools.foreign_calls import Translator
    from localllm.web.services import WebAccess


class ToolSystem:
    """The tools of a session, behind their guards.

    `execute` runs a model's call and never raises for faults of the call or tool: those become a result for the model.
    `execute_tool` is the same for programs. `changes`: the history of changes, for undo.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        context: ToolContext,
        *,
        policy: Policy,
        confirmer: Confirmer,
        snapshots: Snapshots,
        journal: Journal,
        remembered: RememberedRules | None = None,
    ) -> None:
        """`remembered` stores what the user allows permanently."""
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._context = context
        self._pages = KeptPages(context.overflow_folder)
        self._policy = policy
        self._confirmer = confirmer
        self._snapshots = snapshots
        self._commands = CommandSnapshots(snapshots)
        self._journal = journal
        self._remembered = remembered
        self._judge = CallJudge(policy, context, self._commands)
        self.changes = ChangeHistory(context, snapshots, self._commands)
        self._agent = ""
        self.offer_only(None)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self._context.root.path

    @cached_property
    def _translator(self) -> "Translator":
        from localllm.tools.foreign_calls import Translator  # not needed before the first call

        return Translator(self._tools, self._text_for_call)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools offered to the model, sorted by name."""
        return self._specs

    def offer_only(self, names: Container[str] | None, *, brief: bool = False) -> None:
        """Offer only these tools, all if `names` is None, with few of their arguments if `brief`. Never those the rules
        deny. Only before a conversation's first answer: a later change would invalidate the server's prompt cache. A
        model may still call the others, behind the same guards, as it knows their names from elsewhere."""
        told = [tool for tool in self._tools.values() if names is None or tool.name in names]
        self._names, self._is_brief = names, brief
        self._told: set[str] = set()
        self._specs = tuple(tool.brief if brief else tool.spec for tool in told if not self._policy.denies(tool))

    def change_tools(self, tools: Sequence[Tool], settings: Settings, web: "WebAccess | None") -> None:
        """Replace the tools, as the user has changed the settings of the web or of research."""
        self._tools.clear()
        self._tools.update((tool.name, tool) for tool in sorted(tools, key=lambda tool: tool.name))
        self._context = msgspec.structs.replace(self._context, settings=settings, web=web)
        self.offer_only(self._names, brief=self._is_brief)

    def understood(self, message: AssistantMessage) -> AssistantMessage:
        """Return an answer with its calls translated to our tools, as models know other assistants' names.
        If all calls only end the work, their text becomes the answer."""
        return self._translator.understood(message) if message.tool_calls else message

    def readable_text(self, file_path: str) -> str | None:
        """Return the text of a file, if the model may read it."""
        try:
            verdict = self._judge.judge(self._tools["read_file"], {"file_path": file_path}, self._context.root)
            return load(self._context.root, file_path).text if verdict.decision == "allow" else None
        except (LocalLLMError, KeyError):
            return None

    def _text_for_call(self, file_path: str) -> str | None:
        """Return the text of a file for a call that repeats some of it."""
        text = self.readable_text(file_path)
        if text and self._pages.are_shown("read_file", {"file_path": self._context.root.relative(file_path)}, text):
            self.taint()
        return text

    def is_denied(self, name: str) -> bool:
        """Return whether the rules deny the tool, whatever its arguments."""
        return self._policy.denies(self._tools[name])

    @property
    def tainted(self) -> bool:
        """Whether untrusted text, as from the web, is in the conversation: then calls that could send data away need
        confirmation."""
        return self._judge.tainted

    @property
    def has_downloaded(self) -> bool:
        """Whether commands may have added text of other machines: then other calls need confirmation like that."""
        return self._judge.has_downloaded

    def taint(self, *, by_command: bool = False) -> None:
        """Mark the conversation as containing untrusted text; `by_command`: see `has_downloaded`."""
        self._judge.has_downloaded |= by_command
        self._judge.tainted |= not by_command

    @property
    def is_attended(self) -> bool:
        """Whether a user is present to confirm calls."""
        return self._confirmer.answers == "person"

    def may_run(self, command: str, *, by_asking: bool) -> bool:
        """Return whether the model could run the command without confirmation or, `by_asking`, with a person's."""
        tool = self._tools.get(COMMAND_TOOL)
        if tool is None or all(spec.name != COMMAND_TOOL for spec in self._specs):
            return False
        try:
            arguments, root = tool.parse({"command": command}), self._context.root
            verdict = self._judge.judge(tool, arguments, root, facts=self._judge.examine_command(arguments, root))
        except LocalLLMError:
            return False
        is_approved = self._confirmer.answers == "yes" and not verdict.dangerous and verdict.why not in NEEDS_PERSON
        is_askable = by_asking and self.is_attended and verdict.decision == "ask"
        return verdict.decision == "allow" or is_approved or is_askable

    def begin_turn(self, said: str = "", *, beside: str = "", bans: Bans = NO_BANS) -> None:
        """Start a turn with the user's words: changes from here on are undone together by `undo(turn=True)`.
        `beside`: text given with them that is not the user's; `bans`: what they forbid."""
        if self._agent:  # a sub-agent works within its parent's turn
            return
        self._judge.begin()
        self.hear(said, beside=beside, bans=bans)
        self._snapshots.begin_turn()

    @property
    def bans(self) -> Bans:
        """What the user forbids in this turn."""
        return self._judge.bans

    def hear(self, said: str, *, beside: str = "", bans: Bans = NO_BANS) -> None:
        """Record the user's words: sending them off this machine reveals nothing new.
        `beside` only indicates the topic; `bans`: what they forbid, besides what this turn does already."""
        self._judge.hear(said, bans)
        self._context.focus.heard(said + beside)

    def part(
        self, agent: str, tools: Sequence[Tool], *, output_limit: int, knowledge: Knowledge | None = None
    ) -> "ToolSystem":
        """Return a system with read-only `tools` for the sub-agent `agent`, named in its confirmations.
        `knowledge`: the collections that it searches; by default those of the session."""
        knowledge = knowledge or self._context.knowledge
        made = ToolSystem(
            tools,
            msgspec.structs.replace(self._context, seen=SeenFiles(), output_limit=output_limit, knowledge=knowledge),
            policy=self._policy,
            confirmer=self._confirmer,
            snapshots=self._snapshots,
            journal=self._journal,
            remembered=self._remembered,
        )
        made._agent = agent
        made._judge.take_words(self._judge)
        made.offer_only(None, brief=True)
        return made

    @property
    def memory(self) -> ProjectMemory:
        """The project's memory."""
        return self._context.project_memory

    @property
    def plan(self) -> SessionPlan:
        """The model's plan."""
        return self._context.session_plan

    @asynccontextmanager
    async def by_person(self, command: str, file_path: str = "", *, makes: Sequence[str] = ()) -> AsyncGenerator[None]:
        """Let the user change a file with a chat `command`, which also `makes` others, protected or not.
        Changes within this context can be undone, and are journalled."""
        paths = [self._context.root.relative(file_path)] if file_path else []
        for path in paths:
            self._context.root.refuse_protected(path)
        self._snapshots.begin_turn()
        async with self.changes.recorded_beside(command, [*paths, *makes]) as changes:
            yield
        if changes:
            self._journal.note(own_entry(command, changes[0].path, changes))

    def unread_text(self, path: str) -> str | None:
        """Return the text of a file that the model has neither read nor written in this conversation, by a tool for
        files; None of any other, or if it may not read it."""
        return None if self._context.seen.has(path) else self.readable_text(path)

    def keep_words(self, words: str) -> str:
        """Store the user's words in a file the model can read; return its path for tools. Raises OSError."""
        return keep_same(words, self._context, "words")

    def shortened(self, text: str, kind: str, most: int) -> str:
        """Truncate `text` to `most` characters, and a tool's output limit: the beginning, the end, and the file with
        the whole text, whose name begins with `kind`."""
        limit = min(most, self._context.output_limit)
        return cap(text, msgspec.structs.replace(self._context, output_limit=limit), kind, head=0.5)

    def beginning_and_end(self, text: str, kind: str, most: int) -> str:
        """Like `shortened`, for text of any length, with the error lines between its ends."""
        return cap(text, msgspec.structs.replace(self._context, output_limit=most), kind, faults=True)

    def limit_output(self, characters: int) -> None:
        """Set the maximum characters of one tool's output."""
        self._context = msgspec.structs.replace(self._context, output_limit=characters)

    def adopt_calls(self, calls: Iterable[ToolCall]) -> None:
        """Record the files read or written by earlier calls of the conversation as known to the model."""
        for call in calls:
            with suppress(LocalLLMError):
                tool = self._find(call)
                named = parse_arguments(tool, call.arguments, was_cut=False).values.get("file_path")
                if named and (tool.writes or tool.name == "read_file"):
                    self._context.seen.assume(self._context.root.relative(named))

    async def execute_tool(self, tool_name: str, **arguments: Json) -> dict[str, Json]:
        """Run a tool by name: {success, …the tool's fields} or {success: False, error, code}."""
        call = ToolCall(f"direct_{uuid4().hex[:8]}", tool_name, encode_json(arguments).decode())
        result = await self.execute(call, lambda _: None)
        return {"success": result.success, **result.payload}

    async def safe_command_execution(self, command: str) -> dict[str, Json]:
        """Run a command behind all guards; return the result of `execute_tool`."""
        return await self.execute_tool(COMMAND_TOOL, command=command)

    def validate_file_operation(self, file_path: str, operation: str) -> tuple[bool, str]:
        """Return whether a tool (`operation`: its name, or read, write, edit, create) may be used on a file, with or
        without confirmation, and if not, why."""
        try:
            tool = self._find(ToolCall("", operation if operation in self._tools else f"{operation}_file", "{}"))
            self._context.root.relative(file_path)
            verdict = self._judge.judge(tool, dict.fromkeys((*tool.paths, *tool.writes), file_path), self._context.root)
            if tool.writes:
                self._context.root.refuse_protected(file_path)
        except LocalLLMError as error:
            return False, str(error)
        return True, verdict.rule

    def create_backup(self, file_path: str) -> str:
        """Back up a file; return the name of the backup, "" if there is no file. Raises LocalLLMError."""
        return self._snapshots.take(self._context.root, self._context.root.relative(file_path))

    def detect_code_destruction(self, old_content: str, new_content: str, file_path: str = "") -> dict[str, Json]:
        """Return whether a new text destroys much of the old one: {destructive, …}.
        The file's name determines the language."""
        from localllm.safety.code_loss import detect_code_destruction

        found = detect_code_destruction(old_content, new_content, file_path)
        return {"destructive": found is not None, **(msgspec.to_builtins(found) if found else {})}

    def filter_dangerous_commands(self, command: str) -> tuple[bool, str]:
        """Return whether a command is harmless, and otherwise its dangerous part."""
        found = self._policy.dangerous_part(command)
        return not found, found

    async def execute(self, call: ToolCall, emit: Emit, *, was_cut: bool = False) -> ToolResult:
        """Run `call` through the whole pipeline. `was_cut`: its answer was truncated by the token limit. When
        cancelled, it raises CancelledError with the result."""
        record = Record(call)
        try:
            await asyncio.sleep(0)  # let a pending interrupt take effect before the change
            result = await self._through(call, emit, record, was_cut=was_cut)
        except LocalLLMError as error:
            result = failed(call, error)
            if record.has_begun and await asyncio.to_thread(self._pages.are_in, result.for_model):
                self.taint()
        except asyncio.CancelledError as interrupt:
            told = SafetyViolationError("interrupted_by_user" if record.has_begun else "interrupted_before")
            result = self._with_changes(interrupted(call, told, interrupt), record, emit)
            if record.has_begun and self._pages.are_shown(call.name, record.arguments, result.for_model):
                self.taint()
            self._finish(result, record, emit)
            raise asyncio.CancelledError(result) from None
        except Exception as error:  # noqa: BLE001 - the tool boundary: a tool's fault must not end the conversation
            logs.of("TOOL").exception("%s failed", call.name)
            result = failed(call, ToolExecutionError("tool_crashed", name=call.name, reason=first_line(error)))
        result = self._with_changes(result, record, emit)
        self._finish(result, record, emit)
        return result

    def _with_changes(self, result: ToolResult, record: Record, emit: Emit) -> ToolResult:
        """Return the result with the call's arguments and changed files, and notify the user where it matters."""
        result = msgspec.structs.replace(result, arguments=record.arguments)
        if record.changes:
            is_spoiled = "command" in record.arguments and not self.is_attended
            self._judge.note_changes(record.changes, is_spoiled=is_spoiled, is_permitted=record.is_permitted)
            result = msgspec.structs.replace(result, changes={change.path: change.after for change in record.changes})
            result = with_changes_named(result, record.changes, self._snapshots.content, emit)
            name_losses(record.changes, emit)
        return with_instructions_named(result, emit, self._context.project_memory.name, self._commands.take_obeyed())

    async def _through(self, call: ToolCall, emit: Emit, record: Record, *, was_cut: bool) -> ToolResult:
        """Run the steps up to the journal, which `_finish` writes; tools verify their writes. Raises LocalLLMError."""
        tool = self._find(call, was_cut=was_cut)
        fitted = parse_arguments(tool, call.arguments, was_cut=was_cut, spec=self._spec(tool))
        arguments, remarks = await asyncio.to_thread(
            located, tool, fitted.values, self._context.root, self.readable_text
        )
        if tool.redirect and (meant := tool.redirect(self._context.root, arguments)) and meant[0] in self._tools:
            tool, arguments = self._tools[meant[0]], meant[1]
        record.arguments = arguments
        emit(ToolStarted(call_id=call.id, name=tool.name, arguments=tool.stated(arguments)))
        changed = partial(self.changes.changed_since, 0)
        context = msgspec.structs.replace(self._context, root=self._context.root.for_one_call(), changed=changed)
        facts = NO_FACTS
        if tool.name == COMMAND_TOOL:
            facts = await asyncio.to_thread(self._judge.examine_command, arguments, context.root)  # may be slow
        verdict = await asyncio.to_thread(self._judge.judge, tool, arguments, context.root, facts=facts)
        preview = await self._judge.preview(context, tool, arguments)
        if preview and preview.question:
            verdict = self._policy.with_question(verdict)
        record.approval = verdict.rule or "policy"
        if verdict.decision == "ask":
            asked = await self.changes.with_warning(tool, verdict, preview)
            scope = self._judge.scope_of(tool, arguments, context.root, facts)
            request = question(tool, call, verdict, asked, scope, self._agent)
            record.approval = await self._ask(request, verdict, emit, preview)
            record.is_permitted = verdict.why == "banned"
            if not (preview and preview.plan) and await preview_of(context, tool, arguments) != preview:
                raise ToolExecutionError("changed_while_asked", name=tool.name)
        elif preview and preview.danger:
            raise ToolExecutionError("would_destroy", name=tool.name, lost=preview.danger)
        try:
            context = msgspec.structs.replace(context, emit=emit, plan=preview.plan if preview else None)
            self._judge.note_run(tool, arguments)
            output = await self._run(tool, arguments, record, context)
        except Exception:
            self._judge.tainted |= bool(tool.fetches or tool.sends)  # an error may contain untrusted text
            raise
        if output.untrusted or await asyncio.to_thread(self._pages.are_shown, tool.name, arguments, output.for_model):
            self.taint()
        remarks += self._new_remarks(call, fitted.left_out)
        if remarks:
            output = msgspec.structs.replace(output, for_model="\n".join([output.for_model, *remarks]))
        result = succeeded(call, output, preview)
        if tool.name == COMMAND_TOOL:
            lost = await self.changes.lost_edits(arguments["command"], record.changes)
            result = with_lost_edits_named(result, lost, emit)
        return msgspec.structs.replace(result, acted=tool.risk is not Risk.SAFE and not facts.only_reads)

    def _new_remarks(self, call: ToolCall, left_out: Sequence[str]) -> list[str]:
        """Return remarks on what was interpreted differently than written, each once per conversation."""
        remarks = [f"[{call.written} is {call.name} here.]"] if call.written and call.name != NOTE else []
        if left_out:
            remarks.append(f"[Left out, {call.name} has no such argument: {', '.join(left_out)}.]")
        new = [remark for remark in remarks if remark not in self._told]
        self._told.update(new)
        return new

    def _spec(self, tool: Tool) -> ToolSpec:
        """Return the tool's declaration for this model."""
        return tool.brief if self._is_brief else tool.spec

    def _find(self, call: ToolCall, *, was_cut: bool = False) -> Tool:
        """Return the call's tool by name, ignoring case."""
        tool = self._own(call.name)
        if tool is None and was_cut:  # possibly a truncated name
            raise ToolExecutionError("tool_cut_arguments", name=call.name)
        if tool is None:
            from localllm.tools.foreign_calls import hint_for

            names = [spec.name for spec in self._specs]
            self._translator.translate(call)  # raises the error of an unreadable patch
            key = "tool_nameless" if call.name == UNNAMED else "tool_unknown"
            raise ToolExecutionError(key, name=call.name, near=hint_for(call.name, names), known=", ".join(names))
        return tool

    def _own(self, name: str) -> Tool | None:
        if (tool := self._tools.get(own_name(name, self._tools))) or name != NOTE:
            return tool
        from localllm.tools.foreign_calls import noted

        return noted

    async def _ask(self, request: ConfirmationRequested, verdict: Verdict, emit: Emit, preview: Preview | None) -> str:
        """Ask for confirmation; return who approved. Raises SafetyViolationError if refused."""
        emit(request)
        try:
            answer = await self._confirmer.confirm(request)
        except asyncio.CancelledError:
            emit(ConfirmationAnswered(request_id=request.request_id, approved=False, by="interrupt"))
            raise
        emit(answer)
        if not (answer.approved or answer.feedback or verdict.guards) and preview and preview.danger:
            key = "would_destroy" if answer.by == "unattended" else "loss_refused"
            raise ToolExecutionError(key, name=request.tool, lost=preview.danger)
        if not answer.approved:
            raise refusal(request, verdict, answer)
        if request.lasting and self._remembered and (fault := remember(self._remembered, request, answer)):
            emit(Notice(text=fault, level="warning"))
        return answer.by

    async def _run(self, tool: Tool, arguments: dict[str, Any], record: Record, context: ToolContext) -> ToolOutput:
        """Back up, run, and record changes. The plan in `context` is what was shown and allowed."""
        if tool.risk != Risk.SAFE:
            from localllm.base.own_modules import hold_source  # most answers change nothing

            hold_source(self._context.root.path)
        context = msgspec.structs.replace(
            context,
            may_follow=partial(self._judge.may_follow, tool, arguments),
            may_read_anew=partial(self._judge.may_read_anew, tool, arguments),
            is_shunned=self._judge.is_shunned,
        )
        written, command = self._judge.written(tool, arguments, context.root), arguments.get("command") or ""
        async with self.changes.around(tool, written, command) as changes:
            record.changes = changes
            record.has_begun = True
            work = tool.function(context, **arguments)
            return await (work if tool.risk in (Risk.SAFE, Risk.HIGHEST) else _to_its_end(work))

    def _finish(self, result: ToolResult, record: Record, emit: Emit) -> None:
        if reason := self._snapshots.take_failure():
            emit(Notice(text=_("The change was made, but cannot be undone: {reason}.", reason=reason), level="warning"))
        if note := self._commands.take_note():
            emit(Notice(text=note))
        logs.of("TOOL").info("%s: %s", result.call.name, result.error.code if result.error else "ok")
        if reason := self._journal.note(msgspec.structs.replace(record.entry(result), agent=self._agent)):
            emit(Notice(text=_("What is run is not in the journal: it cannot be written ({reason}).", reason=reason)))
        emit(result.event())


async def _to_its_end(work: Coroutine[Any, Any, ToolOutput]) -> ToolOutput:
    """Await `work`, delaying cancellation until it ends: a partial change could not be undone.
    (Commands are stopped by their runner, and reading changes nothing.)"""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
