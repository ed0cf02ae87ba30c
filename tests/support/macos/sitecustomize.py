"""Make this Python look like that of macOS, as far as code can see: run by any Python with this folder on PYTHONPATH.

What Python has on Linux only is removed, as are the functions of libc that only Linux has, /proc and /sys. File
systems, processes and signals stay those of Linux.
"""

import builtins
import ctypes
import errno
import fcntl
import io
import mmap
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

for name in [name for name in vars(select) if name.lower().startswith("epoll")]:
    delattr(select, name)

import socket  # noqa: E402 - it chooses among what is in select

GONE: dict[ModuleType, str] = {
    os: """O_PATH O_TMPFILE O_DIRECT O_NOATIME O_LARGEFILE O_RSYNC memfd_create pidfd_open P_PIDFD waitid waitid_result
        sched_getaffinity sched_setaffinity sched_setscheduler sched_getscheduler sched_setparam sched_getparam
        sched_rr_get_interval sched_param SCHED_RESET_ON_FORK SCHED_BATCH SCHED_IDLE getxattr listxattr setxattr
        removexattr XATTR_SIZE_MAX XATTR_CREATE XATTR_REPLACE posix_fadvise posix_fallocate fdatasync pipe2 getresuid
        setresuid getresgid setresgid eventfd eventfd_read eventfd_write copy_file_range splice getrandom""",
    socket: """AF_NETLINK AF_VSOCK AF_ALG AF_PACKET AF_CAN AF_TIPC AF_RDS AF_QIPCRTR AF_BLUETOOTH SOCK_CLOEXEC
        SOCK_NONBLOCK MSG_CMSG_CLOEXEC SO_PEERCRED SO_PASSCRED SO_BINDTODEVICE SO_DOMAIN SO_PROTOCOL TCP_USER_TIMEOUT
        TCP_CORK TCP_QUICKACK TCP_DEFER_ACCEPT TCP_LINGER2 MSG_MORE MSG_ERRQUEUE MSG_CONFIRM""",
    signal: "sigwaitinfo sigtimedwait pidfd_send_signal SIGPWR SIGRTMIN SIGRTMAX SIGSTKFLT SIGPOLL SIGCLD",
    fcntl: """F_SETPIPE_SZ F_GETPIPE_SZ F_OFD_SETLK F_OFD_SETLKW F_OFD_GETLK F_ADD_SEALS F_GET_SEALS F_NOTIFY F_SETSIG
        F_GETSIG""",
    resource: "RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING prlimit RUSAGE_THREAD",
    time: "CLOCK_BOOTTIME CLOCK_TAI clock_settime pthread_getcpuclockid",
    mmap: "MAP_POPULATE MAP_STACK",
}
PREFIXES = ("MFD_", "EFD_", "RWF_", "SPLICE_", "GRND_", "POSIX_FADV_")
OF_LINUX = ("/proc", "/sys")
NOT_IN_LIBC = frozenset(
    "prctl inotify_init1 inotify_add_watch inotify_rm_watch unshare setns mount umount2 pivot_root capset renameat2"
    " openat2 statx memfd_create fallocate sync_file_range".split()
)


def without_proc(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(path: Any = ".", *arguments: Any, **named: Any) -> Any:
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if text.startswith(OF_LINUX) and (text in OF_LINUX or text.startswith(tuple(f"{one}/" for one in OF_LINUX))):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return function(path, *arguments, **named)

    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if function in known:
            known.add(guarded)
    return guarded


def become_macos() -> None:
    __import__("_sysconfigdata__linux_x86_64-linux-gnu")  # before the name of the system is part of its name
    sys.modules["_sysconfigdata__darwin_x86_64-linux-gnu"] = sys.modules["_sysconfigdata__linux_x86_64-linux-gnu"]
    sys.platform = "darwin"
    for module, names in GONE.items():
        for name in [*names.split(), *(name for name in vars(module) if name.startswith(PREFIXES))]:
            if hasattr(module, name):
                delattr(module, name)
    machine = type(os.uname())(("Darwin", "mac", "23.6.0", "Darwin Kernel Version 23.6.0", "arm64"))
    os.uname = lambda: machine
    builtins.open = io.open = without_proc(open)
    for name in ("open", "readlink", "scandir", "stat", "lstat", "listdir", "access", "chdir", "link"):
        setattr(os, name, without_proc(getattr(os, name)))
    in_libc = ctypes.CDLL.__getattr__

    def found(library: ctypes.CDLL, name: str) -> Any:
        if name in NOT_IN_LIBC:
            raise AttributeError(f"dlsym(0x0, {name}): symbol not found")
        return in_libc(library, name)

    ctypes.CDLL.__getattr__ = found


become_macos()
