"""/copy: put the last answer, or one of its code blocks, on the clipboard."""

import os
from collections.abc import Iterable, Sequence

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _, ngettext
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, show_forms, slash
from localllm.tui.render.report import wrapped


def _choices(chat: ChatContext) -> Iterable[Choice]:
    return [(str(number), block.splitlines()[0]) for number, block in enumerate(_blocks(chat.last_answer), start=1)]


def _blocks(answer: str) -> Sequence[str]:
    from localllm.tui.clipboard import plain_text
    from localllm.tui.render.markdown import code_blocks

    return list(filter(None, map(plain_text, code_blocks(answer))))


@slash(
    "copy",
    usage=N_("[block]"),
    choices=_choices,
    forms=N_("/copy | the whole answer\n/copy 2 | its second code block"),
)
async def copy(call: SlashCall) -> Outcome:
    """Copy the last answer, or one of its code blocks, to the clipboard."""
    from localllm.tui import clipboard

    screen, number = call.screen, call.arguments.strip()
    if number and not (number.isascii() and number.isdigit()):
        show_forms(call, "copy")
        return
    if screen.plain:
        raise ConfigurationError("copy_plain")
    text = _block(call.chat.last_answer, int(number)) if number else clipboard.plain_text(call.chat.last_answer)
    if not text.strip():
        raise ConfigurationError("copy_nothing")
    way = await clipboard.copy(text, call.chat.root, screen.control, os.environ)
    key = N_("Copied code block {number} by {way}: {lines}.") if number else N_("Copied the answer by {way}: {lines}.")
    lines = ngettext("{count} line", "{count} lines", text.count("\n") + 1)
    screen.print_lines(wrapped("  ", _(key, number=number, way=_(way), lines=lines), "good", screen.width))
    if way in (clipboard.TMUX, clipboard.TERMINAL):
        hint = _("If it is not in the clipboard, the terminal does not let programs put it there (OSC 52).")
        screen.print_lines(wrapped("  ", hint, "dim", screen.width))


def _block(answer: str, number: int) -> str:
    """Return a code block of the answer, from 1. Raises ConfigurationError."""
    if not answer.strip():
        raise ConfigurationError("copy_nothing")
    blocks = _blocks(answer)
    if not 1 <= number <= len(blocks):
        raise ConfigurationError("copy_no_block", wanted=number, count=len(blocks))
    return blocks[number - 1]
