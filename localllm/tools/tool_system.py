"""ToolSystem: the one way a tool is run. validate → policy → confirm → backup → run → verify → journal."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Container, Coroutine, Iterable, Sequence
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
from localllm.base.i18n import N_, _, plural
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, ToolSpec
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan
from localllm.safety.confirmation import Confirmer, question, refusal, remember
from localllm.safety.journal import Journal, JournalEntry
from localllm.safety.paths import ProjectRoot, shown
from localllm.safety.policy import Policy, Situation, Verdict
from localllm.safety.rules import COMMAND_TOOL, asked_before_reading, line_of, listed
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Preview, Risk, Tool, ToolOutput
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import ABSENT, is_repository
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots, Transition, held
from localllm.text.decoding import NotTextError, decode
from localllm.tools.context import ToolContext
from localllm.tools.foreign_calls import Translator, answer_in, is_finishing, noted, own_name
from localllm.tools.registry import first_line, parse_arguments
from localllm.tools.results import Record, ToolResult, failed, keep_same, own_entry, succeeded
from localllm.tools.text_files import SeenFiles, load

_GOES_ON = {
    "earlier": N_("Another /undo goes on with a change from before this session."),
    "own": N_("Another /undo goes on with the change before."),
}

_MOST_NAMED = 20
_MOST_CHANGED = 6  # files that a command has changed and the model is told of by name


class _CommandSeen(msgspec.Struct, frozen=True):
    """What was found out about a command line; see Situation."""

    only_reads: bool = False
    kept: frozenset[tuple[str, ...]] = frozenset()


_NOTHING_SEEN = _CommandSeen()


class ToolSystem:
    """The tools of a session, behind their guards.

    `execute` runs a model's call and never raises for what the call or the tool did wrong: that becomes a result
    the model reads. `execute_tool` is the same for programs.
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
        self._policy = policy
        self._confirmer = confirmer
        self._snapshots = snapshots
        self._commands = CommandSnapshots(snapshots)
        self._journal = journal
        self._remembered = remembered
        self._said = ""
        self._tainted = False
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
            verdict = self._judge(self._tools["read_file"], {"file_path": file_path}, self._context.root)
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
        return self._tainted

    def taint(self) -> None:
        """Text of strangers has come into the conversation."""
        self._tainted = True

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
            verdict = self._judge(tool, tool.parse({"command": command}), self._context.root)
        except LocalLLMError:
            return False
        is_approved = self._confirmer.answers == "yes" and not verdict.dangerous and verdict.why != "address"
        return verdict.decision == "allow" or is_approved

    def broken_since(self, position: int, paths: Collection[str]) -> dict[str, str]:
        """Those of the files `paths` that tools have changed since `position` and that have syntax errors now they did
        not have then, with what to tell of these. Reads files; none where earlier versions are not kept."""
        from localllm.safety.destruction import new_errors

        before: dict[str, str] = {}
        for made in self._snapshots.made_since(position):
            before.setdefault(made.path, made.before)
        found: dict[str, str] = {}
        for path in before.keys() & set(paths):
            with suppress(LocalLLMError, OSError, NotTextError):
                old = decode(self._snapshots.content(before[path])).text
                if errors := new_errors(path, old, load(self._context.root, path).text):
                    found[path] = " ".join(errors)
        return found

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
        self._said += f"\n{said}"
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
        made._agent, made._said, made._tainted = agent, self._said, self._tainted
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
    async def by_person(self, command: str, file_path: str) -> AsyncGenerator[None]:
        """While this is open, the person changes a file with a `command` of the chat: that can be undone, and is in the
        journal."""
        root, backup = self._context.root, self._context.settings.safety.auto_backup
        path = root.relative(file_path)
        root.refuse_protected(path)
        self._snapshots.begin_turn()
        async with held(self._snapshots.writing() if backup else None):
            with self._snapshots.around(root, [path], tool=command, enabled=backup) as changes:
                yield
        if changes:
            self._note(own_entry(command, path, changes))

    def keep_words(self, words: str) -> str:
        """Write what the person said into a file the model can read; its path for tools. Raises OSError."""
        return keep_same(words, self._context, "words")

    def limit_output(self, characters: int) -> None:
        """Give the model at most so many characters of one tool's output from now on."""
        self._context = msgspec.structs.replace(self._context, output_limit=characters)

    def undo(self, *, turn: bool = False, with_words: bool = False) -> list[str]:
        """Take back the last change, or all of the last turn; a line for each. Raises ToolExecutionError. `with_words`:
        what was said comes back as well, if this takes a rewind back."""
        undone = self._snapshots.undo(self._context.root, turn=turn)
        goes_on = self._snapshots.goes_on() if any(one.error for one in undone) else ""
        more = [_(_GOES_ON[goes_on])] if goes_on else []
        if not with_words and any(one.tool == "rewind" and not one.error for one in undone):
            more.append(_("That was a rewind: its files are as before it, and the conversation stays as it is."))
        return [*map(str, undone), *more]

    @property
    def position(self) -> int:
        """Where the files are now, for `rewind` and `changed_since`."""
        return self._snapshots.position

    def made_since(self, position: int) -> list[Transition]:
        """What tools have made of files since `position`, in order."""
        return self._snapshots.made_since(position)

    def adopt(self, made: Sequence[Transition]) -> None:
        """Count what was made of files earlier in this session, by another program, as made before all else."""
        self._snapshots.adopt(made)

    def adopt_calls(self, calls: Iterable[ToolCall]) -> None:
        """Count the files that earlier calls of the conversation have read or written as known to the model."""
        for call in calls:
            with suppress(LocalLLMError):
                tool = self._find(call)
                named = parse_arguments(tool, call.arguments, was_cut=False).values.get("file_path")
                if named and (tool.writes or tool.name == "read_file"):
                    self._context.seen.assume(self._context.root.relative(named))

    def changed_since(self, position: int) -> list[str]:
        """The files that tools changed since `position`, and that are not as they were."""
        return self._snapshots.changed_since(position)

    def rewind(self, position: int) -> list[str]:
        """Make the files what they were at `position`; a line for each. It can be undone."""
        return [str(undone) for undone in self._snapshots.rewind(self._context.root, position)]

    def recover(self) -> int:
        """Make what a killed program had changed undoable, and clear up after it; how many files it had changed."""
        return len(self._commands.recover(self._context.root))

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
            verdict = self._judge(tool, dict.fromkeys((*tool.paths, *tool.writes), file_path), self._context.root)
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
        from localllm.safety.destruction import detect_code_destruction

        found = detect_code_destruction(old_content, new_content, file_path)
        return {"destructive": found is not None, **(msgspec.to_builtins(found) if found else {})}

    def filter_dangerous_commands(self, command: str) -> tuple[bool, str]:
        """Whether a command is none of the dangerous ones; and which it is."""
        found = self._policy.dangerous_part(command)
        return not found, found

    async def execute(self, call: ToolCall, emit: Emit, *, was_cut: bool = False) -> ToolResult:
        """Run `call` through the whole pipeline. `was_cut`: the answer that holds it ended at the token limit."""
        record = Record(call)
        try:
            await asyncio.sleep(0)  # an interrupt that is pending comes before the next change, not after it
            result = await self._through(call, emit, record, was_cut=was_cut)
        except LocalLLMError as error:
            result = failed(call, error)
        except asyncio.CancelledError:
            self._finish(failed(call, SafetyViolationError("interrupted_by_user")), record, emit)
            raise
        except Exception as error:  # noqa: BLE001 - the tool boundary: a tool's fault must not end the conversation
            logs.of("TOOL").exception("%s failed", call.name)
            result = failed(call, ToolExecutionError("tool_crashed", name=call.name, reason=first_line(error)))
        if record.changes:
            result = msgspec.structs.replace(result, changes={change.path: change.after for change in record.changes})
            result = self._with_instructions_named(_with_changes_named(result, record.changes), emit)
        self._finish(result, record, emit)
        return result

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
        seen = _NOTHING_SEEN
        if tool.name == COMMAND_TOOL:
            seen = await asyncio.to_thread(self._look_at_command, arguments, context.root)  # it may take a moment
        verdict = self._judge(tool, arguments, context.root, seen=seen)
        preview = await _preview(context, tool, arguments)
        record.approval = verdict.rule or "policy"
        if verdict.decision == "ask":
            asked = await self._with_warning(tool, verdict, preview)
            request = question(tool, call, verdict, asked, self._scope(tool, arguments, context.root), self._agent)
            record.approval = await self._ask(request, verdict, emit, preview)
            if not (preview and preview.plan) and await _preview(context, tool, arguments) != preview:
                raise ToolExecutionError("changed_while_asked", name=tool.name)
        elif preview and preview.danger:
            raise ToolExecutionError("would_destroy", name=tool.name, lost=preview.danger)
        try:
            context = msgspec.structs.replace(context, emit=emit, plan=preview.plan if preview else None)
            output = await self._run(tool, arguments, record, context)
        except Exception:
            self._tainted = self._tainted or bool(tool.fetches or tool.sends)  # an error may hold strangers' words
            raise
        self._tainted = self._tainted or output.untrusted
        remarks += self._new_remarks(call, fitted.left_out)
        if remarks:
            output = msgspec.structs.replace(output, for_model="\n".join([output.for_model, *remarks]))
        result = succeeded(call, output, preview)
        return msgspec.structs.replace(result, acted=tool.risk is not Risk.SAFE and not seen.only_reads)

    def _look_at_command(self, arguments: dict[str, Any], root: ProjectRoot) -> _CommandSeen:
        """What the policy has to know of a command line, the project and the sandbox to ask no more than needed."""
        command, folder = arguments["command"], arguments["working_dir"] or "."
        with suppress(LocalLLMError):  # a folder outside, say: running it will tell
            folder = root.relative(folder)
            if not self._policy.dangerous_part(command):
                return _CommandSeen(only_reads=self._only_reads(command, folder, root))
            if self._context.settings.safety.auto_backup and not self._context.background.is_any_running:
                return _CommandSeen(kept=self._kept(command, folder, root))
        return _NOTHING_SEEN

    def _only_reads(self, command: str, folder: str, root: ProjectRoot) -> bool:
        from localllm.safety.reading_commands import Place, only_reads  # they come with the first command
        from localllm.sandbox.backend import BACKENDS

        closed = asked_before_reading(self._context.settings.safety, root.relative)
        place = Place(root.path, folder, root.relative, closed, os.environ.get("PATH", ""))
        if line_of(command).unreadable or not only_reads(command, place):
            return False
        level = self._context.runner.level
        return level in BACKENDS and BACKENDS[level].closes_names

    def _kept(self, command: str, folder: str, root: ProjectRoot) -> frozenset[tuple[str, ...]]:
        from localllm.safety.plain_commands import removed

        inside = f"{root.path}/"
        return frozenset(
            words
            for words, paths in removed(command).items()
            if self._commands.would_bring_back(
                root,
                [os.path.join(folder, path.removeprefix(inside)) for path in paths],  # noqa: PTH118 - strings
            )
        )

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
        """What is asked about a command, which also says where /undo would not bring back the repository."""
        if tool.risk is not Risk.HIGHEST or preview is None:
            return preview
        if self._context.settings.safety.auto_backup:
            is_kept = await asyncio.to_thread(self._commands.keep_repositories, self._context.root)
        else:  # that nothing is kept was chosen
            is_kept = not verdict.dangerous or not (self._context.root.path / ".git").is_dir()
        if is_kept:
            return preview
        warning = _(
            "The git repository is not kept, or not all of it: /undo does not bring back what a command destroys in it."
        )
        return msgspec.structs.replace(preview, summary=f"{preview.summary} {warning}")

    def _find(self, call: ToolCall, *, was_cut: bool = False) -> Tool:
        """The tool of the call by its name, whatever its case."""
        tool = self._own(call.name)
        if tool is None and was_cut:  # perhaps no more than the beginning of a name
            raise ToolExecutionError("tool_cut_arguments", name=call.name)
        if tool is None:
            known = ", ".join(spec.name for spec in self._specs)
            self._translator.translate(call)  # raises what is wrong with a patch
            raise ToolExecutionError(
                "tool_nameless" if call.name == UNNAMED else "tool_unknown", name=call.name, known=known
            )
        return tool

    def _own(self, name: str) -> Tool | None:
        return self._tools.get(own_name(name, self._tools)) or (noted if name == NOTE else None)

    def _judge(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        root: ProjectRoot,
        led_by: str = "",
        seen: _CommandSeen = _NOTHING_SEEN,
    ) -> Verdict:
        """The policy's verdict, unless it is to deny: then SafetyViolationError. `root`: that of the call. `led_by`:
        see Situation."""
        has_network = self._tainted and tool.name == COMMAND_TOOL and self._commands_have_network()
        touched = self._touched(tool, arguments)
        web = self._context.web
        situation = Situation(
            tainted=self._tainted,
            network=has_network,
            said=self._said,
            found=web.found if web else (),
            led_by=led_by,
            touched=touched,
            is_file=self._is_file,
            only_reads=seen.only_reads,
            kept=seen.kept,
        )
        verdict = self._policy.judge(tool, arguments, root.relative, situation)
        if verdict.decision == "deny":
            key = "denied_plan_mode" if verdict.why == "plan" else "denied_by_rule"
            raise SafetyViolationError(key, name=tool.name, rule=verdict.rule)
        return verdict

    def _may_follow(self, tool: Tool, arguments: dict[str, Any], before: str, after: str) -> bool:
        """Whether the page at `before`, which may be read, may lead to `after` without a question. Raises
        SafetyViolationError where that is denied."""
        there = arguments | dict.fromkeys(tool.fetches, after)
        return self._judge(tool, there, self._context.root, led_by=before).decision == "allow"

    def _commands_have_network(self) -> bool:
        return bool(self._context.settings.safety.network_hosts) or self._context.runner.level == "none"

    def _scope(self, tool: Tool, arguments: dict[str, Any], root: ProjectRoot) -> str:
        """What an answer that lasts would be about: the command, the host of the address, or the folder of the file; in
        the project's own folder the file, for that folder is everything."""
        if tool.name == COMMAND_TOOL:
            return arguments["command"].strip()
        if tool.fetches:
            from localllm.safety.web_addresses import site_of  # the first address brings it

            return site_of(arguments[tool.fetches[0]])
        files = self._written(tool, arguments, root)
        folder, slash, name = files[0].rpartition("/") if len(files) == 1 else ("", "", "")
        return folder + slash or name

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

    def _written(self, tool: Tool, arguments: dict[str, Any], root: ProjectRoot) -> list[str]:
        """The files a call changes, by their canonical paths."""
        named = [path for name in tool.writes for path in listed(arguments[name])]
        return [root.relative(path) for path in (*named, *self._touched(tool, arguments))]

    def _is_file(self, name: str) -> bool:
        return os.path.lexists(self._context.root.path / name)

    def _touched(self, tool: Tool, arguments: dict[str, Any]) -> tuple[str, ...]:
        return tool.touches(self._context, arguments) if tool.touches else ()

    async def _run(self, tool: Tool, arguments: dict[str, Any], record: Record, context: ToolContext) -> ToolOutput:
        """Backup, run, and note what changed. The plan of the `context` is what was shown and allowed."""
        if tool.risk != Risk.SAFE:
            from localllm.base.own_modules import hold_source  # most answers change nothing

            hold_source(self._context.root.path)
        may_follow = partial(self._may_follow, tool, arguments)
        context = msgspec.structs.replace(context, may_follow=may_follow)
        root = self._context.root
        paths = self._written(tool, arguments, context.root)
        backup = self._context.settings.safety.auto_backup
        if tool.runs_programs and backup:
            async with self._commands.around(root, tool=tool.name) as changes:
                record.changes = changes
                work = tool.function(context, **arguments)
                return await (work if tool.risk is Risk.HIGHEST else _to_its_end(work))
        if backup and any(path.rpartition("/")[2] == ".gitignore" for path in paths):
            await asyncio.to_thread(self._commands.keep, root)  # what was not ignored before it is kept
        async with held(self._snapshots.writing() if paths and backup else None):
            with self._snapshots.around(root, paths, tool=tool.name, enabled=backup) as changes:
                record.changes = changes
                work = tool.function(context, **arguments)
                return await (work if tool.risk in (Risk.SAFE, Risk.HIGHEST) else _to_its_end(work))

    def _with_instructions_named(self, result: ToolResult, emit: Emit) -> ToolResult:
        """The result of a command, which also says what it changed of the texts that assistants obey."""
        if result.call.name != COMMAND_TOOL or not result.changes:
            return result
        from localllm.sandbox.protect.protected_names import is_instruction  # the table is loaded with the first change

        changed = [shown(path) for path in result.changes if is_instruction(path)]
        if not changed:
            return result
        paths = ", ".join(changed[:_MOST_NAMED]) + (" …" if len(changed) > _MOST_NAMED else "")
        emit(
            Notice(text=_("The command changed what assistants are told to do: {paths}", paths=paths), level="warning")
        )
        remark = f"[It changed what assistants are told to do: {paths}. Say so to the user.]"
        return msgspec.structs.replace(result, for_model=f"{result.for_model}\n{remark}")

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


def _with_changes_named(result: ToolResult, changes: Sequence[Change]) -> ToolResult:
    """The result of a command, which also says which files it has changed."""
    files = list(dict.fromkeys(change.path for change in changes if not is_repository(change.before)))
    if result.call.name != COMMAND_TOOL or not files:
        return result
    gone = {change.path for change in changes if change.after == ABSENT}
    named = [f"{shown(path)} (deleted)" if path in gone else shown(path) for path in files[:_MOST_CHANGED]]
    more = ", …" if len(files) > _MOST_CHANGED else ""
    remark = f"[changed: {len(files)} {plural(len(files), 'file', 'files')}: {', '.join(named)}{more}]"
    return msgspec.structs.replace(result, for_model=f"{result.for_model}\n{remark}")


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
