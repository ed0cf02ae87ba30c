"""Report changed entries of folders since the last query, using inotify instead of scanning.

Linux only (inotify(7)), and only on file systems that are not changed behind the kernel's back.
"""

import os
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path

import msgspec

from localllm.base.file_systems import is_local

_MODIFY, _ATTRIB, _CLOSE_WRITE, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0x100, 0x200  # linux/inotify.h
_MOVED_FROM, _MOVED_TO = 0x40, 0x80
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x1000000, 0x2000000, 0x4000000
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO
_FOLDERS = _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO
"""Only entries that appear or disappear, not changes of content."""

_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000

_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 18
_SHARE = 4  # use a quarter of the user's watches: editors need some too


class Touched(msgspec.Struct, frozen=True):
    """Changes since the last query. `entries`: (folder, name) created, changed, moved or deleted; `lost`: deleted
    folders, no longer watched; `passing`: entries that appeared and were then deleted or moved out of sight."""

    entries: set[tuple[str, str]]
    lost: set[str]
    passing: set[tuple[str, str]]


class _Event(msgspec.Struct, frozen=True):
    """A raw event: `number` identifies the folder, `move` links the two events of a move."""

    number: int
    kind: int
    move: int
    name: str


class _Seen:
    """Accumulates events in order."""

    def __init__(self) -> None:
        self.lost: set[str] = set()
        self._entries: set[tuple[str, str]] = set()
        self._came: set[tuple[str, str]] = set()
        self._passing: set[tuple[str, str]] = set()
        self._moved: dict[int, tuple[str, str]] = {}

    def note(self, event: _Event, entry: tuple[str, str]) -> None:
        self._entries.add(entry)
        if entry in self._came:
            if event.kind & (_DELETE | _MOVED_TO):
                self._passing.add(entry)
            elif event.kind & _MOVED_FROM:
                self._moved[event.move] = entry
        if event.kind & _MOVED_TO:
            self._moved.pop(event.move, None)
        if event.kind & (_CREATE | _MOVED_TO):
            self._came.add(entry)
        elif event.kind & (_DELETE | _MOVED_FROM):
            self._came.discard(entry)

    def touched(self) -> Touched:
        return Touched(self._entries, self.lost, self._passing | set(self._moved.values()))


class Watcher:
    """Watches folders under names chosen by the caller. Raises OSError if the system does not support it.

    An entry changed through another hard link is reported only under that name.
    """

    def __init__(self, root: Path, kinds: int = _CHANGES) -> None:
        """Create a watcher for folders on the file system of `root`."""
        if not is_local(root):
            raise OSError("cannot be watched")
        import ctypes

        self._kinds = kinds
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._errno = ctypes.get_errno
        self._fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise OSError(self._errno(), os.strerror(self._errno()))
        self._close = weakref.finalize(self, os.close, self._fd)
        self._most = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text(encoding="ascii")) // _SHARE
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        """Stop watching."""
        self._close()

    def add(self, path: str, folder: str) -> None:
        """Watch the folder at `path` under the name `folder`. Raises OSError."""
        if len(self._numbers) >= self._most:
            raise OSError("too many folders")
        number: int = self._libc.inotify_add_watch(self._fd, os.fsencode(path), self._kinds | _FOLDERS)
        if number < 0:
            raise OSError(self._errno(), os.strerror(self._errno()), path)
        self._folders[number] = folder
        self._numbers[folder] = number

    def remove(self, folder: str) -> None:
        """Stop watching a folder. One that was moved and re-added under its new name stays watched under that."""
        number = self._numbers.pop(folder, -1)
        if self._folders.get(number) == folder:
            del self._folders[number]
            self._libc.inotify_rm_watch(self._fd, number)

    def touched(self) -> Touched | None:
        """Return the changes since the last call, None if events were dropped. Does not block."""
        seen = _Seen()
        complete = True
        for event in self._events():
            complete = complete and not event.kind & (_OVERFLOW | _UNMOUNT)
            folder = self._folders.get(event.number)
            if folder is None:
                continue
            if event.kind & _IGNORED:
                del self._folders[event.number]
                self._numbers.pop(folder, None)
                seen.lost.add(folder)
            elif event.name:
                seen.note(event, (folder, event.name))
        return seen.touched() if complete else None

    def _events(self) -> Iterator[_Event]:
        while data := self._read():
            at = 0
            while at < len(data):
                number, kind, move, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                yield _Event(number, kind, move, os.fsdecode(data[at - length : at].rstrip(b"\0")))

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _BUFFER)
        except BlockingIOError:
            return b""
