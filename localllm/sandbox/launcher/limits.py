"""Limit a command and everything it starts, and end all of it. Runs in the launcher."""

import os
import resource
import select
import time

from localllm.sandbox.launcher.covers import Covers
from localllm.sandbox.launcher.spec import END, GO_ON, STOP, LaunchSpec

_TICK = 50  # milliseconds between two measurements of what the command uses
_LAST_EFFORT = 30.0  # seconds to go on killing; only a process stuck in the kernel takes longer
_UNTIL_DELETED = 0.3  # seconds at most after the loss of a mount until a file that is being deleted is gone
_UNTIL_STOPPED = 0.3  # seconds at most to wait for processes that are in the middle of a call, or end
_SIGKILL, _SIGTERM, _SIGCONT, _SIGSTOP = 9, 15, 18, 19
_EVERYBODY = -1  # kill(2): every process that the signal may reach
_PAGE = os.sysconf("SC_PAGE_SIZE")
_FILE_ITSELF = 1024  # approximate bytes of memory that a file takes in a tmpfs, empty or not
_LAST_MEMORY = 32  # of the machine's memory, less than 1/32 is left: the command is killed before the user's programs
_MUCH_MEMORY = 4  # and more than 1/4 was used up since the command began
_SHARE_OF_FILES = 2  # at most half of the files that can still be created


def rise_above(*, hand_down: bool = False) -> None:
    """Take a real-time priority above everything the command starts, where that is permitted: for root, for whom the
    kernel limits no number of processes, and whose fork bombs have to be outrun. Children have normal priority again,
    unless `hand_down`: in a namespace it is too late to ask for this priority, but not to stop its being inherited."""
    try:
        policy = os.SCHED_RR if hand_down else os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))
    except OSError:
        return  # an ordinary user: RLIMIT_NPROC holds


def set_limits(spec: LaunchSpec) -> None:
    """Set the limits that the kernel enforces for each process. Those of the user stay where they are lower.

    Memory is not among them: what a process reserves says nothing about what it uses (Java, address sanitizers).
    """
    _lower(resource.RLIMIT_CORE, 1)  # core(5): with 0, the machine's handler (`|/usr/…`) would be started outside
    _lower(resource.RLIMIT_NOFILE, spec.open_files)
    _lower(resource.RLIMIT_FSIZE, spec.disk)
    _lower(resource.RLIMIT_NPROC, _threads_running() + most_threads(spec))  # all of the user's threads count


