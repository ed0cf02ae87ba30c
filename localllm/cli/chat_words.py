"""What a one-shot request says that only the chat would understand."""

from collections.abc import Mapping

from localllm.base.i18n import _
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry, command_name


def sent_as_words(prompt: str, aliases: Mapping[str, str]) -> str:
    """That a request which begins with a command of the chat, or with an alias of the user's, was sent as it stands; ""
    for any other."""
    name = command_name(prompt.strip())
    found = SlashRegistry(COMMANDS, aliases).find(name) if name else None
    return (
        _("/{name} is a command of the chat: with -p it is not carried out, only sent as words.", name=found.name)
        if found
        else ""
    )
