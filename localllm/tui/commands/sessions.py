"""Commands on past sessions: /sessions, /resume, /rename, /fork and /export."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _
from localllm.sessions.index import Session, about, state, when
from localllm.text.sanitising import clean, display_width, shorten
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, slash, table
from localllm.tui.render.answer import print_exchange
from localllm.tui.render.report import notice_lines, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Style

if TYPE_CHECKING:
    from localllm.sessions.export import Format

_LISTED = 15
_ABOUT = 60  # cells
_LEAST_ABOUT = 20  # cells
_BEFORE = 26  # cells: number, date and time, and their padding


@slash(
    "sessions",
    usage=N_("[words]"),
    forms=N_("/sessions | the latest ones\n/sessions login page | those with a similar request"),
)
async def sessions(call: SlashCall) -> Outcome:
    """List the sessions of this project; with words, search them."""
    found = await call.chat.keeping.find(call.arguments)
    if not found:
        said = (
            _("Nothing was found for “{words}”.", words=call.arguments)
            if call.arguments.strip()
            else _("No sessions yet.")
        )
        _print(call.screen, clean(said, keep_newlines=False))
        return
    _list(call, found)


def _names(chat: ChatContext) -> Iterable[Choice]:
    known = chat.keeping.known
    titles = Counter(one.title for one in known)
    others = (one for one in known if one.id != chat.session_id)
    return [(_name(one, titles), f"{when(one)} {clean(about(one), keep_newlines=False)}") for one in others]


def _name(session: Session, titles: Mapping[str, int]) -> str:
    """Return the session's title if it is unique and can be typed, else its id."""
    title = session.title
    is_plain = bool(title) and not title.isdecimal() and clean(title, keep_newlines=False) == title
    return title if is_plain and titles[title] == 1 else session.id


@slash(
    "resume",
    usage=N_("[number|name]"),
    choices=_names,
    forms=N_(
        "/resume | the sessions, numbered\n"
        "/resume 2 | the second of them\n"
        "/resume login | by name, or by the beginning of its id"
    ),
)
async def resume(call: SlashCall) -> Outcome:
    """Resume an earlier session; without a number or name, list them."""
    wanted = call.arguments.strip()
    there = await call.chat.keeping.find()
    if not wanted:
        if any(one.id != call.chat.session_id for one in there):
            _list(call, there)
        else:
            _print(call.screen, _(N_("There is no other session.") if there else N_("No sessions yet.")))
        return
    by_number = dict(_numbered(there, call.chat.session_id))
    keeping = call.chat.keeping
    _say(call.screen, await keeping.resume(by_number[wanted].id if wanted in by_number else wanted))
    print_exchange(call.screen, *keeping.stood)


@slash("rename", usage=N_("[name]"), forms=N_("/rename login page | name this session\n/rename | remove its name"))
async def rename(call: SlashCall) -> Outcome:
    """Give this session a name, or remove it."""
    keeping, screen = call.chat.keeping, call.screen
    before = keeping.title
    keeping.rename(clean(call.arguments, keep_newlines=False))
    if not keeping.title:
        _print(
            screen,
            _(
                N_("This session no longer has a name.")
                if before
                else N_("This session has no name. /rename NAME gives it one.")
            ),
        )
        return
    _print(screen, _("This session is now called “{title}”.", title=keeping.title))
    if keeping.failure:
        screen.print_lines(
            notice_lines(
                _(
                    "This session is not being saved: {reason}. It cannot be resumed later. Fix that and "
                    "restart localllm.",
                    reason=keeping.failure,
                ),
                "warning",
                screen.width,
            )
        )
    elif not keeping.is_kept:
        _print(screen, _("It is saved, with its name, from your first request on."), "dim")


