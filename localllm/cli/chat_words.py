"""Detect chat commands and aliases in a one-shot request, where they have no effect."""

from collections.abc import Mapping

from localllm.base.i18n import _
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry, command_name


def sent_as_words(prompt: str, aliases: Mapping[str, str]) -> str:
    """Return a notice that a request beginning with a chat command or a user's alias was sent literally; "" for any
    other."""
    name = command_name(prompt.strip())
    found = SlashRegistry(COMMANDS, aliases).find(name) if name else None
    return _("/{name} is a chat command: with -p it is not run, only sent as text.", name=found.name) if found else ""
