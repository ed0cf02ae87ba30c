"""Client of the fork server: start it, request processes, and replace it when it has died."""

import asyncio
import os
import select
import socket
import subprocess
import weakref
from contextlib import suppress

from localllm.base import logs
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.linux.bundle import Bundle, launcher_arguments, open_order

_REQUEST = b"fork"
_PATIENCE = 20.0  # seconds for what takes a few milliseconds
_MOST_REPORT = 64  # bytes: two numbers
_LOST = -9  # exit status if nobody can report it


class ForkServer:
    """The process from which commands are forked. Used by one event loop at a time.

    If it does not answer for `patience` seconds it is taken to hang, and killed.
    """

    def __init__(self, bundle: Bundle, patience: float = _PATIENCE) -> None:
        self._bundle = bundle
        self._patience = patience
        self._server: _Server | None = None

    @property
    def pid(self) -> int:
        """Its process id, or 0 if there is none."""
        return self._server.pid if self._server else 0

    def start(self) -> None:
        """Start it unless it runs, in some 2 ms; it accepts requests before it is ready. Raises OSError."""
        self._running()

    def _running(self) -> "_Server":
        if self._server and not self._server.is_running:
            self.close()
        if not self._server:
            self._server = _Server(self._bundle)
        return self._server

    def close(self) -> None:
        """Stop it. Running commands continue."""
        if self._server:
            self._server.end()
        self._server = None

    async def fork(self, spec: LaunchSpec, stdout: int, stderr: int, status: int) -> "Forked | None":
        """Fork a process that runs the launcher with `spec`; None on failure, in which case nothing was run.

        `status` is our end of the pipe whose other end is in `spec`.
        """
        try:
            server = self._running()
            forked = Forked(server, _request(server, spec, stdout, stderr), status, self._patience)
        except OSError as error:
            logs.of("SANDBOX").warning("the fork server cannot be asked: %s", error)
            self.close()
            return None
        try:
            if await forked.has_begun():
                return forked
        except asyncio.CancelledError:
            forked.close()
            raise
        forked.close()
        logs.of("SANDBOX").warning("the fork server did not answer")
        self.close()
        return None


class _Server:
    """One server process, from start to end."""

    def __init__(self, bundle: Bundle) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = bundle.open_server()
        try:
            self._process = _start(code, theirs.fileno())
        except OSError:
            ours.close()
            raise
        finally:
            os.close(code)
            theirs.close()
        ours.setblocking(False)  # noqa: FBT003 - positional only
        self._requests = ours
        self.pid = self._process.pid
        self.end = weakref.finalize(self, _end, self._process, ours)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()

    def ask(self, *descriptors: int, gate: int = -1) -> int:
        """Request a process (see `fork_server`); return the descriptor of its report. Raises OSError."""
        report, theirs = os.pipe()
        try:
            socket.send_fds(self._requests, [_REQUEST], [*descriptors, theirs, *([gate] if gate >= 0 else [])])
        except OSError:
            os.close(report)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(report, False)
        return report


def _request(server: _Server, spec: LaunchSpec, stdout: int, stderr: int) -> int:
    """Request a process for `spec`; return the descriptor of its report. Raises OSError."""
    order = open_order(spec)
    try:
        return server.ask(order, stdout, stderr, spec.live_fd, spec.status_fd, gate=spec.gate_fd)
    finally:
        os.close(order)


def _start(code: int, requests: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        launcher_arguments(code, requests),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        pass_fds=(code, requests),
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]", requests: socket.socket) -> None:
    requests.close()
    process.kill()
    process.wait()


class Forked:
    """A forked launcher."""

    def __init__(self, server: _Server, report: int, status: int, patience: float) -> None:
        self.pid = 0
        self._server = server
        self._report = report
        self._status = status
        self._patience = patience
        self._lines = b""

    async def has_begun(self) -> bool:
        """Return whether it was started; if not, it never will be."""
        told = await self._told(1)
        if told:
            self.pid = int(told[0])
        return bool(told)

    async def wait(self) -> int:
        """Wait until it has ended all its processes; return its exit status, 0 if it has reported the
        outcome already and is exiting. The end of the server does not affect it."""
        await readable(self._status)
        if _has_words(self._status):
            return 0  # removing namespaces takes the kernel milliseconds in which nothing runs
        told = await self._told(2)
        return int(told[1]) if told[1:] else _LOST

    async def _told(self, count: int) -> list[bytes]:
        """Return `count` lines of the report, or fewer if it has ended. A server that hangs is killed."""
        while self._lines.count(b"\n") < count:
            try:
                async with asyncio.timeout(self._patience):
                    await readable(self._report)
            except TimeoutError:
                self._server.kill()
                continue
            data = os.read(self._report, _MOST_REPORT)
            if not data:
                break
            self._lines += data
        return self._lines.splitlines()

    def close(self) -> None:
        """Close the report."""
        if self._report >= 0:
            os.close(self._report)
            self._report = -1


def _has_words(pipe: int) -> bool:
    """Return whether the pipe holds data, and not only its end."""
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(0))


async def readable(fd: int) -> None:
    """Wait until `fd` is readable, or at its end."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(fd, _set, ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


def _set(ready: "asyncio.Future[None]") -> None:
    with suppress(asyncio.InvalidStateError):
        ready.set_result(None)
