"""A command's way to the network, from its start to its end: the socket comes from inside, the proxy serves it here."""

import asyncio
import socket
from collections.abc import Sequence

from localllm.base import logs
from localllm.sandbox.launcher.listener import PORT
from localllm.sandbox.linux.fork_client import readable
from localllm.sandbox.network.hosts import NetworkHosts
from localllm.sandbox.network.proxy import Contact, Proxy

_ADDRESS = f"http://127.0.0.1:{PORT}"
_LOOPBACK = "localhost,127.0.0.1,::1"  # the command's own servers

VARIABLES = {
    **{name: _ADDRESS for low in ("http_proxy", "https_proxy") for name in (low, low.upper())},
    **dict.fromkeys(("no_proxy", "NO_PROXY"), _LOOPBACK),
    "NODE_USE_ENV_PROXY": "1",
}
"""What tells a command's programs of the proxy."""


class Gate:
    """Of one command. `inner_end` is the launcher's end of a socket; whoever starts that closes it here."""

    def __init__(self, hosts: NetworkHosts) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.inner_end = theirs.detach()
        self._ours = ours
        self._proxy = Proxy(hosts)
        self._opening: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def contacts(self) -> Sequence[Contact]:
        """What was asked for, and what came of it."""
        return self._proxy.contacts

    def open(self) -> None:
        """The launcher was started: serve what it hands out. In the event loop."""
        if not self._closed:
            self._opening = asyncio.ensure_future(self._open())
            self._opening.add_done_callback(self._opened)

    def close(self) -> None:
        """The command has ended: so do its connections. In the event loop, where it was opened."""
        if self._closed:
            return
        self._closed = True
        self._proxy.close()
        if self._opening:
            self._opening.cancel()
        else:
            self._ours.close()

    def _opened(self, opening: "asyncio.Task[None]") -> None:
        self._ours.close()  # not before: the event loop was looking at it
        if not opening.cancelled() and (failure := opening.exception()):
            logs.of("SANDBOX").warning("the command has no way to the network: %s", failure)

    async def _open(self) -> None:
        self._ours.setblocking(False)  # noqa: FBT003 - by position only
        await readable(self._ours.fileno())
        _, descriptors, _, _ = socket.recv_fds(self._ours, 16, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            logs.of("SANDBOX").warning("the command was started without its way to the network")
            return
        await self._proxy.serve(socket.socket(fileno=descriptors[0]))
