"""Put text on the user's clipboard: by a program of the system, by tmux, or by the terminal (OSC 52)."""

import asyncio
import base64
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_
from localllm.base.paths import find_program
from localllm.text.sanitising import without_hidden

MOST_ENCODED = 74_000
"""Characters of base64 that terminals take in one OSC 52 sequence: xterm and others stop at 100,000 bytes, some at
74,994 characters."""

TERMINAL = N_("the terminal (OSC 52)")
TMUX = "tmux"

_PATIENCE_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_WITHOUT_OSC = ("linux", "dumb", "")
"""Terminals (TERM) that have no clipboard."""


class _Program(msgspec.Struct, frozen=True):
    """A program that reads the clipboard's new text from its standard input, and the variable that its display sets."""

    name: str
    variable: str
    arguments: tuple[str, ...] = ()
    encoding: str = "utf-8"


_PROGRAMS = (
    _Program("wl-copy", "WAYLAND_DISPLAY"),
    _Program("xclip", "DISPLAY", ("-selection", "clipboard")),
    _Program("xsel", "DISPLAY", ("--clipboard", "--input")),
    _Program("clip.exe", "WSL_DISTRO_NAME", encoding="utf-16"),
)
_OF_MACOS = _Program("pbcopy", "")


def plain_text(text: str) -> str:
    """Remove control and invisible characters, except newlines and tabs, and the blank lines around the text."""
    text = text.replace("\r\n", "\n")
    kept = zip(text, without_hidden(text), strict=True)
    return "".join(character for character, shown in kept if character == shown).strip("\n")


async def copy(text: str, project: Path, control: Callable[[str], None], environ: Mapping[str, str]) -> str:
    """Put `text` on the clipboard, and return what took it: the name of a program, TMUX or TERMINAL.

    `control` sends a sequence to the terminal; programs in the `project` are not run. Raises ConfigurationError
    copy_too_long and copy_nowhere.
    """
    for program in _programs(environ):
        if await _is_taken(program.name, program.arguments, text.encode(program.encoding), project, environ):
            return program.name
    encoded = base64.b64encode(text.encode()).decode()
    if len(encoded) > MOST_ENCODED:
        raise ConfigurationError("copy_too_long", size=f"{len(encoded):,}", most=f"{MOST_ENCODED:,}")
    sequence = f"\x1b]52;c;{encoded}\x07"
    if environ.get("TMUX"):  # by default it takes the sequence from nobody, but sends its own
        if await _is_taken(TMUX, ("load-buffer", "-w", "-"), text.encode(), project, environ):
            return TMUX
        sequence = f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
    elif environ.get("STY") or environ.get("TERM", "") in _WITHOUT_OSC:
        raise ConfigurationError("copy_nowhere")
    control(sequence)
    return TERMINAL


def _programs(environ: Mapping[str, str]) -> Iterator[_Program]:
    """Return the programs whose display is there. In a remote session it would be that of another machine."""
    if any(environ.get(name) for name in _REMOTE):
        return
    if sys.platform == "darwin":
        yield _OF_MACOS
    yield from (program for program in _PROGRAMS if environ.get(program.variable))


async def _is_taken(
    name: str, arguments: Sequence[str], data: bytes, project: Path, environ: Mapping[str, str]
) -> bool:
    """Give `data` to a program; false if it is missing, fails or hangs. It may leave a process that serves the data."""
    path = find_program(name, project, environ)
    if path is None:
        return False
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            *arguments,
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            cwd="/",
            env={"LC_CTYPE": "UTF-8", **environ} if sys.platform == "darwin" else environ,
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(data), _PATIENCE_SECONDS)
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode == 0
