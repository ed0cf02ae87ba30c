"""Sockets in files at which somebody outside the sandbox listens: databases, agents, container engines.

A network namespace does not keep a command from them; they are masked in its view of the files.
"""

import errno
import os
import socket
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_NOT_IN_USE = (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTDIR)

# /proc/net/unix, proc_net(5): columns, and what may stand there
_TYPE, _STATE, _INODE, _PATH = 4, 5, 6, 7
_DATAGRAM, _CONNECTED = 2, 3

_MOST_LOOKS = 5  # for the file of one socket
_TIME_FOR_VARIABLES = 0.02  # seconds, where there is a new socket; an idle machine needs one or two thousandths
_FOLDERS_NAMED = (b"PWD=", b"OLDPWD=")
_USUAL_PLACES = "/ /srv /opt /data /mnt /media /usr/local /var/lib /var/spool /var/www"
"""Where servers live that commands could see; the home, /run and /tmp are out of their sight."""


def in_use(paths: Iterable[str]) -> list[str]:
    """Those of the sockets `paths` that somebody has open. Nobody who listens there notices."""
    return [path for path in paths if _is_in_use(path)]


class Bound(NamedTuple):
    """A socket: the number of the socket itself, not of its file, and the name it was bound to."""

    inode: str
    name: str


class MachineSockets:
    """The sockets of this network namespace that are bound to files.

    The kernel tells a name as it was given. A relative one begins in a folder nobody tells: it is looked for in those
    that the processes of this user are in, or were started in, and in the usual places, once for each new socket and a
    few times more.
    """

    def __init__(self) -> None:
        self._found: dict[Bound, tuple[str, ...]] = {}
        self._looks: dict[Bound, int] = {}

    def paths(self) -> list[str]:
        """The absolute paths at which they were bound, as far as they are still there."""
        bound = set(_bound())
        absolute = {_real(one.name) for one in bound if one.name.startswith("/")}
        relative = {one for one in bound if not one.name.startswith("/")}
        self._found = {one: self._found[one] for one in relative & self._found.keys()}
        self._looks = {one: self._looks.get(one, 0) for one in relative}
        sought = [one for one in relative - self._found.keys() if self._looks[one] < _MOST_LOOKS]
        if sought:
            self._look_for(sought)
        found = absolute.union(*self._found.values())
        return sorted(path for path in found if os.path.lexists(path))

    def _look_for(self, sought: list[Bound]) -> None:
        of_processes = _folders_of_processes(time.monotonic() + _TIME_FOR_VARIABLES)
        folders = dict.fromkeys((*_usual_folders(), *of_processes))
        for one in sought:
            self._looks[one] += 1
            paths = {_real(f"{folder}/{one.name}") for folder in folders}
            if there := tuple(sorted(filter(_is_socket, paths))):
                self._found[one] = there


def _bound() -> Iterator[Bound]:
    """Those to which somebody can connect or send; not the ends of connections, which have the same names."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=_PATH)
        if len(fields) <= _PATH or fields[_PATH].startswith(b"@"):
            continue
        if int(fields[_STATE], 16) != _CONNECTED or int(fields[_TYPE], 16) == _DATAGRAM:
            yield Bound(fields[_INODE].decode(), os.fsdecode(fields[_PATH]))


def _folders_of_processes(deadline: float) -> Iterator[str]:
    """The folders the processes are in that this user may look at; then those their variables name."""
    processes = [name for name in reversed(os.listdir("/proc")) if name.isdigit()]  # noqa: PTH208 - the newest first
    for process in processes:
        try:
            yield os.readlink(f"/proc/{process}/cwd")  # noqa: PTH115 - there are many
        except OSError:
            continue  # another user's, or gone
    for process in processes:
        if time.monotonic() > deadline:
            return
        try:
            with open(f"/proc/{process}/environ", "rb") as file:  # noqa: PTH123 - there are many
                variables = file.read().split(b"\0")
        except OSError:
            continue
        named = [one.partition(b"=")[2] for one in variables if one.startswith(_FOLDERS_NAMED)]
        yield from map(os.fsdecode, named)


def _usual_folders() -> Iterator[str]:
    for place in _USUAL_PLACES.split():
        yield place
        with suppress(OSError), os.scandir(place) as entries:
            yield from [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _real(path: str) -> str:
    """The path without links in its folders, as the mounts are named."""
    folder, _, name = path.rpartition("/")
    return f"{os.path.realpath(folder or '/')}/{name}".replace("//", "/")


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
