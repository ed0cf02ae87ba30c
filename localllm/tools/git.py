"""The tools git_status, git_diff, git_log and git_commit."""

from collections.abc import Sequence

from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool

_MOST_COMMITS = 200


@tool(risk=Risk.SAFE)
async def git_status(context: ToolContext) -> ToolOutput:
    """Show the branch and which files are staged, changed or new."""
    from localllm.tools import git_reports

    return await git_reports.status(context)


@tool(risk=Risk.SAFE)
async def git_diff(context: ToolContext, file_path: str = "", staged: bool = False) -> ToolOutput:
    """Show the changes that are not staged, or those that are.

    file_path: file or folder
    """
    from localllm.tools import git_reports
    from localllm.tools.git_repository import git_path

    path = git_path(context.root, file_path) if file_path else "."
    return await git_reports.diff(context, path, ("--cached",) if staged else ())


@tool(risk=Risk.SAFE)
async def git_log(context: ToolContext, max_count: int = 10, file_path: str = "") -> ToolOutput:
    """List the last commits: hash, date, author and subject.

    file_path: file or folder
    """
    from localllm.tools import git_reports
    from localllm.tools.git_repository import git_path

    path = git_path(context.root, file_path) if file_path else ""
    return await git_reports.log(context, max(1, min(max_count, _MOST_COMMITS)), path)


async def _preview_commit(context: ToolContext, message: str, files: Sequence[str] = ()) -> Preview:
    from localllm.tools.git_commit import preview_commit

    return await preview_commit(context, message, files)


@tool(
    risk=Risk.MEDIUM,
    paths=("files",),
    preview=_preview_commit,
    runs_programs=True,
    brief="Commit these files, else what is staged or tracked.",
)
async def git_commit(context: ToolContext, message: str, files: list[str] = []) -> ToolOutput:  # noqa: B006 - read only
    """Commit these files; without files what is staged, else your changes to tracked files."""
    from localllm.tools.git_commit import commit

    return await commit(context, message, files)