@slash(
    "fork",
    usage=N_("[checkpoint]"),
    forms=N_("/fork | continue in a copy\n/fork 3 | in a copy of what it was at checkpoint 3 (see /rewind)"),
)
async def fork(call: SlashCall) -> Outcome:
    """Continue in a copy of this session, or of a checkpoint of it."""
    wanted = call.arguments.strip()
    if wanted and not (wanted.isascii() and wanted.isdigit() and int(wanted)):
        raise ConfigurationError("session_no_point", wanted=clean(wanted, keep_newlines=False))
    old = call.chat.session_id
    await call.chat.keeping.fork(int(wanted or 0))
    _print(call.screen, _("This session continues as {id}; {old} is unchanged.", id=call.chat.session_id, old=old))
    if wanted:
        _print(call.screen, _("The conversation is that of the checkpoint; the files are as they are now."), "dim")


@slash(
    "export",
    usage=N_("[md|html|json] [file]"),
    forms=N_(
        "/export | as Markdown, into the project\n"
        "/export html | as a web page; json works too\n"
        "/export notes/login.md | into this file"
    ),
)
async def export_(call: SlashCall) -> Outcome:
    """Write this session to a file: Markdown, a web page, or JSON."""
    from localllm.sessions.export import export, write_new  # few sessions are exported

    to, name = _wanted_export(call.arguments)
    root = call.chat.root
    file = _file(root, name) if name else _free(root, f"session-{call.chat.session_id}", to)
    write_new(root, file, export(await call.chat.keeping.transcript(), to))
    call.screen.print(("good", "  " + clean(_("Written: {file}", file=file), keep_newlines=False)))


def _wanted_export(arguments: str) -> "tuple[Format, str]":
    """Parse the format and the file name; "" for the default name."""
    from localllm.sessions.export import format_for

    first, _, rest = arguments.strip().partition(" ")
    if first in ("md", "html", "json"):
        return first, rest.strip()
    name = arguments.strip()
    if name.isalnum():  # `pdf` means a format, not a file without extension
        raise ConfigurationError("export_unknown", wanted=name)
    return format_for(name), name


def _free(root: Path, stem: str, to: "Format") -> Path:
    """Return the default name of an export, numbered if earlier ones exist."""
    names = chain((f"{stem}.{to}",), (f"{stem}-{number}.{to}" for number in count(2)))
    return next(root / name for name in names if not os.path.lexists(root / name))


def _file(root: Path, name: str) -> Path:
    return root / Path(name).expanduser()


def _numbered(found: Sequence[Session], current: str) -> Iterable[tuple[str, Session]]:
    """Number the sessions that can be resumed, as in the list."""
    others = [one for one in found if one.id != current]
    return ((str(number), one) for number, one in enumerate(others, start=1))


def _list(call: SlashCall, found: Sequence[Session]) -> None:
    """List the sessions with the numbers /resume accepts, which are those of the whole list."""
    current = call.chat.session_id
    numbers = {one.id: number for number, one in _numbered(call.chat.keeping.known, current)}
    room = call.screen.width - _BEFORE
    rows = [
        (f"{numbers.get(one.id, '·'):>2}  {when(one)}", _row(one, state(one, current=current), room))
        for one in found[:_LISTED]
    ]
    table(call.screen, rows)
    if len(found) > _LISTED:
        _print(call.screen, _("… and {count} more: /sessions WORDS searches.", count=len(found) - _LISTED), "dim")
    _print(call.screen, _("/resume with a number or the beginning of a name resumes one."), "dim")


def _row(session: Session, how_far: str, room: int) -> str:
    """Format a session on one line, or with its id on a second line; in the same order."""
    words = shorten(clean(about(session), keep_newlines=False), min(_ABOUT, max(_LEAST_ABOUT, room)))
    rest = f"{session.id} ({how_far})"
    return f"{words}  {rest}" if display_width(f"{words}  {rest}") <= room else f"{words}\n{rest}"


def _print(screen: Screen, text: str, style: Style = "") -> None:
    screen.print_lines(wrapped("  ", text, style, screen.width))


def _say(screen: Screen, lines: Sequence[str]) -> None:
    for line in lines:
        screen.print_lines(notice_lines(line, "info", screen.width))
