"""The tools run_command, in the foreground and in the background, and command_output."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Notice
from localllm.base.i18n import Phrase, _, plural
from localllm.base.own_folders import reopened_notice
from localllm.safety.journal import Journal, JournalEntry, digest
from localllm.safety.path_names import some_of
from localllm.safety.rules import line_of
from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.sandbox.background import BackgroundCommand
from localllm.text.terminal_output import fold_repeats, plain_output
from localllm.tools.context import ToolContext
from localllm.tools.live_output import LiveOutput
from localllm.tools.registry import tool
from localllm.tools.results import cap

if TYPE_CHECKING:
    from localllm.sandbox.background import CommandOutcome
    from localllm.sandbox.runner import CommandResult

_FIRST_LOOK = 1.0  # seconds: most failures occur by then, and servers have printed their address
_END = 5.0  # maximum seconds for stopping


async def begin(context: ToolContext, command: str, folder: str) -> ToolOutput:
    """Start `command` in the background and report its first output. Raises like `BackgroundCommands.start`."""
    begun = await context.background.start(context.runner, command, cwd=context.root.path / folder)
    await begun.wait(_FIRST_LOOK)
    if not begun.is_running:
        return _report(context, begun, [], working_dir=folder)
    remarks = [
        f"[In the background with id {begun.number}: command_output reads and stops it. It ends with the session.]"
    ]
    told = Phrase("runs in the background as {id}", id=begun.number)
    if begun.level != "none":
        remarks.append(
            "[Ports it opens are the sandbox's own: other commands, the user and browsers cannot reach them.]"
        )
        told = Phrase("runs in the background as {id}; your browser cannot reach its ports", id=begun.number)
    return msgspec.structs.replace(_report(context, begun, remarks, working_dir=folder), summary=told)


@tool(risk=Risk.SAFE)
async def command_output(context: ToolContext, id: int, stop: bool = False) -> ToolOutput:  # noqa: A002 - the model's word
    """Read the new output of a background command, or stop it."""
    command = context.background.get(id)
    if stop:
        command.ask_to_end()
        await command.wait(_END)
    return _report(context, command, [])


def note_end(journal: Journal, command: BackgroundCommand) -> None:
    """Write a separate journal entry for the end of a background command."""
    code = command.outcome.return_code if command.outcome else None
    entry = JournalEntry(
        tool="background",
        arguments=digest({"id": command.number, "command": command.command}),
        outcome="ok" if code == 0 or command.was_stopped else command.error.code if command.error else "failed",
        target=command.command,
        sandbox=command.level,
        overlooked=command.outcome.overlooked if command.outcome else False,
    )
    journal.note(entry)


async def tell_news(
    notify: Callable[[str], Awaitable[None]], command: BackgroundCommand, restored: Sequence[str]
) -> None:
    """Show the user what was put back while a background command runs: they may have changed it themselves."""
    if restored:
        text = _(
            "Put back as it was while background command {id} runs, because commands must not change it: {paths}. "
            "If you have changed it yourself, do so again when the command has ended (/stop).",
            id=command.number,
            paths=some_of(restored),
        )
    elif command.error:
        text = f"[{command.error.code}] {command.error.what} {command.error.why}"
    else:
        return
    with suppress(OSError):
        await notify(text)


def _report(context: ToolContext, command: BackgroundCommand, remarks: list[str], **metadata: str) -> ToolOutput:
    """Report the output since the last time and the state; raise the command's error if it was not run."""
    if command.error and not command.was_stopped:
        raise command.error
    from localllm.tools import command_reports as reports  # not needed at the start

    known = command.encoding
    text, dropped = command.read()
    state = Phrase("[{id}: {state}, {seconds:.0f} s]", id=command.number, state=command.state, seconds=command.seconds)
    if dropped:
        remarks = [
            (f"[{dropped:,} {plural(dropped, 'byte of its middle was', 'bytes of its middle were')} dropped]"),
            *remarks,
        ]
    if command.encoding != known:
        remarks = [*remarks, reports.remark_on_encoding(command.encoding)]
    if command.outcome:
        _warn_of_files(context, command.outcome)
        remarks = [*remarks, *([reports.TOO_MUCH.english] if command.outcome.overlooked else [])]
    if command.reverted:
        remarks = [*remarks, *(remark.english for remark in reports.remarks_on_reverted(command.reverted))]
    if command.outcome and command.outcome.aside:
        remarks = [*remarks, reports.remark_on_aside(command.outcome.aside).english]
    plain = fold_repeats(plain_output(text).rstrip("\n"))
    written = cap(plain, context, "command_output", faults=True) if plain.strip() else "[no new output]"
    code = command.outcome.return_code if command.outcome else None
    return ToolOutput(
        payload={
            "id": command.number,
            "running": command.is_running,
            "output": text,
            "return_code": code,
            "metadata": {"sandbox": command.level, "reverted": list(command.reverted), **metadata},
        },
        for_model="\n".join([state.english, written, *remarks]),
        summary=state,
        success=command.is_running or code == 0 or command.was_stopped,
    )


def _preview(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,
    background: bool = False,
) -> Preview:
    from localllm.safety.terminal_programs import waiting  # the shell parser is imported with the first command

    if found := waiting(line_of(command).script, background=background):
        raise ToolExecutionError("command_needs_terminal", program=found.program, instead=found.instead)
    folder = working_dir or "."
    in_time = _("Run in {folder} (at most {seconds:g} s)", folder=folder, seconds=_seconds(context, timeout))
    summary = _("Run in {folder}, in the background", folder=folder) if background else in_time
    return Preview(summary=summary, detail=command, kind="command")


