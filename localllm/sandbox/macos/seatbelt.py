"""Confine commands on macOS with the system's sandbox, Seatbelt, by a profile.

Experimental: written from documentation, not yet tried on a Mac.

Everything that the profile does not allow is denied; of two matching rules, the later one applies. Paths are passed
separately as parameters, so that none can be parsed as a part of the profile.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.sandbox.backend import NO_CARE, Surroundings
from localllm.sandbox.environment import Visibility, variables
from localllm.sandbox.launcher.spec import BASH
from localllm.sandbox.linux.confinement import Parts
from localllm.sandbox.process import PlainLaunch
from localllm.sandbox.protect.protected_paths import PROTECTED_NAMES, may_be_read_only
from localllm.sandbox.scratch import Scratch

PROGRAM = "/usr/bin/sandbox-exec"
"""The system's own, never looked up in the user's PATH."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/dtracehelper")
_SERVICES = (  # services that programs query at start: user names, time zones, logs
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
)
_LIMITS = "ulimit -c 0; ulimit -n 4096 2>/dev/null; exec " + " ".join(BASH) + ' "$1"'
"""Run first in the process that becomes the command. Memory and processes are not limited here."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of a profile; absolute paths, with links resolved.

    `writable`: folders, the project first. `hidden` is not readable, except `shown` beneath it. `pinned`
    cannot be changed, `held` not renamed. `proxy_port`: the local port that may be connected to; 0: none.
    """

    writable: Sequence[str]
    hidden: Sequence[str] = ()
    shown: Sequence[str] = ()
    pinned: Sequence[str] = ()
    held: Sequence[str] = ()
    proxy_port: int = 0


def profile(rules: Rules) -> tuple[str, dict[str, str]]:
    """Return the profile, and its parameters: name → path."""
    made = _Profile()
    made.add("(version 1)", "(deny default)", "(allow process-exec process-fork sysctl-read)")
    made.add("(allow signal process-info* (target same-sandbox))", "(allow ipc-posix-sem)")
    made.rule("allow mach-lookup", "global-name", _SERVICES)
    made.add("(allow file-read*)")
    made.rule("deny file-read*", "subpath", rules.hidden)
    made.rule("allow file-read*", "subpath", (*rules.shown, *rules.writable))
    for path in _within(rules.hidden, rules.shown):
        made.rule("deny file-read*", "subpath", (path,))
        made.rule("allow file-read*", "subpath", _within((*rules.shown, *rules.writable), (path,)))
    above = dict.fromkeys(str(folder) for path in (*rules.shown, *rules.writable) for folder in Path(path).parents)
    made.rule("allow file-read-metadata", "literal", tuple(above))
    made.rule("allow file-write*", "subpath", rules.writable)
    made.rule("allow file-write-data", "literal", _DEVICES)
    made.add('(deny file-read* file-write* (regex #"^/dev/(tty|cu|pty)"))')  # terminals in which the user works
    made.rule("deny file-write*", "subpath", rules.pinned)
    made.add(f'(deny file-write* (regex #"{protected_pattern(rules.writable[0])}"))')
    made.rule("deny file-write-unlink", "literal", (*rules.held, *rules.writable[:1]))
    made.add("(deny file-write-setugid)", "(deny network*)")
    if rules.proxy_port:
        made.add(f'(allow network-outbound (remote ip "localhost:{rules.proxy_port}"))')
    return "\n".join(made.lines), made.parameters


def _within(paths: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return those of `paths` that are in one of the folders, the outer ones first."""
    inside = (path for path in paths if any(path.startswith(f"{folder}/") for folder in folders))
    return tuple(sorted(inside, key=len))


class _Profile:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parameters: dict[str, str] = {}

    def add(self, *lines: str) -> None:
        self.lines += lines

    def rule(self, what: str, kind: str, paths: Sequence[str]) -> None:
        """Add one rule for all `paths`, if there are any."""
        filters: list[str] = []
        for path in paths:
            name = f"P{len(self.parameters)}"
            self.parameters[name] = path
            filters.append(f'({kind} (param "{name}"))')
        if filters:
            self.add(f"({what} {' '.join(filters)})")


def protected_pattern(root: str) -> str:
    """Return the regular expression for all protected names below `root`, in any case, existing or not.

    Special characters in the root, for regular expressions or the profile, are replaced by any character: other
    paths that match cannot be written to anyway.
    """
    names = "|".join(_any_case(name) for name in PROTECTED_NAMES if may_be_read_only(name))
    return f"^{re.sub('[^A-Za-z0-9/_ -]+', '[^/]+', root)}/(.*/)?({names})(/.*)?$"


def _any_case(name: str) -> str:
    parts = {one: f"[{one.lower()}{one.upper()}]" if one.isalpha() else f"[{one}]" for one in name} | {"*": "[^/]*"}
    return "".join(parts[one] for one in name)


def command_line(rules: Rules, command: str) -> list[str]:
    """Return the arguments that make bash run `command` under `rules`."""
    text, parameters = profile(rules)
    given = [argument for name, path in parameters.items() for argument in ("-D", f"{name}={path}")]
    return [PROGRAM, *given, "-p", text, *BASH, _LIMITS, "bash", command]


class SeatbeltLaunch(PlainLaunch):
    """A command under a profile. Processes that leave its group are not found again, but still confined."""

    def __init__(self, rules: Rules, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(command, folder, environment)
        self.arguments = tuple(command_line(rules, self.arguments[-1]))


class SeatbeltConfinement:
    """Launches the commands of one project, like `Confinement` elsewhere."""

    def __init__(self, root: Path, visibility: Visibility) -> None:
        self._root = root
        self._visibility = visibility

    def launch(
        self,
        command: str,
        folder: Path,
        scratch: Scratch,
        environment: Mapping[str, str],
        surroundings: Surroundings = NO_CARE,
        *,
        read_only: bool = False,
        disk: int = 0,
    ) -> SeatbeltLaunch:
        """Create a launch of `command` in `folder`. `environment` is the user's. Raises ToolExecutionError."""
        del read_only, disk  # a profile has no such rules
        rules = Rules(
            writable=[os.path.realpath(path) for path in (self._root, scratch.folder)],
            hidden=[str(path) for path in self._visibility.hidden],
            shown=[str(path) for path in self._visibility.shown],
            pinned=surroundings.pinned,
            held=surroundings.held,
        )
        names = variables(environment, offline=True, **scratch.variables)
        return SeatbeltLaunch(rules, command, folder, names)


def make(parts: Parts) -> SeatbeltConfinement:
    """Create the confinement of macOS; it cannot distinguish hosts."""
    return SeatbeltConfinement(parts.root, parts.visibility)
