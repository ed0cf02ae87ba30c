"""Run the program between the assistant and a command: it gives up every right, then becomes the command.

It is an interpreter with only the standard library, for one command, with one thread. It forks: the child restricts
itself and becomes bash; the parent supervises it and reports the outcome. In namespaces the parent is process 1, and
the process it was forked from waits outside. If a step of the restriction fails, the command is not run.
"""

import os

from localllm.sandbox.launcher import bubblewrap, landlock, limits, listener, mounts, namespaces
from localllm.sandbox.launcher.covers import Covers
from localllm.sandbox.launcher.removal import delete_tree
from localllm.sandbox.launcher.spec import BASH, SUPERVISOR, LaunchSpec
from localllm.sandbox.launcher.syscalls import Kernel

NOT_RUN = 125
"""The exit status of a child whose restriction failed (the same as that of env and docker)."""

_ABANDONED = 3
"""The exit status of a supervisor in namespaces when the assistant is gone: the process outside has to clean up."""

_ATTEMPTS = 8  # of bubblewrap
_OWN_SIGNALS = (1, 2, 3, 15)  # HUP, INT, QUIT, TERM: the supervisor ends last, after everything else
_OOM_FIRST = b"800"  # of -1000 to 1000: out of memory, the command is killed before the user's programs


def main(spec: LaunchSpec, kernel: Kernel | None = None) -> None:
    """Run the command; write `failed …` or `ended RETURN_CODE LEFT EXCESS` to the status pipe (LEFT: 1 if something had
    to be ended with it). Does not return."""
    if spec.error_fd >= 0:
        os.dup2(spec.error_fd, 2)
        os.close(spec.error_fd)
    for fd in (spec.live_fd, spec.status_fd, *(fd for fd in (spec.gate_fd, spec.record_fd) if fd >= 0)):
        os.set_inheritable(fd, False)  # noqa: FBT003 - the function takes it by position only
    try:
        _open_record(spec)
        kernel = kernel or Kernel()
        supervisor = _PREPARE[spec.level](kernel, spec)
        me = os.getpid()
        pid = os.fork()
    except BaseException as error:  # noqa: BLE001 - whatever failed, the command must not be run
        _fail(spec, error)
    else:
        if not pid:
            _become_the_command(kernel, spec, me)
        _supervise(kernel, spec, supervisor, pid)


def _open_record(spec: LaunchSpec) -> None:
    """Open the record here, where its path is visible. If that fails, the command is run without it."""
    path, spec.record = spec.record, ""
    if path:
        try:
            spec.record_fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return


def _prepare_landlock(kernel: Kernel, spec: LaunchSpec) -> limits.Supervisor:
    _must_see_children()
    kernel.adopt_orphans()
    limits.rise_above()
    kernel.drop_privileges()
    return limits.Supervisor(spec, is_enclosed=landlock.enclose_signals(kernel))


def _prepare_namespaces(kernel: Kernel, spec: LaunchSpec) -> limits.Supervisor:
    """Return in process 1 of new namespaces; the calling process stays outside until that ends."""
    ids = os.getuid(), os.getgid()
    _volunteer_for_the_oom_killer()
    limits.rise_above(hand_down=True)
    pid = kernel.clone_into_namespaces()
    if pid:
        _end_outside(spec, _wait_outside(kernel, pid))
    kernel.die_with_parent()
    namespaces.enter(kernel, spec, ids, limits.most_threads(spec))
    return _prepare_enclosed(kernel, spec, namespaces.LastingCovers(kernel, spec))


def _prepare_bubblewrap(kernel: Kernel, spec: LaunchSpec) -> limits.Supervisor:
    """Run bwrap, inside which the launcher starts anew. Does not return."""
    _volunteer_for_the_oom_killer()
    limits.rise_above(hand_down=True)
    for attempt in range(1, _ATTEMPTS + 1):
        said = bubblewrap.open_words()
        pid = os.fork()
        if not pid:
            kernel.die_with_parent()
            bubblewrap.start(kernel, spec, attempt, said)
        code = _wait_outside(kernel, pid)
        if code != bubblewrap.COULD_NOT:
            _end_outside(spec, code)
        if attempt == _ATTEMPTS:
            _tell(spec, f"failed bubblewrap could not make the namespaces: {bubblewrap.words(said)}")
        os.close(said)
    os._exit(NOT_RUN)


def _prepare_inside(kernel: Kernel, spec: LaunchSpec) -> limits.Supervisor:
    bubblewrap.check(kernel, spec)
    return _prepare_enclosed(kernel, spec, Covers(kernel, spec))  # bwrap leaves no right to mount


def _prepare_enclosed(kernel: Kernel, spec: LaunchSpec, covers: Covers) -> limits.Supervisor:
    _must_see_children()
    if os.getpid() != 1:
        raise OSError(0, "there is no namespace for processes")
    limits.rise_above()
    if spec.gate_fd >= 0:
        listener.hand_out(spec.gate_fd)
    if [name for name in covers.open_names() if not covers.close_again(name)]:
        raise OSError(0, "a file that is closed to commands was replaced while the sandbox was set up")
    kernel.hide_from_debuggers()  # before any process exists that could try
    kernel.drop_privileges(but_mounting=covers.needs_mounting)
    # A signal of process 1 reaches only its own namespace.
    return limits.Supervisor(spec, is_enclosed=True, covers=covers)


_PREPARE = {
    "landlock": _prepare_landlock,
    "namespaces": _prepare_namespaces,
    "bubblewrap": _prepare_bubblewrap,
    "inside": _prepare_inside,
}


def _must_see_children() -> None:
    if not limits.can_see_children():
        raise OSError(0, "the kernel does not list the children of a process")


