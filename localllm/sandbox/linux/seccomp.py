"""Generate a system call filter as a classic BPF program, for what Landlock does not cover.

Refused: all sockets except pairs among the command's own processes, tracing, mounting and namespaces, kernel
interfaces with a record of vulnerabilities, typing into terminals, set-id bits, file leases, shared memory that
outlives the command, and changing the priority or limits of processes outside.
"""

import struct

from localllm.sandbox.launcher.spec import SUPERVISOR

# linux/filter.h: load a word, jump if equal, jump if any bit is set, return
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
# linux/seccomp.h
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_CALLS = 0x40000000

EPERM, EACCES, ENOSYS, EOPNOTSUPP = 1, 13, 38, 95

AUDIT_NAMES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine → the kernel's identifier of its native calls (linux/audit.h)."""

_BOTH = (
    "io_uring_setup 425 io_uring_enter 426 io_uring_register 427 open_tree 428 move_mount 429 fsopen 430 fsconfig 431 "
    "fsmount 432 fspick 433 pidfd_open 434 clone3 435 openat2 437 pidfd_getfd 438 process_madvise 440 "
    "mount_setattr 442 quotactl_fd 443 fchmodat2 452 setxattrat 463 getxattrat 464 listxattrat 465 removexattrat 466 "
    "open_tree_attr 467 file_setattr 469 "
)
_NUMBERS = {
    "x86_64": _BOTH + "open 2 ioctl 16 shmget 29 shmat 30 shmctl 31 socket 41 socketpair 53 clone 56 kill 62 semget 64 "
    "semop 65 semctl 66 msgget 68 msgsnd 69 msgrcv 70 msgctl 71 fcntl 72 creat 85 chmod 90 fchmod 91 ptrace 101 "
    "syslog 103 rt_sigqueueinfo 129 mknod 133 uselib 134 setpriority 141 sched_setparam 142 sched_setscheduler 144 "
    "vhangup 153 modify_ldt 154 pivot_root 155 chroot 161 acct 163 settimeofday 164 mount 165 umount2 166 swapon 167 "
    "swapoff 168 reboot 169 sethostname 170 setdomainname 171 iopl 172 ioperm 173 init_module 175 delete_module 176 "
    "quotactl 179 setxattr 188 lsetxattr 189 fsetxattr 190 getxattr 191 lgetxattr 192 listxattr 194 llistxattr 195 "
    "removexattr 197 lremovexattr 198 fremovexattr 199 tkill 200 sched_setaffinity 203 lookup_dcookie 212 "
    "semtimedop 220 io_setup 206 clock_settime 227 tgkill 234 mq_open 240 mq_unlink 241 kexec_load 246 add_key 248 "
    "request_key 249 keyctl 250 ioprio_set 251 migrate_pages 256 openat 257 mknodat 259 fchmodat 268 unshare 272 "
    "move_pages 279 rt_tgsigqueueinfo 297 perf_event_open 298 fanotify_init 300 prlimit64 302 open_by_handle_at 304 "
    "clock_adjtime 305 setns 308 process_vm_readv 310 process_vm_writev 311 kcmp 312 finit_module 313 "
    "sched_setattr 314 kexec_file_load 320 bpf 321 userfaultfd 323",
    "aarch64": _BOTH + "io_setup 0 setxattr 5 lsetxattr 6 fsetxattr 7 getxattr 8 lgetxattr 9 listxattr 11 "
    "llistxattr 12 removexattr 14 lremovexattr 15 fremovexattr 16 lookup_dcookie 18 fcntl 25 ioctl 29 ioprio_set 30 "
    "mknodat 33 umount2 39 mount 40 pivot_root 41 chroot 51 fchmod 52 fchmodat 53 openat 56 vhangup 58 quotactl 60 "
    "acct 89 unshare 97 kexec_load 104 init_module 105 delete_module 106 clock_settime 112 syslog 116 ptrace 117 "
    "sched_setparam 118 sched_setscheduler 119 sched_setaffinity 122 kill 129 tkill 130 tgkill 131 rt_sigqueueinfo 138 "
    "setpriority 140 reboot 142 sethostname 161 setdomainname 162 settimeofday 170 mq_open 180 mq_unlink 181 "
    "msgget 186 msgctl 187 msgrcv 188 msgsnd 189 semget 190 semctl 191 semtimedop 192 semop 193 shmget 194 shmctl 195 "
    "shmat 196 socket 198 socketpair 199 add_key 217 request_key 218 keyctl 219 clone 220 swapon 224 swapoff 225 "
    "migrate_pages 238 move_pages 239 rt_tgsigqueueinfo 240 perf_event_open 241 prlimit64 261 fanotify_init 262 "
    "open_by_handle_at 265 clock_adjtime 266 setns 268 process_vm_readv 270 process_vm_writev 271 kcmp 272 "
    "finit_module 273 sched_setattr 274 bpf 280 userfaultfd 282 kexec_file_load 294",
}
"""Names and numbers, from asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64)."""

