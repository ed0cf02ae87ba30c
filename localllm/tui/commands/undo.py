"""Commands that take things back: /undo, /checkpoint and /rewind."""

from collections.abc import Iterable, Sequence

from localllm.base.i18n import tr
from localllm.base.regular_files import clock_time
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.context import ChatContext, PointInfo
from localllm.tui.commands.registry import Outcome, SlashCall, show_forms, slash, table
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen

_MOST_LINES = 20
_MOST_POINTS = 20
_MOST_FILES = 3
_LONGEST_NAME = 50


@slash("undo", usage="[turn]")
async def undo(call: SlashCall) -> Outcome:
    """Take back the last change, a command's too; with “turn”, all changes of the last request."""
    if call.arguments not in ("", "turn"):
        show_forms(call, "undo")
        return
    _show(call.screen, call.chat.undo(turn=call.arguments == "turn"))


@slash("checkpoint", usage="[name]")
async def checkpoint(call: SlashCall) -> Outcome:
    """Remember this point, to come back to it with /rewind."""
    number = call.chat.checkpoint(call.arguments)
    key = "ui.checkpoint_named" if call.arguments else "ui.checkpoint"
    call.screen.print(("", "  " + tr(key, number=number, name=clean(call.arguments, keep_newlines=False))))


def _names(chat: ChatContext) -> Iterable[str]:
    return [point.name if point.by_hand and point.name else str(point.number) for point in chat.checkpoints()][::-1]


@slash("rewind", usage="[number|name]", choices=_names)
async def rewind(call: SlashCall) -> Outcome:
    """Go back to a point, files and conversation; without one, list them."""
    if call.arguments:
        _show(call.screen, call.chat.rewind(call.arguments))
        call.screen.print(("dim", "  " + tr("ui.rewind_undo")))
        return
    points = call.chat.checkpoints()
    if not points:
        call.screen.print(("", "  " + tr("ui.no_points")))
        return
    table(call.screen, [_row(point) for point in points[-_MOST_POINTS:]])
    call.screen.print_lines(wrapped("  ", tr("ui.how_to_rewind"), "dim", call.screen.width))


def _row(point: PointInfo) -> tuple[str, str]:
    when = f"{clock_time(point.time):%H:%M:%S}"
    name = shorten(clean(point.name, keep_newlines=False), _LONGEST_NAME)
    what = name if point.by_hand else tr("ui.point_before", request=name)
    gone = tr("ui.point_files_only") if point.files_only else ""
    return f"{point.number}  {when}", "  ".join(filter(None, (what, _changed(point.changed), gone)))


def _changed(files: Sequence[str]) -> str:
    if not files:
        return ""
    names = ", ".join(clean(file, keep_newlines=False) for file in files[:_MOST_FILES])
    more = len(files) - _MOST_FILES
    return tr("ui.point_changed_more", names=names, count=more) if more > 0 else tr("ui.point_changed", names=names)


def _show(screen: Screen, lines: Sequence[str]) -> None:
    for line in lines[:_MOST_LINES]:
        screen.print_lines(wrapped("  ", line, "", screen.width))
    if len(lines) > _MOST_LINES:
        screen.print(("dim", "  " + tr("ui.more_undone", count=len(lines) - _MOST_LINES)))
