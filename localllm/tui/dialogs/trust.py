"""Show the effects of a project's settings file, and ask whether to trust it."""

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.config.editor import write_value
from localllm.text.sanitising import clean, display_width, shorten
from localllm.text.wrapping import wrap
from localllm.tui.bracketed_paste import PasteReader, with_marks
from localllm.tui.dialogs.approval import understood
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.render.tool_lines import visible_blanks
from localllm.tui.terminal_keys import ESCAPE_SECONDS, KeyReader, edited
from localllm.tui.theme import Line

_REACHES = {
    "server": N_("your words, files and the key, if set, are sent there"),
    "network": N_("what can be reached over the network"),
    "allow": N_("done without asking you"),
    "unasked": N_("changes and commands are not asked about"),
    "rules": N_("replaces your own list"),
    "backup": N_("no earlier versions, no /undo"),
    "folder": N_("files are written there"),
    "deletes": N_("what is older is deleted"),
    "file": N_("this file is read"),
    "limit": N_("how long it goes on by itself"),
    "alias": N_("what this word stands for"),
}

QUIET_SECONDS = 0.25
"""Seconds without a key after which a user who was typing when a question appeared has stopped."""

_READ_SIZE = 4096
_END_OF_INPUT = "\x04"  # Ctrl+D


def ask_line(
    stream: TextIO,
    show: Callable[[], None],
    write: Callable[[str], None],
    keep: Callable[[str], None],
    pastes: PasteReader,
) -> str | None:
    """Show a question and return the line typed after it on the terminal `stream`; None if something was pasted.

    Keys typed before the question was visible, and right after it, are not part of the answer, and nothing pasted ever
    is: they go to `keep`, raw. `write` echoes the line. Raises EOFError at the end of input, KeyboardInterrupt for
    Ctrl+C. Restores the terminal modes.
    """
    if sys.platform == "win32":
        return _ask_console(stream, show, keep)
    import termios

    fd = stream.fileno()
    before = termios.tcgetattr(fd)
    hushed: list[Any] = [*before]
    # The terminal's own editing of lines knows no pastes: a control character in one may erase the mark it begins with.
    hushed[3] = hushed[3] & ~(termios.ECHO | termios.ICANON) | termios.ISIG
    hushed[6] = [*before[6]]
    hushed[6][termios.VMIN], hushed[6][termios.VTIME] = 1, 0
    edited = [hushed[0] & ~termios.ICRNL, *hushed[1:]]
    try:
        termios.tcsetattr(fd, termios.TCSANOW, hushed)
        typed = _waiting_keys(fd, pastes)
        show()
        typed += _waiting_keys(fd, pastes, QUIET_SECONDS if typed else 0, whole_paste=True)
        keep(typed)
        termios.tcsetattr(fd, termios.TCSANOW, edited)
        return _line(fd, write, keep, pastes)
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSANOW, before)


def _waiting_keys(fd: int, pastes: PasteReader, patience: float = 0, *, whole_paste: bool = False) -> str:
    """Read the typed keys until none arrives for `patience` seconds; a `whole_paste` however long it takes."""
    typed = ""
    while _is_ready(fd, None if whole_paste and pastes.pasting else patience) and (more := _read(fd)):
        typed += with_marks(pastes.feed(more))
    return typed


def _line(fd: int, write: Callable[[str], None], keep: Callable[[str], None], pastes: PasteReader) -> str | None:
    """Read and echo a line, with what follows it to `keep`; None for a paste, which is kept with what was typed."""
    keys, line = KeyReader(), ""
    while True:
        if keys.held and not _is_ready(fd, ESCAPE_SECONDS):
            keys.flush()
        if not (more := _read(fd)):
            raise EOFError
        pieces = pastes.feed(more)
        for number, (text, is_pasted) in enumerate(pieces):
            if is_pasted:
                keep(line + re.sub(r"[\r\n]\Z", "", with_marks(pieces[number:])))  # Enter ends the line
                write("\n")
                return None
            for at, character in enumerate(text, 1):
                if character == _END_OF_INPUT and not line:
                    raise EOFError
                for key in keys.typed(character):
                    if key.name in ("enter", "newline"):
                        keep(text[at:] + with_marks(pieces[number + 1 :]))
                        write("\n")
                        return line
                    before, line = line, edited(line, key)
                    _echo(before, line, write)


