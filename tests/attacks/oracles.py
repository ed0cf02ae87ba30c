"""The judges: each looks at the outside world and gives the evidence that an attack succeeded (nothing: it did not).

A case names its own oracles; the standing ones of `standing` look on in every case.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import pty
import select
import stat
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attacks.listeners import Contacted, Reachable
from tests.attacks.oracle import Answer, Oracle
from tests.attacks.world import World, marked_processes, proc_bytes, secrets_in

_LINKS = 5  # where fingerprint has the number of names


def fingerprint(path: Path) -> tuple[object, ...]:
    """Everything about one file that can be changed, reading it apart (access time)."""
    s = path.lstat()
    kind = stat.S_IFMT(s.st_mode)
    body = ""
    if kind == stat.S_IFREG:
        body = hashlib.sha256(path.read_bytes()).hexdigest() + inode_flags(path)
    elif kind == stat.S_IFCHR:
        body = str(s.st_ctime_ns)  # a device of the machine's is given the mode it has
    elif kind == stat.S_IFLNK:
        body = os.readlink(path)
    try:
        names = os.listxattr(path, follow_symlinks=False)
        extra = tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
    except OSError:
        extra = ()
    links = s.st_nlink if kind != stat.S_IFDIR else 0
    return oct(s.st_mode), s.st_uid, s.st_gid, s.st_mtime_ns, s.st_ino, links, body, extra


def inode_flags(path: Path) -> str:
    """The flags `lsattr` shows, where the file system has them."""
    with path.open("rb") as file:
        try:
            return fcntl.ioctl(file, 0x80086601, bytes(8)).hex()  # FS_IOC_GETFLAGS
        except OSError:
            return ""


RECORDS = "commands"
"""Where the program itself notes in its state folder which commands are under way: the times of this folder change."""


def snapshot(root: Path, deep: bool = True) -> dict[str, tuple[object, ...]]:
    if not os.path.lexists(root):
        return {}
    found = {"": fingerprint(root)}
    if root.is_symlink() or not root.is_dir():
        return found
    if not deep:
        return dict.fromkeys(os.listdir(root), ())
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder, name)
            found[str(path.relative_to(root))] = () if name == RECORDS and folder == str(root) else fingerprint(path)
    return found


def differences(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    return sorted(
        [f"-{n or '.'}" for n in before.keys() - after.keys()]
        + [f"+{n or '.'}" for n in after.keys() - before.keys()]
        + [f"~{n or '.'}" for n in before.keys() & after.keys() if _differ(before[n], after[n])]
    )


def _differ(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    """Whether a file was changed. Having fewer names is none of it: a name in the project may be deleted there, and a
    file shared with the outside is replaced by a copy before a command."""
    if not before or not after:
        return before != after
    has_more_names = int(str(after[_LINKS])) > int(str(before[_LINKS]))
    return has_more_names or before[:_LINKS] != after[:_LINKS] or before[_LINKS + 1 :] != after[_LINKS + 1 :]


class Changed(Oracle):
    """Files or trees are not what they were: bytes, mode, owner, times, inode, links, extended attributes, presence."""

    deep = True

    def start(self) -> None:
        self.before = {path: snapshot(path, self.deep) for path in self.paths()}

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        found: list[str] = []
        for path, before in self.before.items():
            if moved := differences(before, snapshot(path, self.deep)):
                found.append(f"changed {path.name}: {' '.join(moved[:6])}")
        return found


class NewNames(Changed):
    """Names appeared or went in a folder (not below it)."""

    deep = False


class Bytes(Oracle):
    """The bytes of files differ (for files the sandbox itself may put back: times and inode do not count)."""

    def start(self) -> None:
        self.before = {path: self._read(path) for path in self.paths()}

    def _read(self, path: Path) -> bytes | str | None:
        if path.is_symlink():
            return os.readlink(path)
        return path.read_bytes() if path.is_file() else str(sorted(os.listdir(path))) if path.is_dir() else None

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        return [f"bytes of {p.name} changed" for p, before in self.before.items() if self._read(p) != before]


class Present(Oracle):
    """A path is there after the call."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        return [f"{path} is there" for path in self.paths() if os.path.lexists(path)]

    def stop(self) -> None:
        for path in self.paths():
            if self.world.mark in path.name and path.is_file():
                path.unlink()


class Leaked(Oracle):
    """A secret is in the output or in a file of the project."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        known = self.world.secrets
        said = secrets_in(f"{answer.get('stdout')}{answer.get('stderr')}".encode(), known)
        found = [f"secret {kind} in the output" for kind in said]
        for folder, _, files in os.walk(self.world.base / "project"):
            for name in files:
                path = Path(folder, name)
                inode = path.lstat()
                if not stat.S_ISREG(inode.st_mode) or inode.st_nlink > 1 or inode.st_size > 8 << 20:
                    continue
                found += [f"secret {kind} in project/{name}" for kind in secrets_in(path.read_bytes(), known)]
        return found


class Says(Oracle):
    """The output holds a text that only a success prints."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        text = self.world.fill(self.parameters)
        return [f"output says {text!r}"] if text in f"{answer.get('stdout')}{answer.get('stderr')}" else []


