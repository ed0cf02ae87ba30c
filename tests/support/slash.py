"""Slash commands without a chat around them."""

from io import StringIO
from typing import Any

from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import Confirm, SlashCall, SlashCommand, SlashRegistry
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme


async def said(
    chat: Any,
    line: str,
    arguments: str | None = None,
    *,
    plain: bool = True,
    confirm: Confirm | None = None,
    shown: list[str] | None = None,
) -> str:
    """What the command prints: `line` is its name, and what follows it unless `arguments` are given; `confirm` answers
    what it asks. `shown` gets it too, also where the command fails."""
    stream = StringIO()
    registry = SlashRegistry(COMMANDS, {})
    name, _, rest = line.partition(" ")
    found = registry.find(name)
    assert isinstance(found, SlashCommand)
    given = rest.strip() if arguments is None else arguments
    try:
        await found.handler(SlashCall(given, chat, Screen(stream, Theme(plain=plain)), registry, confirm))
    finally:
        if shown is not None:
            shown.append(stream.getvalue())
    return stream.getvalue()
