"""Single tools, called as the pipeline calls them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from localllm.config.schema import ProjectSettings, SafetySettings, Settings
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Preview, Tool, ToolOutput
from localllm.sandbox.background import Handle
from localllm.sandbox.runner import CommandResult, Inspected, SandboxLevel
from localllm.tools.context import ToolContext


class NoRunner:
    """For tools that run no commands: fails when asked to."""

    level: SandboxLevel = "none"
    received = 0
    has_others = False
    can_inspect = False

    def hold_off(self, folders: Collection[Path]) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def shows(self, path: Path) -> bool:
        raise AssertionError(path)

    async def inspect(
        self, script: str, *, files: Mapping[str, bytes], results: Sequence[str], timeout: float
    ) -> Inspected:
        raise AssertionError(script)

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout: float,
        files: Mapping[str, bytes] | None = None,
        statuses: bool = False,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        raise AssertionError(command)

    async def begin(self, command: str, *, cwd: Path) -> Handle:
        raise AssertionError(command)


def make_context(
    root: Path,
    *,
    output_limit: int = 8_000,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = ("node_modules",),
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
) -> ToolContext:
    """A context over `root`."""
    return ToolContext(
        root=ProjectRoot(root),
        settings=Settings(
            project=ProjectSettings(include_patterns=include, exclude_patterns=exclude),
            safety=SafetySettings(deny=deny, ask=ask),
        ),
        runner=NoRunner(),
        output_limit=output_limit,
        overflow_folder=root / ".localllm" / "tool-output",
    )


async def use(tool: Tool, context: ToolContext, **arguments: Any) -> ToolOutput:
    """Call `tool`, as a model would."""
    return await tool.function(context, **tool.parse(arguments))


def preview(tool: Tool, context: ToolContext, **arguments: Any) -> Preview:
    """What a person is shown before the call."""
    assert tool.preview
    return tool.preview(context, **tool.parse(arguments))


def put(path: Path, content: str | bytes = "") -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
