"""Bind the server's port before anything else is created; identify the server at an occupied port."""

import asyncio
import errno
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.i18n import _
from localllm.config.schema import LLMSettings
from localllm.llm.addresses import is_loopback
from localllm.llm.discovery.scan import Visit
from localllm.llm.discovery.servers import Candidate, Server

_BACKLOG = 2_048
_SECONDS_TO_ANSWER = 2.0
_NEXT_PORTS = 20
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - whoever listens everywhere is asked here


class PortTakenError(LocalLLMError):
    """E1121: the port is in use."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket listening at `host` and `port`; 0 is any free port.

    Raises PortTakenError without the other server's identity (see `who_answers`), ConfigurationError for a host or port
    that cannot be used.
    """
    family, address = _resolved(host, port)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two programs share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError("ensemble_port_taken", address=shown(host, port), who="", free=0) from error
        key = "ensemble_port_forbidden" if error.errno == errno.EACCES else "ensemble_bad_host"
        reason = os.strerror(error.errno or errno.EIO)
        raise ConfigurationError(key, host=host, port=port, reason=reason) from error
    listening.setblocking(False)  # noqa: FBT003 - it has no name
    return listening


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Resolve a host, preferring IPv4."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", "") or str(error)
        raise ConfigurationError("ensemble_bad_host", host=host, port=port, reason=reason) from error
    family, _type, _protocol, _name, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, (str(address[0]), int(address[1]))


def url_of(listening: socket.socket) -> str:
    """Return the URL of the socket for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    return f"http://{shown(_ANY.get(host, str(host)), port)}"


def shown(host: str, port: int) -> str:
    """host:port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_private(host: str) -> bool:
    """Whether a server at `host` is reachable only from this machine."""
    return is_loopback(f"[{host}]" if ":" in host else host)


async def who_answers(taken: PortTakenError, host: str, port: int, environ: Mapping[str, str]) -> PortTakenError:
    """Return the error with the identity of the server at the port, and a free port."""
    address = shown(_ANY.get(host, host), port)
    visit = Visit(Candidate(base_url=f"http://{address}", provider="openai"), LLMSettings(), environ)
    found = visit.unfinished(_SECONDS_TO_ANSWER)
    with suppress(TimeoutError):
        found = await asyncio.wait_for(visit.look(), _SECONDS_TO_ANSWER)
    free = next((other for other in range(port + 1, port + 1 + _NEXT_PORTS) if _is_free(host, other)), 0)
    return PortTakenError("ensemble_port_taken", address=taken.params["address"], who=_described(found), free=free)


def _described(found: Server) -> str:
    match found.state:
        case "foreign" if found.software:
            return _("a localllm ensemble server, which can be used as it is")
        case "foreign":
            return found.detail
        case "locked":
            return _("a server that needs a key")
        case "ready" | "empty":
            return found.software or _("an OpenAI-compatible server")
        case "silent" | "absent":
            return _("a program that does not identify itself")


def _is_free(host: str, port: int) -> bool:
    try:
        listen(host, port).close()
    except (LocalLLMError, OverflowError):
        return False
    return True
