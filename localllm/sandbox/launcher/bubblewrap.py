"""Make the same view of the machine as `namespaces` with the program bwrap: some systems let only it create namespaces.

Runs in the launcher, which starts itself again inside.
"""

import marshal
import os

from localllm.sandbox.launcher import mounts
from localllm.sandbox.launcher.spec import LaunchSpec

PROGRAMS = ("/usr/bin/bwrap", "/usr/local/bin/bwrap")
"""Not looked up in the user's PATH, which may lead into the project."""

COULD_NOT = 1
"""The exit status of bwrap when it fails itself and has run nothing. The launcher inside never exits with it."""

_MOST_WORDS = 400  # bytes of a message of bwrap

_ISOLATION = (
    "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --as-pid-1 "
    "--die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --perms 1777 --size {shared} --tmpfs {shared_memory} "
    "--proc /proc"
)


def program() -> str:
    """Return the path of bwrap; "" if it is not installed, or others than root could have changed it."""
    return next((path for path in PROGRAMS if _is_the_systems(path)), "")


def _is_the_systems(path: str) -> bool:
    try:
        about = os.stat(path)
    except OSError:
        return False
    return about.st_uid == 0 and not about.st_mode & 0o022 and os.access(path, os.X_OK)


def arguments(steps: list[mounts.Step]) -> list[str]:
    """Return the command line of bwrap without its own name and the program it starts."""
    made = _ISOLATION.format(shared=mounts.shared_memory_size(), shared_memory=mounts.SHARED_MEMORY).split()
    for step in sorted(steps, key=lambda step: step[1].count("/")):  # a bind leaves out what covers its source here
        made += _argument(*step)
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


def start(spec: LaunchSpec, attempt: int, said: int) -> None:
    """Become bwrap, which becomes the launcher inside. The messages of bwrap go to `said`. Raises OSError.

    It works with names: if something vanished since the plan was made, it fails, and another attempt may succeed.
    """
    steps = mounts.plan(spec, f"private{attempt}")
    mounts.make_private_folders(steps)
    launcher, code = spec.again
    spec.level, spec.again, spec.error_fd = "inside", ([], b""), os.dup(2)
    os.dup2(said, 2)
    fd = os.memfd_create("launcher", 0)
    with open(fd, "wb", closefd=False) as file:
        file.write(marshal.dumps((marshal.loads(code), vars(spec))))  # noqa: S302 - from the assistant, through memory
    os.lseek(fd, 0, os.SEEK_SET)
    for inherited in (spec.live_fd, spec.status_fd, spec.gate_fd, spec.error_fd, spec.record_fd):
        if inherited >= 0:
            os.set_inheritable(inherited, True)  # noqa: FBT003 - by position only
    # Without a shell, and without the user's variables.
    os.execve(program(), ["bwrap", *arguments(steps), *launcher, str(fd)], {})  # noqa: S606
