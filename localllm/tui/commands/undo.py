"""Commands that revert changes: /undo, /redo, /checkpoint and /rewind."""

from collections.abc import Iterable, Sequence

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, _
from localllm.base.regular_files import clock_time
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.context import ChatContext, PointInfo
from localllm.tui.commands.registry import Outcome, SlashCall, show_forms, slash, table
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen

_MOST_LINES = 20
_LAST_LINES = 3  # of more lines than that: the last ones are notes
_MOST_POINTS = 20
_MOST_FILES = 3
_LONGEST_NAME = 50


@slash(
    "undo",
    usage=N_("[turn]"),
    forms=N_(
        "/undo | undo the last change; again, the one before; if it is not from this session, it asks "
        "first\n"
        "/undo turn | undo all changes of the last request"
    ),
)
async def undo(call: SlashCall) -> Outcome:
    """Undo the last change, a command's too; with “turn”, all changes of the last request."""
    if call.arguments not in ("", "turn"):
        show_forms(call, "undo")
        return
    turn = call.arguments == "turn"
    if not await _may_undo(call, turn=turn):
        call.screen.print(("dim", "  " + _("Nothing was undone.")))
        return
    try:
        _show(call.screen, call.chat.changes.undo(turn=turn))
    except ToolExecutionError as error:
        if error.key != "undo_nothing":
            raise
        call.screen.print(("", f"  {error.what}"))


@slash("redo", forms=N_("/redo | redo what /undo last undid; again, what it undid before"))
async def redo(call: SlashCall) -> Outcome:
    """Redo what /undo undid, as long as nothing was changed since."""
    if call.arguments:
        show_forms(call, "redo")
        return
    _show(call.screen, call.chat.changes.redo())


async def _may_undo(call: SlashCall, *, turn: bool) -> bool:
    """Confirm an undo of another session's changes, if a user can be asked; return whether to continue."""
    asked: list[str] = []
    while call.confirm and (earlier := call.chat.changes.earlier(turn=turn)) and earlier != asked:
        _show(call.screen, [_("The next change to undo was made earlier or in another session:"), *earlier])
        if not await call.confirm(_("Undo it?")):
            return False
        asked = earlier  # while the question stood, another session may have undone that change
    return True


@slash(
    "checkpoint",
    usage=N_("[name]"),
    forms=N_("/checkpoint | remember this point by its number\n/checkpoint before the move | by a name as well"),
)
async def checkpoint(call: SlashCall) -> Outcome:
    """Remember this point, to come back to it with /rewind."""
    number = call.chat.changes.checkpoint(call.arguments)
    key = (
        N_("Checkpoint {number} “{name}”: /rewind {number} or its name comes back here.")
        if call.arguments
        else N_("Checkpoint {number}: /rewind {number} comes back here.")
    )
    call.screen.print(("", "  " + _(key, number=number, name=clean(call.arguments, keep_newlines=False))))


def _names(chat: ChatContext) -> Iterable[str]:
    return [point.name if point.by_hand and point.name else str(point.number) for point in chat.changes.checkpoints()][
        ::-1
    ]


@slash(
    "rewind",
    usage=N_("[number|name]"),
    choices=_names,
    forms=N_(
        "/rewind | the checkpoints\n"
        "/rewind 3 | files and conversation as they were then\n"
        "/rewind before the move | the same by name"
    ),
)
async def rewind(call: SlashCall) -> Outcome:
    """Go back to a checkpoint, files and conversation; or list them."""
    if call.arguments:
        _show(call.screen, call.chat.changes.rewind(call.arguments))
        if call.chat.changes.is_rewound:
            call.screen.print(("dim", "  " + _("/undo takes this back.")))
        return
    points = call.chat.changes.checkpoints()
    if not points:
        call.screen.print(("", "  " + _("There is no checkpoint to go back to yet.")))
        return
    table(call.screen, [_row(point) for point in points[-_MOST_POINTS:]])
    call.screen.print_lines(
        wrapped(
            "  ",
            _("/rewind NUMBER goes back to one, files and conversation; /undo undoes that."),
            "dim",
            call.screen.width,
        )
    )


def _row(point: PointInfo) -> tuple[str, str]:
    when = f"{clock_time(point.time):%H:%M:%S}"
    name = shorten(clean(point.name, keep_newlines=False), _LONGEST_NAME)
    what = name if point.by_hand else _("before “{request}”", request=name)
    gone = _("[files only]") if point.files_only else ""
    return f"{point.number}  {when}", "  ".join(filter(None, (what, _changed(point.changed), gone)))


def _changed(files: Sequence[str]) -> str:
    if not files:
        return ""
    names = ", ".join(clean(file, keep_newlines=False) for file in files[:_MOST_FILES])
    more = len(files) - _MOST_FILES
    return (
        _("[since changed: {names} and {count} more]", names=names, count=more)
        if more > 0
        else _("[since changed: {names}]", names=names)
    )


def _show(screen: Screen, lines: Sequence[str]) -> None:
    omitted = len(lines) - _MOST_LINES
    for number, line in enumerate(lines):
        if omitted <= 0 or number < _MOST_LINES - _LAST_LINES or number >= len(lines) - _LAST_LINES:
            screen.print_lines(wrapped("  ", line, "", screen.width))
        elif number == _MOST_LINES - _LAST_LINES:
            screen.print(("dim", "  " + _("… and {count} more", count=omitted)))
