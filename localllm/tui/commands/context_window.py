"""Commands on the model's context window: /context and /compact."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.base.events import AgentEvent, Notice
from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean, display_width
from localllm.tui.commands.context import answering_model
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash
from localllm.tui.render.report import notice_lines, wrapped
from localllm.tui.theme import Line, Span, Style

if TYPE_CHECKING:
    from localllm.context.usage import WindowUse

_PART_NAMES = {
    "system": N_("system prompt"),
    "project": N_("AGENTS.md and notes"),
    "tools": N_("tool descriptions"),
    "words": N_("your messages"),
    "summary": N_("summary"),
    "files": N_("file contents"),
    "commands": N_("command output"),
    "results": N_("other results"),
    "model": N_("the model's messages"),
    "free": N_("free"),
    "reserve": N_("kept for the answer"),
}

_WIDEST_BAR = 76

_LETTERS: dict[str, tuple[str, Style]] = {
    "system": ("S", "dim"),
    "project": ("A", "accent"),
    "tools": ("T", "dim"),
    "words": ("Y", "accent"),
    "summary": ("H", "good"),
    "files": ("F", "warning"),
    "commands": ("C", "bad"),
    "results": ("R", "hunk"),
    "model": ("M", "bold"),
    "free": (".", "dim"),
    "reserve": ("=", "dim"),
}
"""The letter of each part in the bar, readable without colours and in every font."""


@slash("context")
async def context(call: SlashCall) -> Outcome:
    """Show what fills the model's context window."""
    chat, screen = call.chat, call.screen
    use = chat.window_use()
    key = (
        N_("{model}: about {used} of {window} tokens ({share} %); the window is a guess")
        if use.assumed
        else N_("{model}: about {used} of {window} tokens ({share} %)")
    )
    share = f"{100 * use.used / use.window:.0f}"
    model = clean(answering_model(chat) or _("(not asked yet)"), keep_newlines=False)
    title = _(key, model=model, used=f"{use.used:,}", window=f"{use.window:,}", share=share)
    screen.print_lines(wrapped("  ", title, "bold", screen.width))
    shares = [*use.parts.items(), ("free", use.free), ("reserve", use.reserve)]
    cells = in_cells([tokens for _unused, tokens in shares], min(_WIDEST_BAR, screen.width - 4))
    screen.print(("", "  "), *(_cells(name, count) for (name, _unused), count in zip(shares, cells, strict=True)))
    screen.print_lines(_rows(use, [(name, tokens) for name, tokens in shares if tokens]))
    screen.print_lines(
        wrapped(
            "  ",
            _(
                "Above {limit} tokens, old output is dropped and the conversation summarised "
                "(agent.compact_at); /compact does it now.",
                limit=f"{use.window - use.reserve:,}",
            ),
            "dim",
            screen.width,
        )
    )


@slash(
    "compact",
    usage=N_("[what to keep]"),
    forms=N_("/compact | summarise the conversation\n/compact the table names | the same, and keep these above all"),
)
async def compact(call: SlashCall) -> Outcome:
    """Summarise the conversation to make room; your messages are kept."""
    screen = call.screen

    def show(event: AgentEvent) -> None:
        if isinstance(event, Notice):
            screen.erase()
            screen.print_lines(notice_lines(event.text, event.level, screen.width))

    async with saying(screen, _("summarising the conversation")):
        await call.chat.compact(call.arguments.strip(), show)


def _cells(name: str, count: int) -> Span:
    letter, style = _LETTERS[name]
    return style, letter * count


def in_cells(sizes: Sequence[int], cells: int) -> list[int]:
    """Distribute `cells` proportionally to the sizes, with at least one for every nonzero size."""
    total = sum(sizes) or 1
    shares = [max(1, int(size * cells / total)) if size else 0 for size in sizes]
    while (left := cells - sum(shares)) != 0:
        step = 1 if left > 0 else -1
        # The size furthest from its share gives or takes a cell; the smallest keep theirs.
        off = [step * (size * cells / total - share) for size, share in zip(sizes, shares, strict=True)]
        worst = max(range(len(shares)), key=lambda n: off[n] if shares[n] > 1 or step > 0 else float("-inf"))
        shares[worst] += step
    return shares


def _rows(use: "WindowUse", shares: Sequence[tuple[str, int]]) -> list[Line]:
    names = {name: _(_PART_NAMES[name]) for name, _unused in shares}
    first = max(map(display_width, names.values()))
    lines: list[Line] = []
    for name, tokens in shares:
        letter, style = _LETTERS[name]
        gap = " " * (first - display_width(names[name]))
        share = 100 * tokens / use.window
        lines.append(((style, f"  {letter} "), ("", f"{names[name]}{gap}  {tokens:>9,}  {share:>3.0f} %")))
    return lines
