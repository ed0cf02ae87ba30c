"""The tool edit_file: replace passages of a file, all or none."""

import asyncio
from collections.abc import Sequence
from typing import Any

from localllm.base.i18n import _
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.edit_arguments import Replacement
from localllm.tools.registry import tool


def _preview(
    context: ToolContext,
    file_path: str,
    old_string: str = "",
    new_string: str = "",
    replace_all: bool = False,
    edits: list[Replacement] | None = None,
) -> Preview:
    from localllm.text.diffing import unified
    from localllm.tools.edit_plan import danger, plan
    from localllm.tools.encoded_letters import with_letters_named

    edit = plan(context, file_path, _asked(old_string, new_string, edits), replace_all=replace_all)
    path = shown(edit.file.path)
    before, after = edit.file.text, edit.raw
    if path.endswith(".ipynb"):
        from localllm.documents.notebook_cells import compared

        before, after = compared(before, after)
    summary = with_letters_named(_("Edit {path}", path=path), before, after, edit.file.decoded.encoding)
    return Preview(summary, unified(before, after, path), "diff", danger(edit), edit)


def _as_write(root: ProjectRoot, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Redirect to write_file if the edit replaces nothing in a missing or empty file."""
    asked = _asked(arguments["old_string"], arguments["new_string"], arguments["edits"])
    if len(asked) > 1 or asked[0].old_string:
        return None
    path = arguments["file_path"]
    if root.exists(path) and root.stat(path).st_size:
        return None
    return "write_file", {"file_path": path, "content": asked[0].new_string}


def _passages(arguments: dict[str, Any]) -> list[str]:
    asked = _asked(arguments["old_string"], arguments["new_string"], arguments["edits"])
    return [one.old_string for one in asked]


@tool(
    risk=Risk.HIGH,
    writes=("file_path",),
    preview=_preview,
    redirect=_as_write,
    passages=_passages,
    required=("file_path", "old_string", "new_string"),
    unlisted=("edits",),
    rare=("replace_all",),
    brief="Replace old_string, which must occur once, by new_string.",
)
async def edit_file(
    context: ToolContext,
    file_path: str,
    old_string: str = "",
    new_string: str = "",
    replace_all: bool = False,
    edits: list[Replacement] | None = None,
) -> ToolOutput:
    """Replace a passage of a file. old_string must be copied exactly, and occur once."""
    from localllm.tools.edit_plan import Edit, plan, put

    asked = _asked(old_string, new_string, edits)
    if isinstance(context.plan, Edit):
        return await put(context, context.plan, asked)
    return await put(context, await asyncio.to_thread(plan, context, file_path, asked, replace_all=replace_all), asked)


def _asked(old: str, new: str, edits: Sequence[Replacement] | None) -> list[Replacement]:
    """Return all replacements in order, without a first one that is empty or repeated in `edits`."""
    first = Replacement(old, new)
    more = list(edits or ())
    return more if more and (not (old or new) or first in more) else [first, *more]