def _wait_outside(kernel: Kernel, pid: int) -> int:
    """Wait outside the namespaces for their process 1, or for bwrap; return how it ended."""
    kernel.hide_from_debuggers()
    for number in _OWN_SIGNALS:
        kernel.ignore_signal(number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _end_outside(spec: LaunchSpec, code: int) -> None:
    """End as process 1 has. Does not return."""
    if code == _ABANDONED:
        delete_tree(spec.scratch)  # the assistant is gone: nobody else will
    os._exit(code if code in (0, NOT_RUN) else 1)


def _supervise(kernel: Kernel, spec: LaunchSpec, supervisor: limits.Supervisor, pid: int) -> None:
    try:
        kernel.hide_from_debuggers()
        for number in _OWN_SIGNALS:
            kernel.ignore_signal(number)
        code, excess = supervisor.wait(pid)
        if supervisor.abandoned and spec.level == "landlock":
            delete_tree(spec.scratch)  # the assistant is gone: nobody else will
        _tell(spec, f"ended {code} {int(supervisor.left)} {excess}")
        os._exit(_ABANDONED if supervisor.abandoned and spec.level != "landlock" else 0)
    finally:
        os._exit(2)  # nothing was reported: how it ended is unknown


def _become_the_command(kernel: Kernel, spec: LaunchSpec, supervisor: int) -> None:
    try:
        kernel.die_with_parent()
        if os.getppid() != supervisor:
            raise OSError(0, "the supervisor has ended")  # noqa: TRY301
        os.setsid()
        kernel.reset_signals(_ignored_signals())
        limits.set_limits(spec)
        if spec.level == "landlock":
            _volunteer_for_the_oom_killer()
            _restrict_files(kernel, spec)
        else:
            kernel.drop_privileges()  # including the one its supervisor keeps
            _restrict_files_inside(kernel, spec)
            os.dup2(os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC), 0)  # the mode of the one outside could be changed
        os.chdir(spec.folder)
        kernel.filter_calls(_filter(spec, supervisor))
        # The whole point is to run what was asked for.
        os.execve(BASH[0], [*BASH, spec.command], spec.environment)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - whatever failed, the command must not be run
        _fail(spec, error)
    finally:
        os._exit(NOT_RUN)


def _ignored_signals() -> list[int]:
    """Return the ignored signals. proc_pid_status(5): a mask, the lowest bit for signal 1."""
    line = limits.read("/proc/self/status").partition(b"\nSigIgn:")[2].partition(b"\n")[0]
    mask = int(line, 16)
    return [number for number in range(1, mask.bit_length() + 1) if mask >> number - 1 & 1]


def _fail(spec: LaunchSpec, error: BaseException) -> None:
    _tell(spec, f"failed {getattr(error, 'strerror', None) or repr(error)}")
    os._exit(NOT_RUN)


def _restrict_files(kernel: Kernel, spec: LaunchSpec) -> None:
    version = landlock.abi(kernel)
    if version < landlock.LEAST_ABI:
        raise OSError(0, f"Landlock has version {version}, {landlock.LEAST_ABI} is needed")
    rules = landlock.Ruleset(kernel, landlock.everything(version))
    granted = tuple(f"{path}/" for path in spec.writable)  # whole, so nothing needs to be looked for in them
    hidden = [path for path in spec.hidden if not f"{path}/".startswith(granted)]
    rules.keep_closed(hidden)
    rules.allow_around([*hidden, "/dev"], landlock.READ)
    for path in spec.shown:
        if not f"{path}/".startswith(granted):
            rules.allow_around(hidden, landlock.READ, start=path)
    _allow_devices(rules)
    for path in spec.writable:
        if not rules.allow(path, landlock.WRITE):
            raise OSError(0, f"cannot open {path}")
    rules.enforce()


def _restrict_files_inside(kernel: Kernel, spec: LaunchSpec) -> None:
    """Add a second barrier, if there is Landlock: what is to be hidden cannot be seen anyway."""
    version = landlock.abi(kernel)
    if not version:
        return
    rules = landlock.Ruleset(kernel, landlock.everything(version, has_own_network=True))
    rules.allow("/", landlock.READ)
    _allow_devices(rules)
    rules.allow("/dev/tty", landlock.DEVICE_WRITE)
    rules.allow("/dev/pts", landlock.TERMINALS)
    for path in (*spec.writable, *spec.private, mounts.SHARED_MEMORY):
        rules.allow(path, landlock.WRITE)
    rules.enforce()


def _allow_devices(rules: landlock.Ruleset) -> None:
    for path in ("/dev/null", "/dev/zero", "/dev/full"):
        rules.allow(path, landlock.DEVICE_WRITE)
    for path in ("/dev/random", "/dev/urandom"):
        rules.allow(path, landlock.DEVICE_READ)


def _filter(spec: LaunchSpec, supervisor: int) -> bytes:
    """Return the filter with the process ids of the supervisor and of its process group filled in."""
    program = spec.call_filter
    for placeholder, pid in ((SUPERVISOR, supervisor), (-SUPERVISOR, -supervisor)):
        program = program.replace(_word(placeholder), _word(pid))
    return program


def _word(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


def _volunteer_for_the_oom_killer() -> None:
    """Have the kernel kill this process first when memory runs out. Within another sandbox like this one the file is
    closed, but what is started there inherits the setting."""
    path = "/proc/self/oom_score_adj"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        if limits.read(path).strip() == _OOM_FIRST:
            return
        raise
    try:
        os.write(fd, _OOM_FIRST)
    finally:
        os.close(fd)


def _tell(spec: LaunchSpec, line: str) -> None:
    try:
        os.write(spec.status_fd, line.encode() + b"\n")
    except BrokenPipeError:
        return  # nobody reads it any more
