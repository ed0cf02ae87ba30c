"""Render rich text as terminal lines, with Japanese line breaking."""

import io
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from rich.console import Console, RenderableType
from rich.text import Text

from localllm.text.wrapping import break_offsets
from localllm.tui.theme import Theme, make_console

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRAILING = re.compile(r"(?>(?:\x1b\[[0-9;]*m|(?<! ) ++)+)$")


@lru_cache(maxsize=4)
def console_for(theme: Theme, width: int = 80) -> Console:
    """Create a console without output, `width` cells wide; that takes as long as a frame."""
    return make_console(io.StringIO(), theme, width)


def painted(
    renderable: RenderableType, theme: Theme, width: int = 80, *, overflow: Literal["fold", "ignore"] = "fold"
) -> list[str]:
    """Render `renderable` as lines for a terminal of `width` cells, without trailing spaces."""
    console = console_for(theme, width)
    with console.capture() as written:
        console.print(renderable, overflow=overflow, no_wrap=overflow == "ignore", crop=False)
    return [_without_trailing_space(line) for line in written.get().removesuffix("\n").split("\n")]


def is_blank(line: str) -> bool:
    """Whether nothing of a rendered line is visible."""
    return not _COLOUR.sub("", line).strip()


def without_blank_ends(lines: list[str]) -> list[str]:
    """Strip blank lines from both ends; keep at least one line."""
    first, last = 0, len(lines)
    while first < last - 1 and is_blank(lines[first]):
        first += 1
    while last > first + 1 and is_blank(lines[last - 1]):
        last -= 1
    return lines[first:last]


def wrapped(text: Text, width: int) -> Iterator[Text]:
    """Wrap `text` by our line breaking rules instead of rich's, which break only at spaces."""
    for paragraph in text.split("\n", allow_blank=True):
        for line in paragraph.divide(break_offsets(paragraph.plain, width)):
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line


def _without_trailing_space(line: str) -> str:
    """Strip padding, which would be copied with the text, and wrap in a narrower terminal."""
    match = _TRAILING.search(line)
    return line[: match.start()] + match[0].replace(" ", "") if match else line
