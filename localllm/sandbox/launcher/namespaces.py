"""Give a command process ids, a network and a view of the files of its own. Runs in the launcher.

It only needs the kernel; for an ordinary user, one that lets users create namespaces.
"""

import errno
import os
import stat

from localllm.sandbox.launcher import limits, mounts
from localllm.sandbox.launcher.covers import Covers
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.launcher.syscalls import Kernel

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    *((f"std{n}", f"/proc/self/fd/{i}") for i, n in enumerate(("in", "out", "err"))),
)
_LEAST_PID_MAX = 301  # kernel/pid.c
_TRIES = 50  # ordinary work does not replace a file more often while one mount is made
_SPARE = 64  # process ids beyond the allowed threads, so that the supervisor can report that there are too many


def enter(kernel: Kernel, spec: LaunchSpec, ids: tuple[int, int], most_threads: int) -> None:
    """Set up the namespaces that this process was cloned into. `ids`: user and group outside, which stay the same
    inside.

    Raises OSError; then nothing must be run.
    """
    _keep_ids(*ids)
    kernel.raise_loopback()
    kernel.cut_off_mounts()
    root = f"{spec.scratch}/root"
    os.mkdir(root)
    kernel.bind("/", root)
    kernel.restrict_mount(root, read_only=True)
    kernel.keep_out_of_binds(root)  # or all of it would be visible in the scratch folder
    _make_devices(kernel, f"{root}/dev")  # the project may be in /dev/shm
    _mount_processes(kernel, f"{root}/proc", most_threads)
    steps = mounts.plan(spec)
    mounts.make_private_folders(steps)
    for step in steps:
        _take(kernel, root, step)
    for kind, path, _ in steps:
        if kind == mounts.EMPTY:
            kernel.make_read_only(root + path)
    kernel.change_root(root)


class LastingCovers(Covers):
    """The covers of a command whose process 1 keeps the right to mount."""

    can_be_covered = True

    def _cover(self, kernel: Kernel, path: str) -> None:
        kind = mounts.EMPTY if os.path.isdir(path) else mounts.MASK
        change_in_place(kernel, "/", kind, path)
        if kind == mounts.EMPTY:
            kernel.make_read_only(path)


def _keep_ids(user: int, group: int) -> None:
    for name, value in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        _write(f"/proc/self/{name}", value)


def _take(kernel: Kernel, root: str, step: mounts.Step) -> None:
    kind, path, source = step
    match kind:
        case mounts.LINK:
            target = root + path
            if not os.path.lexists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.symlink(source, target)
        case mounts.READ | mounts.WRITE | mounts.PRIVATE:
            _bind_in_place(kernel, root, step)
        case _:
            change_in_place(kernel, root, kind, path, source)


def _bind_in_place(kernel: Kernel, root: str, step: mounts.Step) -> None:
    """Mount a source at its path. Follows no symlink: a command of another project could put one in the place of any
    folder of that project, also of one that is a project of its own."""
    kind, path, source = step
    try:
        shown = kernel.open_path("/", source)
    except OSError as error:
        raise OSError(error.errno, f"cannot open {source}: {os.strerror(error.errno or 0)}") from error
    try:
        target = _open_mount_point(kernel, root, path, is_folder=stat.S_ISDIR(os.fstat(shown).st_mode))
        try:
            kernel.bind_open(shown, target, read_only=kind == mounts.READ)
        finally:
            os.close(target)
    finally:
        os.close(shown)


def _open_mount_point(kernel: Kernel, root: str, path: str, *, is_folder: bool) -> int:
    """Open the path below `root`. If it is missing, it is within something empty or private, and created."""
    try:
        return kernel.open_path(root, path)
    except FileNotFoundError:
        above, _, name = path.rpartition("/")
        folder = _open_mount_point(kernel, root, above or ".", is_folder=True)
    try:
        if is_folder:
            os.mkdir(name, dir_fd=folder)
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder))
    finally:
        os.close(folder)
    return kernel.open_path(root, path)


def change_in_place(kernel: Kernel, root: str, kind: str, path: str, source: str = "") -> None:
    """Apply a step to a path that others may delete, replace or rename at the same time, or a folder above it.

    If nothing is there, nothing is done; a file that is put there at that moment is covered instead.
    """
    for attempt in range(1, _TRIES + 1):
        try:
            target = kernel.open_path(root, path)
        except OSError as error:
            if _needs_nothing(kind, error):
                return
            raise
        try:
            _change_open(kernel, kind, target, source)
        except FileNotFoundError:  # move_mount(2) and mount(2), where the target has been deleted
            if attempt == _TRIES:
                raise
        else:
            return
        finally:
            os.close(target)


def _needs_nothing(kind: str, error: OSError) -> bool:
    """Return whether there is nothing at the path, or a symlink where changes are undone anyway: `mounts.plan` leaves
    it out as well."""
    is_link = error.errno == errno.ELOOP and kind in (mounts.PIN, mounts.HOLD, mounts.COPY)
    return is_link or error.errno in (errno.ENOENT, errno.ENOTDIR)


def _change_open(kernel: Kernel, kind: str, target: int, source: str) -> None:
    match kind:
        case mounts.EMPTY:
            kernel.mount("tmpfs", f"/proc/self/fd/{target}", "mode=0755,size=256k")
        case mounts.MASK | mounts.COPY:
            shown = os.open(source if kind == mounts.COPY else "/dev/null", os.O_PATH | os.O_CLOEXEC)
            try:
                kernel.bind_open(shown, target, read_only=kind == mounts.MASK)
            finally:
                os.close(shown)
        case _:
            kernel.bind_open(target, target, read_only=kind == mounts.PIN)


def _make_devices(kernel: Kernel, folder: str) -> None:
    kernel.mount("tmpfs", folder, "mode=0755,size=256k")
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
            kernel.bind(f"/dev/{name}", f"{folder}/{name}")
            kernel.make_read_only(f"{folder}/{name}")  # its mode, owner and times; it can still be written to
    for name in ("pts", "shm"):
        os.mkdir(f"{folder}/{name}")
    kernel.mount("devpts", f"{folder}/pts", "newinstance,ptmxmode=0666,mode=620")
    kernel.mount("tmpfs", f"{folder}/shm", f"mode=1777,size={mounts.shared_memory_size()}")
    for name, target in _LINKS:
        os.symlink(target, f"{folder}/{name}")
    kernel.make_read_only(folder)


def _mount_processes(kernel: Kernel, folder: str, most_threads: int) -> None:
    """Mount /proc of the namespace, read-only: root could write to its files without any capability."""
    kernel.mount("proc", folder)
    try:  # noqa: SIM105 - contextlib takes longer to import than this program to run
        _write(f"{folder}/sys/kernel/pid_max", str(max(most_threads + _SPARE, _LEAST_PID_MAX)))
    except OSError:
        pass  # before Linux 6.14 it applies to the whole machine; the supervisor counts
    _share_watches(folder)
    for name in mounts.KEYS:
        if os.path.exists(f"{folder}/{name}"):
            kernel.bind("/dev/null", f"{folder}/{name}")
            kernel.make_read_only(f"{folder}/{name}")
    kernel.make_read_only(folder)


def _share_watches(processes: str) -> None:
    """Leave the user's other programs some of the inotify instances and watches that a user may have."""
    for kind, share in (("instances", 4), ("watches", 2)):
        try:
            most = int(limits.read(f"{processes}/sys/fs/inotify/max_user_{kind}"))
            _write(f"{processes}/sys/user/max_inotify_{kind}", str(most // share))
        except (OSError, ValueError):
            pass  # a kernel without inotify, or without limits for namespaces


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
