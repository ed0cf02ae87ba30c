"""ToolSystem: the one way a tool is run. validate → policy → confirm → backup → run → verify → journal."""

import asyncio
from collections.abc import AsyncGenerator, Container, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.events import (
    ConfirmationAnswered,
    ConfirmationRequested,
    Emit,
    Json,
    Notice,
    ToolCall,
    ToolStarted,
)
from localllm.base.foreign_tools import NOTE, UNNAMED
from localllm.base.i18n import Phrase, _
from localllm.base.jsontext import encode_json
from localllm.base.kept_outputs import has_pages, names_page
from localllm.llm.messages import AssistantMessage, ToolSpec
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan
from localllm.safety.confirmation import Confirmer, question, refusal, remember
from localllm.safety.journal import Journal, JournalEntry
from localllm.safety.paths import shown
from localllm.safety.policy import Policy, Verdict
from localllm.safety.rules import COMMAND_TOOL
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Preview, Risk, Tool, ToolOutput
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from localllm.tools.call_judge import NO_FACTS, CallJudge
from localllm.tools.change_history import ChangeHistory
from localllm.tools.context import ToolContext, holds_commands
from localllm.tools.foreign_calls import Translator, alike, answer_in, is_finishing, noted, own_name
from localllm.tools.kept_pages import KeptPages
from localllm.tools.registry import first_line, parse_arguments
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
)
from localllm.tools.text_files import SeenFiles, load

_OWN_FOLDERS = (".localllm", "tool-output")
_SHOWING_COMMANDS = (COMMAND_TOOL, "command_output")


