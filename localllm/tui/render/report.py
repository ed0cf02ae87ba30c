"""Notices, errors and the end of a run as lines for a person."""

from collections.abc import Sequence

from localllm.base.events import ENDS, RunFinished, Usage
from localllm.base.i18n import _, ngettext
from localllm.llm.server_summary import Introduction
from localllm.text.sanitising import clean, display_width
from localllm.text.wrapping import wrap
from localllm.tui.render.activity import duration
from localllm.tui.theme import Line, Style

_WORTH_SAYING = 1.0
"""Seconds until the first token that explain where the time went."""

_SHOWN = 0.05
"""Seconds that are not 0.0 when they are shown."""

_NOTICE_STYLES: dict[str, Style] = {"info": "dim", "warning": "warning", "error": "error"}


def notice_lines(text: str, level: str, width: int) -> list[Line]:
    """`! …`, wrapped."""
    return wrapped("! ", text, _NOTICE_STYLES.get(level, ""), width)


def failure_lines(code: str, what: str, why: str, fix: str, width: int) -> list[Line]:
    """What happened, why, and the fix, each on its own lines."""
    lines = wrapped("✗ ", f"{code} {what}".strip(), "error", width)
    lines += wrapped("  ", why, "", width) if why else []
    return lines + (wrapped("→ ", fix, "", width) if fix else [])


def said_lines(text: str, width: int) -> list[Line]:
    """What the person said, as the prompt leaves it on the screen."""
    rows = wrap(clean(text), width - 2)
    return [(("bold", "  " if number else "› "), ("", row)) for number, row in enumerate(rows)]


def exchange_lines(request: str, answer: str, width: int) -> list[Line]:
    """Where a conversation stood: what was asked last, and what was answered, in a few lines."""
    lines = [("› " if number == 0 else "  ") + row for number, row in enumerate(_few(request, width - 2, 2, 0))]
    return [(("dim", line),) for line in [*lines, *("  " + row for row in _few(answer, width - 2, 3, 2))]]


def _few(text: str, width: int, first: int, last: int) -> list[str]:
    """The text in rows; where it has more of them, so many from its beginning and its end, `…` in between."""
    rows = [row.rstrip() for row in wrap(clean(text), width) if row.strip()]
    if len(rows) <= first + last + 1:
        return rows
    return [*rows[:first], "…", *rows[len(rows) - last :]]


def choice_lines(choices: Sequence[str], width: int) -> list[Line]:
    """The choices of a question side by side, in as many lines as they take; none is broken that fits a line."""
    rows: list[str] = []
    for choice in choices:
        joined = f"{rows[-1]}  {choice}" if rows else choice
        if rows and display_width(joined) <= width - 2:
            rows[-1] = joined
        else:
            rows.append(choice)
    return [line for row in rows for line in wrapped("  ", row, "bold", width)]


def introduction_lines(introduction: Introduction, width: int) -> list[Line]:
    """Who answers, what else there is, and what stands in the way."""
    lines = wrapped("  ", introduction.who, "", width) if introduction.who else []
    lines += wrapped("  ", introduction.hint, "dim", width) if introduction.hint else []
    for text in filter(None, (*introduction.warnings, introduction.failure)):
        lines += notice_lines(text, "warning", width)
    return lines


def status_lines(event: RunFinished, seconds: float, width: int) -> list[Line]:
    """How the run ended where that needs saying, then what it took."""
    lines: list[Line] = []
    if event.status == "error":
        what, why, fix = split_error(event.error)
        lines += failure_lines(event.error_code, what, why, fix, width)
    elif event.status != "done":
        lines += wrapped("! ", _(ENDS[event.status]), "warning", width)
    lines += unverified_lines(event, width)
    return lines + wrapped("  ", cost(event.steps, event.usage, seconds), "dim", width)


def unverified_lines(event: RunFinished, width: int) -> list[Line]:
    """What of a run that is done was not checked."""
    if event.status != "done" or not event.unverified:
        return []
    return wrapped("! ", _("Not verified: {reasons}.", reasons="; ".join(event.unverified)), "warning", width)


def cost(steps: int, usage: Usage, seconds: float) -> str:
    """Steps, tokens, speed and seconds in one line; what is 0 is left out, and so is a first token that came soon."""
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
    """What, why and fix of an error's text: its lines, where it has some; else all of it is the what."""
    what, why, fix, *_ = [*text.split("\n", 2), "", ""]
    return what, why, fix


def wrapped(mark: str, text: str, style: Style, width: int) -> list[Line]:
    """`text` (cleaned here) after `mark`, a cell each character, in lines of at most `width` cells."""
    rows = wrap(clean(text), width - len(mark))
    return [((style, (mark if number == 0 else " " * len(mark)) + row),) for number, row in enumerate(rows)]
