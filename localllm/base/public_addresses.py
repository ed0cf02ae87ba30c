"""Which IP addresses belong to the public internet, for whatever connects on behalf of a page, a model or a command."""

import ipaddress

_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_CARRYING_V4 = tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/23", "3fff::/20")))
"""6to4, Teredo with its neighbours, and the second network for documentation; all outside 2000::/3 is none either."""
_SPECIAL_V4 = tuple(map(ipaddress.IPv4Network, ("192.88.99.0/24", "192.0.0.0/24")))
"""Relays of 6to4, and protocol assignments (RFC 7526, 6890)."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""The last four bytes are an IPv4 address (RFC 6052): where a network has IPv6 alone, names stand for such ones."""


def is_public(address: str) -> bool:
    """Whether an IP address, as a resolver gives it, is another machine's on the public internet.

    Not so: loopback, private, link-local, shared (CGNAT), multicast, unspecified and reserved ones, IPv6 addresses that
    nobody has been given yet, and those that carry an IPv4 address in themselves (mapped, 6to4, Teredo, NAT64 of a
    network's own); NAT64 of the well-known prefix is as public as the address it carries.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # with a zone (fe80::1%eth0), or none at all
        return False
    if parsed in _NAT64:
        parsed = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _SPECIAL_V4)
    return parsed in _PUBLIC_V6 and not any(parsed in network for network in _CARRYING_V4)
