"""/init: make the chat's folder a project."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from localllm.base.i18n import tr
from localllm.ui.report import wrapped
from localllm.ui.slash.context import ChatContext
from localllm.ui.slash.forms import show_forms
from localllm.ui.slash.registry import Choice, Outcome, SlashCall, slash
from localllm.ui.slash.table import table
from localllm.ui.slash.waiting import saying

if TYPE_CHECKING:
    from localllm.integrations.workspace import Step

_REFRESH = "--refresh"


def _choices(_chat: ChatContext) -> Iterable[Choice]:
    return [(_REFRESH, tr("memory.init_refresh"))]


@slash("init", usage=f"[{_REFRESH}]", choices=_choices)
async def init(call: SlashCall) -> Outcome:
    """Make what a project has and this one lacks: localllm.toml, LOCALLLM.md, and what an analysis tells in it."""
    chat, screen = call.chat, call.screen
    words = call.arguments.split()
    if any(word != _REFRESH for word in words):
        screen.print_lines(wrapped("  ", tr("memory.usage_init"), "warning", screen.width))
        show_forms(call, "init")
        return
    async with saying(screen, tr("memory.analysing")):
        steps = await _set_up(chat, refresh=bool(words))
    table(screen, [(tr(f"init.{step.done}"), _name(call, step)) for step in steps])
    for remark in (remark for step in steps for remark in step.remarks):
        screen.print_lines(wrapped("  ", remark, "dim", screen.width))


async def _set_up(chat: ChatContext, *, refresh: bool) -> "list[Step]":
    """What was done. What is added to the memory can be undone."""
    # Few chats make a project, and each would wait for these before its prompt.
    from localllm.integrations.project_notes import lacks_notes
    from localllm.integrations.workspace import set_up

    root, notes = chat.root, chat.settings.project.memory_file
    if (root / notes).is_symlink() or not (refresh or await asyncio.to_thread(lacks_notes, root, notes)):
        return await asyncio.to_thread(set_up, root, notes=notes)
    analysis = await chat.analyze()
    making = partial(set_up, root, notes=notes, refresh=refresh, analyse=lambda _: analysis)
    return await chat.memory.change("/init", lambda _: asyncio.to_thread(making))


def _name(call: SlashCall, step: "Step") -> str:
    is_folder = step.path.is_dir() and not step.path.is_symlink()
    name = f"{step.path.relative_to(call.chat.root)}{'/' if is_folder else ''}"
    return tr("init.parts", name=name, parts=", ".join(step.parts)) if step.parts else name
