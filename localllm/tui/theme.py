"""The named styles of output, and their support by a stream."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.console import Console

ThemeName = Literal["auto", "dark", "light", "plain"]
Style = Literal["", "dim", "bold", "accent", "good", "bad", "warning", "error", "hunk"]
Span = tuple[Style, str]
Line = tuple[Span, ...]
"""A line for the screen: pieces of text, each with its style."""

_CODES: dict[Style, str] = {
    "dim": "2",
    "bold": "1",
    "accent": "36",
    "good": "32",
    "bad": "31",
    "warning": "33",
    "error": "1;31",
    "hunk": "36",
}
_CODES_ON_LIGHT: dict[Style, str] = {**_CODES, "accent": "34", "warning": "35", "hunk": "34"}
_CODES_WITHOUT_COLOUR: dict[Style, str] = {"dim": "2", "bold": "1", "error": "1"}


class Theme(msgspec.Struct, frozen=True):
    """`plain` means text only: no colour and no cursor movement. Without `colours`, only colours are missing."""

    plain: bool
    light: bool = False
    colours: bool = True

    def paint(self, style: Style, text: str) -> str:
        """Return `text` with the terminal codes of `style`."""
        if self.plain or not style or not text:
            return text
        codes = _CODES_WITHOUT_COLOUR if not self.colours else _CODES_ON_LIGHT if self.light else _CODES
        code = codes.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code else text


def choose_theme(stream: TextIO, name: ThemeName = "auto", environ: Mapping[str, str] = os.environ) -> Theme:
    """Choose the theme for `stream`: plain if it is no terminal or a dumb one, without colours if NO_COLOR is set
    (https://no-color.org)."""
    plain = name == "plain" or not stream.isatty() or environ.get("TERM") == "dumb"
    light = name == "light" or (name == "auto" and _light_background(environ))
    return Theme(plain=plain, light=light, colours=not environ.get("NO_COLOR"))


def _light_background(environ: Mapping[str, str]) -> bool:
    """Whether COLORFGBG ("foreground;background", set by rxvt, Konsole and others) names a light background."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in {"7", "15"}


def make_console(stream: TextIO, theme: Theme, width: int) -> "Console":
    """Create a rich console that writes to `stream` as `theme` allows, `width` cells wide in any environment."""
    from rich.console import Console
    from rich.theme import Theme as RichTheme

    return Console(
        file=stream,
        width=width,
        force_terminal=not theme.plain,
        no_color=theme.plain or not theme.colours,
        color_system=None if theme.plain else "auto",
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        theme=RichTheme(_MARKDOWN_ON_LIGHT if theme.light else _MARKDOWN),
    )


_MARKDOWN = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "italic",
    "markdown.code": "cyan",
    "markdown.link": "underline",
    "markdown.link_url": "blue underline",
    "markdown.block_quote": "none",
    "markdown.item.bullet": "cyan",
    "markdown.item.number": "cyan",
    "markdown.hr": "dim",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}
_MARKDOWN_ON_LIGHT = {**_MARKDOWN, "markdown.code": "blue", "markdown.link_url": "underline"}