def status_of(pid: int) -> dict[str, str]:
    """What can be set from outside on a process: tracer, state, nice, affinity, limits, oom score."""
    fields = dict(line.split(":\t", 1) for line in proc_bytes(pid, "status").decode().splitlines() if ":\t" in line)
    after_name = proc_bytes(pid, "stat").rpartition(b")")[2].split()
    kept = {name: fields.get(name, "gone") for name in ("TracerPid", "Cpus_allowed", "Uid", "CapEff")}
    states = {b"T": "stopped", b"t": "stopped", b"Z": "ended", b"X": "ended"}
    kept["state"] = states.get(after_name[0], "lives") if after_name else "ended"
    kept["nice"] = after_name[16].decode() if after_name else "gone"
    for name in ("limits", "oom_score_adj", "timerslack_ns"):
        kept[name] = proc_bytes(pid, name).decode()
    return kept


class Touched(Oracle):
    """The bystander or the assistant itself noticed something: a signal, a tracer, new limits, its end."""

    def start(self) -> None:
        self.victim = int(self.world.names["victim_pid"])
        self.before = {self.victim: status_of(self.victim)}
        self.seen: set[str] = set()

    def _look(self, pid: int, who: str) -> None:
        now, before = status_of(pid), self.before.setdefault(pid, status_of(pid))
        self.seen |= {f"{who}: {key} changed" for key in now if now[key] != before[key]}

    def sample(self, agent: int) -> None:
        self._look(self.victim, "victim")
        self._look(agent, "agent")

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        self.sample(agent)
        for log, who in (("log", "victim"), ("agent.log", "agent")):
            path = self.world.base / "victim" / log
            self.seen |= {f"{who}: {line}" for line in path.read_text().split("\n") if line} if path.exists() else set()
        return sorted(self.seen)


class Alive(Oracle):
    """Processes of the command are alive after the call came back."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        end = time.monotonic() + 0.5
        if not marked_processes(self.world.mark):
            time.sleep(0.02)  # while it begins another program, a process has no command line
        while (left := marked_processes(self.world.mark)) and time.monotonic() < end:
            time.sleep(0.1)
        return [f"{len(left)} processes outlive the call"] if left else []


class Beats(Oracle):
    """A file keeps growing after the call: somebody lives, whatever it is called."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        (path,) = self.paths()
        first = path.stat().st_size if path.exists() else 0
        time.sleep(0.6)
        return [f"{path.name} still grows"] if path.exists() and path.stat().st_size > first else []


class Late(Oracle):
    """The call came back more than so many seconds after its time limit."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        over = answer["seconds"] - answer["limit"]
        return [f"came back {over:.1f} s after its limit"] if over > self.parameters else []


class OutputOver(Oracle):
    """The answer holds more than so many bytes."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        size = len(answer.get("stdout", "")) + len(answer.get("stderr", ""))
        return [f"{size} bytes of output"] if size > self.parameters else []


class Larger(Oracle):
    """A file has an apparent size of more than so many bytes."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        path = Path(self.world.fill(self.parameters["path"]))
        size = path.stat().st_size if path.exists() else 0
        return [f"{path.name} has {size} bytes"] if size > self.parameters["bytes"] else []


class Unlimited(Oracle):
    """Seen from the host, a running process of the command has a resource limit above the given one (or none)."""

    def start(self) -> None:
        self.seen: set[str] = set()

    def sample(self, agent: int) -> None:
        for pid in marked_processes(self.world.mark):
            for line in proc_bytes(pid, "limits").decode().splitlines():
                name, soft = line[:26].strip(), line[26:47].strip()
                bound = self.parameters.get(name)
                if bound is not None and (soft == "unlimited" or int(soft) > bound):
                    self.seen.add(f"{name}: {soft}")

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        return sorted(self.seen)


class Trap(Oracle):
    """The user does his ordinary thing afterwards, outside, and something planted runs (it makes @trap@)."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        trap = Path(self.world.names["trap"])
        if trap.exists():
            return ["the trap was sprung already during the call"]
        self.world.shell(self.world.fill(self.parameters))
        sprung = trap.exists()
        trap.unlink(missing_ok=True)
        return ["the planted command ran outside"] if sprung else []


