"""Hosts that commands may reach: the user's list, and the addresses to which its names may resolve."""

import ipaddress
import re
from collections.abc import Iterable, Sequence

import msgspec

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.public_addresses import is_public

USUAL_PORTS = (443, 80)
"""Ports allowed for a host without a port."""

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_LONGEST_NAME = 253
_MOST_PORT = 65535
_ANY = 0  # stands for the usual ports

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(msgspec.Struct, frozen=True):
    """Destination of a connection: a name in lower case or an IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def address(self) -> Address | None:
        """The address, if the host is one and not a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def target(text: str, usual_port: int | None = None) -> Target:
    """Parse a target written as HOST:PORT, or HOST if there is a usual port. Raises ValueError.

    Hosts have one spelling: ASCII letters, digits, hyphens and underscores in labels, or an address as in RFC 5952,
    IPv6 in brackets. No later reader can take it for another.
    """
    bracketed = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?", text, re.ASCII)
    plain = re.fullmatch(r"([A-Za-z0-9._-]+)(?::(\d{1,5}))?", text, re.ASCII)
    found = bracketed or plain
    if found is None:
        raise ValueError(text)
    host = str(ipaddress.IPv6Address(found[1])) if bracketed else found[1].lower()
    if found[2] and not 0 < int(found[2]) <= _MOST_PORT:
        raise ValueError(text)
    port = int(found[2]) if found[2] else usual_port
    if port is None:
        raise ValueError(text)
    if not bracketed and (len(host) > _LONGEST_NAME or not _NAME.fullmatch(host)):
        raise ValueError(text)
    return Target(host, port)


class HostRule(msgspec.Struct, frozen=True):
    """One entry of the list. `subdomains`: for every name ending in a dot and `host`, not `host` itself."""

    host: str
    ports: tuple[int, ...]
    subdomains: bool = False

    def allows(self, wanted: Target) -> bool:
        """Return whether it allows a connection to `wanted`; the addresses of its name are checked separately."""
        if wanted.port not in self.ports:
            return False
        if self.subdomains:
            return wanted.address is None and wanted.host.endswith(f".{self.host}")
        return wanted.host == self.host

    def names(self, wanted: Target) -> bool:
        """Return whether it is exactly this address and port: whoever wrote that knew where it leads."""
        return wanted.address is not None and not self.subdomains and self == HostRule(wanted.host, (wanted.port,))


class NetworkHosts:
    """The hosts that commands may reach. False if there are none, the default. `received`: bytes that commands got
    from them."""

    def __init__(self, rules: Sequence[HostRule] = ()) -> None:
        self.received = 0
        self._rules = tuple(rules)

    @classmethod
    def of(cls, entries: Iterable[str]) -> "NetworkHosts":
        """Parse `safety.network_hosts`. Raises ConfigurationError for an invalid entry."""
        return cls([_rule(entry) for entry in entries])

    def __bool__(self) -> bool:
        return bool(self._rules)

    def count_received(self, count: int) -> None:
        """Record that a command got `count` bytes."""
        self.received += count

    def check(self, wanted: Target) -> None:
        """Raise SafetyViolationError if the list does not allow it."""
        if not any(rule.allows(wanted) for rule in self._rules):
            raise SafetyViolationError("network_not_allowed", host=wanted)

    def lists(self, host: str) -> bool:
        """Return whether the list has the host, at any port."""
        return any(rule.allows(Target(host, port)) for rule in self._rules for port in rule.ports)

    def vet(self, wanted: Target, addresses: Sequence[str]) -> None:
        """Raise SafetyViolationError unless the host's addresses are all public, or it is listed as an address.

        One non-public address makes all of them suspect: a name that partly resolves to this machine is a trap.
        """
        if any(rule.names(wanted) for rule in self._rules):
            return
        for address in addresses:
            if not is_public(address):
                raise SafetyViolationError("network_not_public", host=wanted, address=address)


def _rule(entry: str) -> HostRule:
    """Parse an entry. Raises ConfigurationError."""
    subdomains = entry.startswith("*.")
    text = entry.removeprefix("*.")
    try:
        named = target(text, usual_port=_ANY)
    except ValueError as error:
        raise ConfigurationError("network_host_invalid", entry=entry) from error
    if subdomains and named.address is not None:
        raise ConfigurationError("network_host_invalid", entry=entry)
    return HostRule(named.host, USUAL_PORTS if named.port == _ANY else (named.port,), subdomains)
