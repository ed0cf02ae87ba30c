"""The sockets of the machine that are bound to files, which a command could see.

A network namespace does not keep a command from these; they are masked in its view of the files.
"""

import errno
import os
import re
import socket
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_NOT_IN_USE = (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTDIR)

# /proc/net/unix, proc_net(5): columns, and what may stand there
_TYPE, _STATE, _INODE, _PATH = 4, 5, 6, 7
_DATAGRAM, _CONNECTED = 2, 3

_BY_DESCRIPTOR = re.compile(r"/proc/[^/]+/fd/([0-9]+)/")

# linux/sock_diag.h, linux/unix_diag.h, linux/netlink.h
_SOCK_DIAG, _SHOW_FILE, _FILE, _ANY = 4, 0x2, 1, 0xFFFFFFFF
_LAST = (2, 3)  # NLMSG_ERROR, NLMSG_DONE
_FILE_NUMBER = 0xFFFFFFFF  # it tells the low half

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

    The kernel tells a name as it was given. A relative one begins in a folder nobody tells, and so does one by way of a
    descriptor: it is looked for in those that the processes of this user are in, or were started in, and in the usual
    places, once for each new socket and a few times more. Where the file has been renamed, or has a second name, it is
    looked for in its folder.
    """

    def __init__(self) -> None:
        self._found: dict[Bound, tuple[str, ...]] = {}
        self._looks: dict[Bound, int] = {}

    def paths(self) -> list[str]:
        """The absolute paths at which they were bound, as far as they are still there, or those they have now."""
        bound = set(_bound())
        names = ((one, one.name) for one in bound if not _BY_DESCRIPTOR.match(one.name))
        absolute = {one: _real(name) for one, name in names if name.startswith("/")}
        relative = bound - absolute.keys()
        self._found = {one: self._found[one] for one in relative & self._found.keys()}
        self._looks = {one: self._looks.get(one, 0) for one in relative}
        sought = [one for one in relative - self._found.keys() if self._looks[one] < _MOST_LOOKS]
        if sought:
            self._look_for(sought)
        there = filter(os.path.lexists, {*absolute.values()}.union(*self._found.values()))
        return sorted({*there, *_other_names(absolute)})

    def _look_for(self, sought: list[Bound]) -> None:
        of_processes = _folders_of_processes(time.monotonic() + _TIME_FOR_VARIABLES)
        folders = dict.fromkeys((*_usual_folders(), *of_processes))
        for one in sought:
            self._looks[one] += 1
            name, places = one.name, [*folders]
            if by_descriptor := _BY_DESCRIPTOR.match(name):
                name = name[by_descriptor.end() :]
                places += _folders_of_descriptors(by_descriptor[1])
            paths = {_real(f"{folder}/{name}") for folder in places}
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


def _other_names(absolute: Mapping[Bound, str]) -> Iterator[str]:
    """Of the files that do not have the name they were bound at, or have others as well, those in the same folder."""
    files = files_of_sockets()
    moved: dict[str, set[int]] = {}
    for one, path in absolute.items():
        if file := files.get(one.inode):
            about = _about(path)
            if about is None or about.st_ino & _FILE_NUMBER != file or about.st_nlink > 1:
                moved.setdefault(path.rpartition("/")[0] or "/", set()).add(file)
    for folder, wanted in moved.items():
        with suppress(OSError), os.scandir(folder) as entries:
            yield from [one.path for one in entries if one.inode() & _FILE_NUMBER in wanted and _is_socket(one.path)]


def files_of_sockets() -> dict[str, int]:
    """The number of each socket that is bound to a file, and that of the file (sock_diag(7)). Empty where the kernel
    does not tell."""
    found: dict[str, int] = {}
    request = struct.pack("=IHHII BBHIIIII", 40, 20, 0x301, 1, 0, socket.AF_UNIX, 0, 0, _ANY, 0, _SHOW_FILE, _ANY, _ANY)
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(request)
        while _take_files(kernel.recv(1 << 16), found):
            pass
    return found


def _take_files(answer: bytes, found: dict[str, int]) -> bool:
    """Read some messages; whether there are more. A header has 16 bytes, as has what comes before the attributes."""
    at = 0
    while at + 16 <= len(answer):
        length, kind = struct.unpack_from("=IH", answer, at)
        if kind in _LAST or length < 16:
            return False
        (number,) = struct.unpack_from("=I", answer, at + 20)
        attribute, end = at + 32, min(at + length, len(answer))
        while attribute + 8 <= end:
            size, name = struct.unpack_from("=HH", answer, attribute)
            if name == _FILE:
                (found[str(number)],) = struct.unpack_from("=I", answer, attribute + 4)
            attribute += max(size + 3 & ~3, 4)
        at += length + 3 & ~3
    return True


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


def _folders_of_descriptors(number: str) -> Iterator[str]:
    """What a descriptor of that number stands for in the processes that this user may look at."""
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - there are many
        with suppress(OSError):
            yield os.readlink(f"/proc/{process}/fd/{number}")  # noqa: PTH115 - as above


def _usual_folders() -> Iterator[str]:
    for place in _USUAL_PLACES.split():
        yield place
        with suppress(OSError), os.scandir(place) as entries:
            yield from [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _is_socket(path: str) -> bool:
    about = _about(path)
    return about is not None and stat.S_ISSOCK(about.st_mode)


def _about(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


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
