"""The back ends that hold commands: what each is made by, and what it can do."""

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
"""The level in force, as proved by an active probe on this machine; "none" holds nothing."""

Network = Literal["off", "hosts", "not possible", "all"]
"""What of the network commands reach: nothing; the user's list of hosts; nothing, although there is a list, as the
level cannot tell hosts apart; everything, as nothing holds them."""


class Surroundings(msgspec.Struct, frozen=True):
    """What of a project needs care when a command starts, as absolute paths.

    `pinned` may be read only; `held` not renamed; `masked` are sockets of others; in place of each folder of `copies`
    its copy is seen (only where the back end `has_namespaces`). `record`: a file outside the project whose time is set
    while the command runs, and when it has ended, also where this program is stopped; "" for none.
    """

    pinned: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    record: str = ""


NO_CARE = Surroundings()


class ConfinedCommand(Launch, Executed, Protocol):
    """One start of a command that is held."""


class Confinement(Protocol):
    """Makes launches of the commands of one project."""

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
        """A launch of `command` in `folder`. `environment` is the user's; `read_only`: it may change nothing but its
        scratch folder (asked for only where the back end `inspects`). `disk`: bytes it may take. Raises
        ToolExecutionError."""
        ...


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """A way to hold commands. What it promises here is not believed: the probe tries to get out of it.

    `maker`: where the function is that makes its Confinement of Parts (`linux/confinement`), as "module:function"; it
    raises ToolExecutionError with the reason where this machine cannot have it. `system`: as sys.platform has it.
    `opens_hosts`: it can open the network for single hosts. `inspects`: it can run a command that changes nothing.
    `closes_names`: it closes single names within the project, and folders. `follows_names`: names are resolved while
    other commands may change them. `keeps_modes`: commands cannot change the permissions of files outside.
    `has_namespaces`: a command is in namespaces of its own.
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
    # a machine of the command's own, made by ourselves
    "namespaces": Backend(maker=_LINUX, opens_hosts=True, inspects=True, has_namespaces=True),
    # the same, made by that program
    "bubblewrap": Backend(maker=_LINUX, opens_hosts=True, inspects=True, has_namespaces=True, follows_names=True),
    # this machine, with rules on files and system calls
    "landlock": Backend(maker=_LINUX, inspects=True, closes_names=False, keeps_modes=False),
    # the same on macOS
    "seatbelt": Backend(maker="localllm.sandbox.macos.seatbelt:make", system="darwin"),
}
"""All back ends, of each system the best first; a new one is a line here."""

_SYSTEM = "darwin" if sys.platform == "darwin" else "linux"

LEVELS: tuple[Level, ...] = tuple(name for name, backend in BACKENDS.items() if backend.system == _SYSTEM)
"""Those of this system, the best first."""