def _echo(line: str, after: str, write: Callable[[str], None]) -> None:
    """Show how the end of a line has changed."""
    same = min(len(line), len(after))
    width = display_width(line[same:])
    write("\b" * width + " " * width + "\b" * width + clean(after[same:], keep_newlines=False))


def _is_ready(fd: int, seconds: float | None) -> bool:
    """Wait until there is something to read, at most so many seconds."""
    import select

    return bool(select.select([fd], [], [], seconds)[0])


def _read(fd: int) -> bytes:
    """Read available bytes; none at the end, or if the terminal is gone."""
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""


def _ask_console(stream: TextIO, show: Callable[[], None], keep: Callable[[str], None]) -> str:
    """`ask_line` on Windows."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            keep(msvcrt.getwch())
    show()
    line = stream.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


MAX_ROWS = 12
"""Most rows of settings shown."""

_ROWS_OF_ONE = 3
_INDENT = 4

_REACH: tuple[tuple[str, str], ...] = (
    (
        r"llm\..*\.(base_url|endpoint)|llm\.(provider|fallback_providers)|agents\.panel\..*\.(base_url|provider)"
        r"|(research|rag\.embedding)[._]provider|rag\.qdrant_url|ensemble\.config|trace\.(enabled|endpoint|content)"
        r"|web\.(cache|proxy|serper\.base_url)",
        "server",
    ),
    (r"safety\.network_hosts|web\..*|offline", "network"),
    (r"safety\.(allow|rules)", "allow"),
    (r"safety\.(require_confirmation|mode)", "unasked"),
    (r"safety\.(deny|ask|dangerous_commands)", "rules"),
    (r"safety\.auto_backup", "backup"),
    (r"research\.work_dir|rag\.path", "folder"),
    (r"project\.memory_file|llm\.(scripted|gguf)\.file|research\.(docs|collections)", "file"),
    (r"llm(\.azure)?\.(model|deployment_name)|(agents\.panel\..*|research)\.model|rag\.embedding_model", ""),
    (r"(sessions|logging)\.keep_(days|count)", "deletes"),
    (r"safety\.command_timeout|agent\..*|research\.max_.*", "limit"),
    (r"commands\.aliases\..*", "alias"),
    (r"(llm|agents|logging|market|project|queue|rag|research|sessions|ui|web)\..*", ""),
)
"""Every setting with the effect of trusting it, most severe first, so that no severe one is truncated."""


def setting_lines(file: Path, values: Mapping[str, Json], width: int, height: float = math.inf) -> list[Line]:
    """Format the settings, most severe first, with their effects, in at most `MAX_ROWS` rows; the rest is summarised by
    its effects. `height`: the rows that there are for both, as far as that is possible at all.

    Only the name of `file` is shown: its folders came with the project, and long ones would push the settings off the
    screen, or look like some.
    """
    keys = sorted(values, key=gravity)
    blocks: list[list[Line]] = []
    is_cut = False
    for key in keys:
        text = _text(key, values[key])
        cut = shorten(text, max(20, width - _INDENT) * _ROWS_OF_ONE - 2)
        block = list(_rows(key, cut, width))
        if sum(map(len, blocks)) + len(block) > MAX_ROWS:
            break
        is_cut = is_cut or cut != text
        blocks.append(block)
    end = _end(keys[len(blocks) :], file.name, width, height, is_cut=is_cut)
    while blocks and sum(map(len, blocks)) + len(end) > height:
        blocks.pop()
        end = _end(keys[len(blocks) :], file.name, width, height, is_cut=is_cut)
    return [*chain.from_iterable(blocks), *end]


def _end(left: Sequence[str], file: str, width: int, height: float, *, is_cut: bool) -> list[Line]:
    """Return the rows on what is not shown: the settings that are `left`, or parts of those before."""
    if not left:
        text = _("Not all of it is shown (…): read {file} before you say yes.", file=file)
        return wrapped("  ", text, "warning", width) if is_cut else []
    whole, short = (
        wrapped("  ", text, "warning", width) for text in (_rest(left, file), _rest(left, file, brief=True))
    )
    return whole if len(whole) <= height else short


def ask_trust(
    screen: Screen,
    stream: TextIO,
    keep: Callable[[str], None],
    file: Path,
    values: Mapping[str, Json],
    pastes: PasteReader | None = None,
) -> bool | None:
    """Ask the user; None at the end of input. Keys typed before the question, and what is pasted, go to `keep`; of a
    paste that goes on after the answer, the rest is in `pastes`. Raises KeyboardInterrupt."""
    typed: list[str] = []
    reader = pastes or PasteReader()
    question = _("Trust these settings of the project? [y/N]")

    def say(show: Callable[[], None]) -> str | None:
        said = ask_line(stream, show, screen.stream, typed.append, reader)
        screen.line_was_ended()
        return said

    def present() -> None:
        head = wrapped(
            "! ",
            _("{file} wants more than a project may decide by itself:", file=file.name),
            "warning",
            screen.width,
        )
        room = screen.size().lines - len(head) - (1 + display_width(question) // screen.width)
        screen.print_lines([*head, *setting_lines(file, values, screen.width, room)])
        prompt()

    def prompt() -> None:
        screen.stream(screen.format((("bold", question), ("", " "))))

    try:
        said = say(present)
        is_pasted = False
        while said is None or (answer := understood(said)) not in ("yes", "no"):
            is_pasted |= said is None
            if said and not is_pasted and _is_unfinished(typed):  # the rest of a line begun before the question
                typed.append(said)
            screen.print(("", _("Please answer y (yes) or n (no).")))
            said = say(prompt)
    except EOFError:
        return None
    finally:
        screen.end_line()
        keep("".join(typed))
    return answer == "yes"


def _is_unfinished(typed: Iterable[str]) -> bool:
    text = "".join(typed)
    return bool(text) and not text.endswith(("\n", "\r"))


def gravity(key: str) -> int:
    """Return the index in _REACH; an unknown setting counts as most severe."""
    return next((place for place, (pattern, _) in enumerate(_REACH) if re.fullmatch(pattern, key, re.DOTALL)), -1)


def _text(key: str, value: Json) -> str:
    """Show a setting, with nothing in it that terminals give more cells than are counted, or lay over one another."""
    text = visible_blanks(clean(f"{key} = {write_value(value)}", keep_newlines=False))
    return text.replace("\u200d", "<U+200D>")


def _note(key: str) -> str:
    place = gravity(key)
    reach = _REACH[place][1] if place >= 0 else ""
    return _(_REACHES[reach]) if reach else ""


def _rest(keys: Sequence[str], file: str, *, brief: bool = False) -> str:
    """Summarise the settings that are not shown."""
    if not brief and (notes := [note for note in dict.fromkeys(map(_note, keys)) if note]):
        what = "; ".join(notes)
        return _("… and {count} more ({what}): read {file} before you say yes.", count=len(keys), what=what, file=file)
    return _("… and {count} more: read {file} before you say yes.", count=len(keys), file=file)


def _rows(key: str, text: str, width: int) -> Iterable[Line]:
    room = max(20, width - _INDENT)
    note = _note(key)
    rows = wrap(f"{text}  ({note})" if note else text, room)
    for number, row in enumerate(rows):
        yield (("accent" if number == 0 else "", ("  " if number == 0 else " " * _INDENT) + row.rstrip()),)