def raise_open_files() -> None:
    """Let this process, and what it becomes, have as many files open as it may grant itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def most_threads(spec: LaunchSpec) -> int:
    """Return how many threads the command and everything it starts may have."""
    return spec.threads or 1024 + 32 * (os.cpu_count() or 1)


def _threads_running() -> int:
    """Return the number of threads on the whole machine: the number after the slash in /proc/loadavg."""
    return int(read("/proc/loadavg").split()[3].partition(b"/")[2])


class Supervisor:
    """Waits for a command; when it ends, or must end, ends everything it started.

    Create it before the command is started, and after `Kernel.adopt_orphans`, so that no descendant can escape.
    `is_enclosed`: the result of `landlock.enclose_signals`. `covers`: the mounts over closed names, all of which must
    stay. `left`: the command had ended, but something it had started had not.
    """

    def __init__(self, spec: LaunchSpec, *, is_enclosed: bool, covers: Covers | None = None) -> None:
        self._spec = spec
        self._covers = covers
        self._is_enclosed = is_enclosed
        self._pid = 0
        self._folders = [os.open(folder, os.O_PATH | os.O_CLOEXEC) for folder in spec.writable]
        self._free_at_start = self._free_space()
        self._files_at_start = self._files()
        self._most_files = [_most_files(folder, spec.files) for folder in self._folders]
        self._most_threads = most_threads(spec)
        self._machine = os.sysconf("SC_PHYS_PAGES") * _PAGE
        self._memory = spec.memory or self._machine * 3 // 4
        self._available_at_start = available_memory()
        self._is_stopped = False
        self.abandoned = False
        self.left = False

    def wait(self, pid: int) -> tuple[int, str]:
        """Wait for the command `pid`; return its return code (-N: killed by signal N), and what it used too much of,
        "replaced", or ""."""
        self._pid = pid
        try:
            excess = self._watch()
        finally:
            self._end_all()
            self._note_time()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), excess

    def _watch(self) -> str:
        poller = select.poll()
        command = os.pidfd_open(self._pid)
        poller.register(command, select.POLLIN)
        poller.register(self._spec.live_fd, select.POLLIN)
        if self._covers:
            poller.register(self._covers.mounts_fd, select.POLLPRI)
            if self._covers.names_fd >= 0:
                poller.register(self._covers.names_fd, select.POLLIN)
        next_look = 0.0
        while True:
            ready = {fd for fd, _ in poller.poll(_TICK)}
            is_due = not ready or time.monotonic() >= next_look
            if self._covers and self._covers.has_changed(ready, is_due=is_due) and self._is_open(self._covers):
                return "replaced"
            if command in ready:
                self.left = bool(self._reap() - {self._pid})
                return ""
            if self._spec.live_fd in ready and self._is_abandoned():
                return ""
            if not is_due:
                continue  # files are created all the time, and measuring takes longer
            next_look = time.monotonic() + _TICK / 1000
            if self._is_stopped:
                self._stop_all()  # the kernel continues a process group when the last of its session outside it ends
            self._note_time()
            if excess := self._excess():
                return excess
            self._reap()

    def _note_time(self) -> None:
        """Record that the command still runs. The assistant cannot do that while it is stopped, and may be killed."""
        if self._spec.record_fd >= 0:
            try:
                os.utime(self._spec.record_fd)
            except OSError:
                return  # the time matters only if something is left behind, which is rare

    def _is_open(self, covers: Covers) -> bool:
        """Return whether the command can reach something that is closed, or change what is read-only."""
        if not covers.open_names():
            return False
        _signal([_EVERYBODY], _SIGSTOP)
        deadline = time.monotonic() + _UNTIL_DELETED
        while names := covers.open_names():
            still_open = [name for name in names if not covers.close_again(name)]
            if still_open and time.monotonic() > deadline:
                return True
            if still_open:
                time.sleep(0.001)
        if not self._is_stopped:
            _signal([_EVERYBODY], _SIGCONT)
        return False

    def _is_abandoned(self) -> bool:
        """Return whether nobody waits any more. Data on the pipe are requests: see `spec`."""
        request = os.read(self._spec.live_fd, 1)
        self.abandoned = not request
        if request == STOP:
            self._is_stopped = True
            self._stop_all(until=time.monotonic() + _UNTIL_STOPPED)
        elif request in (GO_ON, END):
            self._is_stopped &= request == END
            number = _SIGTERM if request == END else _SIGCONT
            _signal([_EVERYBODY] if self._is_enclosed else descendants(self._spec.processes), number)
        return self.abandoned

    def _stop_all(self, until: float = 0.0) -> None:
        """Stop all processes; wait, at most until then, for each to have stopped, as one that ends wakes others."""
        while True:
            _signal([_EVERYBODY] if self._is_enclosed else _freeze_family(), _SIGSTOP)
            if time.monotonic() > until or all(map(_has_stopped, descendants(self._spec.processes))):
                return
            time.sleep(0.001)

    def _excess(self) -> str:
        family = descendants(self._spec.processes)
        if len(family) > self._spec.processes:
            return "processes"
        used = [_threads_and_memory(pid) for pid in family]
        if sum(threads for threads, _ in used) > self._most_threads:
            return "processes"
        held = _held_by_nobody() if self._spec.level != "landlock" else 0
        if held + sum(memory for _, memory in used) > self._memory < held + sum(map(_fair_memory, family)):
            return "memory"
        if self._is_memory_gone():
            return "memory"
        free = self._free_space()
        if any(before - now > self._spec.disk for before, now in zip(self._free_at_start, free, strict=True)):
            return "disk"
        made = [now - before for before, now in zip(self._files_at_start, self._files(), strict=True)]
        if any(count > most for count, most in zip(made, self._most_files, strict=True)):
            return "files"
        return ""

    def _is_memory_gone(self) -> bool:
        """Return whether the machine has hardly any memory left, and had when the command began. Memory of unnamed
        files and socket buffers belongs to no process."""
        now = available_memory()
        gone = self._available_at_start - now
        return now < self._machine // _LAST_MEMORY and gone > self._machine // _MUCH_MEMORY

    def _free_space(self) -> list[int]:
        about = [os.fstatvfs(folder) for folder in self._folders]
        return [one.f_bavail * one.f_frsize for one in about]

    def _files(self) -> list[int]:
        """Return the number of files. The number of free ones says nothing: some file systems turn free space into
        it."""
        about = [os.fstatvfs(folder) for folder in self._folders]
        return [one.f_files - one.f_ffree for one in about]

    def _end_all(self) -> None:
        """Kill the command and everything it started.

        The command itself is reaped last: until then no other process can get its id.
        """
        deadline = time.monotonic() + _LAST_EFFORT
        while time.monotonic() < deadline:
            if self._is_enclosed:
                _signal([_EVERYBODY], _SIGKILL)  # in one step, during which no process can fork
            else:
                _signal([-self._pid], _SIGSTOP)  # its process group: for most commands that is all
                _signal(_freeze_family(), _SIGKILL)
            has_ended = self._has_ended()  # checked first: what it leaves behind is among our children by then
            if self._reap() <= {self._pid} and has_ended:
                return
            time.sleep(0.001)

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reap(self) -> set[int]:
        """Reap the children that have ended, except the command; return the others."""
        children = set(_children("self"))
        for pid in children - {self._pid}:
            if os.waitpid(pid, os.WNOHANG)[0]:
                children.remove(pid)
        return children


def _most_files(folder: int, most: int) -> int:
    """Return how many files may be created where `folder` is. Some file systems (btrfs) do not count files, and are
    limited by space alone."""
    about = os.fstatvfs(folder)
    return min(most, about.f_favail // _SHARE_OF_FILES) if about.f_files else most


def _signal(pids: list[int] | set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has ended


def _freeze_family() -> set[int]:
    """Stop every process below this one, or a fork bomb would outrun the killing. Returns all that were found.

    A parent is stopped before its children are listed, so that it cannot have others.
    """
    frozen: set[int] = set()
    while True:
        before = len(frozen)
        pending = _children("self")
        for pid in pending:
            if pid not in frozen:
                _signal([pid], _SIGSTOP)
                frozen.add(pid)
            pending += _children(str(pid))
        if len(frozen) == before:
            return frozen


def descendants(at_most: int) -> list[int]:
    """Return the processes below this one, nearest first. Stops when there are more than `at_most`."""
    found = _children("self")
    for pid in found:
        if len(found) > at_most:
            break
        found += _children(str(pid))
    return found


def _children(process: str) -> list[int]:
    """Return the children of all threads of a process; none if it has ended."""
    threads = f"/proc/{process}/task"
    try:
        names = os.listdir(threads)  # noqa: PTH208 - pathlib takes longer to import than this program to run
    except OSError:
        return []
    return [int(child) for name in names for child in read(f"{threads}/{name}/children").split()]


def can_see_children() -> bool:
    """Return whether this kernel lists the children of a process (CONFIG_PROC_CHILDREN)."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - as above


