"""Decide whether an IP address is public, before connecting on behalf of a page, a model or a command."""

import ipaddress
import socket

_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_CARRYING_V4 = tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/23", "3fff::/20")))
"""6to4, Teredo with its neighbours, and the second documentation network. Nothing outside 2000::/3 is public either."""
_SPECIAL_V4 = tuple(map(ipaddress.IPv4Network, ("192.88.99.0/24", "192.0.0.0/24")))
"""6to4 relays and protocol assignments (RFC 7526, 6890)."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64: the last four bytes are an IPv4 address (RFC 6052), used by names in IPv6-only networks."""


def is_public(address: str) -> bool:
    """Return whether an IP address from a resolver is another machine's on the public internet.

    False for loopback, private, link-local, shared (CGNAT), multicast, unspecified and reserved addresses, unassigned
    IPv6 addresses, and those that embed an IPv4 address (mapped, 6to4, Teredo, network-specific NAT64); an address with
    the well-known NAT64 prefix is as public as the one it embeds. False also for this machine's own addresses and the
    IPv6 addresses beside them, public ones too: a name may lead there as to 127.0.0.1.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # with a zone (fe80::1%eth0), or invalid
        return False
    if parsed in _NAT64:
        parsed = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _SPECIAL_V4) and not _is_near(parsed)
    return parsed in _PUBLIC_V6 and not any(parsed in network for network in _CARRYING_V4) and not _is_near(parsed)


def _is_near(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether it is an address of this machine or, of IPv6, in a network (/64) of its own: the system names the
    address it would send from, to a machine of the same network one of that network. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            own = ipaddress.ip_address(probe.getsockname()[0])
    except (OSError, ValueError):  # no way leads there
        return False
    return own == address or (address.version == own.version == 6 and int(own) >> 64 == int(address) >> 64)
