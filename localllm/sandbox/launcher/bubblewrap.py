"""Make the same view of the machine as `namespaces` with the program bwrap: some systems let only it create namespaces.

Runs in the launcher, which starts itself again inside.
"""

import errno
import marshal
import os

from localllm.sandbox.launcher import limits, mounts
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from localllm.sandbox.launcher.mount_table import MountTable, misplaced
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.launcher.syscalls import Kernel

COULD_NOT = 1
"""The exit status of bwrap when it fails itself and has run nothing. The launcher inside exits with it where bwrap has
mounted something else than was planned, and has run nothing either."""

_MOST_WORDS = 400  # bytes of a message of bwrap
_BY_DESCRIPTOR = {mounts.HOLD: "--bind-fd", mounts.PIN: "--ro-bind-fd"}
"""From 0.10 on, and in older versions that distributions have corrected (CVE-2024-42472)."""
_MOST_DESCRIPTORS = 1 << 16

_ISOLATION = (
    "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --as-pid-1 "
    "--die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --perms 1777 --size {shared} --tmpfs {shared_memory} "
    "--proc /proc"
)


def arguments(steps: list[mounts.Step], opened: dict[tuple[str, str], int] | None = None) -> list[str]:
    """Return the command line of bwrap without its own name and the program it starts. `opened`: the descriptors for
    steps (kind and path) that mount something in its own place."""
    pinned = [f"{path}/" for kind, path, _ in steps if kind == mounts.PIN]
    made = _ISOLATION.format(shared=mounts.shared_memory_size(), shared_memory=mounts.SHARED_MEMORY).split()
    for step in sorted(steps, key=lambda step: step[1].count("/")):  # a bind leaves out what covers its source here
        kind, path, source = step
        fd = (opened or {}).get((kind, path), -1)
        if kind == mounts.HOLD and path.startswith(tuple(pinned)):
            kind = mounts.PIN  # it would be the only thing in there that can be written to
        made += _argument(kind, path, source) if fd < 0 else [_BY_DESCRIPTOR[kind], str(fd), path]
    for name in mounts.KEYS:
        if os.path.exists(f"/proc/{name}"):
            made += ["--dev-bind", "/dev/null", f"/proc/{name}"]
    read_only = ["/proc", "/dev", *(path for kind, path, _ in steps if kind == mounts.EMPTY)]
    for path in read_only:
        made += ["--remount-ro", path]
    return [*made, "--chdir", "/", "--"]


def _argument(kind: str, path: str, source: str) -> list[str]:
    match kind:
        case mounts.EMPTY:
            return ["--tmpfs", path]
        case mounts.MASK:
            return ["--ro-bind", "/dev/null", path]
        case mounts.LINK:
            return ["--symlink", source, path]
        case mounts.READ | mounts.PIN:
            return ["--ro-bind", source, path]
        case _:
            return ["--bind", source, path]


def open_words() -> int:
    """Open an unnamed file for the messages of bwrap, which must not be in the output of the command."""
    return os.memfd_create("bwrap")


def words(fd: int) -> str:
    """Return the last message of bwrap, in one line."""
    said = os.pread(fd, _MOST_WORDS, 0).decode("utf-8", "replace").strip()
    return said.rpartition("\n")[2]


def start(kernel: Kernel, spec: LaunchSpec, attempt: int, said: int) -> None:
    """Become bwrap, which becomes the launcher inside. The messages of bwrap go to `said`. Raises OSError.

    It works with names: if something vanished since the plan was made, it fails, and another attempt may succeed. What
    it has made of names that were exchanged meanwhile is found out inside, by `check`.
    """
    steps = mounts.plan(spec, f"private{attempt}")
    mounts.make_private_folders(steps)
    steps, opened = _open_places(kernel, steps)
    spec.steps, spec.outside, spec.words_fd = _resolved(steps), _mount_list(kernel), said
    launcher, code = spec.again
    spec.level, spec.again, spec.error_fd = "inside", ([], b""), os.dup(2)
    os.dup2(said, 2)
    fd = os.memfd_create("launcher", 0)
    with open(fd, "wb", closefd=False) as file:
        file.write(marshal.dumps((marshal.loads(code), vars(spec))))  # noqa: S302 - from the assistant, through memory
    os.lseek(fd, 0, os.SEEK_SET)
    for inherited in (*opened.values(), *_kept(spec)):
        os.set_inheritable(inherited, True)  # noqa: FBT003 - by position only
    # Without a shell, and without the user's variables.
    os.execve(find_bwrap(), ["bwrap", *arguments(steps, opened), *launcher, str(fd)], {})  # noqa: S606


def check(kernel: Kernel, spec: LaunchSpec) -> None:
    """Compare the mounts inside with the plan; where they differ, exit, and another attempt may succeed."""
    kept = sorted(
        _kept(spec)
    )  # bwrap hands down what it was given, and from a folder outside everything could be opened
    for before, after in zip([2, *kept], [*kept, _MOST_DESCRIPTORS], strict=True):
        os.closerange(before + 1, after)
    inside, outside = MountTable(_mount_list(kernel)), MountTable(spec.outside)
    if path := misplaced(inside, outside, spec.steps):
        os.write(spec.words_fd, f"a command in the background, or somebody else, replaced or moved {path!a}".encode())
        os._exit(COULD_NOT)
    os.close(spec.words_fd)
    spec.words_fd = -1


def _kept(spec: LaunchSpec) -> list[int]:
    """Return the descriptors that the launcher inside needs."""
    fds = (spec.live_fd, spec.status_fd, spec.gate_fd, spec.error_fd, spec.record_fd, spec.words_fd)
    return [fd for fd in fds if fd >= 0]


def _open_places(kernel: Kernel, steps: list[mounts.Step]) -> tuple[list[mounts.Step], dict[tuple[str, str], int]]:
    """Open what is mounted in its own place, if bwrap accepts descriptors: it then compares what it mounted with them.

    Returns the steps without those for which there is nothing any more, or a symlink; and the descriptors.
    """
    with open(find_bwrap(), "rb") as file:
        if _BY_DESCRIPTOR[mounts.PIN].encode() not in file.read():
            return steps, {}
    limits.raise_open_files()
    left: list[mounts.Step] = []
    opened: dict[tuple[str, str], int] = {}
    for step in dict.fromkeys(steps):  # bwrap closes each descriptor when it has used it
        kind, path, _ = step
        try:
            if kind in (mounts.HOLD, mounts.PIN):
                opened[kind, path] = kernel.open_path("/", path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                continue
            if error.errno != errno.ENOSYS:  # before Linux 5.6
                raise
        left.append(step)
    return left, opened


def _resolved(steps: list[mounts.Step]) -> list[mounts.Step]:
    """Return the steps with the symlinks resolved of what is closed. For what is opened to a command nothing may be
    mounted but what is at its very path."""
    closing = (mounts.EMPTY, mounts.MASK)
    return [
        (kind, path, os.path.realpath(source) if kind in closing else source)
        for kind, path, source in steps
        if kind != mounts.LINK
    ]


def _mount_list(kernel: Kernel) -> bytes:
    with open(kernel.open_mount_list(), "rb") as file:
        return file.read()
