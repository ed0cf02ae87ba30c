"""The calls to the kernel that Python has no function for. Runs in the launcher: the standard library alone."""

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
_CAPABILITIES = 64
_SIGNALS = 64
_SIGKILL, _SIGSTOP = 9, 19
_SIG_SETMASK = 2


class Kernel:
    """The C library, asked for what only it can do. Every method raises OSError where the kernel refuses."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long
        self._libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        self._libc.signal.restype = ctypes.c_void_p

    def syscall(self, number: int, *arguments: int | bytes | None) -> int:
        """A system call by its number; integers go as longs, bytes as a pointer to them."""
        given = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
        result: int = self._libc.syscall(ctypes.c_long(number), *given)
        if result < 0:
            raise _last_error(f"syscall {number}")
        return result

    def prctl(self, option: int, argument: int = 0, second: int = 0) -> None:
        """prctl(2)."""
        zero = ctypes.c_ulong(0)
        if self._libc.prctl(option, ctypes.c_ulong(argument), ctypes.c_ulong(second), zero, zero):
            raise _last_error(f"prctl {option}")

    def adopt_orphans(self) -> None:
        """Become the parent of every descendant whose own parent ends."""
        self.prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def die_with_parent(self) -> None:
        """Be killed when the parent ends before this process does."""
        self.prctl(_PR_SET_PDEATHSIG, _SIGKILL)

    def hide_from_debuggers(self) -> None:
        """Let no process of the same user trace this one or read its memory."""
        self.prctl(_PR_SET_DUMPABLE, 0)

    def drop_privileges(self) -> None:
        """Give up every capability, for good: also those that root, or a set-uid program, gets on execve."""
        for capability in range(_CAPABILITIES):
            try:
                self.prctl(_PR_CAPBSET_DROP, capability)
            except OSError:
                break  # past the last one the kernel knows; or not root, and nothing to drop
        self.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if self._libc.capset(header, nothing):
            raise _last_error("capset")
        self.prctl(_PR_SET_NO_NEW_PRIVS, 1)

    def filter_calls(self, program: bytes) -> None:
        """Put a seccomp filter (8 bytes an instruction) over this thread and all it will start."""
        instructions = ctypes.create_string_buffer(program, len(program))
        pointer = ctypes.addressof(instructions)
        described = (ctypes.c_uint64 * 2)(len(program) // 8, pointer)  # struct sock_fprog: u16, padding, pointer
        self.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described))

    def reset_signals(self) -> None:
        """Every signal at its default and none blocked, as a program expects to be started."""
        for number in range(1, _SIGNALS + 1):
            if number not in (_SIGKILL, _SIGSTOP):
                self._libc.signal(number, None)  # the two the C library keeps for itself are refused: fine
        self._libc.sigprocmask(_SIG_SETMASK, bytes(128), None)

    def ignore_signal(self, number: int) -> None:
        """Take no notice of a signal."""
        self._libc.signal(number, 1)


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
