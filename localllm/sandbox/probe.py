"""Probe which protection works on this machine, and what would give a better one."""

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from localllm.base.environment import base_interpreter
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.config.registry import load
from localllm.sandbox.backend import BACKENDS, LEVELS, Confinement, Level, SandboxLevel
from localllm.sandbox.environment import Visibility
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from localllm.sandbox.linux import seccomp
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import Parts
from localllm.sandbox.scratch import Scratch

LEAST_KERNEL = (6, 12)
"""The first Linux whose Landlock confines signals (see `landlock.LEAST_ABI`)."""

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
_MOST = "/proc/sys/user/max_user_namespaces"
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")


def read_setting(path: str) -> str:
    """Return the content of a file in /proc/sys; "" if there is none."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123 - replaced by tests as a function
            return file.read().strip()
    except OSError:
        return ""


def remedies(
    failed: Collection[str],
    kernel: str,
    *,
    read: Callable[[str], str] = read_setting,
    exists: Callable[[str], bool] = os.path.exists,
    has_bubblewrap: Callable[[], str] = find_bwrap,
) -> list[Phrase]:
    """Return what to do about the levels that do not work, the best first. `kernel`: as `uname -r` prints it."""
    found: list[Phrase] = []
    if "namespaces" in failed:
        found += _for_namespaces(read, exists)
    if "bubblewrap" in failed and not has_bubblewrap():
        found.append(Phrase("Install bubblewrap: sudo apt install bubblewrap, sudo dnf install bubblewrap."))
    if "landlock" in failed:
        found.append(landlock_remedy(kernel))
    return found


def _for_namespaces(read: Callable[[str], str], exists: Callable[[str], bool]) -> list[Phrase]:
    if read(_APPARMOR) == "1":
        return [
            Phrase(
                "AppArmor keeps users from making namespaces (kernel.apparmor_restrict_unprivileged_userns "
                "= 1). Install bubblewrap, which it allows: sudo apt install bubblewrap. Or allow all "
                "programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0."
            )
        ]
    if read(_DEBIAN) == "0":
        return [Phrase("Users may not make namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1.")]
    if read(_MOST) == "0":
        return [Phrase("No user namespaces are allowed here: sudo sysctl -w user.max_user_namespaces=15000.")]
    return (
        [
            Phrase(
                "This is a container: start it with permission to make namespaces (docker run "
                "--security-opt seccomp=unconfined --security-opt systempaths=unconfined), or rely on the "
                "container itself to confine the commands."
            )
        ]
        if any(map(exists, _CONTAINERS))
        else []
    )


def landlock_remedy(kernel: str) -> Phrase:
    """Return how to enable Landlock, for a kernel as `uname -r` prints it."""
    number = re.match(r"(\d+)\.(\d+)", kernel)
    if number and (int(number[1]), int(number[2])) < LEAST_KERNEL:
        return Phrase(
            "Use Linux {least} or newer: before it, Landlock is missing or incomplete.",
            least=".".join(map(str, LEAST_KERNEL)),
        )
    return Phrase(
        "Landlock must be on: cat /sys/kernel/security/lsm lists it (else add it to the kernel parameter "
        "lsm=). A container must allow its system calls (Docker 23 or newer does)."
    )


_PATIENCE = 20.0  # seconds; usually some hundredths of one

_HIDDEN_WORDS = "what nobody may read"
_CANARY = """
echo changed >> {outside}
read -r secret < {home}/secret && echo "$secret"
: > /dev/tcp/127.0.0.1/{port}
chmod 777 {outside} {home}
readlink /proc/self/ns/user /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/net /proc/self/ns/ipc
echo done > {project}/made
"""
_NAMESPACES = 5  # whose names the test command prints


Weakness = Phrase | str | None


class Probed(msgspec.Struct, frozen=True):
    """The best level that works, and why each better one does not."""

    level: SandboxLevel
    failed: dict[Level, Phrase | str] = {}

    @property
    def reason(self) -> Phrase | str:
        """Why no level works; empty if one does."""
        return "" if self.level != "none" else next(reversed(self.failed.values()), "")


def probe(bundle: Bundle, project: Path, levels: Sequence[Level] = LEVELS) -> Probed:
    """Return the first of `levels` that confines commands in `project`. Takes as long as a few commands; starts
    processes."""
    if (reason := _unfit(project)) is not None:
        return Probed("none", dict.fromkeys(levels, reason))
    failed: dict[Level, Phrase | str] = {}
    for level in levels:
        reason = _weakness(bundle, level)
        if reason is None:
            return Probed(level, failed)
        failed[level] = reason
    return Probed("none", failed)


def _unfit(project: Path) -> Weakness:
    """Return why no level can work on this machine, or None."""
    if sys.platform not in ("linux", "darwin"):
        return Phrase("there is one only for Linux and macOS so far")
    if sys.platform == "linux" and os.uname().machine not in seccomp.AUDIT_NAMES:
        return Phrase("{machine} processors are not supported", machine=os.uname().machine)
    if any(Path(path).is_relative_to(project) for path in (base_interpreter(), os.path.realpath(sys.base_prefix))):
        return Phrase("the Python it needs lies inside the project, where commands could change it")
    return None


def _weakness(bundle: Bundle, level: Level) -> Weakness:
    try:
        with Scratch({}) as stage, Scratch({}) as scratch:
            return _try_to_escape(bundle, level, stage, scratch)
    except ToolExecutionError as error:
        reason = error.params.get("reason")
        return reason if isinstance(reason, Phrase) else str(reason or error)
    except OSError as error:
        return str(error)


def _try_to_escape(bundle: Bundle, level: Level, stage: Scratch, scratch: Scratch) -> Weakness:
    """Run a command that tries to escape. Only what is visible from outside counts: the file, what was read, who
    connected, where it ran."""
    project, visible = stage.folder / "project", stage.folder / "visible"
    outside = visible / "file"
    project.mkdir()
    visible.mkdir()
    outside.write_text("unchanged")
    outside.chmod(0o600)
    (stage.home / "secret").write_text(f"{_HIDDEN_WORDS}\n")
    shown = (visible, Path(os.path.realpath(sys.base_prefix)))
    visibility = Visibility(homes=(), hidden=(stage.home,), shown=shown, toolchains={})
    with _listener() as listener:
        port = listener.getsockname()[1] if listener else 1
        places = {"outside": outside, "home": stage.home, "project": project, "port": port}
        command = _CANARY.format(**{name: shlex.quote(str(place)) for name, place in places.items()})
        backend = BACKENDS[level]
        confinement: Confinement = load(backend.maker)(Parts(level, project, visibility, bundle))
        printed = _run(confinement, command, project, scratch)
        connected = _is_called(listener)
    if outside.read_text() != "unchanged":
        return Phrase("a test command could write outside")
    if _HIDDEN_WORDS in printed:
        return Phrase("a test command could read the home folder")
    if connected:
        return Phrase("a test command could use the network")
    if backend.keeps_modes and outside.stat().st_mode & 0o777 != 0o600:
        return Phrase("a test command was not isolated from the machine")
    if backend.has_namespaces and not _is_elsewhere(printed):
        return Phrase("a test command was not isolated from the machine")
    if not (project / "made").exists():
        return Phrase("a harmless test command failed")
    return None


def _is_elsewhere(printed: str) -> bool:
    """Return whether all namespaces that a command printed differ from ours."""
    theirs = [line.partition(":") for line in printed.splitlines() if ":[" in line]
    ours = [os.readlink(f"/proc/self/ns/{name}") for name, _, _ in theirs]  # noqa: PTH115 - no file, only a name
    return len(theirs) == _NAMESPACES and not set(ours) & {"".join(line) for line in theirs}


def _run(confinement: Confinement, command: str, project: Path, scratch: Scratch) -> str:
    """Return what the command printed. Raises ToolExecutionError if it was not run."""
    launch = confinement.launch(command, project, scratch, {})
    try:
        process = subprocess.Popen(
            launch.arguments,
            cwd=launch.folder,
            env=launch.environment,
            pass_fds=launch.inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        launch.started(process.pid)
        printed, _ = process.communicate(timeout=_PATIENCE)
        launch.ending(process.returncode)
        return printed.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolExecutionError("command_failed_to_start", reason=error) from error
    finally:
        launch.close()


@contextmanager
def _listener() -> Generator[socket.socket | None]:
    """Open a listener that a command must not reach; None if not even we may have one: within another sandbox."""
    try:
        listener = socket.create_server(("127.0.0.1", 0))
    except PermissionError:
        yield None
        return
    with listener:
        listener.setblocking(False)  # noqa: FBT003 - by position only
        yield listener


def _is_called(listener: socket.socket | None) -> bool:
    if not listener:
        return False
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
