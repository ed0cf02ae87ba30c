"""Offline mode: connect only to this machine and to servers the user has named in their own network.

It is enforced below all clients: Python reports every connection and name lookup to `sys.addaudithook` before it
happens, so that no client can forget to check. Only libraries in other languages that open sockets without Python are
not reported: their callers check `is_on` first.
"""

import errno
import socket
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from localllm.base.i18n import Phrase

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKING_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_WITHIN_THE_MACHINE = ("AF_UNIX", "AF_NETLINK", "AF_VSOCK", "AF_ALG")
"""Socket families within the machine; not every system has all of them."""

_OWN_NETWORK = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
"""Private, link-local and unique local addresses (RFC 1918, 3927, 4193, 4291)."""

_NOBODYS = ("169.254.169.0/24", "169.254.170.0/24", "fd00:ec2::254/128")
"""Of these, addresses of cloud metadata services, which serve secrets (169.254.169.254; 169.254.170.2 and the last are
Amazon's). Other link-local addresses are those of directly connected machines, or of a container's host."""

_PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379}


_Kind = TypeVar("_Kind", bound=OSError)


class OfflineError(OSError):
    """`place` is not reached, for this `reason`."""

    def __init__(self, place: str, reason: Phrase) -> None:
        super().__init__(str(Phrase("offline, {place} is not reached: {reason}", place=place, reason=reason)))
        self.place = place
        self.reason = reason


class NotOwnNetworkError(OSError):
    """`place` is not reached: see `own_network_only`.
    All have the same text, as asyncio names none of several differing causes."""

    def __init__(self, place: str) -> None:
        super().__init__(errno.EACCES, "not in your own network")
        self.place = place


def offline_error_in(error: BaseException | None) -> OfflineError | None:
    """Return the OfflineError in the causes of `error`, or None."""
    return _error_in(error, OfflineError)


def not_own_network_error_in(error: BaseException | None) -> NotOwnNetworkError | None:
    """Return the NotOwnNetworkError in the causes of `error`, or None."""
    return _error_in(error, NotOwnNetworkError)


