"""The tool that runs commands."""

import re

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase, tr
from localllm.sandbox.runner import CommandResult
from localllm.tools.context import ToolContext
from localllm.tools.output import cap
from localllm.tools.registry import Preview, Risk, ToolOutput, tool

_LONGEST = 600.0  # seconds a model may ask for

_DENIED = re.compile(
    r"permission denied|operation not permitted|read-only file system|network is unreachable"
    r"|could not resolve|name or service not known|temporary failure in name resolution|permissionerror|eacces|eperm",
    re.IGNORECASE,
)


def _preview(context: ToolContext, command: str, working_dir: str = "", timeout: float = 0) -> Preview:
    summary = tr("command.preview", folder=working_dir or ".", seconds=_seconds(context, timeout))
    return Preview(summary=summary, detail=command, kind="command")


@tool(risk=Risk.HIGHEST, preview=_preview)
async def run_command(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,  # noqa: ASYNC109 - an argument of the model's
) -> ToolOutput:
    """Run a bash command in the project and return its output. No input, no network, no writing outside the project.

    command: the command line
    working_dir: folder in the project to run it in
    timeout: seconds, at most 600
    """
    if not command.strip():
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("command.empty"))
    folder = context.root.relative(working_dir) if working_dir else "."
    seconds = _seconds(context, timeout)
    result = await context.runner.run(command, cwd=context.root.path / folder, timeout=seconds)
    report = cap(_report(result, seconds), context, "run_command", whole=not result.truncated)
    return ToolOutput(
        payload=_payload(result, folder),
        for_model="\n".join([report, *_remarks(result)]),
        summary=_summary(result),
        success=result.return_code == 0,
    )


def _seconds(context: ToolContext, timeout: float) -> float:
    default = context.settings.safety.command_timeout
    return min(timeout, max(_LONGEST, default)) if timeout > 0 else default


def _payload(result: CommandResult, folder: str) -> dict[str, object]:
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "return_code": result.return_code,
        "execution_time": round(result.execution_time, 3),
        "timed_out": result.timed_out,
        "truncated": result.truncated,
        "metadata": {"sandbox": result.level, "working_dir": folder, "reverted": list(result.reverted)},
    }


def _report(result: CommandResult, seconds: float) -> str:
    """The output as the model reads it: how it ended, if not well; stdout; stderr under its name."""
    parts = [_ending(result, seconds), result.stdout.rstrip("\n")]
    if errors := result.stderr.rstrip("\n"):
        parts += [tr("command.stderr"), errors]
    return "\n".join(filter(None, parts)) or tr("command.silent")


def _ending(result: CommandResult, seconds: float) -> str:
    if result.timed_out:
        return tr("command.timed_out", seconds=seconds, longest=_LONGEST)
    if result.excess:
        return tr(f"command.excess.{result.excess}")
    return tr("command.exit", code=result.return_code) if result.return_code else ""


def _remarks(result: CommandResult) -> list[str]:
    """What the model must know besides, never cut."""
    remarks: list[str] = []
    if result.reverted:
        remarks.append(tr("command.reverted", paths=", ".join(result.reverted)))
    output = f"{result.stderr}\n{result.stdout}" if result.return_code else result.stderr
    if result.level != "none" and _DENIED.search(output):
        remarks.append(tr("command.denied"))
    return remarks


def _summary(result: CommandResult) -> str:
    """One line for a person."""
    if result.timed_out:
        return tr("command.summary.timed_out", seconds=result.execution_time)
    return tr("command.summary", code=result.return_code, seconds=result.execution_time)
