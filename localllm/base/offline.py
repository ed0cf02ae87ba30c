"""Offline: reach this machine and what the user has named in their own network, and nothing else.

It is decided below all clients: Python reports every connection and every look-up of a name to `sys.addaudithook`
before it is made, whoever makes it, so that no client can forget to ask. Only what opens sockets without Python, a
library written in another language, is not reported: whoever uses one asks `is_on` first.
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
"""Families of sockets, of which each system has some."""

_OWN_NETWORK = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
"""Private, link-local and unique local addresses (RFC 1918, 3927, 4193, 4291)."""

_NOBODYS = ("169.254.169.0/24", "169.254.170.0/24", "fd00:ec2::254/128")
"""Of these, where nobody sets up a server: what tells a cloud's machine its secrets (169.254.169.254; 169.254.170.2 and
the last are Amazon's). Other link-local addresses are those of two machines on a cable, or of a container's host."""

_PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379}


_Kind = TypeVar("_Kind", bound=OSError)


class OfflineError(OSError):
    """`place` is not reached, for this `reason`."""

    def __init__(self, place: str, reason: Phrase) -> None:
        super().__init__(str(Phrase("offline, {place} is not reached: {reason}", place=place, reason=reason)))
        self.place = place
        self.reason = reason


class NotOwnNetworkError(OSError):
    """`place` is not reached: see `own_network_only`. All have one text, for asyncio names none of several causes that
    differ in theirs."""

    def __init__(self, place: str) -> None:
        super().__init__(errno.EACCES, "not in your own network")
        self.place = place


def offline_error_in(error: BaseException | None) -> OfflineError | None:
    """The OfflineError that `error` is or was made of, None where it has another cause."""
    return _error_in(error, OfflineError)


def not_own_network_error_in(error: BaseException | None) -> NotOwnNetworkError | None:
    """The NotOwnNetworkError that `error` is or was made of, None where it has another cause."""
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
    """Judges what Python reports. `named`: the addresses of servers as the user has named them; those of the user's own
    network may be reached, and the names among them looked up."""

    def __init__(self, named: Iterable[str]) -> None:
        self._named = frozenset(place for address in named if (place := _place(address)))
        self._led: set[tuple[str, int]] = set()
        """What the names in `_named` have stood for when they were looked up, with their ports."""

    @property
    def places(self) -> tuple[str, ...]:
        """What has been named besides this machine: host:port."""
        return tuple(sorted(_shown(host, port) for host, port in self._named if not _is_here(host)))

    def name(self, address: str) -> None:
        """Count an address as named by the user from now on."""
        if place := _place(address):
            self._named |= {place}

    def is_named(self, address: str) -> bool:
        """Whether the user has named an address, or it is this machine."""
        place = _place(address)
        return place is not None and (place in self._named or _is_here(place[0]))

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise OfflineError for a connection or a look-up that is not to be made."""
        if (place := _connected_to(event, arguments)) is not None:
            self._judge_connection(*place)
        elif event in _LOOKING_UP:
            self._judge_name(_spelt(arguments[0][0] if event == "socket.getnameinfo" else arguments[0]))

    def admitted(self, name: object, addresses: Iterable[str]) -> frozenset[str]:
        """Those of the `addresses` that a look-up of `name` gave to which a connection may be made. Raises OfflineError
        where it is a name the user has named and there is none."""
        host, all_of_it = _spelt(name), frozenset(addresses)
        ports = {port for named, port in self._named if named == host}
        near = frozenset(address for address in all_of_it if _is_here(address) or _is_private(address))
        if ports and not near:
            raise OfflineError(host, Phrase("it stands for no address of this machine or of your own network"))
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
    """The guard of this process, and whether Python reports to it: a hook is for good."""

    guard: Guard | None = None
    is_hooked = False


def switch_on(named: Iterable[str]) -> None:
    """Be offline from now on; see Guard. Called again, what is named now is what counts."""
    if not _Process.guard:
        _filter_lookups()
    _Process.guard = Guard(named)
    _hook()


def name_address(address: str) -> None:
    """Let an address be reached that the user names after the start, if it is in their own network."""
    if _Process.guard:
        _Process.guard.name(address)


def is_on() -> bool:
    """Whether the program is offline."""
    return _Process.guard is not None


def is_named(address: str) -> bool:
    """Whether an address may be asked as far as that is the user's to say: this machine, and what they have named."""
    return _Process.guard is None or _Process.guard.is_named(address)


def named_places() -> tuple[str, ...]:
    """What may be reached besides this machine, as far as it turns out to be in the user's own network."""
    return _Process.guard.places if _Process.guard else ()


@contextmanager
def own_network_only() -> Generator[None]:
    """Within this, and in the tasks begun in it, reach no servers but those of this machine and the own network
    (`is_own_address`), by no proxy: who named them is not known. NotOwnNetworkError for others."""
    _hook()
    token = _own_network_only.set(True)
    try:
        yield
    finally:
        _own_network_only.reset(token)


def is_direct() -> bool:
    """Whether no proxy may be asked: it would pass on what we must not reach."""
    return is_on() or _own_network_only.get()


def is_own_address(host: str) -> bool:
    """Whether it is an IP address of this machine or of the user's own network, where servers are set up; no name
    is."""
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
    """Host and port of what is reported, None for what is no connection or stays within the machine."""
    if event not in _CONNECTING:
        return None
    place, family = arguments[1], arguments[0].family
    if place is None or any(family == getattr(socket, name, None) for name in _WITHIN_THE_MACHINE):
        return None
    return _spelt(place[0]), place[1]


def _filter_lookups() -> None:
    """Let a name be looked up once: what that gives is judged, kept in mind, and what its user may connect to."""
    look_up = socket.getaddrinfo

    def filtered(host: Any, *arguments: Any, **options: Any) -> list[Any]:
        found = look_up(host, *arguments, **options)
        if _Process.guard is None:
            return found
        admitted = _Process.guard.admitted(host, (str(entry[4][0]) for entry in found))
        return [entry for entry in found if str(entry[4][0]) in admitted]

    socket.__dict__["getaddrinfo"] = filtered  # where asyncio and all others find it


def _place(address: str) -> tuple[str, int] | None:
    """Host and port of an address with or without a scheme; None for what is none."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = _spelt(parts.hostname or ""), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (_plain(host), port) if host else None


def _spelt(host: object) -> str:
    """A host in the one spelling in which hosts are compared: ASCII, in lower case, without a dot at its end."""
    if host is None:
        return ""
    text = bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    with suppress(UnicodeError):
        text = text.encode("idna").decode("ascii")
    return text.lower().removesuffix(".")


def _plain(host: str) -> str:
    """An IP address in its usual spelling, any other host as it is."""
    parsed = _parsed(host)
    return host if parsed is None else str(parsed)


def _parsed(host: str) -> "IPv4Address | IPv6Address | None":
    """The IP address that `host` is, without its zone; the IPv4 address that one of IPv6 stands for."""
    from ipaddress import IPv6Address, ip_address  # where nothing is offline it is not needed

    try:
        parsed = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


def _is_here(host: str) -> bool:
    """Whether it is this machine."""
    parsed = _parsed(host)
    return host == "localhost" if parsed is None else parsed.is_loopback


def _is_private(host: str) -> bool:
    """Whether it is an address of the user's own network; a name is none."""
    from ipaddress import ip_network

    parsed = _parsed(host)
    return parsed is not None and any(parsed in ip_network(network) for network in _OWN_NETWORK)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
