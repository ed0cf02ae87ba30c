"""Slash commands without a chat around them."""

from io import StringIO
from typing import Any

from localllm.ui.screen import Screen
from localllm.ui.slash.commands import builtin_commands
from localllm.ui.slash.registry import SlashCall, SlashCommand, SlashRegistry
from localllm.ui.theme import Theme


async def said(chat: Any, line: str, arguments: str | None = None, *, plain: bool = True) -> str:
    """What the command prints: `line` is its name, and what follows it unless `arguments` are given."""
    stream = StringIO()
    registry = SlashRegistry(builtin_commands(), {})
    name, _, rest = line.partition(" ")
    found = registry.find(name)
    assert isinstance(found, SlashCommand)
    given = rest.strip() if arguments is None else arguments
    await found.handler(SlashCall(given, chat, Screen(stream, Theme(plain=plain)), registry))
    return stream.getvalue()
