"""Inputs and findings of the doctor's checks."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.app.server_check import Look
from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.i18n import sentences
from localllm.base.paths import cache_folder, config_file, data_folder, state_folder
from localllm.config.loader import Loaded
from localllm.llm.discovery.scan import discover
from localllm.research.run_store import HISTORY
from localllm.sandbox.runner import SandboxRunner

Status = Literal["problem", "warning", "note", "ok"]
"""problem: something will not work. warning: it works, but less well. note: good to know. ok: as it should be."""

STATUSES: tuple[Status, ...] = ("problem", "warning", "note", "ok")
"""Most important first."""


class Finding(msgspec.Struct, frozen=True):
    """`what` was found and, if there is something to do, the `fix`; both in the user's language. `name` is the
    subject, the same in every language."""

    name: str
    status: Status
    what: str
    fix: str = ""


def ok(name: str, what: str) -> Finding:
    """Build a finding: as it should be."""
    return Finding(name, "ok", what)


def note(name: str, what: str, fix: str = "") -> Finding:
    """Build a finding: good to know."""
    return Finding(name, "note", what, fix)


def warning(name: str, what: str, fix: str) -> Finding:
    """Build a finding: it works, but less well."""
    return Finding(name, "warning", what, fix)


def problem(name: str, what: str, fix: str) -> Finding:
    """Build a finding: something will not work."""
    return Finding(name, "problem", what, fix)


def of_error(name: str, error: LocalLLMError, status: Status = "problem") -> Finding:
    """Build a finding from an error; without a fix, its reason is used."""
    what = " ".join(sentences(error.what, error.why).split())
    return Finding(name, status, what, error.fix or error.why or error.what)


class Held(Protocol):
    """Status of the sandbox; implemented by SandboxRunner."""

    @property
    def level(self) -> str:
        """How strongly commands are confined; "none" if not at all."""
        ...

    @property
    def reason(self) -> str:
        """Why commands are not confined; "" if they are."""
        ...

    @property
    def failed_levels(self) -> Mapping[str, str]:
        """Why each better level is not available, the best first."""
        ...


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """The user's terminal. `kind`: TERM; `encoding`: that of the output."""

    is_terminal: bool
    columns: int = 80
    lines: int = 24
    kind: str = ""
    encoding: str = "utf-8"
    colours: bool = True


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the program is started: in the project's `folder`, by default its root. `fault`: why the settings could
    not be read; then `loaded` are the defaults.

    `free_space` returns bytes; `try_to_write` raises OSError for a folder in which no file can be created.
    """

    project: Path
    loaded: Loaded
    environ: Mapping[str, str]
    state: Path
    config: Path
    screen: Screen
    sandbox: Held
    kernel: str
    folder: Path | None = None
    fault: ConfigurationError | None = None
    look: Look = discover
    free_space: Callable[[Path], int]
    try_to_write: Callable[[Path], None]


def look_around(
    project: Path, loaded: Loaded, environ: Mapping[str, str], fault: ConfigurationError | None
) -> Surroundings:
    """Return the real surroundings."""
    state = state_folder(environ)
    return Surroundings(
        project=project,
        loaded=loaded,
        folder=Path.cwd(),
        fault=fault,
        environ=environ,
        state=state,
        config=config_file(environ).parent,
        screen=_screen(environ),
        sandbox=SandboxRunner(
            project,
            state_folder=state,
            cache_folder=cache_folder(environ),
            network_hosts=loaded.settings.command_hosts,
        ),
        kernel=platform.release(),
        free_space=_free_space,
        try_to_write=_try_to_write,
    )


def uses_research(here: Surroundings) -> bool:
    """Return whether research was used here: it searches the web even if that is off for the chat."""
    return (data_folder(here.environ) / HISTORY).is_dir()


def nearest_existing(folder: Path) -> Path:
    """Return the folder itself, or its nearest existing parent."""
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - a dangling link exists, and is in the way
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _screen(environ: Mapping[str, str]) -> Screen:
    size = shutil.get_terminal_size()
    return Screen(
        is_terminal=sys.stdout.isatty(),
        columns=size.columns,
        lines=size.lines,
        kind=environ.get("TERM", ""),
        encoding=sys.stdout.encoding or "ascii",
        colours=not environ.get("NO_COLOR"),
    )


def _free_space(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _try_to_write(folder: Path) -> None:
    """Create and write a temporary file in `folder`, which exists."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0" * 4096)
        file.flush()
