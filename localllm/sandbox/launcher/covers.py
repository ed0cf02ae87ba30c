"""Keep names closed to a command that are covered by mounts, while it runs. Runs in the launcher.

A mount covers a file and not its name: it is lost when somebody outside replaces or deletes the file, as editors and
git do when they save, and it moves with a folder that is renamed. What takes its place is as open to the command as
everything around it. See `__detach_mounts` in fs/namespace.c.
"""

import os
import struct

from localllm.sandbox.launcher.mount_table import unescaped
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.launcher.syscalls import Kernel

_EVENT = struct.Struct("iIII")  # the watch, the event, a cookie, the length of the name that follows: inotify(7)
_OVERFLOW = 0x4000
_MOST_EVENTS = 1 << 16  # bytes of events read at a time
_MOST_COVERED = 1_000  # times: mounts would pile up if a command creates a closed name again and again


class Covers:
    """The covers of one command. Create it when everything is mounted, before the command is started.

    If something `can_be_covered` later, what a rule closes is covered again at once, and also when it is first created.
    """

    can_be_covered = False

    def __init__(self, kernel: Kernel, spec: LaunchSpec) -> None:
        self.mounts_fd = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        """Ready for POLLPRI when something is mounted, or a mount is lost."""
        self.names_fd = -1
        """Readable when an entry is created or moved in a watched folder; -1 without inotify."""
        self._kernel = kernel
        self._places = [path for path in (*spec.writable, *spec.shown) if path != spec.scratch]
        self._mounted = self._mount_points()
        made = [path for path in spec.hidden if self.can_be_covered and self._place_of(path)]
        self._closed = {*self._mounted, *made}
        self._hidden = frozenset((*made, *(path for path in (*spec.hidden, *spec.masked) if path in self._mounted)))
        self._times = 0
        self._is_one_gone = False
        self._names: set[tuple[int, bytes]] = set()
        self._is_blind = False
        self._begin()

    @property
    def needs_mounting(self) -> bool:
        """Whether something may have to be mounted while the command runs."""
        return self.can_be_covered and bool(self._hidden)

    def has_changed(self, ready: set[int], *, is_due: bool) -> bool:
        """Return whether something may be open. `ready`: descriptors with events; `is_due`: some time has passed."""
        if self.names_fd in ready and self._is_name_given():
            self._watch(self._closed)  # a folder may have been replaced
            return True
        return self.mounts_fd in ready or (is_due and (self._is_blind or self._is_one_gone))

    def open_names(self) -> list[str]:
        """Return the paths where something exists that is not covered."""
        points = self._mount_points()
        missing = self._closed - points.keys()
        there = [path for path in missing if os.path.lexists(path) and not self._went_along(path, points)]
        self._is_one_gone = any(path in self._mounted and path not in there for path in missing)
        return [path for path in there if path not in self._hidden or not self._is_left_alone(path)]

    def _went_along(self, path: str, points: dict[str, bytes]) -> bool:
        """Return whether what is read-only there moved with a folder above it: commands rename folders, too.

        What a command then puts at a protected name is undone when it ends, as in any folder it creates.
        """
        leads_to_hidden = any(f"{name}/".startswith(f"{path}/") for name in self._hidden)
        return not leads_to_hidden and self._mounted.get(path, b"") in points.values()

    def _is_left_alone(self, path: str) -> bool:
        """Return whether the path is, or leads through, a symlink. It is not covered at the start either: the target
        has its own name, and links that lead in a circle have none."""
        return self.can_be_covered and (os.path.realpath(path) != path or os.path.islink(path))

    def close_again(self, path: str) -> bool:
        """Cover the path again, if that is possible and enough; return whether it is closed. For a replaced folder it
        is not enough: a process may already be in it."""
        is_exchanged_folder = path in self._mounted and os.path.isdir(path)
        if path not in self._hidden or is_exchanged_folder or self._times == _MOST_COVERED:
            return False
        self._times += 1
        try:
            self._cover(self._kernel, path)
        except OSError:
            return False
        self._mounted[path] = b""
        return True

    def _cover(self, kernel: Kernel, path: str) -> None:
        """Make what is there unreadable. Raises OSError."""
        raise OSError(0, f"no right to mount anything on {path}")

    def _mount_points(self) -> dict[str, bytes]:
        """Return the mount points, each with the number of its mount, see proc_pid_mountinfo(5)."""
        os.lseek(self.mounts_fd, 0, os.SEEK_SET)
        text = b"".join(iter(lambda: os.read(self.mounts_fd, 1 << 16), b""))
        fields = (line.split(b" ", 5) for line in text.splitlines())
        return {unescaped(point): number for number, _, _, _, point, _ in fields}

    def _place_of(self, path: str) -> str:
        """Return the folder around the path in which others may be working; "" for none."""
        return next((place for place in self._places if path.startswith(f"{place}/")), "")

    def _begin(self) -> None:
        try:
            self.names_fd = self._kernel.open_watch()
        except OSError:
            self._is_blind = True  # the user has none left: the names are checked now and then
        self._watch(self._closed)

    def _watch(self, paths: set[str]) -> None:
        """Watch the folders that lead to the paths: each could be replaced together with its content."""
        if self.names_fd < 0:
            return
        known: dict[str, int] = {}
        for path in paths:
            place, name = self._place_of(path), path
            while place and len(name) >= len(place):
                folder, _, last = name.rpartition("/")
                if folder not in known:
                    known[folder] = self._watch_folder(folder or "/")
                if known[folder] >= 0:
                    self._names.add((known[folder], os.fsencode(last)))
                name = folder

    def _watch_folder(self, folder: str) -> int:
        try:
            return self._kernel.watch_folder(self.names_fd, folder)
        except (FileNotFoundError, NotADirectoryError):
            return -1  # the folder above it is watched
        except OSError:
            self._is_blind = True
            return -1

    def _is_name_given(self) -> bool:
        """Return whether an entry with one of the names was created since the last call."""
        try:
            events = os.read(self.names_fd, _MOST_EVENTS)
        except BlockingIOError:
            return False
        at, found = 0, False
        while at < len(events):
            number, kind, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size + length
            found |= bool(kind & _OVERFLOW) or (number, events[at - length : at].rstrip(b"\0")) in self._names
        return found
