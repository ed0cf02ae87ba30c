"""Find the machine's sockets that are bound to files, which a command could see.

A network namespace does not block these; they are masked in the command's view of the files. Only Linux needs it: the
profile of macOS denies commands all sockets.
"""

import errno
import os
import re
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_NOT_IN_USE = (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTDIR)

# /proc/net/unix, proc_net(5): columns and values
_TYPE, _STATE, _INODE, _PATH = 4, 5, 6, 7
_DATAGRAM, _CONNECTED = 2, 3

_BY_DESCRIPTOR = re.compile(r"/proc/[^/]+/fd/([0-9]+)/")

# linux/sock_diag.h, linux/unix_diag.h, linux/netlink.h
_SOCK_DIAG, _SHOW_FILE, _FILE, _ANY = 4, 0x2, 1, 0xFFFFFFFF
_LAST = (2, 3)  # NLMSG_ERROR, NLMSG_DONE
_FILE_NUMBER = 0xFFFFFFFF  # it reports the low half

_MOST_LOOKS = 5  # for the file of one socket
_TIME_FOR_VARIABLES = 0.02  # seconds, if there is a new socket; an idle machine needs one or two thousandths
_FOLDERS_NAMED = (b"PWD=", b"OLDPWD=")
_USUAL_PLACES = "/ /srv /opt /data /mnt /media /usr/local /var/lib /var/spool /var/www"
"""Where servers visible to commands put sockets; the home, /run and /tmp are hidden from commands."""


def in_use(paths: Iterable[str]) -> list[str]:
    """Return those of the sockets `paths` that somebody has open; none but on Linux. Listeners do not notice."""
    return [path for path in paths if _is_in_use(path)]


class Bound(NamedTuple):
    """A socket: its own inode number, not that of its file, and the name it was bound to."""

    inode: str
    name: str


class MachineSockets:
    """The sockets of this network namespace that are bound to files.

    The kernel reports a name as it was given. A relative one starts in an unknown folder, and so does one that uses a
    descriptor: it is searched in the working folders of this user's processes, those they were started in, and usual
    places, once for each new socket and a few times more. If the file was renamed, or has a second name, its folder is
    searched.
    """

    def __init__(self) -> None:
        self._found: dict[Bound, tuple[str, ...]] = {}
        self._looks: dict[Bound, int] = {}

    def paths(self) -> list[str]:
        """Return the absolute paths of the bound sockets, if they still exist, or their current ones."""
        if sys.platform != "linux":
            return []
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
    """Yield the sockets that accept connections or data; not the ends of connections with the same names."""
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
    """Yield names in the same folder for files renamed since they were bound, or with several names."""
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
    """Return the inode of each socket that is bound to a file, with the file's (sock_diag(7)). Empty if
    the kernel does not report it."""
    found: dict[str, int] = {}
    if sys.platform != "linux":
        return found
    request = struct.pack("=IHHII BBHIIIII", 40, 20, 0x301, 1, 0, socket.AF_UNIX, 0, 0, _ANY, 0, _SHOW_FILE, _ANY, _ANY)
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(request)
        while _take_files(kernel.recv(1 << 16), found):
            pass
    return found


def _take_files(answer: bytes, found: dict[str, int]) -> bool:
    """Parse messages; return whether more follow. Header, and data before attributes, take 16 bytes each."""
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
    """Yield the working folders of processes this user may inspect; then those in their variables."""
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
    """Yield the targets of a descriptor's number in the processes that this user may inspect."""
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
    """Resolve links in the folders of a path, as mounts are named."""
    folder, _, name = path.rpartition("/")
    return f"{os.path.realpath(folder or '/')}/{name}".replace("//", "/")


def _is_in_use(path: str) -> bool:
    """Return whether somebody has the socket open: for a datagram socket, listeners refuse its type."""
    if sys.platform != "linux":
        return False
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
