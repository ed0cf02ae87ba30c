"""What the project is made of: /map."""

from localllm.base.i18n import tr
from localllm.text.cleaning import clean
from localllm.ui.report import wrapped
from localllm.ui.slash.registry import Outcome, SlashCall, slash
from localllm.ui.theme import Line, Style

_LINES = 40


@slash("map", usage="[words]")
async def map_(call: SlashCall) -> Outcome:
    """Show what matters most in the project: for these words, or for what was talked about last."""
    drawn = await call.chat.draw_map(call.arguments.strip(), _LINES)
    if not drawn.text:
        call.screen.print(("", "  " + tr("ui.map.empty")))
        return
    if drawn.unmatched and call.arguments.strip():
        words = clean(call.arguments.strip(), keep_newlines=False)
        call.screen.print_lines(wrapped("  ", tr("ui.map.unmatched", words=words), "warning", call.screen.width))
    call.screen.print_lines(map(_line, clean(drawn.text).splitlines()))
    files = sum(bool(record.language) for record in drawn.records.values())
    shown = tr("ui.map.shown", shown=drawn.definitions, all=drawn.all_definitions, files=files)
    call.screen.print_lines(wrapped("  ", shown, "dim", call.screen.width))
    if drawn.left_out:
        text = tr("ui.map.left_out", count=drawn.left_out)
        call.screen.print_lines(wrapped("  ", text, "warning", call.screen.width))


def _line(line: str) -> Line:
    """A file's name, or a definition below one."""
    number, space, signature = line.partition(" ")
    if not (space and number.isdecimal()):
        style: Style = "dim" if line == "⋮" else "accent"
        return ((style, "  " + line),)
    return ("dim", f"  {number:>6} "), ("", signature)
