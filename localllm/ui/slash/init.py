"""/init: make the chat's folder a project."""

import asyncio

from localllm.base.i18n import tr
from localllm.integrations.workspace import Step, set_up
from localllm.ui.report import wrapped
from localllm.ui.slash.registry import Outcome, SlashCall, slash
from localllm.ui.slash.table import table
from localllm.ui.slash.waiting import saying


@slash("init")
async def init(call: SlashCall) -> Outcome:
    """Make what a project has and this one lacks: localllm.toml, and LOCALLLM.md from an analysis."""
    chat, screen = call.chat, call.screen
    async with saying(screen, tr("memory.analysing")):
        steps = await asyncio.to_thread(set_up, chat.root, notes=chat.settings.project.memory_file)
    table(screen, [(tr(f"init.{step.done}"), _name(call, step)) for step in steps])
    for remark in (remark for step in steps for remark in step.remarks):
        screen.print_lines(wrapped("  ", remark, "dim", screen.width))


def _name(call: SlashCall, step: Step) -> str:
    is_folder = step.path.is_dir() and not step.path.is_symlink()
    return f"{step.path.relative_to(call.chat.root)}{'/' if is_folder else ''}"
