"""Commands in the background: what the model is told of one that was begun, and the tool that reads and stops it."""

from localllm.base import logs
from localllm.base.i18n import tr
from localllm.sandbox.background import BackgroundCommand
from localllm.tools.context import ToolContext
from localllm.tools.definition import Risk, ToolOutput
from localllm.tools.guard.journal import Journal, JournalEntry, digest
from localllm.tools.guard.paths import some_of
from localllm.tools.output import cap
from localllm.tools.registry import tool

_FIRST_LOOK = 1.0  # seconds: by then most that fail have failed, and servers have said where they listen
_END = 5.0  # seconds an end may take


async def begin(context: ToolContext, command: str, folder: str) -> ToolOutput:
    """Begin `command`, and what it wrote in its first moment. Raises as `BackgroundCommands.start` does."""
    begun = await context.background.start(context.runner, command, cwd=context.root.path / folder)
    await begun.wait(_FIRST_LOOK)
    remarks = [tr("background.begun", id=begun.number)] if begun.is_running else []
    if begun.is_running and begun.level != "none":
        remarks.append(tr("background.net"))
    return _report(context, begun, remarks, working_dir=folder)


@tool(risk=Risk.SAFE)
async def command_output(context: ToolContext, id: int, stop: bool = False) -> ToolOutput:  # noqa: A002 - the model's word
    """Read the new output of a background command, or stop it."""
    command = context.background.get(id)
    if stop:
        command.ask_to_end()
        await command.wait(_END)
    return _report(context, command, [])


def note_end(journal: Journal, command: BackgroundCommand) -> None:
    """Put into the journal how a command ended, as an entry of its own."""
    code = command.outcome.return_code if command.outcome else None
    entry = JournalEntry(
        tool="background",
        arguments=digest({"id": command.number, "command": command.command}),
        outcome="ok" if code == 0 or command.was_stopped else command.error.code if command.error else "failed",
        target=command.command,
        sandbox=command.level,
    )
    try:
        journal.write(entry)
    except OSError as error:
        logs.of("TOOL").warning("the journal cannot be written: %s", error)


def _report(context: ToolContext, command: BackgroundCommand, remarks: list[str], **metadata: str) -> ToolOutput:
    """What it wrote since the last time, and how it is; raises its error where it was not run."""
    if command.error and not command.was_stopped:
        raise command.error
    text, dropped = command.read()
    state = tr("background.state", id=command.number, state=command.state, seconds=command.seconds)
    if dropped:
        remarks = [tr("background.dropped", count=dropped), *remarks]
    if command.reverted:
        remarks = [*remarks, tr("command.reverted", paths=some_of(command.reverted))]
    written = (
        cap(text.rstrip("\n"), context, "command_output", faults=True) if text.strip() else tr("background.silent")
    )
    code = command.outcome.return_code if command.outcome else None
    return ToolOutput(
        payload={
            "id": command.number,
            "running": command.is_running,
            "output": text,
            "return_code": code,
            "metadata": {"sandbox": command.level, "reverted": list(command.reverted), **metadata},
        },
        for_model="\n".join([state, written, *remarks]),
        summary=state,
        success=not code or command.was_stopped,
    )
