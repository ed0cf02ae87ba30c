"""The tool that runs commands."""

import re
import signal
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase, tr
from localllm.base.patterns import late_pattern
from localllm.tools.background import begin
from localllm.tools.context import ToolContext
from localllm.tools.definition import Preview, Risk, ToolOutput
from localllm.tools.guard.paths import shown, some_of
from localllm.tools.output import cap
from localllm.tools.registry import tool

if TYPE_CHECKING:
    from localllm.sandbox.runner import CommandResult

_LONGEST = 600.0  # seconds a model may ask for

_DENIED = late_pattern(
    r"permission denied|operation not permitted|read-only file system|resource busy|network is unreachable"
    r"|could not resolve|name or service not known|temporary failure in name resolution|permissionerror|eacces|eperm",
    re.IGNORECASE,
)


def _preview(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,
    background: bool = False,
) -> Preview:
    folder = working_dir or "."
    in_time = tr("command.preview", folder=folder, seconds=_seconds(context, timeout))
    summary = tr("background.preview", folder=folder) if background else in_time
    return Preview(summary=summary, detail=command, kind="command")


@tool(risk=Risk.HIGHEST, preview=_preview, runs_programs=True, rare=("working_dir", "background"))
async def run_command(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,  # noqa: ASYNC109 - an argument of the model's
    background: bool = False,
) -> ToolOutput:
    """Run a bash command. No input, no network.

    timeout: seconds
    background: for what takes long; read it with command_output
    """
    if not command.strip():
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("command.empty"))
    folder = context.root.relative(working_dir) if working_dir else "."
    if background:
        return await begin(context, command, folder)
    seconds = _seconds(context, timeout)
    result = await context.runner.run(command, cwd=context.root.path / folder, timeout=seconds)
    report = cap(_report(result, seconds), context, "run_command", whole=not result.truncated, faults=True)
    return ToolOutput(
        payload=_payload(result, folder),
        for_model="\n".join([report, *remarks_on(result)]),
        summary=_summary(result),
        success=result.return_code == 0,
    )


def _seconds(context: ToolContext, timeout: float) -> float:
    default = context.settings.safety.command_timeout
    return min(timeout, max(_LONGEST, default)) if timeout > 0 else default


def _payload(result: "CommandResult", folder: str) -> dict[str, object]:
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "return_code": result.return_code,
        "execution_time": round(result.execution_time, 3),
        "timed_out": result.timed_out,
        "truncated": result.truncated,
        "metadata": {
            "sandbox": result.level,
            "working_dir": folder,
            "reverted": [shown(path) for path in result.reverted],
            **({"overlooked": True} if result.overlooked else {}),
            **_network(result),
        },
    }


def _network(result: "CommandResult") -> dict[str, object]:
    """What went where, for the journal; nothing as a rule."""
    contacts = {contact.host: msgspec.to_builtins(contact) for contact in result.contacts}
    return {"network": contacts} if contacts else {}


def _report(result: "CommandResult", seconds: float) -> str:
    """The output as the model reads it: how it ended, if not well; stdout; stderr under its name."""
    parts = [_ending(result, seconds), result.stdout.rstrip("\n")]
    if errors := result.stderr.rstrip("\n"):
        parts += [tr("command.stderr"), errors]
    return "\n".join(filter(None, parts)) or tr("command.silent")


def _ending(result: "CommandResult", seconds: float) -> str:
    if result.timed_out:
        return tr("command.timed_out", seconds=seconds, longest=_LONGEST)
    if result.excess:
        return tr(f"command.excess.{result.excess}")
    if result.return_code < 0:
        return tr("command.killed", number=-result.return_code, name=_signal_name(-result.return_code))
    return tr("command.exit", code=result.return_code) if result.return_code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def remarks_on(result: "CommandResult") -> list[str]:
    """What the model, or whoever runs it, must know besides its output."""
    remarks: list[str] = []
    if result.reverted:
        remarks.append(tr("command.reverted", paths=some_of(result.reverted)))
    if result.overlooked:
        remarks.append(tr("command.overlooked"))
    if result.unlinked:
        remarks.append(tr("command.unlinked", paths=some_of(result.unlinked)))
    output = f"{result.stderr}\n{result.stdout}" if result.return_code else result.stderr
    if result.level != "none" and _DENIED.search(output):
        remarks.append(tr("command.denied.landlock" if result.level == "landlock" else "command.denied"))
        if result.network == "not possible":
            remarks.append(tr("command.network.not_possible", level=result.level))
    if refused := tuple(contact.host for contact in result.contacts if contact.refused):
        remarks.append(tr("command.network.refused", hosts=some_of(refused)))
    return remarks


def _summary(result: "CommandResult") -> str:
    """One line for a person."""
    if result.timed_out:
        return tr("command.summary.timed_out", seconds=result.execution_time)
    return tr("command.summary", code=result.return_code, seconds=result.execution_time)
