"""How a command is written, for who has asked, or has written it otherwise."""

from collections.abc import Sequence

from localllm.text.cleaning import display_width
from localllm.text.wrapping import wrap
from localllm.ui.screen import Screen
from localllm.ui.slash.registry import SlashCall, SlashCommand
from localllm.ui.slash.table import table


def show_forms(call: SlashCall, name: str) -> None:
    """Every way to write the command `name`, and what that does."""
    if isinstance(command := call.commands.find(name), SlashCommand):
        _show(call.screen, command.forms)


def _show(screen: Screen, forms: Sequence[tuple[str, str]]) -> None:
    """In two columns, or one below the other where the first would be too wide."""
    if max((display_width(form) for form, _ in forms), default=0) <= screen.width // 2:
        table(screen, forms)
        return
    for form, meaning in forms:
        screen.print_lines((("accent", f"  {row}"),) for row in wrap(form, screen.width - 2))
        screen.print_lines((("", f"    {row}"),) for row in wrap(meaning, screen.width - 4))
