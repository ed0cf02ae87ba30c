"""Find out whose program listens on a port of this machine: on one that is shared, another user's may.

Linux only (proc_net(5)); elsewhere, and where it cannot be told, nobody's.
"""

import os
import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
_FIRST_PERSON = 1_000
"""Below are services of the system."""

_OF_SERVICES = range(60_578, 65_536)
"""What systemd gives to services and containers, and the one that stands for those outside of a container."""


def is_of_another_person(host: str, port: int) -> bool:
    """Return whether what a connection to the IP address `host` of this machine reaches at the port belongs to another
    person's user."""
    users = _listening(ip_address(host), port)
    return bool(users) and all(_is_another_person(user) for user in users)


def _is_another_person(user: int) -> bool:
    return user >= _FIRST_PERSON and user not in _OF_SERVICES and user != os.getuid()


def _listening(host: IPv4Address | IPv6Address, port: int) -> set[int]:
    """Return the users of the programs that listen there: on this very address, else on every one."""
    if not sys.platform.startswith("linux"):
        return set()
    exact = {_in_table(host), *([_in_table(IPv6Address(f"::ffff:{host}"))] if host.version == 4 else [])}
    of_host, of_any = set[int](), set[int]()
    for table in _TABLES if host.version == 4 else _TABLES[1:]:
        with suppress(OSError, ValueError, IndexError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                address, _, number = fields[1].partition(":")
                if fields[3] == _LISTENS and int(number, 16) == port:
                    if address in exact:
                        of_host.add(int(fields[7]))
                    elif not address.strip("0"):
                        of_any.add(int(fields[7]))
    return of_host or of_any


def _in_table(host: IPv4Address | IPv6Address) -> str:
    """Return the address as the tables write it: each four bytes as a number in the machine's order."""
    groups = (host.packed[at : at + 4] for at in range(0, len(host.packed), 4))
    return "".join(f"{int.from_bytes(group, sys.byteorder):08X}" for group in groups)
