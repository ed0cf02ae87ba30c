"""Define the back ends that confine commands: what creates each, and what it can do."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.sandbox.process import Executed, Launch
from localllm.sandbox.scratch import Scratch

Level = str
"""The name of a back end."""

SandboxLevel = str
"""The level in force, as proved by an active probe on this machine; "none" confines nothing."""

Network = Literal["off", "hosts", "not possible", "all"]
"""What commands can reach of the network: nothing; the user's list of hosts; nothing despite such a list, as the level
cannot distinguish hosts; everything, as nothing confines them."""


class Surroundings(msgspec.Struct, frozen=True):
    """What in a project needs care when a command starts, as absolute paths.

    `pinned`: read-only; `held`: cannot be renamed; `masked`: sockets of others; `copies`: folders in place of which
    their copy is shown (only if the back end `has_namespaces`). `present`: files outside the project of which a command
    sees that they are there, and nothing else (likewise). `record`: a file outside the project whose time is set while
    the command runs, and when it has ended, even while this program is stopped; "" for none.
    """

    pinned: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    present: tuple[str, ...] = ()
    record: str = ""


NO_CARE = Surroundings()


class ConfinedCommand(Launch, Executed, Protocol):
    """One start of a confined command."""


class Confinement(Protocol):
    """Creates launches for the commands of one project."""

    def launch(
        self,
        command: str,
        folder: Path,
        scratch: Scratch,
        environment: Mapping[str, str],
        surroundings: Surroundings = NO_CARE,
        *,
        read_only: bool = False,
        disk: int = 8 << 30,
    ) -> ConfinedCommand:
        """Return a launch of `command` in `folder`. `environment` is the user's; `read_only`: it may change only its
        scratch folder (only if the back end `inspects`). `disk`: bytes it may use. Raises ToolExecutionError."""
        ...


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """A way to confine commands. What it promises here is not trusted: the probe tries to escape.

    `maker`: the function that creates its Confinement from Parts (`linux/confinement`), as "module:function"; it raises
    ToolExecutionError with the reason if this machine cannot have it. `system`: as in sys.platform. `opens_hosts`: it
    can open the network for single hosts. `inspects`: it can run a command that changes nothing. `closes_names`: it can
    close single names within the project, and folders. `follows_names`: names are resolved while other commands may
    change them. `keeps_modes`: commands cannot change the permissions of files outside. `has_namespaces`: a command is
    in namespaces of its own.
    """

    maker: str
    system: str = "linux"
    opens_hosts: bool = False
    inspects: bool = False
    closes_names: bool = True
    follows_names: bool = False
    keeps_modes: bool = True
    has_namespaces: bool = False


_LINUX = "localllm.sandbox.linux.confinement:make"

BACKENDS: dict[Level, Backend] = {
    # namespaces of the command's own, created by ourselves
    "namespaces": Backend(maker=_LINUX, opens_hosts=True, inspects=True, has_namespaces=True),
    # the same, created by that program
    "bubblewrap": Backend(maker=_LINUX, opens_hosts=True, inspects=True, has_namespaces=True, follows_names=True),
    # this machine, with rules on files and system calls
    "landlock": Backend(maker=_LINUX, inspects=True, closes_names=False, keeps_modes=False),
    # the same on macOS
    "seatbelt": Backend(maker="localllm.sandbox.macos.seatbelt:make", system="darwin"),
}
"""All back ends, for each system the best first; a new one is a line here."""

_SYSTEM = "darwin" if sys.platform == "darwin" else "linux"

LEVELS: tuple[Level, ...] = tuple(name for name, backend in BACKENDS.items() if backend.system == _SYSTEM)
"""The back ends of this system, the best first."""
