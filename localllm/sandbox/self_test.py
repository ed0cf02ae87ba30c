"""Test on this machine what commands must not be able to do, and what they must.

Everything they try to reach is created for the purpose: a file, a secret, a process, listeners, a project. Only what is
visible from outside afterwards counts.
"""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.environment import base_interpreter
from localllm.sandbox.backend import LEVELS, Level
from localllm.sandbox.runner import CommandResult, SandboxRunner
from localllm.sandbox.scratch import Scratch

_PATIENCE = 20.0  # seconds; usually hundredths of one
_HIDDEN_WORDS = "what nobody may read"
_KEPT = "unchanged"

Kind = Literal["forbidden", "needed"]


class Attempt(msgspec.Struct, frozen=True):
    """One attempt. It is `ok` if something `forbidden` was prevented, or something `needed` worked.

    `name`: its key in `_FORBIDDEN` or `_NEEDED`.
    """

    name: str
    kind: Kind
    ok: bool


async def attempts(levels: Sequence[Level] = LEVELS) -> list[Attempt]:
    """Make all attempts, in a project created for them, at the best level that works. Raises as SandboxRunner.run
    does."""
    with _Stage(levels) as stage:
        forbidden = [Attempt(name, "forbidden", await check(stage)) for name, check in _FORBIDDEN.items()]
        needed = [Attempt(name, "needed", await check(stage)) for name, check in _NEEDED.items()]
        return [*forbidden, *needed]


class _Stage:
    """A project, and around it what a command must not reach."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self._scratch = Scratch({})
        self.project = self._scratch.folder / "project"
        self.outside = self._scratch.folder / "outside"
        self.state = self._scratch.folder / "state"
        self._runner = SandboxRunner(self.project, state_folder=self.state, levels=levels)
        self._stack = ExitStack()

    def __enter__(self) -> "_Stage":
        for folder in (self.project, self.outside, self.state, self.project / ".git" / "hooks"):
            folder.mkdir(parents=True)
        self.file = self.outside / "file"
        self.file.write_text(_KEPT)
        self.file.chmod(0o600)
        self.secret = self.state / "secret"
        self.secret.write_text(_HIDDEN_WORDS)
        self.tcp = self._listener(socket.create_server(("127.0.0.1", 0)))
        self.udp = self._listener(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.unix = self._listener(socket.socket(socket.AF_UNIX))
        self.unix.bind(str(self.outside / "socket"))
        self.unix.listen()
        self.victim = subprocess.Popen(
            [base_interpreter(), "-I", "-S", "-c", "input()", _HIDDEN_WORDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"API_KEY": _HIDDEN_WORDS},
        )
        return self

    def __exit__(self, *failure: object) -> None:
        self.victim.kill()
        self.victim.communicate()
        self._runner.close()
        self._stack.close()
        self._scratch.remove()

    def _listener(self, listener: socket.socket) -> socket.socket:
        listener.setblocking(False)  # noqa: FBT003 - by position only
        return self._stack.enter_context(listener)

    async def run(self, command: str) -> CommandResult:
        return await self._runner.run(command, cwd=self.project, timeout=_PATIENCE)

    async def prints(self, command: str) -> str:
        return (await self.run(command)).stdout


async def _writing(stage: _Stage) -> bool:
    await stage.run(f"echo more >> {stage.file}; rm -f {stage.file}; mv {stage.outside} {stage.outside}.moved")
    return stage.file.exists() and stage.file.read_text() == _KEPT


async def _attributes(stage: _Stage) -> bool:
    before = stage.file.stat()
    await stage.run(f"chmod 777 {stage.file}; touch -d 2001-01-01 {stage.file}")
    after = stage.file.stat()
    return (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)


async def _reading(stage: _Stage) -> bool:
    return _HIDDEN_WORDS not in await stage.prints(f"cat {stage.secret}")


async def _variables(stage: _Stage) -> bool:
    return _HIDDEN_WORDS not in await stage.prints(f"cat /proc/{stage.victim.pid}/environ")


async def _command_lines(stage: _Stage) -> bool:
    return _HIDDEN_WORDS not in await stage.prints(f"cat /proc/{stage.victim.pid}/cmdline")


async def _signals(stage: _Stage) -> bool:
    await stage.run(f"kill -9 {stage.victim.pid}")
    return stage.victim.poll() is None


async def _tcp(stage: _Stage) -> bool:
    await stage.run(f": > /dev/tcp/127.0.0.1/{stage.tcp.getsockname()[1]}")
    return not _is_called(stage.tcp)


async def _udp(stage: _Stage) -> bool:
    await stage.run(f"echo x > /dev/udp/127.0.0.1/{stage.udp.getsockname()[1]}")
    try:
        return not stage.udp.recv(16)
    except BlockingIOError:
        return True


async def _unix(stage: _Stage) -> bool:
    await stage.run(_python(f"import socket; socket.socket(socket.AF_UNIX).connect({stage.unix.getsockname()!r})"))
    return not _is_called(stage.unix)


async def _hooks(stage: _Stage) -> bool:
    hook = stage.project / ".git" / "hooks" / "pre-commit"
    await stage.run(f"echo 'touch ran' > {hook}; chmod +x {hook}")
    return not hook.exists()


async def _survivors(stage: _Stage) -> bool:
    mark = f"3{int.from_bytes(os.urandom(3), 'big'):08}"
    await stage.run(f"setsid sleep {mark} > /dev/null 2>&1 & disown; sleep 0.05")
    return not _runs(mark)


async def _files(stage: _Stage) -> bool:
    return (
        await stage.prints("echo works > made && cat made && f=$(mktemp) && echo too > $f && cat $f") == "works\ntoo\n"
    )


async def _servers(stage: _Stage) -> bool:
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); "
        "s.accept()[0].send(b'works'); print(c.recv(9).decode())"
    )
    return await stage.prints(_python(program)) == "works\n"


_FORBIDDEN: dict[str, Callable[[_Stage], Awaitable[bool]]] = {
    "write": _writing,
    "attributes": _attributes,
    "read": _reading,
    "variables": _variables,
    "command_lines": _command_lines,
    "signals": _signals,
    "tcp": _tcp,
    "udp": _udp,
    "unix": _unix,
    "hooks": _hooks,
    "survivors": _survivors,
}
_NEEDED: dict[str, Callable[[_Stage], Awaitable[bool]]] = {"files": _files, "servers": _servers}


def _python(program: str) -> str:
    return f"{shlex.quote(base_interpreter())} -I -S -c {shlex.quote(program)}"


def _is_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _runs(mark: str) -> bool:
    """Return whether a process has the mark in its command line."""
    if sys.platform != "linux":
        return bool(subprocess.run(["/usr/bin/pgrep", "-f", mark], capture_output=True, check=False).stdout)
    return any(mark.encode() in _read(entry) for entry in Path("/proc").glob("[0-9]*/cmdline"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