class ToolSystem:
    """The tools of a session, behind their guards.

    `execute` runs a model's call and never raises for what the call or the tool did wrong: that becomes a result
    the model reads. `execute_tool` is the same for programs. `changes`: what calls have changed, and its way back.
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
        """`remembered` keeps what a person wants allowed from now on."""
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
        self._translator = Translator(self._tools, self._readable)
        self.offer_only(None)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self._context.root.path

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools the model is told of, sorted by name."""
        return self._specs

    def offer_only(self, names: Container[str] | None, *, brief: bool = False) -> None:
        """Tell the model of these tools, of all where `names` is None, with few of their arguments where `brief`; never
        of those the rules deny. Only before a conversation's first answer: afterwards a change of the list would make
        the server read the whole prompt again. A model may call the others all the same, behind the same guards: it
        knows their names from elsewhere."""
        told = [tool for tool in self._tools.values() if names is None or tool.name in names]
        self._is_brief = brief
        self._told: set[str] = set()
        self._specs = tuple(tool.brief if brief else tool.spec for tool in told if not self._policy.denies(tool))

    def understood(self, message: AssistantMessage) -> AssistantMessage:
        """An answer with its calls as those of the tools there are: models know names from other assistants. Calls that
        only end the work are the answer they hold."""
        if message.tool_calls and all(is_finishing(call.name, self._tools) for call in message.tool_calls):
            texts = [text for call in message.tool_calls if (text := answer_in(call)) and text not in message.text]
            if texts or message.text.strip():
                text = "\n\n".join(filter(None, [message.text, *texts]))
                return msgspec.structs.replace(message, text=text, tool_calls=())
        calls = tuple(each for call in message.tool_calls for each in self._translated(call))
        return msgspec.structs.replace(message, tool_calls=calls)

    def _translated(self, call: ToolCall) -> list[ToolCall]:
        try:
            return self._translator.translate(call)
        except ToolExecutionError:  # it is told when the call is run
            return [call]

    def _readable(self, file_path: str) -> str | None:
        """The text of a file, where the model may read it."""
        try:
            verdict = self._judge.judge(self._tools["read_file"], {"file_path": file_path}, self._context.root)
            return load(self._context.root, file_path).text if verdict.decision == "allow" else None
        except (LocalLLMError, KeyError):
            return None

    def is_denied(self, name: str) -> bool:
        """Whether the rules deny the tool, whatever it is asked to do."""
        return self._policy.denies(self._tools[name])

    @property
    def tainted(self) -> bool:
        """Whether text of strangers, as from the web, is in the conversation: then what could send something away is
        asked about."""
        return self._judge.tainted

    def taint(self) -> None:
        """Text of strangers has come into the conversation."""
        self._judge.tainted = True

    @property
    def is_attended(self) -> bool:
        """Whether a person is there, who can be asked."""
        return self._confirmer.answers == "person"

    def runs_unasked(self, command: str) -> bool:
        """Whether the model could run the command without anybody being asked."""
        tool = self._tools.get(COMMAND_TOOL)
        if tool is None or all(spec.name != COMMAND_TOOL for spec in self._specs):
            return False
        try:
            verdict = self._judge.judge(tool, tool.parse({"command": command}), self._context.root)
        except LocalLLMError:
            return False
        is_approved = self._confirmer.answers == "yes" and not verdict.dangerous and verdict.why != "address"
        return verdict.decision == "allow" or is_approved

    def begin_turn(self, said: str = "", *, beside: str = "") -> None:
        """The user spoke, these words: what is changed from here on is taken back together by `undo(turn=True)`.
        `beside`: text he gave with them that is not his own."""
        if self._agent:  # a sub-agent works within the turn of the one that asked
            return
        self.hear(said, beside=beside)
        self._snapshots.begin_turn()

    def hear(self, said: str, *, beside: str = "") -> None:
        """The user has said these words: sending them away again tells nobody anything of anybody else's. `beside`
        tells what he talks about, and no more."""
        self._judge.said += f"\n{said}"
        self._context.focus.heard(said + beside)

    def part(self, agent: str, tools: Sequence[Tool], *, output_limit: int) -> "ToolSystem":
        """`tools` that only read, behind the same guards, for a sub-agent called `agent`, whose questions name it."""
        made = ToolSystem(
            tools,
            msgspec.structs.replace(self._context, seen=SeenFiles(), output_limit=output_limit),
            policy=self._policy,
            confirmer=self._confirmer,
            snapshots=self._snapshots,
            journal=self._journal,
            remembered=self._remembered,
        )
        made._agent, made._judge.said, made._judge.tainted = agent, self._judge.said, self.tainted
        made.offer_only(None, brief=True)
        return made

    @property
    def memory(self) -> ProjectMemory:
        """What is remembered of the project."""
        return self._context.project_memory

    @property
    def plan(self) -> SessionPlan:
        """What the model means to do."""
        return self._context.session_plan

    @asynccontextmanager
    async def by_person(self, command: str, file_path: str = "", *, makes: Sequence[str] = ()) -> AsyncGenerator[None]:
        """While this is open, the person changes a file with a `command` of the chat, which also `makes` others,
        protected or not: that can be undone, and is in the journal."""
        paths = [self._context.root.relative(file_path)] if file_path else []
        for path in paths:
            self._context.root.refuse_protected(path)
        self._snapshots.begin_turn()
        async with self.changes.recorded(command, [*paths, *makes]) as changes:
            yield
        if changes:
            self._note(own_entry(command, changes[0].path, changes))

    def keep_words(self, words: str) -> str:
        """Write what the person said into a file the model can read; its path for tools. Raises OSError."""
        return keep_same(words, self._context, "words")

    def shortened(self, text: str, kind: str, most: int) -> str:
        """`text` for the model in at most so many characters, and no more than a tool's output has: of a longer one the
        beginning and the end, and the file that holds it all, whose name begins with `kind`."""
        limit = min(most, self._context.output_limit)
        return cap(text, msgspec.structs.replace(self._context, output_limit=limit), kind, head=0.5)

    def limit_output(self, characters: int) -> None:
        """Give the model at most so many characters of one tool's output from now on."""
        self._context = msgspec.structs.replace(self._context, output_limit=characters)

    def adopt_calls(self, calls: Iterable[ToolCall]) -> None:
        """Count the files that earlier calls of the conversation have read or written as known to the model."""
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
        """Run a command behind all guards; the answer of `execute_tool`."""
        return await self.execute_tool(COMMAND_TOOL, command=command)

    def validate_file_operation(self, file_path: str, operation: str) -> tuple[bool, str]:
        """Whether a tool (`operation`: its name, or read, write, edit, create) may be used on a file, asked about or
        not; and why not."""
        try:
            name = operation if operation in self._tools else f"{operation}_file"
            tool = self._find(ToolCall("", name, "{}"))
            self._context.root.relative(file_path)
            verdict = self._judge.judge(tool, dict.fromkeys((*tool.paths, *tool.writes), file_path), self._context.root)
            if tool.writes:
                self._context.root.refuse_protected(file_path)
        except LocalLLMError as error:
            return False, str(error)
        return True, verdict.rule

    def create_backup(self, file_path: str) -> str:
        """Keep a file as it is now; the name of what was kept, "" where there is no file. Raises LocalLLMError."""
        root = self._context.root
        return self._snapshots.take(root, root.relative(file_path))

    def detect_code_destruction(self, old_content: str, new_content: str, file_path: str = "") -> dict[str, Json]:
        """Whether the new text of a file has lost what the old one held: {destructive, …}. The file's name tells the
        language."""
        from localllm.safety.code_loss import detect_code_destruction

        found = detect_code_destruction(old_content, new_content, file_path)
        return {"destructive": found is not None, **(msgspec.to_builtins(found) if found else {})}

    def filter_dangerous_commands(self, command: str) -> tuple[bool, str]:
        """Whether a command is none of the dangerous ones; and which it is."""
        found = self._policy.dangerous_part(command)
        return not found, found

    async def execute(self, call: ToolCall, emit: Emit, *, was_cut: bool = False) -> ToolResult:
        """Run `call` through the whole pipeline. `was_cut`: the answer that holds it ended at the token limit. When
        cancelled, it raises CancelledError with the result."""
        record = Record(call)
        try:
            await asyncio.sleep(0)  # an interrupt that is pending comes before the next change, not after it
            result = await self._through(call, emit, record, was_cut=was_cut)
        except LocalLLMError as error:
            result = failed(call, error)
        except asyncio.CancelledError as interrupt:
            told = SafetyViolationError("interrupted_by_user" if record.has_begun else "interrupted_before")
            result = self._with_changes(interrupted(call, told, interrupt), record, emit)
            self._finish(result, record, emit)
            raise asyncio.CancelledError(result) from None
        except Exception as error:  # noqa: BLE001 - the tool boundary: a tool's fault must not end the conversation
            logs.of("TOOL").exception("%s failed", call.name)
            result = failed(call, ToolExecutionError("tool_crashed", name=call.name, reason=first_line(error)))
        result = self._with_changes(result, record, emit)
        self._finish(result, record, emit)
        return result

    def _with_changes(self, result: ToolResult, record: Record, emit: Emit) -> ToolResult:
        """The result with the files that the call has changed, which the user is told of where they matter."""
        if record.changes:
            result = msgspec.structs.replace(result, changes={change.path: change.after for change in record.changes})
            result = with_changes_named(result, record.changes)
            name_losses(record.changes, emit)
        return with_instructions_named(result, emit, self._commands.take_obeyed())

    async def _through(self, call: ToolCall, emit: Emit, record: Record, *, was_cut: bool) -> ToolResult:
        """The steps up to the journal, which `_finish` keeps. Tools verify what they wrote. Raises LocalLLMError."""
        tool = self._find(call, was_cut=was_cut)
        fitted = parse_arguments(tool, call.arguments, was_cut=was_cut, spec=self._spec(tool))
        arguments, remarks = await asyncio.to_thread(self._located, tool, fitted.values)
        if tool.redirect and (meant := tool.redirect(self._context.root, arguments)) and meant[0] in self._tools:
            tool, arguments = self._tools[meant[0]], meant[1]
        record.arguments = arguments
        emit(ToolStarted(call_id=call.id, name=tool.name, arguments=tool.stated(arguments)))
        context = msgspec.structs.replace(self._context, root=self._context.root.for_one_call())
        facts = NO_FACTS
        if tool.name == COMMAND_TOOL:
            facts = await asyncio.to_thread(
                self._judge.examine_command, arguments, context.root
            )  # it may take a moment
        verdict = self._judge.judge(tool, arguments, context.root, facts=facts)
        preview = await _preview(context, tool, arguments)
        if preview and preview.question:
            verdict = self._policy.with_question(verdict)
        record.approval = verdict.rule or "policy"
        if verdict.decision == "ask":
            asked = await self._with_warning(tool, verdict, preview)
            request = question(
                tool, call, verdict, asked, self._judge.scope_of(tool, arguments, context.root), self._agent
            )
            record.approval = await self._ask(request, verdict, emit, preview)
            if not (preview and preview.plan) and await _preview(context, tool, arguments) != preview:
                raise ToolExecutionError("changed_while_asked", name=tool.name)
        elif preview and preview.danger:
            raise ToolExecutionError("would_destroy", name=tool.name, lost=preview.danger)
        try:
            context = msgspec.structs.replace(context, emit=emit, plan=preview.plan if preview else None)
            output = await self._run(tool, arguments, record, context)
        except Exception:
            self._judge.tainted = self._judge.tainted or bool(
                tool.fetches or tool.sends
            )  # an error may hold strangers' words
            raise
        self._judge.tainted = (
            self._judge.tainted
            or output.untrusted
            or await asyncio.to_thread(self._shows_page, tool, arguments, output)
        )
        remarks += self._new_remarks(call, fitted.left_out)
        if remarks:
            output = msgspec.structs.replace(output, for_model="\n".join([output.for_model, *remarks]))
        result = succeeded(call, output, preview)
        return msgspec.structs.replace(result, acted=tool.risk is not Risk.SAFE and not facts.only_reads)

    def _shows_page(self, tool: Tool, arguments: dict[str, Any], output: ToolOutput) -> bool:
        """Whether what the model got may be of a page of the web that was kept as a file, in this session or another.

        A command may print it under no name, so that one counts that only has to do with the folder, and one whose
        output holds a passage of it; so does what such a command printed and was kept in turn.
        """
        if tool.name == COMMAND_TOOL and any(name in arguments["command"].casefold() for name in _OWN_FOLDERS):
            return has_pages(self._context.overflow_folder)
        texts = (output.for_model, *map(str, arguments.values()))
        if any(map(names_page, texts)):
            return True
        is_of_command = tool.name in _SHOWING_COMMANDS or any("tool-output" in text.casefold() for text in texts)
        return is_of_command and self._pages.are_in(output.for_model)

    def _new_remarks(self, call: ToolCall, left_out: Sequence[str]) -> list[str]:
        """What was understood otherwise than it was written, each the first time in a conversation."""
        remarks = [f"[{call.written} is {call.name} here.]"] if call.written and call.name != NOTE else []
        if left_out:
            remarks.append(f"[Left out, {call.name} has no such argument: {', '.join(left_out)}.]")
        new = [remark for remark in remarks if remark not in self._told]
        self._told.update(new)
        return new

    def _spec(self, tool: Tool) -> ToolSpec:
        """The tool as this model is told of it, or would be."""
        return tool.brief if self._is_brief else tool.spec

    def _located(self, tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The arguments with each path as it is here, where another one was plainly meant, and a remark on each:
        a\\b.py, @a.py, and, for what is only read, the name alone of the one file that is called so."""
        remarks: list[str] = []
        for name in {*tool.paths, *tool.writes}:
            path = arguments[name]
            if isinstance(path, str) and (meant := self._context.root.meant(path, by_name=tool.risk is Risk.SAFE)):
                arguments = arguments | {name: meant}
                remarks.append(f"[{shown(path)} is {shown(meant)} here.]")
        return arguments, remarks

    async def _with_warning(self, tool: Tool, verdict: Verdict, preview: Preview | None) -> Preview | None:
        """What is asked about a command: its risk here, and where /undo would not bring back the repository."""
        if tool.risk is not Risk.HIGHEST or preview is None:
            return preview
        warning = await self.changes.unkept_warning(verdict)
        if not warning and await asyncio.to_thread(holds_commands, self._context):
            return msgspec.structs.replace(preview, risk=Risk.HIGH)  # as that of a change of a file
        return msgspec.structs.replace(preview, summary=f"{preview.summary} {warning}") if warning else preview

    def _find(self, call: ToolCall, *, was_cut: bool = False) -> Tool:
        """The tool of the call by its name, whatever its case."""
        tool = self._own(call.name)
        if tool is None and was_cut:  # perhaps no more than the beginning of a name
            raise ToolExecutionError("tool_cut_arguments", name=call.name)
        if tool is None:
            names = [spec.name for spec in self._specs]
            self._translator.translate(call)  # raises what is wrong with a patch
            key = "tool_nameless" if call.name == UNNAMED else "tool_unknown"
            near = " or ".join(alike(call.name, names))
            hint = Phrase("Did you mean {names}?", names=near) if near else ""
            raise ToolExecutionError(key, name=call.name, near=hint, known=", ".join(names))
        return tool

    def _own(self, name: str) -> Tool | None:
        return self._tools.get(own_name(name, self._tools)) or (noted if name == NOTE else None)

    async def _ask(self, request: ConfirmationRequested, verdict: Verdict, emit: Emit, preview: Preview | None) -> str:
        """Who said yes. Raises SafetyViolationError for a no."""
        emit(request)
        try:
            answer = await self._confirmer.confirm(request)
        except asyncio.CancelledError:
            emit(ConfirmationAnswered(request_id=request.request_id, approved=False, by="interrupt"))
            raise
        emit(answer)
        if not answer.approved and answer.by == "unattended" and preview and preview.danger:
            raise ToolExecutionError("would_destroy", name=request.tool, lost=preview.danger)
        if not answer.approved:
            raise refusal(request, verdict, answer)
        if request.lasting and self._remembered and (fault := remember(self._remembered, request, answer)):
            emit(Notice(text=fault, level="warning"))
        return answer.by

    async def _run(self, tool: Tool, arguments: dict[str, Any], record: Record, context: ToolContext) -> ToolOutput:
        """Backup, run, and note what changed. The plan of the `context` is what was shown and allowed."""
        if tool.risk != Risk.SAFE:
            from localllm.base.own_modules import hold_source  # most answers change nothing

            hold_source(self._context.root.path)
        context = msgspec.structs.replace(
            context,
            may_follow=partial(self._judge.may_follow, tool, arguments),
            may_read_anew=partial(self._judge.may_read_anew, tool, arguments),
        )
        async with self.changes.around(tool, self._judge.written(tool, arguments, context.root)) as changes:
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
        self._note(msgspec.structs.replace(record.entry(result), agent=self._agent))
        emit(result.event())

    def _note(self, entry: JournalEntry) -> None:
        try:
            self._journal.write(entry)
        except OSError as error:
            logs.of("TOOL").warning("the journal cannot be written: %s", error)


async def _preview(context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> Preview | None:
    """What the call would do, found in a thread: comparing texts may take its time."""
    if tool.preview is None:
        return None
    preview = await asyncio.to_thread(tool.preview, context, **arguments)
    return preview if isinstance(preview, Preview) else await preview


async def _to_its_end(work: Coroutine[Any, Any, ToolOutput]) -> ToolOutput:
    """What `work` gives. An interrupt waits for it: half a change could not be taken back. (Commands are stopped by
    their runner, and reading changes nothing.)"""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
