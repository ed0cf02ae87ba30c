"""Decide whether an IP address is public, before connecting on behalf of a page, a model or a command."""

import ipaddress

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
    the well-known NAT64 prefix is as public as the one it embeds.
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
        return not any(parsed in network for network in _SPECIAL_V4)
    return parsed in _PUBLIC_V6 and not any(parsed in network for network in _CARRYING_V4)