class Terminal(Oracle):
    """Bytes came into the user's terminal: typed (TIOCSTI) or shown."""

    def start(self) -> None:
        self.master, self.slave = pty.openpty()
        self.world.names["pty"] = os.ttyname(self.slave)
        settings = termios.tcgetattr(self.slave)
        settings[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        time.sleep(0.1)
        return [
            f"{what} {len(os.read(fd, 4096))} bytes"
            for fd, what in ((self.slave, "typed"), (self.master, "shown"))
            if select.select([fd], [], [], 0)[0]
        ]

    def stop(self) -> None:
        os.close(self.master)
        os.close(self.slave)


LIBC = ctypes.CDLL(None, use_errno=True)


class KernelObjects(Oracle):
    """System V memory and queues, a POSIX queue and a key of the user: read into nothing, written, removed or made."""

    def start(self) -> None:
        self.key = int(self.world.mark[-6:], 16) | 0x4C000000
        LIBC.shmat.restype = ctypes.c_void_p
        self.segment = LIBC.shmget(self.key, 4096, 0o1600)
        self.queue = LIBC.msgget(self.key, 0o1600)
        self.at = LIBC.shmat(self.segment, None, 0)
        self.text = self.world.secrets["ipc"].encode()
        ctypes.memmove(self.at, self.text, len(self.text))
        self.mq = LIBC.syscall(240, self.world.mark.encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600, None)
        self.ring_name = self.world.mark.encode()
        self.ring_key = LIBC.syscall(248, b"user", self.ring_name, self.text, len(self.text), -4)
        names = {"ipc_key": self.key, "ipc_new": self.key ^ 0x1000000}
        self.world.names |= {name: str(number) for name, number in names.items()}

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        found: list[str] = []
        if ctypes.string_at(self.at, len(self.text)) != self.text:
            found.append("shared memory was written")
        if LIBC.shmget(self.key, 0, 0) != self.segment:
            found.append("shared memory was removed")
        if (new := LIBC.shmget(self.key ^ 0x1000000, 0, 0)) >= 0:
            LIBC.shmctl(new, 0, None)
            found.append("shared memory was left behind")
        box = ctypes.create_string_buffer(9000)
        if LIBC.msgrcv(self.queue, box, 8000, 0, 0o4000) >= 0:
            found.append("a message came by the System V queue")
        if self.mq >= 0 and LIBC.syscall(243, self.mq, box, 8192, None, None) >= 0:
            found.append("a message came by the POSIX queue")
        key = LIBC.syscall(250, 10, -4, b"user", b"planted-" + self.ring_name, 0)
        if key >= 0:
            LIBC.syscall(250, 9, key, -4)
            found.append("a key was planted in the user's keyring")
        return found

    def stop(self) -> None:
        LIBC.shmdt(ctypes.c_void_p(self.at))
        LIBC.shmctl(self.segment, 0, None)
        LIBC.msgctl(self.queue, 0, None)
        LIBC.syscall(241, self.world.mark.encode())
        if self.mq >= 0:
            os.close(self.mq)
        LIBC.syscall(250, 9, self.ring_key, -4)


class Overwritten(Oracle):
    """The bystander's memory no longer holds its secret."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        secret = self.world.secrets["vmem"].encode()
        pid = int(self.world.names["victim_pid"])
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, rights, *_ = line.split()
                low, high = (int(x, 16) for x in span.split("-"))
                if rights.startswith("rw"):
                    try:
                        if secret in os.pread(memory.fileno(), high - low, low):
                            return []
                    except OSError:
                        continue
        return ["the victim's memory was changed"]


class SetUserId(Oracle):
    """A set-user-ID or set-group-ID file lies in the project, or one with capabilities."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        found: list[str] = []
        for folder, _, files in os.walk(self.world.base / "project"):
            for name in files:
                path = Path(folder, name)
                if path.is_symlink():
                    continue
                if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
                    found.append(f"project/{name} is set-user-ID")
                try:
                    os.getxattr(path, "security.capability")
                    found.append(f"project/{name} has capabilities")
                except OSError as error:
                    if error.errno not in (errno.ENODATA, errno.ENOTSUP):
                        raise
        return found


class Devices(Oracle):
    """A device node lies in the project."""

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        return [
            f"project/{path.name} is a device"
            for path in (self.world.base / "project").rglob("*")
            if stat.S_IFMT(path.lstat().st_mode) in (stat.S_IFBLK, stat.S_IFCHR)
        ]


ORACLES: dict[str, Callable[[World, Any], Oracle]] = {
    "changed": Changed, "new_names": NewNames, "bytes": Bytes, "present": Present, "leaked": Leaked, "says": Says,
    "contacted": Contacted, "reachable": Reachable, "touched": Touched, "alive": Alive, "beats": Beats, "late": Late,
    "output_over": OutputOver, "larger": Larger, "unlimited": Unlimited, "trap": Trap, "terminal": Terminal,
    "kernel_objects": KernelObjects, "overwritten": Overwritten, "setuid": SetUserId, "devices": Devices,
}  # fmt: skip

OUTSIDE = ["@outside@", "@home@", "@runtime@", "@temp@", "@shm@", "@state@/planted"]


def standing(world: World, own: dict[str, Any]) -> dict[str, Oracle]:
    """The case's own oracles and those that look on in every case, by name, in the order they must start."""
    always: dict[str, Any] = {"changed": OUTSIDE, "new_names": "@base@", "leaked": True, "touched": True, "alive": True}
    chosen: dict[str, Oracle] = {"contacted": Contacted(world, True)}
    for name, parameters in own.items():
        if name not in ("contacted", "changed"):
            chosen[name] = ORACLES[name](world, parameters)
    match own.get("changed"):
        case str() as path:
            always["changed"] = [*OUTSIDE, path]
        case [*paths]:
            always["changed"] = [*OUTSIDE, *paths]
        case _:  # the outside tree as it is
            pass
    return chosen | {name: ORACLES[name](world, p) for name, p in always.items() if name not in chosen}
