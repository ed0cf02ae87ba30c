"""Helpers of the memory commands: change the memory, and print its entries."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from localllm.base.i18n import _
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.registry import SlashCall
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem

T = TypeVar("T")

_LONGEST_FOUND = 480  # cells of an entry

_LONGEST_NOTE = 60  # cells beside a completion


async def change_memory(call: SlashCall, command: str, change: "Callable[[ExternalMemorySystem], Awaitable[T]]") -> T:
    """Apply a change, and report if the file was created for it."""
    memory = call.chat.memory
    was_there = memory.is_there
    answer = await memory.change(command, change)
    if not was_there and memory.is_there:
        print_indented(call.screen, _("{file} was created.", file=clean(memory.name, keep_newlines=False)), "dim")
    return answer


def first_word(text: str) -> tuple[str, str]:
    """Split off the first word."""
    first, *rest = text.split(None, 1) or [""]
    return first, rest[0] if rest else ""


def short_line(text: str, most: int = _LONGEST_FOUND) -> str:
    """Format a text on one line, truncated to `most` cells."""
    return shorten(clean(" ".join(text.split()), keep_newlines=False), most)


def choice_note(text: str) -> str:
    """Truncate a text for the note beside a completion."""
    return short_line(text, _LONGEST_NOTE)


def print_indented(screen: Screen, text: str, style: Literal["", "dim", "bold", "warning"] = "") -> None:
    """Print a text, wrapped and indented."""
    screen.print_lines(wrapped("  ", text, style, screen.width))


def say_conflict(call: SlashCall) -> None:
    """Warn about git conflict markers in the file."""
    if line := call.chat.memory.conflict:
        name = clean(call.chat.memory.name, keep_newlines=False)
        print_indented(
            call.screen,
            _(
                "{file} has an unresolved git conflict from line {line:,} on; both sides are read. Resolve "
                "it in an editor.",
                file=name,
                line=line,
            ),
            "warning",
        )
