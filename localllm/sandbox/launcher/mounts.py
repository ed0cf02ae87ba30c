"""Plan which files of the machine a command sees, as a list of mounts: for our own namespaces and for bubblewrap.

Everything is read-only; what differs is mounted over it, from the top of the tree downwards. Runs in the launcher.
"""

import os
import stat

from localllm.sandbox.launcher.spec import LaunchSpec

READ, WRITE, PRIVATE, EMPTY, MASK = "read", "write", "private", "empty", "mask"
PIN, HOLD, LINK, COPY = "pin", "hold", "link", "copy"

Step = tuple[str, str, str]
"""The kind of the step, the path, and the source.

READ: can be read (within something hidden). WRITE: and changed. PRIVATE: another, empty folder. EMPTY: an empty folder
that cannot be written to. MASK: a file or socket is closed. PIN: read-only. HOLD: only the path itself cannot be
renamed or deleted. LINK: a symlink to the source. COPY: the source, a copy of the folder, in its place.
"""

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where the C library creates it
KEYS = ("keys", "key-users")
"""In /proc: the names of the user's keys, also of those from outside. Empty for commands."""

_MOST_SHARED = 1 << 30  # bytes, and at most a quarter of the machine's memory
_TEMPORARY = "/tmp"  # noqa: S108 - every user writes there
_HIDING = (PRIVATE, EMPTY, MASK)


def shared_memory_size() -> int:
    """Return how many bytes of files in /dev/shm a command may have."""
    return min(_MOST_SHARED, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)


def plan(spec: LaunchSpec, private: str = "private") -> list[Step]:
    """Return the steps in order, each after those it changes. Checks which paths exist.

    `private`: the folder, within the scratch folder, for those of PRIVATE steps.

    Everything below a hidden path is hidden with it, except what is in `shown` or `writable`.
    """
    steps = _tree(spec, f"{spec.scratch}/{private}")
    for path in spec.present:
        if path not in steps and _is_needed(READ, path, _kind_around(steps, path)):
            steps[path] = (READ, path, "/dev/null")
    links: dict[str, Step] = {}
    for path in sorted(spec.links, key=_depth):
        if path not in steps and _kind_around(steps, path) in _HIDING and _kind_around(links, path) != LINK:
            links[path] = (LINK, path, spec.links[path])
    details = [(HOLD, path) for path in spec.held] + [(PIN, path) for path in spec.pinned]
    details += [(MASK, path) for path in spec.masked]
    needed = [(kind, path, path) for kind, path in details if _is_needed(kind, path, _kind_at(steps, path))]
    needed = [step for step in needed if step[0] != MASK or _can_be_reached(step[1])]
    copies = [(COPY, path, source) for path, source in spec.copies.items() if _is_needed(COPY, path, READ)]
    return [*steps.values(), *links.values(), *copies, *needed]


def _tree(spec: LaunchSpec, private: str) -> dict[str, Step]:
    wanted = dict.fromkeys(spec.shown, READ) | dict.fromkeys(spec.hidden, EMPTY)
    wanted |= dict.fromkeys(spec.private, PRIVATE) | dict.fromkeys(spec.writable, WRITE)
    steps: dict[str, Step] = {}
    for path in sorted(wanted, key=_depth):
        kind = wanted[path]
        if kind == EMPTY and not os.path.isdir(path):
            kind = MASK
        if _is_needed(kind, path, _kind_around(steps, path)):
            source = f"{private}/{len(steps)}" if kind == PRIVATE else path
            steps[path] = (kind, path, source)
    return steps


def _is_needed(kind: str, path: str, around: str) -> bool:
    if kind == WRITE:
        return around != WRITE  # if it is missing, nothing can be run
    if kind == READ and around not in _HIDING:
        return False
    if kind == READ and os.path.realpath(path) != path:
        return False  # a command of another project may have put a symlink there since it was found
    if kind in (READ, PRIVATE):
        return os.path.exists(path)
    if kind in (PIN, HOLD, COPY) and os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
        return False  # it is mounted by its name, which would show the target of the symlink
    return around not in _HIDING and _is_there(path)


def _is_there(path: str) -> bool:
    """Return whether there is something other than a symlink."""
    try:
        return not stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def _can_be_reached(path: str) -> bool:
    """Return whether this user can reach the path without privileges, which a command never has; else it need not be
    closed."""
    folder = os.path.dirname(path)
    try:
        while folder != "/":
            about = os.stat(folder)
            own, group = about.st_uid == os.geteuid(), about.st_gid in (os.getegid(), *os.getgroups())
            wanted = stat.S_IXUSR if own else stat.S_IXGRP if group else stat.S_IXOTH
            if not about.st_mode & wanted:
                return False
            folder = os.path.dirname(folder)
    except OSError:
        return False
    return True


def _kind_around(steps: dict[str, Step], path: str) -> str:
    """Return the kind of the nearest step above a path; READ if there is none. A command has shared memory of its
    own."""
    if nearest := _nearest(steps, path):
        return nearest[0]
    return PRIVATE if f"{path}/".startswith(f"{SHARED_MEMORY}/") else READ


def _kind_at(steps: dict[str, Step], path: str) -> str:
    """Return the kind of the step at a path, or else of the one around it."""
    return steps[path][0] if path in steps else _kind_around(steps, path)


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def make_private_folders(steps: list[Step]) -> None:
    """Create the folders that PRIVATE steps use, and in them the mount points of other steps.

    The folders that lead to a mount point cannot be written to: a file beside the project would be lost silently.
    """
    sources: dict[str, Step] = {}
    leading: dict[str, None] = {}
    for step in steps:
        kind, path, source = step
        if kind == PRIVATE:
            os.makedirs(source)
            os.chmod(source, 0o1777 if path.endswith(_TEMPORARY) else 0o700)
        if kind in (READ, WRITE, PRIVATE, LINK) and (around := _nearest(sources, path)):
            leading.update(_make_place(kind, path, source, around))
        sources[path] = step
    for folder in sorted(leading, reverse=True):  # the innermost first
        os.chmod(folder, 0o555)  # noqa: S103 - nobody may write, and only this user has access


def _make_place(kind: str, path: str, source: str, around: Step) -> dict[str, None]:
    """Create the mount point, unless it becomes a symlink, and the folders between it and the private one; return
    these."""
    _, top, private = around
    if around[0] != PRIVATE:
        return {}
    place = private + path[len(top) :]
    above = os.path.dirname(place)
    os.makedirs(above, exist_ok=True)
    if kind != LINK and os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    elif kind != LINK:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    leading: dict[str, None] = {}
    while above != private:
        leading[above] = None
        above = os.path.dirname(above)
    return leading


def _nearest(steps: dict[str, Step], path: str) -> Step | None:
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        if path in steps:
            return steps[path]
    return None