_REFUSED: dict[int, str] = {
    EACCES: "socket",
    EPERM: "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd migrate_pages move_pages "
    "mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr chroot "
    "setns unshare bpf perf_event_open userfaultfd fanotify_init open_by_handle_at lookup_dcookie add_key request_key "
    "keyctl kexec_load kexec_file_load init_module finit_module delete_module swapon swapoff reboot quotactl "
    "quotactl_fd acct syslog vhangup settimeofday clock_settime clock_adjtime sethostname setdomainname iopl ioperm "
    "modify_ldt uselib shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open "
    "mq_unlink file_setattr",
    # ENOSYS makes programs fall back: the arguments of clone and openat can be checked, their successors' cannot.
    # Contexts for asynchronous I/O (io_setup) have one limit for all users together.
    ENOSYS: "io_setup io_uring_setup io_uring_enter io_uring_register clone3 openat2",
    # Landlock does not guard attributes, of hidden files either. Those of a file that is open can be read.
    EOPNOTSUPP: "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat "
    "getxattr lgetxattr getxattrat listxattr llistxattr listxattrat",
}

_NEW_NAMESPACES = 0x7E020000  # clone: mount, cgroup, UTS, IPC, user, PID, network
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE, _NETLINK_SOCK_DIAG = 0, 4
_CONNECTED = tuple(kind | flags for kind in (1, 5) for flags in (0, 0o4000, 0o2000000, 0o2004000))
"""SOCK_STREAM, SOCK_SEQPACKET, with SOCK_NONBLOCK and SOCK_CLOEXEC. Datagram sockets could reach any."""
_CREATES = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE
_SET_ID = 0o6000
_EVERY_PROCESS = 0xFFFFFFFF  # kill(-1)
_PRIO_USER, _IOPRIO_WHO_USER = 2, 3
_LEASES = (1024, 1040)  # F_SETLEASE, F_SETDELEG: others cannot open the file, or have to wait
_IOCTLS = (
    0x5412,  # TIOCSTI, TIOCLINUX: type into a terminal
    0x541C,
    0x5423,  # TIOCSETD
    0x40086602,  # FS_IOC_SETFLAGS, _SETFLAGS32, _FSSETXATTR: work on files opened read-only
    0x40046602,
    0x401C5820,
    0x40806685,  # FS_IOC_ENABLE_VERITY, _SET_ENCRYPTION_POLICY
    0x800C6613,
    0xC0506617,  # FS_IOC_ADD_ENCRYPTION_KEY, _REMOVE_ENCRYPTION_KEY(_ALL_USERS): lock the user out of an encrypted home
    0xC0406618,
    0xC0406619,
    0x50009401,  # BTRFS_IOC_SNAP_CREATE(_V2), _SUBVOL_CREATE(_V2): a snapshot shows files that a mount covers
    0x50009417,
    0x5000940E,
    0x50009418,
    0x5000940F,  # BTRFS_IOC_SNAP_DESTROY(_V2), _SUBVOL_SETFLAGS: a read-only subvolume cannot be restored
    0x5000943F,
    0x4008941A,
    0x4020BC10,  # BCH_IOCTL_SUBVOLUME_CREATE
    0xC028660F,  # EXT4_IOC_MOVE_EXT, XFS_IOC_SWAPEXT, _EXCHANGE_RANGE, F2FS_IOC_MOVE_RANGE: keep a file's times
    0xC0C0586D,
    0x40285881,
    0xC020F509,
)

Test = tuple[str, int, tuple[int, ...]]
"""`("refuse_any_bit" | "refuse_equal" | "refuse_other" | "go_on_if_any_bit" | "go_on_if_equal", argument, values)`."""


_FINE_IN_NAMESPACES = (
    "ptrace process_vm_readv process_vm_writev socket "  # debuggers: the namespace limits whom they reach
    "shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink "
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat "
    "getxattr lgetxattr getxattrat listxattr llistxattr listxattrat"
)
_CONDITIONS_IN_NAMESPACES: dict[str, tuple[Test, ...]] = {
    "socket": (
        ("refuse_other", 0, (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)),
        ("go_on_if_equal", 0, (_AF_NETLINK,)),
        ("refuse_other", 2, (_NETLINK_ROUTE, _NETLINK_SOCK_DIAG)),
    ),
    "socketpair": (("refuse_other", 0, (_AF_UNIX,)),),
}


