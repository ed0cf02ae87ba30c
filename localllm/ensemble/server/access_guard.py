"""Control access to the server: token, host names, and allowed origins.

A page of any site can make its visitor's browser send requests to this machine, but cannot forge its Origin header; a
domain that it rebinds to this machine (DNS rebinding) shows in the Host header.
"""

import hmac
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import Scope

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.server.limits import header
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.refusals import RefusalError

OPEN_PATHS = frozenset({"/health"})
"""Paths that need no token: a load balancer has none, and they reveal nothing."""

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST_SHOWN = 100  # characters of a header in an error
_HOST = late_pattern(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]/@\s]+))(?::\d{1,5})?")
_READING = ("GET", "HEAD")


class AccessGuard:
    """Check requests by their headers. `open_paths`: paths besides OPEN_PATHS that need no token."""

    def __init__(self, options: ServerOptions, open_paths: frozenset[str] = frozenset()) -> None:
        self._hosts = HostNames(options)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in options.allowed_origins)
        self._token = options.token.encode()
        self._open_paths = OPEN_PATHS | open_paths

    def check_site(self, scope: Scope) -> str:
        """Return the origin of an allowed other site, empty for a request from no such page. Raises RefusalError for a
        foreign host name and for origins that are not allowed."""
        host = header(scope, b"host")
        if not self._hosts.has(host):
            raise RefusalError("api_foreign_host", status=403, host=host[:_LONGEST_SHOWN] or "—")
        origin = header(scope, b"origin")
        if origin.lower() in self._origins:
            return origin
        is_ours = _authority(origin) == host.lower() if origin else header(scope, b"sec-fetch-site") != "cross-site"
        is_link = not origin and scope["method"] in _READING and header(scope, b"sec-fetch-dest") == "document"
        if not is_ours and not is_link and scope["path"] not in OPEN_PATHS:
            raise RefusalError("api_foreign_origin", status=403, origin=origin[:_LONGEST_SHOWN] or "—")
        return ""

    def check_token(self, scope: Scope) -> None:
        """Raise RefusalError if the request needs the token and lacks it."""
        if not self._token or scope["path"] in self._open_paths:
            return
        kind, _, given = header(scope, b"authorization").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), self._token)
        if kind.lower() != "bearer" or not is_right:
            raise RefusalError(
                "api_no_token", status=401, headers={"www-authenticate": "Bearer"}, name="invalid_api_key"
            )


class HostNames:
    """The host names of a server.

    Bound to the loopback: localhost and its addresses. Otherwise also every IP address (it cannot be rebound) and this
    machine's own names. The port is ignored, since it may have been forwarded.
    """

    def __init__(self, options: ServerOptions) -> None:
        self._takes_addresses = not _is_loopback(options.host)
        self._names = _LOOPBACK_NAMES | {options.host.lower(), *(name.lower() for name in options.allowed_hosts)}
        if self._takes_addresses:
            own = socket.gethostname().lower()
            self._names |= {own, own.partition(".")[0], f"{own.partition('.')[0]}.local"}

    def has(self, host: str) -> bool:
        """Whether a Host header is one of them."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).lower().rstrip(".")
        return name in self._names or (self._takes_addresses and _is_address(name))


def _authority(origin: str) -> str:
    """Return host and port of an origin in lower case; empty for an invalid one, such as "null"."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
