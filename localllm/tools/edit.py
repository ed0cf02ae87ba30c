"""The tool edit_file: passages of a file replaced by others, all of them or none."""

import asyncio
from collections.abc import Sequence

from localllm.base.i18n import _
from localllm.safety.paths import shown
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

    edit = plan(context, file_path, _asked(old_string, new_string, edits), replace_all=replace_all)
    path = shown(edit.file.path)
    return Preview(_("Edit {path}", path=path), unified(edit.file.text, edit.raw, path), "diff", danger(edit), edit)


@tool(
    risk=Risk.HIGH,
    writes=("file_path",),
    preview=_preview,
    required=("file_path", "old_string", "new_string"),
    unlisted=("edits",),
)
async def edit_file(
    context: ToolContext,
    file_path: str,
    old_string: str = "",
    new_string: str = "",
    replace_all: bool = False,
    edits: list[Replacement] | None = None,
) -> ToolOutput:
    """Replace a passage of a file. old_string must occur exactly once.

    old_string: the text to replace, copied exactly
    """
    from localllm.tools.edit_plan import Edit, plan, put

    if isinstance(context.plan, Edit):
        return await put(context, context.plan)
    asked = _asked(old_string, new_string, edits)
    return await put(context, await asyncio.to_thread(plan, context, file_path, asked, replace_all=replace_all))


def _asked(old: str, new: str, edits: Sequence[Replacement] | None) -> list[Replacement]:
    """All replacements in their order. A first one left empty, or repeated in `edits`, is none."""
    first = Replacement(old, new)
    more = list(edits or ())
    return more if more and (not (old or new) or first in more) else [first, *more]
