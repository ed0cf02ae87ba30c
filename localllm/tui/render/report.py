"""Format notices, errors and the end of a run as lines."""

from collections.abc import Sequence

from localllm.base.events import ENDS, RunFinished, Usage
from localllm.base.i18n import _, ngettext
from localllm.llm.server_summary import Introduction
from localllm.text.sanitising import clean, display_width
from localllm.text.wrapping import wrap
from localllm.tui.render.activity import duration
from localllm.tui.theme import Line, Style

_WORTH_SAYING = 1.0
"""Seconds to the first token that are worth mentioning."""

_SHOWN = 0.05
"""Least seconds that are not rounded to 0.0."""

_NOTICE_STYLES: dict[str, Style] = {"info": "dim", "warning": "warning", "error": "error"}


def notice_lines(text: str, level: str, width: int) -> list[Line]:
    """Format a notice: `! …`, wrapped."""
    return wrapped("! ", text, _NOTICE_STYLES.get(level, ""), width)


def failure_lines(code: str, what: str, why: str, fix: str, width: int) -> list[Line]:
    """Format an error: what, why, and the fix, each on its own lines."""
    lines = wrapped("✗ ", f"{code} {what}".strip(), "error", width)
    lines += wrapped("  ", why, "", width) if why else []
    return lines + (wrapped("→ ", fix, "", width) if fix else [])


def said_lines(text: str, width: int, mode: str = "") -> list[Line]:
    """Format the user's input, behind the `mode` if it was shown before the line."""
    mode = f"{clean(mode, keep_newlines=False)} " if mode else ""
    indent = " " * (display_width(mode) + 2)
    first, *rest = wrap(clean(text).replace("\t", "    "), width - len(indent))
    return [(("warning", mode), ("bold", "› "), ("", first)), *((("", indent), ("", row)) for row in rest)]


def choice_lines(choices: Sequence[str], width: int) -> list[Line]:
    """Lay out choices side by side, without breaking one that fits on a line."""
    rows: list[str] = []
    for choice in choices:
        joined = f"{rows[-1]}  {choice}" if rows else choice
        if rows and display_width(joined) <= width - 2:
            rows[-1] = joined
        else:
            rows.append(choice)
    return [line for row in rows for line in wrapped("  ", row, "bold", width)]


def introduction_lines(introduction: Introduction, width: int) -> list[Line]:
    """Format which model answers, the alternatives, and problems."""
    lines = wrapped("  ", introduction.who, "", width) if introduction.who else []
    lines += wrapped("  ", introduction.hint, "dim", width) if introduction.hint else []
    for text in filter(None, (*introduction.warnings, introduction.failure)):
        lines += notice_lines(text, "warning", width)
    return lines


def status_lines(event: RunFinished, seconds: float, width: int) -> list[Line]:
    """Format how the run ended, if of interest, and its cost."""
    lines: list[Line] = []
    if event.status == "error":
        what, why, fix = split_error(event.error)
        lines += failure_lines(event.error_code, what, why, fix, width)
    elif event.status != "done":
        lines += wrapped("! ", _(ENDS[event.status]), "warning", width)
    lines += unverified_lines(event, width)
    return lines + wrapped("  ", cost(event.steps, event.usage, seconds), "dim", width)


def unverified_lines(event: RunFinished, width: int) -> list[Line]:
    """Format which parts of a finished run were not verified."""
    if event.status != "done" or not event.unverified:
        return []
    return wrapped("! ", _("Not verified: {reasons}.", reasons="; ".join(event.unverified)), "warning", width)


def cost(steps: int, usage: Usage, seconds: float) -> str:
    """Format steps, tokens, speed and seconds in one line; zeros and a fast first token are left out."""
    parts = [_("steps {count}", count=steps)] if steps else []
    if usage.prompt_tokens or usage.completion_tokens:
        parts.append(("~" if usage.estimated else "") + _("in {count}", count=f"{usage.prompt_tokens:,}"))
        if usage.cached_tokens:
            parts[-1] += _(" ({count} cached)", count=f"{usage.cached_tokens:,}")
        parts.append(
            ngettext(
                "out {count} token", "out {count} tokens", usage.completion_tokens, count=f"{usage.completion_tokens:,}"
            )
        )
    if usage.tokens_per_second:
        parts.append(_("{rate} tokens/s", rate=_rounded(usage.tokens_per_second)))
    if usage.first_token_seconds >= _WORTH_SAYING:
        parts.append(_("first after {time}", time=duration(usage.first_token_seconds)))
    if seconds >= _SHOWN:
        parts.append(duration(seconds))
    return " · ".join(parts)


def _rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def split_error(text: str) -> tuple[str, str, str]:
    """Split an error's text into what, why and fix, by lines; a single line is the what."""
    what, why, fix, *_ = [*text.split("\n", 2), "", ""]
    return what, why, fix


def wrapped(mark: str, text: str, style: Style, width: int) -> list[Line]:
    """Wrap `text` (cleaned here) after `mark`, a cell per character, in lines of at most `width` cells."""
    rows = wrap(clean(text), width - len(mark))
    return [((style, (mark if number == 0 else " " * len(mark)) + row),) for number, row in enumerate(rows)]