def _has_stopped(pid: int) -> bool:
    """Return whether a process is stopped or has ended. proc_pid_stat(5)."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2] in (b"T", b"t", b"Z", b"X", b"")


def _threads_and_memory(pid: int) -> tuple[int, int]:
    """Return how many threads a process has and how many bytes it holds, shared ones included. proc_pid_stat(5)."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(fields[17]), int(fields[21]) * _PAGE) if fields else (0, 0)


def _fair_memory(pid: int) -> int:
    """Return the bytes a process holds, with its share of each shared page. Slow, so used only in doubt."""
    lines = read(f"/proc/{pid}/smaps_rollup").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")), 0)


def available_memory() -> int:
    """Return the bytes of memory available to programs on this machine. proc_meminfo(5)."""
    return int(read("/proc/meminfo").partition(b"MemAvailable:")[2].split(maxsplit=1)[0]) * 1024


def _held_by_nobody() -> int:
    """Return the bytes of shared memory that exist whether or not a process maps them. proc_sysvipc(5), and
    /dev/shm."""
    segments = [line.split() for line in read("/proc/sysvipc/shm").splitlines()[1:]]
    files = os.statvfs("/dev/shm")  # noqa: S108 - where the C library creates them
    in_files = (files.f_blocks - files.f_bfree) * files.f_frsize + (files.f_files - files.f_ffree) * _FILE_ITSELF
    return sum(int(fields[14]) for fields in segments) + in_files


def read(path: str) -> bytes:
    """Read a small file of /proc; empty if its process has ended."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return b""
    try:
        return os.read(fd, 1 << 16)
    except ProcessLookupError:
        return b""
    finally:
        os.close(fd)
