"""Format answers of the panel and steps of sub-agents as lines."""

from collections.abc import Sequence
from itertools import zip_longest

from localllm.agent.panel.records import ROLE_NAMES
from localllm.base.events import Consulted, Delegated, Notice, Opinion, ToolFinished, ToolStarted
from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean, display_width, shorten
from localllm.text.wrapping import wrap
from localllm.tui.render.report import wrapped
from localllm.tui.render.tool_lines import describe_arguments
from localllm.tui.theme import Line, Span, Style

_PARTS = {
    "verdict": N_("Verdict:"),
    "next_action": N_("Next:"),
    "avoid": N_("Avoid:"),
    "check": N_("Check:"),
    "unjudged": N_("No judge could weigh these opinions; they may contradict each other:"),
}

_LONGEST_NAME = 24


def delegated_lines(delegated: Delegated, width: int) -> list[Line]:
    """Format a sub-agent's event, `  ↳ explore: read_file src/a.py`; empty for successful outcomes, and for its start
    and end, which the lines of the call show."""
    match delegated.event:
        case ToolStarted(name=name, arguments=arguments):
            return [_line(delegated.agent, f"{name} {describe_arguments(arguments)}".rstrip(), "dim", width)]
        case ToolFinished(success=False, name=name, summary=summary):
            return [_line(delegated.agent, f"✗ {name}: {summary}", "dim", width)]
        case Notice(text=text, level=level):
            style: Style = "dim" if level == "info" else "warning"
            return [_line(delegated.agent, f"! {' '.join(text.split())}", style, width)]
        case _:
            return []


def _line(agent: str, text: str, style: Style, width: int) -> Line:
    name = shorten(clean(agent, keep_newlines=False), _LONGEST_NAME)
    return ((style, shorten(f"  ↳ {name}: {clean(text, keep_newlines=False)}", width)),)


SIDE_BY_SIDE = 100
"""Cells of a screen from which on opinions are shown side by side."""

_GAP = " │ "
_SHOWN = {"panel": N_("Panel"), "boss": N_("Boss")}


def role_names(roles: Sequence[str]) -> str:
    """Return the names of the panel's members."""
    return ", ".join(_(ROLE_NAMES[role]) for role in roles if role in ROLE_NAMES)


def consulted_lines(event: Consulted, width: int) -> list[Line]:
    """Format a consultation: the opinions, the plan, and failed members. The plan is not repeated."""
    opinions = [opinion for opinion in event.opinions if not _is_plan(opinion, event)]
    lines = _columns(opinions, width) if width >= SIDE_BY_SIDE else _one_below_another(opinions, width)
    if _is_unjudged(event):
        rest = wrapped(
            "! ", _("No judge could weigh these opinions; they may contradict each other."), "warning", width
        ) + _left_out_lines(event, width)
    else:
        rest = plan_lines(event, width)
    return [*lines, *([()] if lines else []), *rest]


def plan_lines(event: Consulted, width: int) -> list[Line]:
    """Format the plan, and failed members with the reason. If there is no plan, the agent itself says what follows."""
    lines: list[Line] = []
    if event.plan:
        lines.append((("accent", shorten(_heading(event), width)),))
        lines += wrapped("  ", _plan(event), "", width)
    lines += _left_out_lines(event, width)
    if event.by_hand and not event.plan:
        lines += wrapped(
            "! ",
            _("Nobody could be asked. Start a model server, or set other models in [agents.panel]."),
            "warning",
            width,
        )
    return lines


def short_plan_lines(event: Consulted, width: int) -> list[Line]:
    """Format the beginning of the plan in one line, and failed members with the reason."""
    return [*([_plan_line(event, width)] if event.plan else []), *_left_out_lines(event, width)]


def _plan_line(event: Consulted, width: int) -> Line:
    head = f"◆ {_(_SHOWN[event.kind])}"
    plan = clean(f": {' '.join(_plan(event).split())}", keep_newlines=False)
    return (("accent", head), ("", shorten(plan, max(0, width - display_width(head)))))


def _plan(event: Consulted) -> str:
    """Return the plan with its headings in the user's language."""
    return "\n".join(f"{_(_PARTS[name])} {text}" for name, text in event.verdict.items()) or event.plan


def _left_out_lines(event: Consulted, width: int) -> list[Line]:
    lines: list[Line] = []
    for member in event.left_out:
        lines += wrapped("! ", _("Left out: {member}", member=member), "warning", width)
    return lines


def _is_unjudged(event: Consulted) -> bool:
    """Whether the plan is only the opinions, without a judge."""
    return event.kind == "panel" and bool(event.opinions) and event.opinions[-1].role != "judge"


def _is_plan(opinion: Opinion, event: Consulted) -> bool:
    """Whether an opinion is the plan itself: always the boss's, and that of a judge without other text."""
    return opinion.role == "boss" or (opinion.role == "judge" and opinion.text.strip() == event.plan.strip())


def _heading(event: Consulted) -> str:
    """Return whose plan it is, and its confidence."""
    parts = [f"◆ {_(_SHOWN[event.kind])}"]
    parts += [_("Plan")] if event.kind == "panel" else []
    parts += [
        _who(opinion) if opinion.role == "boss" else _title(opinion)
        for opinion in event.opinions
        if _is_plan(opinion, event)
    ]
    if event.confidence:
        parts.append(_("confidence {percent} %", percent=round(event.confidence * 100)))
    return " · ".join(parts)


def _title(opinion: Opinion) -> str:
    return " · ".join(filter(None, (_(ROLE_NAMES[opinion.role]), _who(opinion))))


def _who(opinion: Opinion) -> str:
    return clean(f"{opinion.provider} {opinion.model}".strip(), keep_newlines=False)


def _columns(opinions: Sequence[Opinion], width: int) -> list[Line]:
    """Lay out opinions in titled columns."""
    if not opinions:
        return []
    cells = (width - 2 - len(_GAP) * (len(opinions) - 1)) // len(opinions)
    titles = [shorten(_title(opinion), cells) for opinion in opinions]
    texts = [wrap(clean(opinion.text), cells) for opinion in opinions]
    lines: list[Line] = [_row(titles, cells, "bold")]
    return lines + [_row(row, cells, "") for row in zip_longest(*texts, fillvalue="")]


def _row(texts: Sequence[str], cells: int, style: str) -> Line:
    spans: list[Span] = [("", "  ")]
    for number, text in enumerate(texts):
        is_last = number == len(texts) - 1
        padding = "" if is_last else " " * (cells - display_width(text))
        spans.append(("bold" if style == "bold" else "", text + padding))
        if not is_last:
            spans.append(("dim", _GAP))
    return tuple(spans)


def _one_below_another(opinions: Sequence[Opinion], width: int) -> list[Line]:
    lines: list[Line] = []
    for opinion in opinions:
        lines += [()] if lines else []
        lines.append((("bold", "  " + shorten(_title(opinion), width - 2)),))
        lines += wrapped("  ", opinion.text, "", width)
    return lines
