"""Confine a command on Linux, with a bridge to the proxy."""

import asyncio
import fcntl
import os
import socket
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.sandbox.backend import NO_CARE, Level, Surroundings
from localllm.sandbox.environment import Visibility, variables
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from localllm.sandbox.launcher.listener import PORT
from localllm.sandbox.launcher.spec import END, GO_ON, NOTHING, STOP, LaunchSpec
from localllm.sandbox.linux import seccomp
from localllm.sandbox.linux.bundle import Bundle, launcher_arguments
from localllm.sandbox.linux.fork_client import Forked, ForkServer, readable
from localllm.sandbox.network.hosts import NetworkHosts
from localllm.sandbox.network.proxy import Contact, Proxy
from localllm.sandbox.process import Ending, Excess, Running, as_argument, execute
from localllm.sandbox.scratch import Scratch

_ADDRESS = f"http://127.0.0.1:{PORT}"
_LOOPBACK = "localhost,127.0.0.1,::1"  # the command's own servers

VARIABLES = {
    **{name: _ADDRESS for low in ("http_proxy", "https_proxy") for name in (low, low.upper())},
    **dict.fromkeys(("no_proxy", "NO_PROXY"), _LOOPBACK),
    "NODE_USE_ENV_PROXY": "1",
}
"""Variables that make a command's programs use the proxy."""


class Gate:
    """The bridge of one command to the proxy. `inner_end`: the launcher's socket, closed by its starter."""

    def __init__(self, hosts: NetworkHosts) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.inner_end = theirs.detach()
        self._ours = ours
        self._proxy = Proxy(hosts, on_received=hosts.count_received)
        self._opening: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def contacts(self) -> Sequence[Contact]:
        """The hosts that were requested, with the results."""
        return self._proxy.contacts

    def open(self) -> None:
        """Serve what the started launcher hands out. Call it in the event loop."""
        if not self._closed:
            self._opening = asyncio.ensure_future(self._open())
            self._opening.add_done_callback(self._opened)

    def close(self) -> None:
        """Close the connections of the ended command, in the event loop where it was opened."""
        if self._closed:
            return
        self._closed = True
        self._proxy.close()
        if self._opening:
            self._opening.cancel()
        else:
            self._ours.close()

    def _opened(self, opening: "asyncio.Task[None]") -> None:
        self._ours.close()  # not earlier: the event loop was watching it
        if not opening.cancelled() and (failure := opening.exception()):
            logs.of("SANDBOX").warning("the command has no way to the network: %s", failure)

    async def _open(self) -> None:
        self._ours.setblocking(False)  # noqa: FBT003 - positional only
        await readable(self._ours.fileno())
        _, descriptors, _, _ = socket.recv_fds(self._ours, 16, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            logs.of("SANDBOX").warning("the command was started without its way to the network")
            return
        await self._proxy.serve(socket.socket(fileno=descriptors[0]))


NO_HOSTS = NetworkHosts()
_MOST_STATUS = 4096  # bytes that a pipe accepts at once


class Parts(msgspec.Struct, frozen=True):
    """Parts of a confinement on every system: the level, the project's `root`, what commands see, the
    `hosts` they may reach; and for Linux the launcher's code and the fork server."""

    level: Level
    root: Path
    visibility: Visibility
    bundle: Bundle
    server: ForkServer | None = None
    hosts: NetworkHosts = NO_HOSTS


class LinuxConfinement:
    """Launches commands that may change `root` and a scratch folder, and see what `visibility` permits.

    `server`: the fork server to use if possible. `level`: how commands are confined. `hosts`: what
    they may reach, if the level gives them their own network; else nothing.
    """

    def __init__(
        self,
        bundle: Bundle,
        root: Path,
        visibility: Visibility,
        server: ForkServer | None = None,
        *,
        level: Level = "landlock",
        hosts: NetworkHosts = NO_HOSTS,
    ) -> None:
        self._bundle = bundle
        self._level: Level = level
        self._hosts = NO_HOSTS if level == "landlock" else hosts
        self._server = server
        self._filters: dict[int, bytes] = {}
        self._root = root
        self._visibility = visibility

    def _call_filter(self) -> bytes:
        """Return the filter that protects this process and the fork server."""
        server = 0
        if self._server:
            with suppress(OSError):  # reported when the command is started
                self._server.start()
            server = self._server.pid
        if server not in self._filters:
            guarded = [os.getpid(), -os.getpgrp(), *([server, -server] if server else [])]
            has_namespaces = self._level != "landlock"  # in which these have other numbers
            made = seccomp.program(os.uname().machine, [] if has_namespaces else guarded, has_namespaces=has_namespaces)
            self._filters = {server: made}
        return self._filters[server]

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
    ) -> "ConfinedLaunch":
        """Create a launch of `command` in `folder`. `environment`: the user's; `read_only`: it may change only
        its scratch folder. `disk`: byte limit. Raises ToolExecutionError."""
        names = variables(environment, offline=not self._hosts, **scratch.variables)
        if self._hosts:
            names |= VARIABLES
        spec = LaunchSpec(
            command=as_argument(command),
            folder=str(folder),
            environment={os.fsencode(name): os.fsencode(value) for name, value in names.items()},
            writable=[*([] if read_only else [str(self._root)]), str(scratch.folder)],
            hidden=[str(path) for path in self._visibility.hidden],
            shown=[*map(str, self._visibility.shown), *([str(self._root)] if read_only else [])],
            scratch=str(scratch.folder),
            call_filter=self._call_filter(),
            level=self._level,
            private=[str(path) for path in self._visibility.private],
            pinned=list(surroundings.pinned),
            held=list(surroundings.held),
            masked=list(surroundings.masked),
            copies=dict(surroundings.copies),
            present=list(surroundings.present),
            record=surroundings.record,
            links={name: str(target) for name, target in self._visibility.links.items()},
            disk=disk,
            again=(launcher_arguments(), self._bundle.code) if self._level == "bubblewrap" else ([], b""),
        )
        return ConfinedLaunch(self._bundle, spec, self._server, Gate(self._hosts) if self._hosts else None)