@tool(risk=Risk.HIGHEST, preview=_preview, runs_programs=True, rare=("working_dir", "background"))
async def run_command(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,  # noqa: ASYNC109 - an argument of the model's
    background: bool = False,
) -> ToolOutput:
    """Run a bash command in the project root, /tmp anew each time. No input, no network.

    timeout: seconds
    background: for what takes long; read it with command_output
    """
    if not command.strip():
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("the command is empty"))
    folder = context.root.relative(working_dir) if working_dir else "."
    if background:
        return await begin(context, command, folder)
    seconds = _seconds(context, timeout)
    parts = line_of(command).script.pipeline
    cwd = context.root.path / folder
    from localllm.tools import command_reports as reports  # not needed at the start
    from localllm.tools.merge_state import state_before, taken_with_markers
    from localllm.tools.repository_marks import marks_of

    merge = await asyncio.to_thread(state_before, context.root.path, command)
    marks = await asyncio.to_thread(marks_of, context.root.path)
    try:
        async with LiveOutput(context.emit) as live:
            result = await context.runner.run(
                command, cwd=cwd, timeout=seconds, statuses=bool(parts), on_output=live.add
            )
    except asyncio.CancelledError as interrupt:
        if interrupt.args:
            if interrupt.args[0].overlooked:
                _warn_of_overlooked(context)
            raise asyncio.CancelledError(_printed(context, interrupt.args[0])) from None
        raise
    report = cap(reports.text_of(result, seconds), context, "run_command", whole=not result.truncated, faults=True)
    failed = reports.failed_parts(parts, result)
    payload = reports.payload_of(result, folder)
    if failed:
        payload["failed_parts"] = [{"command": part, "return_code": status} for part, status, _ in failed]
    output = f"{result.stdout}\n{result.stderr}"
    if taken := await asyncio.to_thread(taken_with_markers, context.root, merge, output):
        payload["conflict_markers"] = list(taken.files)
        context.emit(Notice(text=str(taken.phrase), level="warning"))
    from localllm.tools.command_files import missing_files, not_executable, other_encoding, remarks_for_user

    root = context.root.path.resolve()
    told = await asyncio.to_thread(remarks_for_user, context.root.path, command, folder, result, merge, marks)
    for remark in told:
        context.emit(Notice(text=str(remark), level="warning"))
    if result.reverted:
        text = _("Put back as it was, because commands must not change it: {paths}", paths=some_of(result.reverted))
        context.emit(Notice(text=text, level="warning"))
    _warn_of_files(context, result)
    script = await asyncio.to_thread(not_executable, reports.NOT_EXECUTABLE, cwd, root, result)
    remarks = [
        *([f"[{script} is not executable: name its interpreter, or run chmod +x {script} first.]"] if script else []),
        *reports.remarks_on_exit(command, folder, failed, result),
        *await asyncio.to_thread(lambda: list(other_encoding(command, cwd, root, result))),
        *reports.remarks_on_lost(command, result),
        *await asyncio.to_thread(lambda: list(missing_files(command, cwd, root, result))),
        *([f"[{taken.phrase.english} Resolve these, and add the files again.]"] if taken else []),
        *(f"[{remark.english} Tell the user.]" for remark in told),
        *(remark.english for remark in reports.remarks_on(result, command, explained=bool(script))),
    ]
    return ToolOutput(
        payload=payload,
        for_model="\n".join([report, *remarks]),
        summary=reports.summary_of(result, failed),
        success=result.return_code == 0,
    )


def _warn_of_files(context: ToolContext, outcome: "CommandOutcome") -> None:
    """Tell the user, and not the model alone, what became of files that a command must not change."""
    from localllm.tools.command_reports import remark_on_aside

    if outcome.overlooked:
        _warn_of_overlooked(context)
    if outcome.aside:
        context.emit(Notice(text=str(remark_on_aside(outcome.aside)), level="warning"))
    if outcome.reopened:
        context.emit(Notice(text=reopened_notice(outcome.reopened), level="warning"))


def _warn_of_overlooked(context: ToolContext) -> None:
    """Tell the user, and not the model alone, that not all could be checked after a command."""
    text = _(
        "After this command there was too much to check for editor tasks, git settings and the like. Until a later "
        "check was complete, open or use nothing that it made in an editor, in git or in a shell."
    )
    context.emit(Notice(text=text, level="warning"))


def _printed(context: ToolContext, result: "CommandResult") -> ToolOutput:
    """Return the output so far of an interrupted command."""
    if not (result.stdout.strip() or result.stderr.strip()):
        return ToolOutput(payload={}, for_model="", summary="", success=False)
    from localllm.tools.command_reports import text_of

    so_far = msgspec.structs.replace(result, return_code=0, timed_out=False, excess="")
    report = cap(text_of(so_far, 0), context, "run_command", whole=not result.truncated, faults=True)
    payload: dict[str, object] = {"stdout": result.stdout, "stderr": result.stderr}
    return ToolOutput(payload=payload, for_model=report, summary="", success=False)


def _seconds(context: ToolContext, timeout: float) -> float:
    from localllm.tools.command_reports import MOST_SECONDS

    default = context.settings.safety.command_timeout
    return min(timeout, max(MOST_SECONDS, default)) if timeout > 0 else default
