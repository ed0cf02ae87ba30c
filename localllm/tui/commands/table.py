"""Usage lines and two-column tables of commands."""

from collections.abc import Iterable, Sequence

from localllm.text.sanitising import clean, display_width
from localllm.text.wrapping import wrap
from localllm.tui.commands.registry import SlashCall, SlashCommand
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Style


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


_LEAST_SECOND_COLUMN = 20


def table(screen: Screen, rows: Sequence[tuple[str, str]], style: Style = "accent") -> None:
    """Two columns, the second wrapped; the first, in `style`, is as wide as its widest entry."""
    rows = [(clean(name, keep_newlines=False), clean(text)) for name, text in rows]
    first = max((display_width(name) for name, _ in rows), default=0)
    room = max(_LEAST_SECOND_COLUMN, screen.width - first - 4)
    screen.print_lines(line for name, text in rows for line in _row(name, text, first, room, style))


def _row(name: str, text: str, first: int, room: int, style: Style) -> Iterable[Line]:
    for row in wrap(text, room) or [""]:
        gap = " " * (first - display_width(name) + 2)
        yield (style, f"  {name}"), ("", f"{gap}{row}".rstrip())
        name = ""