def make(parts: Parts) -> LinuxConfinement:
    """Create the confinement for any level of Linux. Raises ToolExecutionError if bubblewrap is missing."""
    if parts.level == "bubblewrap" and not find_bwrap():
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("bwrap is not installed"))
    return LinuxConfinement(
        parts.bundle, parts.root, parts.visibility, parts.server, level=parts.level, hosts=parts.hosts
    )


class ConfinedLaunch:
    """A launcher, forked if there is a server for it, else executed, and our ends of its pipes.

    When these are closed (also when this process ends), the supervisor kills everything at once.
    """

    folder = Path("/")
    environment: Mapping[str, str] = {}

    def __init__(
        self, bundle: Bundle, spec: LaunchSpec, server: ForkServer | None = None, gate: Gate | None = None
    ) -> None:
        spec.live_fd, live = os.pipe()
        status, spec.status_fd = os.pipe()
        self._bundle = bundle
        self._spec = spec
        self._server = server
        self._forked: Forked | None = None
        self._gate = gate
        self._theirs, self._live, self._status = [spec.live_fd, spec.status_fd], [live], [status]
        if gate:
            spec.gate_fd = gate.inner_end
            self._theirs.append(gate.inner_end)

    async def start(self, stdout: int, stderr: int) -> Running:
        if self._server:
            self._forked = await self._server.fork(self._spec, stdout, stderr, self._status[0])
        if not self._forked:
            return await execute(self, stdout, stderr)
        self.started(self._forked.pid)
        return self._forked

    @property
    def arguments(self) -> Sequence[str]:
        return launcher_arguments(self._order)

    @property
    def inherited(self) -> Sequence[int]:
        order = self._order
        return (order, *(fd for fd in self._theirs if fd != order))

    @cached_property
    def _order(self) -> int:
        order = self._bundle.open(self._spec)
        self._theirs.append(order)
        return order

    def started(self, pid: int) -> None:
        _close(self._theirs)
        if self._gate:
            self._gate.open()

    def ask_to_end(self) -> None:
        self._request(END)

    def stop(self) -> None:
        self._request(STOP + NOTHING)

    def go_on(self) -> None:
        self._request(GO_ON)

    @property
    def has_complied(self) -> bool:
        return not any(_unread(live) for live in self._live)

    def _request(self, request: bytes) -> None:
        for live in self._live:
            with suppress(BrokenPipeError):
                os.write(live, request)

    def kill(self) -> None:
        _close(self._live)
        if self._gate:
            self._gate.close()

    def ending(self, exit_status: int) -> Ending:
        said = os.read(self._status[0], _MOST_STATUS).decode("utf-8", "replace")
        match said.split():
            case ["ended", code, left, *excess]:
                contacts = tuple(self._gate.contacts) if self._gate else ()
                return Ending(int(code), msgspec.convert("".join(excess), Excess), contacts, left == "1")
            case ["failed", *_]:
                reason = said.partition("\n")[0].removeprefix("failed ")
                raise ToolExecutionError("command_failed_to_start", reason=reason)
            case _:
                raise ToolExecutionError("command_lost", status=exit_status)

    def close(self) -> None:
        if self._forked:
            self._forked.close()
        if self._gate:
            self._gate.close()
        for fds in (self._theirs, self._live, self._status):
            _close(fds)


def _unread(pipe: int) -> int:
    """Return how many bytes of a pipe have not been read."""
    room = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, room)
    return int.from_bytes(room, sys.byteorder)


def _close(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())
