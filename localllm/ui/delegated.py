"""What a sub-agent does, in one line each, indented and named: told apart from what the agent itself does."""

from localllm.base.events import Delegated, Notice, ToolFinished, ToolStarted
from localllm.text.cleaning import clean, shorten
from localllm.ui.theme import Line, Style
from localllm.ui.tool_lines import describe_arguments

_LONGEST_NAME = 24


def delegated_lines(delegated: Delegated, width: int) -> list[Line]:
    """`  ↳ explore: read_file src/a.py`; nothing for what is of no interest, as an outcome that is good, or what the
    lines of the call it works for tell: its beginning and its end."""
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
