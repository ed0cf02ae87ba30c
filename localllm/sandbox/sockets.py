"""Sockets in files at which somebody outside the sandbox listens: databases, agents, container engines.

A network namespace does not keep a command from them; they are masked in its view of the files.
"""

import errno
import os
import socket
from collections.abc import Iterable
from pathlib import Path

_NOT_IN_USE = (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTDIR)


def in_use(paths: Iterable[str]) -> list[str]:
    """Those of the sockets `paths` that somebody has open. Nobody who listens there notices."""
    return [path for path in paths if _is_in_use(path)]


def of_this_machine() -> list[str]:
    """The absolute paths at which sockets of this network namespace were bound, as far as they are still there."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return []
    paths = {os.fsdecode(fields[7]) for line in lines if len(fields := line.split(maxsplit=7)) > 7}
    real = {_real(path) for path in paths if path.startswith("/")}
    return sorted(path for path in real if os.path.lexists(path))


def _real(path: str) -> str:
    """The path without links in its folders, as the mounts are named."""
    folder, _, name = path.rpartition("/")
    return f"{os.path.realpath(folder)}/{name}".replace("//", "/")


def _is_in_use(path: str) -> bool:
    """A datagram socket is refused by a listener for its kind, and by nobody where nobody is."""
    folder, _, name = path.rpartition("/")
    try:
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            probe.connect(f"/proc/self/fd/{fd}/{name}")  # a socket's address is short, a path need not be
    except OSError as error:
        return error.errno not in _NOT_IN_USE
    finally:
        os.close(fd)
    return True
