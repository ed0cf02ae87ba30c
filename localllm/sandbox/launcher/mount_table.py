"""Read which mounts there are, and check those that bubblewrap has made. Runs in the launcher.

bwrap works with names, and another command that runs in the project may exchange what a name stands for: then the home
would be mounted there, or a mount would be somewhere else. So nothing is run before the kernel's own list of the mounts
holds only what was planned. See proc_pid_mountinfo(5).
"""

import os

from localllm.sandbox.launcher import mounts

Shown = tuple[bytes, str]
"""A file system (major:minor), and the path in it that a mount shows."""

_WITHOUT_ROOTS = (b"nfs", b"nfs4", b"cgroup", b"cgroup2")
"""File systems that do not say, or not the same in each namespace, which of their folders is mounted."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_NEW = ("/dev", "/dev/pts", mounts.SHARED_MEMORY, "/proc")
_PROGRAMS = "/bin /boot /etc /lib /lib32 /lib64 /nix /opt /sbin /snap /usr /var/cache /var/lib"
"""Where a part of the home's disk may be mounted (SteamOS) that is no part of the home."""

_CAN_BE_WRITTEN_TO = (mounts.WRITE, mounts.PRIVATE, mounts.COPY)


class Mount:
    """One line of the list. `parent`: the number of the mount that it lies in."""

    def __init__(self, line: bytes) -> None:
        number, parent, device, root, point, options, *rest = line.split(b" ")
        kind = rest[rest.index(b"-") + 1]
        self.number = int(number)
        self.parent = int(parent) if parent != number else 0
        self.point = unescaped(point)
        self.has_root = kind not in _WITHOUT_ROOTS
        self.shown: Shown = device, unescaped(root) if self.has_root else "/"
        self.is_read_only = options.startswith(b"ro")
        is_of_hosts = rest[-2] == b"-hosts" or rest[-2].endswith(b"/auto.net") or self.point == "/net"
        self.is_automounter = is_of_hosts and kind == b"autofs" and b"indirect" in rest[-1].split(b",")

    def at(self, path: str) -> Shown:
        """Return what is at a path in this mount, where no other is in between."""
        device, root = self.shown
        return device, _joined(root, path[len(self.point.rstrip("/")) :]) if self.has_root else root


class MountTable:
    """All mounts of a namespace. `text`: its mountinfo."""

    def __init__(self, text: bytes) -> None:
        self.mounts = {mount.number: mount for mount in map(Mount, text.splitlines())}
        self._inside: dict[int, list[Mount]] = {}
        for mount in self.mounts.values():
            self._inside.setdefault(mount.parent, []).append(mount)
        self._of_device: dict[bytes, list[Mount]] = {}
        for mount in self.mounts.values():
            if mount.has_root:
                self._of_device.setdefault(mount.shown[0], []).append(mount)
        self.points = {mount.point for mount in self.mounts.values()}
        self.places = {(mount.point, mount.shown) for mount in self.mounts.values()}
        self.devices = {mount.shown[0] for mount in self.mounts.values()}
        self._known: dict[str, Shown | None] = {}

    def parent(self, mount: Mount) -> Mount | None:
        """Return the mount that this one lies in; None for the root."""
        return self.mounts.get(mount.parent)

    def is_covered(self, mount: Mount) -> bool:
        """Return whether another mount lies over all of this one."""
        return any(inner.point == mount.point for inner in self._inside.get(mount.number, ()))

    def shown_at(self, path: str) -> Shown | None:
        """Return what is mounted at a path."""
        if path not in self._known:
            self._known[path] = self._look_up(path)
        return self._known[path]

    def _look_up(self, path: str) -> Shown | None:
        mount = next((mount for mount in self.mounts.values() if not self.parent(mount) and mount.point == "/"), None)
        while mount:
            below = [inner for inner in self._inside.get(mount.number, ()) if _is_at_or_below(path, inner.point)]
            if not below:
                return mount.at(path)
            mount = min(below, key=lambda inner: len(inner.point))  # the first on the way down
        return None

    def aliases(self, path: str, *, parts: bool = True) -> list[str]:
        """Return where else what is at a path, or with `parts` also a part of it, can be reached: by other mounts of
        the same file system."""
        shown = self.shown_at(path)
        found: dict[str, None] = {}
        if not shown:
            return []
        for mount in self._of_device.get(shown[0], []):
            top, at = mount.shown[1], shown[1]
            if not (_is_at_or_below(at, top) or (parts and _is_at_or_below(top, at))):
                continue
            alias = _joined(mount.point, at[len(top.rstrip("/")) :])
            if not _is_at_or_below(at, top) and any(_is_at_or_below(alias, folder) for folder in _PROGRAMS.split()):
                continue
            if not _is_at_or_below(alias, path) and self.shown_at(alias) == mount.at(alias):
                found[alias] = None
        return [*found]

    def automounters(self) -> list[str]:
        """Return the folders where a name is that of a host, which a daemon outside looks up and connects to (`/net`).
        Other maps have names of their own, for work's data. See auto.master(5)."""
        return [mount.point for mount in self.mounts.values() if mount.is_automounter and not self.is_covered(mount)]

    def has(self, mount: Mount) -> bool:
        """Return whether a mount of another namespace shows what is here at the same place."""
        return (mount.point, mount.shown) in self.places or mount.shown == self.shown_at(mount.point)


