"""Show the effects of a project's settings file, and ask whether to trust it."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.config.editor import write_value
from localllm.text.sanitising import clean, shorten
from localllm.text.wrapping import wrap
from localllm.tui.bracketed_paste import PASTE_BEGINS, PASTE_ENDS, PASTE_SECONDS
from localllm.tui.dialogs.approval import understood
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen
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
_BEGINS, _ENDS = PASTE_BEGINS.encode(), PASTE_ENDS.encode()


def ask_line(stream: TextIO, show: Callable[[], None], keep: Callable[[str], None]) -> str | None:
    """Show a question and return the line typed after it on the terminal `stream`, with the terminal's line editing;
    None for a pasted text.

    Keys typed before the question was visible, and right after it, are not part of the answer, nor is what is pasted:
    they go to `keep`, raw.
    Raises EOFError at the end of input, KeyboardInterrupt for Ctrl+C. Restores the terminal modes.
    """
    if sys.platform == "win32":
        return _ask_console(stream, show, keep)
    import termios

    fd = stream.fileno()
    before = termios.tcgetattr(fd)
    hushed, edited = [*before], [*before]
    hushed[3] &= ~(termios.ECHO | termios.ICANON)  # without ICANON, an unfinished line can be read as well
    edited[0] |= termios.ICRNL
    edited[3] |= termios.ECHO | termios.ICANON | termios.ISIG
    try:
        termios.tcsetattr(fd, termios.TCSANOW, hushed)
        typed = _waiting_keys(fd, 0)
        show()
        typed += _waiting_keys(fd, QUIET_SECONDS if typed else 0)
        keep(with_whole_paste(fd, typed).decode("utf-8", "replace"))
        termios.tcsetattr(fd, termios.TCSANOW, edited)
        line = _line(fd)
        if _BEGINS not in line:
            return line.decode("utf-8", "replace").rstrip("\n")
        termios.tcsetattr(fd, termios.TCSANOW, hushed)
        keep(with_whole_paste(fd, line).decode("utf-8", "replace").removesuffix("\n"))
        return None
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSANOW, before)


def _waiting_keys(fd: int, patience: float) -> bytes:
    """Read the typed keys until none arrives for `patience` seconds."""
    import select

    typed = b""
    while select.select([fd], [], [], patience)[0] and (more := _read(fd)):
        typed += more
    return typed


def with_whole_paste(fd: int, typed: bytes) -> bytes:
    """Read on to the end of a paste that has begun in the typed keys. If the mark does not come, Enter ends it."""
    import select

    while typed.rfind(_BEGINS) > typed.rfind(_ENDS):
        is_late = not select.select([fd], [], [], PASTE_SECONDS)[0]
        more = _read(fd)
        typed += _ENDS if not more or (is_late and more in (b"\r", b"\n")) else more
    return typed


def _line(fd: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        more = _read(fd)
        if not more:
            raise EOFError
        line += more
    return line


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


def setting_lines(file: Path, values: Mapping[str, Json], width: int) -> list[Line]:
    """Format the settings, most severe first, with their effects, in at most `MAX_ROWS` rows; the rest is summarised by
    its effects.

    Only the name of `file` is shown: its folders came with the project, and long ones would push the settings off the
    screen, or look like some.
    """
    lines: list[Line] = []
    keys = sorted(values, key=gravity)
    is_cut = False
    for shown, key in enumerate(keys):
        text = _text(key, values[key])
        cut = shorten(text, max(20, width - _INDENT) * _ROWS_OF_ONE - 2)
        is_cut = is_cut or cut != text
        rows = list(_rows(key, cut, width))
        if len(lines) + len(rows) > MAX_ROWS:
            return lines + wrapped("  ", _rest(keys[shown:], file.name), "warning", width)
        lines += rows
    if is_cut:
        lines += wrapped(
            "  ", _("Not all of it is shown (…): read {file} before you say yes.", file=file.name), "warning", width
        )
    return lines


def ask_trust(
    screen: Screen, stream: TextIO, keep: Callable[[str], None], file: Path, values: Mapping[str, Json]
) -> bool | None:
    """Ask the user; None at the end of input. Keys typed before the question, and what is pasted, go to `keep`. Raises
    KeyboardInterrupt."""
    typed: list[str] = []

    def present() -> None:
        screen.print_lines(
            wrapped(
                "! ",
                _("{file} wants more than a project may decide by itself:", file=file.name),
                "warning",
                screen.width,
            )
        )
        screen.print_lines(setting_lines(file, values, screen.width))
        prompt()

    def prompt() -> None:
        screen.stream(screen.format((("bold", _("Trust these settings of the project? [y/N]")), ("", " "))))

    try:
        said = _say(screen, stream, present, typed)
        is_pasted = False
        while (answer := understood(said) if said is not None else None) not in ("yes", "no"):
            is_pasted |= said is None
            if said and not is_pasted and _is_unfinished(typed):  # the rest of a line begun before the question
                typed.append(said)
            screen.print(("", _("Please answer y (yes) or n (no).")))
            said = _say(screen, stream, prompt, typed)
    except EOFError:
        return None
    finally:
        screen.end_line()
        keep("".join(typed))
    return answer == "yes"


def _say(screen: Screen, stream: TextIO, show: Callable[[], None], typed: list[str]) -> str | None:
    said = ask_line(stream, show, typed.append)
    if said is None:
        screen.end_line()
    else:
        screen.line_was_ended()
    return said


def _is_unfinished(typed: Iterable[str]) -> bool:
    text = "".join(typed)
    return bool(text) and not text.endswith(("\n", "\r"))


def gravity(key: str) -> int:
    """Return the index in _REACH; an unknown setting counts as most severe."""
    return next((place for place, (pattern, _) in enumerate(_REACH) if re.fullmatch(pattern, key, re.DOTALL)), -1)


def _text(key: str, value: Json) -> str:
    return clean(f"{key} = {write_value(value)}", keep_newlines=False)


def _note(key: str) -> str:
    place = gravity(key)
    reach = _REACH[place][1] if place >= 0 else ""
    return _(_REACHES[reach]) if reach else ""


def _rest(keys: Sequence[str], file: str) -> str:
    """Summarise the settings that are not shown."""
    if notes := [note for note in dict.fromkeys(map(_note, keys)) if note]:
        what = "; ".join(notes)
        return _("… and {count} more ({what}): read {file} before you say yes.", count=len(keys), what=what, file=file)
    return _("… and {count} more: read {file} before you say yes.", count=len(keys), file=file)


def _rows(key: str, text: str, width: int) -> Iterable[Line]:
    room = max(20, width - _INDENT)
    note = _note(key)
    rows = wrap(f"{text}  ({note})" if note else text, room)
    for number, row in enumerate(rows):
        yield (("accent" if number == 0 else "", ("  " if number == 0 else " " * _INDENT) + row.rstrip()),)