def _conditions(guarded: list[int], *, has_namespaces: bool) -> dict[str, tuple[Test, ...]]:
    """Return call → tests of its arguments, in order; calls that no test refuses are allowed."""
    pids = tuple(pid & 0xFFFFFFFF for pid in guarded)
    to_guarded: Test = ("refuse_equal", 0, pids)
    to_guarded_or_all: Test = ("refuse_equal", 0, (_EVERY_PROCESS, *pids))
    conditions: dict[str, tuple[Test, ...]] = {
        "socketpair": (("refuse_other", 0, (_AF_UNIX,)), ("refuse_other", 1, _CONNECTED)),
        "pidfd_open": (to_guarded,),
        "clone": (("refuse_any_bit", 0, (_NEW_NAMESPACES,)),),
        "ioctl": (("refuse_equal", 1, _IOCTLS),),
        "fcntl": (("refuse_equal", 1, _LEASES),),
        "prlimit64": (("refuse_other", 0, (0,)),),
        "setpriority": (("refuse_equal", 0, (_PRIO_USER,)), ("refuse_other", 1, (0,))),
        "ioprio_set": (("refuse_equal", 0, (_IOPRIO_WHO_USER,)), ("refuse_other", 1, (0,))),
        "open": (("go_on_if_any_bit", 1, (_CREATES,)), ("refuse_any_bit", 2, (_SET_ID,))),
        "openat": (("go_on_if_any_bit", 2, (_CREATES,)), ("refuse_any_bit", 3, (_SET_ID,))),
    }
    for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        conditions[name] = (to_guarded_or_all,)
    for name in ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"):
        conditions[name] = (to_guarded if has_namespaces else ("refuse_other", 0, (0,)),)  # 0: the calling process
    for name in ("creat", "chmod", "fchmod", "mknod"):
        conditions[name] = (("refuse_any_bit", 1, (_SET_ID,)),)
    for name in ("fchmodat", "fchmodat2", "mknodat"):
        conditions[name] = (("refuse_any_bit", 2, (_SET_ID,)),)
    return conditions


def numbers(machine: str) -> dict[str, int]:
    """Return system call → its number on `machine` ("x86_64" or "aarch64")."""
    words = _NUMBERS[machine].split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}


def program(machine: str, guarded: list[int], *, has_namespaces: bool = False) -> bytes:
    """Build the filter, 8 bytes for each instruction. Raises KeyError for an unknown machine.

    `guarded`: processes (and, as negative numbers, groups) that must not be signalled or slowed down; always
    including the supervisor. `has_namespaces`: the network, shared memory and mounts are the command's own, so it may
    use sockets among its processes, and extended attributes.
    """
    known = numbers(machine)
    fine = _FINE_IN_NAMESPACES.split() if has_namespaces else []
    code = _Code()
    code.begin(AUDIT_NAMES[machine])
    for error, names in _REFUSED.items():
        for name in names.split():
            if name in known and name not in fine:
                code.refuse(known[name], error)
    conditions = _conditions([*guarded, SUPERVISOR, -SUPERVISOR], has_namespaces=has_namespaces)
    if has_namespaces:
        conditions |= _CONDITIONS_IN_NAMESPACES
    for name, tests in conditions.items():
        if name in known:
            code.refuse_if(known[name], tests)
    return code.end()


class _Code:
    """A program under construction. Jumps count the instructions to skip."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, int, int]] = []

    def _add(self, operation: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        self._instructions.append((operation, if_true, if_false, value))

    def begin(self, architecture: int) -> None:
        """Kill processes that make calls of another architecture, or x32, whose numbers differ."""
        self._add(_LOAD, _ARCHITECTURE_AT)
        self._add(_EQUAL, architecture, if_true=1)
        self._add(_RETURN, _KILL)
        self._add(_LOAD, _NUMBER_AT)
        self._add(_AT_LEAST, _X32_CALLS, if_false=1)
        self._add(_RETURN, _KILL)

    def refuse(self, number: int, error: int) -> None:
        """Make the call always fail with `error`."""
        self._add(_EQUAL, number, if_false=1)
        self._add(_RETURN, _FAIL | error)

    def refuse_if(self, number: int, tests: tuple[Test, ...]) -> None:
        """Make the call fail with EPERM if a test of its arguments matches."""
        body = _Code()
        for kind, argument, values in tests:
            body._add(_LOAD, _ARGUMENTS_AT + 8 * argument)  # the low half: the kernel takes these as 32 bits
            body._test(kind, values)
        body._add(_RETURN, _ALLOW)
        self._add(_EQUAL, number, if_false=len(body._instructions))
        self._instructions += body._instructions

    def _test(self, kind: str, values: tuple[int, ...]) -> None:
        match kind:
            case "refuse_any_bit":
                self._add(_ANY_BIT, values[0], if_false=1)
                self._add(_RETURN, _FAIL | EPERM)
            case "go_on_if_any_bit":
                self._add(_ANY_BIT, values[0], if_true=1)
                self._add(_RETURN, _ALLOW)
            case "go_on_if_equal":
                self._add(_EQUAL, values[0], if_true=1)
                self._add(_RETURN, _ALLOW)
            case "refuse_equal":
                for value in values:
                    self._add(_EQUAL, value, if_false=1)
                    self._add(_RETURN, _FAIL | EPERM)
            case _:
                for ahead, value in zip(range(len(values), 0, -1), values, strict=True):
                    self._add(_EQUAL, value, if_true=ahead)
                self._add(_RETURN, _FAIL | EPERM)

    def end(self) -> bytes:
        self._add(_RETURN, _ALLOW)
        return b"".join(struct.pack("=HBBI", *instruction) for instruction in self._instructions)