def mounts_here() -> MountTable:
    """Return the mounts that this process sees; none where the system has no such list."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 - no pathlib in the launcher
            return MountTable(file.read())
    except OSError:
        return MountTable(b"")


def unescaped(path: bytes) -> str:
    """Return a path of mountinfo as it is."""
    for sign in b" \t\n\\":  # the backslash last
        path = path.replace(b"\\%03o" % sign, bytes([sign]))
    return os.fsdecode(path)


def misplaced(inside: MountTable, outside: MountTable, steps: list[mounts.Step]) -> str:
    """Return the path of a mount that was not planned, or of something hidden that lies open; "" if all is well.

    `steps`: the plan, with the sources' symlinks resolved where no command could have put them.
    """
    new: set[str] = {*_NEW}
    planned = _devices(outside)
    for kind, path, source in steps:
        match kind:
            case mounts.EMPTY:
                new.update((path, source))
            case mounts.MASK:
                planned |= {(place, outside.shown_at("/dev/null")): True for place in (path, source)}
            case mounts.READ | mounts.WRITE | mounts.PRIVATE | mounts.COPY:
                planned[path, outside.shown_at(source)] = kind in _CAN_BE_WRITTEN_TO
            case _:
                pass
        if kind in (mounts.EMPTY, mounts.MASK) and inside.points.isdisjoint((path, source)) and os.path.lexists(path):
            return path
    for mount in inside.mounts.values():
        is_planned = planned.get((mount.point, mount.shown))
        if is_planned or (is_planned is False and mount.is_read_only):
            continue
        if mount.point in new and mount.shown[0] not in outside.devices:
            continue
        if not _is_harmless(mount, inside, outside):
            return mount.point
    return ""


def _devices(outside: MountTable) -> dict[tuple[str, Shown | None], bool]:
    null = outside.shown_at("/dev/null")
    made: dict[tuple[str, Shown | None], bool] = {(f"/proc/{name}", null): True for name in mounts.KEYS}
    return made | {(f"/dev/{name}", outside.shown_at(f"/dev/{name}")): True for name in _DEVICES}


def _is_harmless(mount: Mount, inside: MountTable, outside: MountTable) -> bool:
    """Return whether a mount shows only what would be there without it, and lets nothing more be written to."""
    around = inside.parent(mount)
    if not around:
        return mount.point == "/" and mount.is_read_only and outside.has(mount)
    if mount.shown == around.at(mount.point):
        return mount.is_read_only or not around.is_read_only or inside.is_covered(mount)
    return outside.has(mount) and outside.has(around)  # nothing hides it


def _is_at_or_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _joined(root: str, rest: str) -> str:
    return (root.rstrip("/") + rest).rstrip("/") or "/"
