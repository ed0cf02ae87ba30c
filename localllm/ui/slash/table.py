"""Two columns on the screen."""

from collections.abc import Iterable, Sequence

from localllm.text.cleaning import clean, display_width
from localllm.text.wrapping import wrap
from localllm.ui.screen import Screen
from localllm.ui.theme import Line, Style

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
