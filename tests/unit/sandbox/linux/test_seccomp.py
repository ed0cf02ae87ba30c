"""The filter, run by an interpreter of its own: what it answers to each call, on both machines."""

import errno
import struct

import pytest

from localllm.sandbox.launcher.spec import SUPERVISOR
from localllm.sandbox.linux import seccomp

ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
AGENT, GROUP = 4242, 4200


class Machine:
    """Runs a classic BPF program over the data of one system call (struct seccomp_data)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers = seccomp.numbers(name)
        self.audit_name = seccomp.AUDIT_NAMES[name]
        program = seccomp.program(name, [AGENT, -GROUP])
        self.program = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]

    def answer(self, call: str, *arguments: int) -> int:
        return self.run(self.numbers[call], self.audit_name, *arguments)

    def run(self, number: int, architecture: int, *arguments: int) -> int:
        given = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
        data = struct.pack("=IIQ6Q", number, architecture, 0, *given)
        loaded = at = 0
        while True:
            operation, if_true, if_false, value = self.program[at]
            at += 1
            match operation:
                case 0x20:
                    (loaded,) = struct.unpack_from("=I", data, value)
                case 0x15:
                    at += if_true if loaded == value else if_false
                case 0x35:
                    at += if_true if loaded >= value else if_false
                case 0x45:
                    at += if_true if loaded & value else if_false
                case 0x06:
                    return value
                case _:
                    raise AssertionError(operation)


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return Machine(request.param)


def refused(error: int = errno.EPERM) -> int:
    return FAIL | error


def test_every_call_it_does_not_name_is_allowed(machine: Machine) -> None:
    named = set(machine.numbers.values())
    assert {machine.run(number, machine.audit_name) for number in range(470) if number not in named} == {ALLOW}


def test_a_foreign_architecture_is_killed(machine: Machine) -> None:
    assert machine.run(1, 0x40000003) == KILL  # 32-bit x86
    assert machine.run(0x40000001, machine.audit_name) == KILL  # x32


@pytest.mark.parametrize("call", ["ptrace", "bpf", "mount", "unshare", "setns", "keyctl", "shmget"])
def test_what_nobody_needs_is_refused(machine: Machine, call: str) -> None:
    assert machine.answer(call) == refused()


@pytest.mark.parametrize("call", ["io_uring_setup", "io_setup", "clone3", "openat2"])
def test_what_has_an_older_way_seems_to_be_missing(machine: Machine, call: str) -> None:
    assert machine.answer(call) == refused(errno.ENOSYS)


def test_sockets_are_refused_but_a_pair_of_ones_own(machine: Machine) -> None:
    assert {machine.answer("socket", family, kind) for family in range(46) for kind in (1, 2, 3)} == {
        refused(errno.EACCES)
    }
    assert machine.answer("socketpair", 1, 1) == ALLOW
    assert machine.answer("socketpair", 1, 5 | 0o2000000 | 0o4000) == ALLOW
    assert machine.answer("socketpair", 1, 2) == refused()
    assert machine.answer("socketpair", 1, 3 | 0o2000000) == refused()
    assert machine.answer("socketpair", 2, 1) == refused()


def test_new_namespaces_are_refused_and_threads_and_forks_are_not(machine: Machine) -> None:
    assert machine.answer("clone", 0x003D0F00) == ALLOW  # a thread, as the C library asks for it
    assert machine.answer("clone", 17) == ALLOW
    for namespace in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert machine.answer("clone", namespace | 17) == refused()


def test_typing_into_terminals_is_refused_and_asking_them_is_not(machine: Machine) -> None:
    assert machine.answer("ioctl", 0, 0x5412) == refused()
    assert machine.answer("ioctl", 0, 0xFFFFFFFF00005412) == refused()  # the kernel looks at the low half
    assert machine.answer("ioctl", 0, 0x5401) == ALLOW


@pytest.mark.parametrize("exchange", [0xC028660F, 0xC0C0586D, 0x40285881, 0xC020F509])
def test_exchanging_the_contents_of_files_is_refused_and_cloning_them_is_not(machine: Machine, exchange: int) -> None:
    assert machine.answer("ioctl", 3, exchange) == refused()
    assert machine.answer("ioctl", 3, 0x40049409) == ALLOW


@pytest.mark.parametrize(
    "request_code",
    [
        *(0xC0506617, 0xC0406618, 0xC0406619),  # fscrypt: add and remove keys
        *(0x50009401, 0x50009417, 0x5000940E, 0x50009418, 0x5000940F, 0x5000943F, 0x4008941A, 0x4020BC10),  # subvolumes
    ],
)
def test_keys_and_snapshots_of_the_file_system_are_out_of_reach(machine: Machine, request_code: int) -> None:
    assert machine.answer("ioctl", 3, request_code) == refused()


def test_leases_are_refused_and_locks_are_not(machine: Machine) -> None:
    assert machine.answer("fcntl", 3, 1024, 1) == refused()
    assert machine.answer("fcntl", 3, 6, 0) == ALLOW


def test_set_id_bits_are_refused_and_others_are_not(machine: Machine) -> None:
    assert machine.answer("fchmodat", 0, 0, 0o755) == ALLOW
    assert machine.answer("fchmodat", 0, 0, 0o4755) == refused()
    assert machine.answer("fchmod", 0, 0o2755) == refused()
    assert machine.answer("openat", 0, 0, 0o101, 0o644) == ALLOW
    assert machine.answer("openat", 0, 0, 0o101, 0o4644) == refused()
    assert machine.answer("openat", 0, 0, 0o20200000, 0o4644) == refused()  # O_TMPFILE
    assert machine.answer("openat", 0, 0, 0, 0o4644) == ALLOW  # nothing is made, so the mode means nothing


@pytest.mark.parametrize(
    ("call", "mode"),
    [("chmod", 1), ("creat", 1), ("fchmod", 1), ("mknod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("mknodat", 2)],
)
def test_no_call_that_takes_a_mode_sets_such_a_bit(machine: Machine, call: str, mode: int) -> None:
    if call not in machine.numbers:
        assert (machine.name, mode) == ("aarch64", 1)  # which has the calls that take a folder alone
        return
    before = [0] * mode
    assert machine.answer(call, *before, 0o100755) == ALLOW
    assert {machine.answer(call, *before, bit | 0o100755) for bit in (0o2000, 0o4000)} == {refused()}


@pytest.mark.parametrize("call", ["kill", "tgkill", "tkill", "rt_sigqueueinfo"])
def test_signals_spare_the_program_and_the_supervisor(machine: Machine, call: str) -> None:
    assert machine.answer(call, 77, 9) == ALLOW
    for pid in (AGENT, -GROUP, SUPERVISOR, -SUPERVISOR, -1):
        assert machine.answer(call, pid, 9) == refused()


def test_the_scheduling_of_others_is_not_touched(machine: Machine) -> None:
    assert machine.answer("setpriority", 0, 0, 5) == ALLOW
    assert machine.answer("setpriority", 0, 77, 5) == refused()
    assert machine.answer("setpriority", 2, 0, 5) == refused()
    assert machine.answer("ioprio_set", 3, 0) == refused()
    assert machine.answer("prlimit64", 0, 7) == ALLOW
    assert machine.answer("prlimit64", 77, 7) == refused()
    for call in ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"):
        assert machine.answer(call, 0) == ALLOW
        assert machine.answer(call, 77) == refused()


def test_attributes_of_files_are_not_supported(machine: Machine) -> None:
    assert machine.answer("fsetxattr") == refused(errno.EOPNOTSUPP)
    for call in ("getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat"):
        assert machine.answer(call) == refused(errno.EOPNOTSUPP)


def test_a_machine_without_a_table_is_told() -> None:
    with pytest.raises(KeyError):
        seccomp.program("riscv64", [])
