"""The program between the assistant and a command: it gives up every right, then becomes the command.

It is started for one command, by an interpreter of its own with nothing but the standard library, and has one thread.
It splits in two: the child restricts itself and becomes bash; the parent supervises and tells the outcome. If a step of
the restriction fails, the command is not run.
"""

import os

from localllm.sandbox import landlock, limits
from localllm.sandbox.linux import Kernel
from localllm.sandbox.spec import BASH, SUPERVISOR, LaunchSpec

NOT_RUN = 125
"""The exit status of a child whose restriction failed (the one env and docker use for the same)."""

_OWN_SIGNALS = (1, 2, 3, 15)  # HUP, INT, QUIT, TERM: the supervisor ends last, when all else has
_OOM_FIRST = b"800"  # of -1000 to 1000: under memory pressure the command goes before what the user works with


def main(spec: LaunchSpec) -> None:
    """Run the command; write `failed …` or `ended RETURN_CODE EXCESS` to the status pipe. Does not return."""
    for fd in (spec.live_fd, spec.status_fd):
        os.set_inheritable(fd, False)  # noqa: FBT003 - the function takes it by position only
    try:
        kernel = Kernel()
        if not limits.can_see_children():
            raise OSError(0, "the kernel does not list the children of a process")  # noqa: TRY301
        kernel.adopt_orphans()
        limits.rise_above()
        kernel.drop_privileges()
        supervisor = limits.Supervisor(spec, is_enclosed=landlock.enclose_signals(kernel))
        me = os.getpid()
        pid = os.fork()
    except OSError as error:
        _tell(spec, f"failed {error.strerror}")
        os._exit(NOT_RUN)
    if not pid:
        _become_the_command(kernel, spec, me)
    _supervise(kernel, spec, supervisor, pid)


def _supervise(kernel: Kernel, spec: LaunchSpec, supervisor: limits.Supervisor, pid: int) -> None:
    kernel.hide_from_debuggers()
    for number in _OWN_SIGNALS:
        kernel.ignore_signal(number)
    code, excess = supervisor.wait(pid)
    if supervisor.abandoned:
        _remove(spec.scratch)
    _tell(spec, f"ended {code} {excess}")
    os._exit(0)


def _become_the_command(kernel: Kernel, spec: LaunchSpec, supervisor: int) -> None:
    try:
        kernel.die_with_parent()
        if os.getppid() != supervisor:
            raise OSError(0, "the supervisor has ended")  # noqa: TRY301
        os.setsid()
        kernel.reset_signals()
        limits.set_limits(spec)
        _volunteer_for_the_oom_killer()
        _restrict_files(kernel, spec)
        os.chdir(spec.folder)
        kernel.filter_calls(_filter(spec, supervisor))
        # The whole point is to run what was asked for.
        os.execve(BASH[0], [*BASH, spec.command], spec.environment)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - whatever failed, the command must not be run
        _tell(spec, f"failed {getattr(error, 'strerror', None) or repr(error)}")
    finally:
        os._exit(NOT_RUN)


def _restrict_files(kernel: Kernel, spec: LaunchSpec) -> None:
    version = landlock.abi(kernel)
    if version < landlock.LEAST_ABI:
        raise OSError(0, f"Landlock has version {version}, {landlock.LEAST_ABI} is needed")
    rules = landlock.Ruleset(kernel, landlock.everything(version))
    rules.allow_around([*spec.hidden, "/dev"], landlock.READ)
    for path in spec.shown:
        rules.allow_around(spec.hidden, landlock.READ, start=path)
    for path in ("/dev/null", "/dev/zero", "/dev/full"):
        rules.allow(path, landlock.DEVICE_WRITE)
    for path in ("/dev/random", "/dev/urandom"):
        rules.allow(path, landlock.DEVICE_READ)
    for path in spec.writable:
        if not rules.allow(path, landlock.WRITE):
            raise OSError(0, f"cannot open {path}")
    rules.enforce()


def _filter(spec: LaunchSpec, supervisor: int) -> bytes:
    """The filter with the supervisor's process id, and that of its group, filled in."""
    program = spec.call_filter
    for placeholder, pid in ((SUPERVISOR, supervisor), (-SUPERVISOR, -supervisor)):
        program = program.replace(_word(placeholder), _word(pid))
    return program


def _word(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


def _volunteer_for_the_oom_killer() -> None:
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, _OOM_FIRST)
    finally:
        os.close(fd)


def _remove(folder: str) -> None:
    """The assistant is gone: nobody else will."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _tell(spec: LaunchSpec, line: str) -> None:
    try:
        os.write(spec.status_fd, line.encode() + b"\n")
    except BrokenPipeError:
        return  # nobody is there any more to be told
