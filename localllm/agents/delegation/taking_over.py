"""What becomes of an agent's changes: taken over into the project, or kept in a file that is named."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import msgspec

from localllm.agents.delegation.applying import Patch, apply_tool
from localllm.agents.delegation.splitting import Subtask
from localllm.agents.delegation.sub_agents import FINDING_TOKENS, Finding, capped
from localllm.agents.delegation.worktrees import FileChange, WorkTrees, stoppable
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Emit, Notice, ToolCall
from localllm.base.files import write_own
from localllm.base.i18n import tr
from localllm.base.jsontext import encode_json
from localllm.tools.guard.paths import shown
from localllm.tools.guard.rules import WRITING_TOOL, WRITING_TOOLS
from localllm.tools.tool_system import ToolSystem

_OUTPUT = 4_000
_LONGEST_NAME = 40
_MOST_NAMED = 10


class Report(msgspec.Struct, kw_only=True):
    """What came of a subtask. `tree` is where it was done, None for the project itself. `became` tells what was done
    with its changes, of `files`; `patch` is the file that keeps them where they are not in the project."""

    subtask: Subtask
    finding: Finding
    tree: Path | None = None
    files: tuple[str, ...] = ()
    became: str = ""
    patch: str = ""

    def text(self, estimate: Callable[[str], int]) -> str:
        """For whoever puts all of them together."""
        found = capped(self.finding.report(), FINDING_TOKENS, estimate)
        return "\n".join(filter(None, (f"## {self.subtask.title}", found, self.became and f"[{self.became}]")))


class TakingOver:
    """Takes over what agents changed in their `trees` into the project of `tools`, one agent after another.

    What cannot be taken over, or shall not, is kept as a patch in the folder `kept`.
    """

    def __init__(self, tools: ToolSystem, trees: WorkTrees, kept: Path, name: str) -> None:
        """`name` begins the names of the files that are kept."""
        self._tools = tools
        self._trees = trees
        self._kept = kept
        self._name = f"{name}-{uuid4().hex[:4]}"

    async def take_over(self, report: Report, emit: Emit) -> None:
        """Apply what this agent changed, and write into its report what became of that."""
        if report.tree is None:
            return
        try:
            changes = await stoppable(self._trees, partial(self._trees.changes, report.tree))
            if not changes:
                report.became = tr("coordinate.no_changes")
                return
            report.files = tuple(change.path for change in changes)
            patch = await stoppable(self._trees, partial(self._trees.patch, report.tree, changes))
            await self._apply_or_keep(report, changes, patch, emit)
        except ToolExecutionError as error:
            report.became = error.what
            emit(Notice(text=str(error), level="warning"))

    async def _apply_or_keep(self, report: Report, changes: list[FileChange], patch: bytes, emit: Emit) -> None:
        file = self._kept / f"{self._name}-{_file_name(report.subtask.title)}.patch"
        await self._keep(file, patch)  # before anybody is asked: what is told of names it
        named = file.relative_to(self._tools.root) if file.is_relative_to(self._tools.root) else file
        try:
            obstacle = await self._apply(report, Patch(report.subtask.title, changes, named), emit)
        except asyncio.CancelledError:
            file.unlink(missing_ok=True)
            raise
        if obstacle:
            report.patch = str(named)
            reason = obstacle.rstrip(".。")
            report.became = tr("coordinate.kept", agent=report.subtask.title, reason=reason, patch=named)
            emit(Notice(text=report.became, level="warning"))
        else:
            file.unlink(missing_ok=True)
            report.became = tr("coordinate.taken", files=_named(report.files))

    async def _keep(self, file: Path, patch: bytes) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_own, file, patch)
        except OSError as error:
            raise ToolExecutionError("worktree_failed", reason=error.strerror or str(error)) from error

    async def _apply(self, report: Report, patch: Patch, emit: Emit) -> str:
        """Apply a patch behind the guards; why it was not, where it was not."""
        if not report.finding.is_done:
            return tr("coordinate.unfinished")
        for change in patch.changes:
            if change.odd:
                return f"{shown(change.path)}: {change.odd}"
            for operation in WRITING_TOOLS:
                permitted, why = self._tools.validate_file_operation(change.path, operation)
                if not permitted:
                    return why.partition("\n")[0]
        tools = self._tools.part("", [apply_tool(patch)], output_limit=_OUTPUT)
        arguments = encode_json({"agent": patch.agent, "files": report.files}).decode()
        result = await tools.execute(ToolCall(f"apply_{uuid4().hex[:8]}", WRITING_TOOL, arguments), emit)
        await asyncio.sleep(0)  # whoever interrupts at the question says no: then nothing is kept either
        if result.error and result.error.key == "denied_by_user":
            return str(result.error)  # with what the person said instead
        return "" if result.success else result.summary


def _named(files: tuple[str, ...]) -> str:
    more = ["…"] if len(files) > _MOST_NAMED else []
    return ", ".join([*map(shown, files[:_MOST_NAMED]), *more])


def _file_name(title: str) -> str:
    """A title as a part of a file's name."""
    return "".join(letter if letter.isalnum() else "-" for letter in title)[:_LONGEST_NAME].strip("-") or "changes"
