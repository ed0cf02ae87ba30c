"""Fork commands from a process with the launcher loaded. Runs like it: standard library only, one thread.

So a command costs a fork and not the start of an interpreter. The process ends when the assistant does.
"""

import array
import gc
import marshal
import os
import select
import socket
from contextlib import suppress

from localllm.sandbox.launcher import main
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.launcher.syscalls import Kernel

DESCRIPTORS = 6
"""With each request: the order (a file with a spec as marshal data), stdout, stderr, live, status, and report.

A seventh, if there is one, is the spec's `gate_fd`.
"""

_MOST_REQUEST = 16  # bytes; it only matters that there are some
_INTEGER = array.array("i").itemsize
_ROOM = socket.CMSG_SPACE((DESCRIPTORS + 1) * _INTEGER)


def serve(fd: int) -> None:
    """Handle requests from the socket `fd` until its other end is closed. Does not return.

    Two lines are written to a request's report: the process id, by the process itself before anything else; then its
    exit status. If the report ends without the first, nothing was run; without the second, this process has ended.
    """
    gc.freeze()  # or every child would scan what is loaded, and so copy its pages
    try:
        _Server(socket.socket(fileno=fd)).serve()
    finally:
        os._exit(1)


class _Server:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._kernel = Kernel()
        self._poller = select.poll()
        self._poller.register(requests, select.POLLIN)
        self._children: dict[int, tuple[int, int]] = {}  # pidfd → process id, report

    def serve(self) -> None:
        while True:
            for fd, _ in self._poller.poll():
                if fd in self._children:
                    self._report(fd)
                elif not self._take():
                    os._exit(0)

    def _take(self) -> bool:
        """Handle one request; return whether there may be more."""
        request, descriptors = self._receive()
        try:
            if len(descriptors) in (DESCRIPTORS, DESCRIPTORS + 1):
                self._fork(descriptors)
        finally:
            for fd in descriptors:
                os.close(fd)
        return bool(request)

    def _receive(self) -> tuple[bytes, list[int]]:
        request, ancillary, _, _ = self._requests.recvmsg(_MOST_REQUEST, _ROOM, socket.MSG_CMSG_CLOEXEC)
        received = array.array("i")
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received.frombytes(data[: len(data) // _INTEGER * _INTEGER])
        return request, list(received)

    def _fork(self, descriptors: list[int]) -> None:
        try:
            pid = os.fork()
        except OSError:
            return  # the report ends: the assistant then starts it itself
        if not pid:
            self._become_a_launcher(*descriptors)
        child = os.pidfd_open(pid)
        self._children[child] = (pid, os.dup(descriptors[DESCRIPTORS - 1]))
        self._poller.register(child, select.POLLIN)

    def _become_a_launcher(
        self, order: int, stdout: int, stderr: int, live: int, status: int, report: int, gate: int = -1
    ) -> None:
        try:
            os.write(report, f"{os.getpid()}\n".encode())
            os.setsid()
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            with open(order, "rb", closefd=False) as file:
                spec = LaunchSpec(**marshal.load(file))  # noqa: S302 - from the assistant, through memory
            spec.live_fd, spec.status_fd, spec.gate_fd = live, status, gate
            for fd in (order, stdout, stderr, report, self._requests.fileno(), *self._children):
                os.close(fd)
            for _, other in self._children.values():
                os.close(other)
            main.main(spec, self._kernel)
        finally:
            os._exit(main.NOT_RUN)

    def _report(self, child: int) -> None:
        """Report how a child ended."""
        pid, report = self._children.pop(child)
        self._poller.unregister(child)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(report, f"{status}\n".encode())
        os.close(child)
        os.close(report)
