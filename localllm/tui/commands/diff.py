"""The command /diff: show the session's changes."""

from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean
from localllm.tui.commands.context import ChatContext, FileDiffInfo
from localllm.tui.commands.registry import Outcome, SlashCall, slash
from localllm.tui.render.screen import Screen
from localllm.tui.render.tool_lines import diff_lines

_MOST_FILES = 30
_MOST_LINES = 40
"""Lines per file if there are several."""
_MOST_LINES_OF_ONE = 2_000


def _files(chat: ChatContext) -> list[str]:
    return ["turn", *chat.changes.files()]


@slash(
    "diff",
    usage=N_("[turn|file]"),
    choices=_files,
    forms=N_(
        "/diff | how the files changed in this session differ from before\n"
        "/diff turn | only what the last request changed\n"
        "/diff src/shop.py | one file, in full"
    ),
)
async def diff(call: SlashCall) -> Outcome:
    """Show what was changed in this session, by commands too; with “turn”, by the last request."""
    wanted = call.arguments
    diffs = call.chat.changes.diffs(turn=wanted == "turn")
    if wanted not in ("", "turn"):
        diffs = [one for one in diffs if one.path == wanted]
    for one in diffs[:_MOST_FILES]:
        _show(call.screen, one, _MOST_LINES if len(diffs) > 1 else _MOST_LINES_OF_ONE)
    if len(diffs) > _MOST_FILES:
        call.screen.print(("dim", "  " + _("… and {count} more", count=len(diffs) - _MOST_FILES)))
    if not diffs:
        call.screen.print(("", "  " + _nothing(wanted)))


def _nothing(wanted: str) -> str:
    match wanted:
        case "":
            return _("No file differs from what it was when this session started.")
        case "turn":
            return _("The last request changed no files.")
        case _:
            return _("{path} is not among the files changed in this session.", path=clean(wanted, keep_newlines=False))


def _show(screen: Screen, one: FileDiffInfo, limit: int) -> None:
    if one.diff:
        screen.print_lines(diff_lines(one.diff, screen.width, limit=limit))
    else:
        screen.print(("dim", f"    {clean(one.path, keep_newlines=False)}: {one.reason}"))