def _error_in(error: BaseException | None, kind: type[_Kind]) -> _Kind | None:
    while error is not None and not isinstance(error, kind):
        if isinstance(error, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", error)
            found = (_error_in(each, kind) for each in group.exceptions)
            return next((each for each in found if each), None)
        error = error.__cause__ or error.__context__
    return error


class Guard:
    """Judges reported socket events. `named`: server addresses as named by the user; those in the user's own network
    may be reached, and the names among them looked up."""

    def __init__(self, named: Iterable[str]) -> None:
        self._named = frozenset(place for address in named if (place := _place(address)))
        self._led: set[tuple[str, int]] = set()
        """Addresses that the names in `_named` have resolved to, with their ports."""

    @property
    def places(self) -> tuple[str, ...]:
        """The named servers besides this machine: host:port."""
        return tuple(sorted(_shown(host, port) for host, port in self._named if not _is_here(host)))

    def name(self, address: str) -> None:
        """Add an address named by the user."""
        if place := _place(address):
            self._named |= {place}

    def is_named(self, address: str) -> bool:
        """Return whether the user has named an address, or it is this machine."""
        place = _place(address)
        return place is not None and (place in self._named or _is_here(place[0]))

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise OfflineError for a forbidden connection or lookup."""
        if (place := _connected_to(event, arguments)) is not None:
            self._judge_connection(*place)
        elif event in _LOOKING_UP:
            self._judge_name(_spelt(arguments[0][0] if event == "socket.getnameinfo" else arguments[0]))

    def admitted(self, name: object, addresses: Iterable[str]) -> frozenset[str]:
        """Return those of the `addresses` of a lookup of `name` that may be connected to.
        Raises OfflineError if the user has named `name` but none of them is allowed."""
        host, all_of_it = _spelt(name), frozenset(addresses)
        ports = {port for named, port in self._named if named == host}
        near = frozenset(address for address in all_of_it if _is_here(address) or _is_private(address))
        if ports and not near:
            raise OfflineError(host, Phrase("it does not resolve to this machine or your own network"))
        self._led |= {(_plain(address), port) for address in near for port in ports}
        return near if ports else all_of_it

    def _judge_connection(self, host: str, port: int) -> None:
        if _is_here(host):
            return
        if not _is_private(host):
            raise OfflineError(_shown(host, port), Phrase("it is not in your own network"))
        if (_plain(host), port) not in self._named | self._led:
            reason = Phrase("you have not named it yourself (in your own settings, a variable or on the command line)")
            raise OfflineError(_shown(host, port), reason)

    def _judge_name(self, name: str) -> None:
        is_known = name in ("", "localhost") or any(name == host for host, _ in self._named)
        if not is_known and _parsed(name) is None:
            raise OfflineError(name, Phrase("only names that you have given yourself are looked up"))


class _Process:
    """The guard of this process, and whether the audit hook is installed: hooks cannot be removed."""

    guard: Guard | None = None
    is_hooked = False


def switch_on(named: Iterable[str]) -> None:
    """Switch offline mode on; see Guard. A further call replaces the named servers."""
    if not _Process.guard:
        _filter_lookups()
    _Process.guard = Guard(named)
    _hook()


def name_address(address: str) -> None:
    """Allow an address that the user names after the start, if it is in their own network."""
    if _Process.guard:
        _Process.guard.name(address)


def is_on() -> bool:
    """Return whether the program is offline."""
    return _Process.guard is not None


def is_named(address: str) -> bool:
    """Return whether the user's settings allow an address: this machine, named servers, or any if not offline."""
    return _Process.guard is None or _Process.guard.is_named(address)


def named_places() -> tuple[str, ...]:
    """Return the named servers besides this machine, as far as they are in the user's own network."""
    return _Process.guard.places if _Process.guard else ()


@contextmanager
def own_network_only() -> Generator[None]:
    """Connect only to this machine and the own network (`is_own_address`), without proxies.
    Applies to this context and the tasks started in it. Raises NotOwnNetworkError for others."""
    _hook()
    token = _own_network_only.set(True)
    try:
        yield
    finally:
        _own_network_only.reset(token)


def is_direct() -> bool:
    """Return whether proxies are forbidden: they could forward to hosts that must not be reached."""
    return is_on() or _own_network_only.get()


def is_own_address(host: str) -> bool:
    """Return whether `host` is an IP address of this machine or of the user's own network, where servers may run. False
    for names."""
    from ipaddress import ip_network

    parsed = _parsed(host)
    is_nobodys = parsed is not None and any(parsed in ip_network(network) for network in _NOBODYS)
    return parsed is not None and (parsed.is_loopback or _is_private(host)) and not is_nobodys


_own_network_only: ContextVar[bool] = ContextVar("own_network_only", default=False)


def _hook() -> None:
    if not _Process.is_hooked:
        _Process.is_hooked = True
        sys.addaudithook(_judge)


def _judge(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if _Process.guard:
        _Process.guard.judge(event, arguments)
    if _own_network_only.get() and (place := _connected_to(event, arguments)) and not is_own_address(place[0]):
        raise NotOwnNetworkError(_shown(*place))


def _connected_to(event: str, arguments: tuple[Any, ...]) -> tuple[str, int] | None:
    """Return host and port of a reported connection, None for other events and connections within the machine."""
    if event not in _CONNECTING:
        return None
    place, family = arguments[1], arguments[0].family
    if place is None or any(family == getattr(socket, name, None) for name in _WITHIN_THE_MACHINE):
        return None
    return _spelt(place[0]), place[1]


def _filter_lookups() -> None:
    """Replace `socket.getaddrinfo` by one that filters its results and records them as reachable."""
    look_up = socket.getaddrinfo

    def filtered(host: Any, *arguments: Any, **options: Any) -> list[Any]:
        found = look_up(host, *arguments, **options)
        if _Process.guard is None:
            return found
        admitted = _Process.guard.admitted(host, (str(entry[4][0]) for entry in found))
        return [entry for entry in found if str(entry[4][0]) in admitted]

    socket.__dict__["getaddrinfo"] = filtered  # where asyncio and all others look it up


def _place(address: str) -> tuple[str, int] | None:
    """Parse host and port of an address with or without scheme; None if invalid."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = _spelt(parts.hostname or ""), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (_plain(host), port) if host else None


def _spelt(host: object) -> str:
    """Normalise a host for comparison: ASCII, in lower case, without a trailing dot."""
    if host is None:
        return ""
    text = bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    with suppress(UnicodeError):
        text = text.encode("idna").decode("ascii")
    return text.lower().removesuffix(".")


def _plain(host: str) -> str:
    """Normalise an IP address; any other host is returned unchanged."""
    parsed = _parsed(host)
    return host if parsed is None else str(parsed)


def _parsed(host: str) -> "IPv4Address | IPv6Address | None":
    """Parse an IP address, without its zone; an IPv4-mapped address as IPv4."""
    from ipaddress import IPv6Address, ip_address  # not needed unless offline

    try:
        parsed = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


def _is_here(host: str) -> bool:
    """Return whether it is this machine."""
    parsed = _parsed(host)
    return host == "localhost" if parsed is None else parsed.is_loopback


def _is_private(host: str) -> bool:
    """Return whether it is an address of the user's own network; False for names."""
    from ipaddress import ip_network

    parsed = _parsed(host)
    return parsed is not None and any(parsed in ip_network(network) for network in _OWN_NETWORK)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
