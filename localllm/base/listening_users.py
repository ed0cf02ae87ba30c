"""Find out whose program listens on a port of this machine: on one that is shared, another user's may.

Linux only (proc_net(5)); elsewhere, and where it cannot be told, nobody's.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
_LOOPBACK = frozenset({"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"})
_FIRST_PERSON = 1_000
"""Below are services of the system."""

_OF_SERVICES = range(60_578, 65_536)
"""What systemd gives to services and containers, and the one that stands for those outside of a container."""


def is_of_another_person(port: int) -> bool:
    """Return whether what a connection to 127.0.0.1 or ::1 reaches at the port belongs to another person's user."""
    users = _listening(port)
    return bool(users) and all(_is_another_person(user) for user in users)


def _is_another_person(user: int) -> bool:
    return user >= _FIRST_PERSON and user not in _OF_SERVICES and user != os.getuid()


def _listening(port: int) -> set[int]:
    """Return the users of the programs that listen there: on the loopback address, else on every one."""
    if not sys.platform.startswith("linux"):
        return set()
    of_loopback, of_any = set[int](), set[int]()
    for table in _TABLES:
        with suppress(OSError, ValueError, IndexError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                address, _, number = fields[1].partition(":")
                if fields[3] == _LISTENS and int(number, 16) == port:
                    if address in _LOOPBACK:
                        of_loopback.add(int(fields[7]))
                    elif not address.strip("0"):
                        of_any.add(int(fields[7]))
    return of_loopback or of_any
