"""Call the kernel where Python has no function for it. Runs in the launcher: standard library only."""

import ctypes
import errno
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
_SYS_ADMIN = 1 << 21
_SIGKILL = 9
_SIG_SETMASK = 2

_CLONE = {"x86_64": 56, "aarch64": 220}
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442  # the same on every architecture
_NEW_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Mount, UTS, IPC, user, PID, network: linux/sched.h."""
_NEW_CGROUP = 0x2000000
_SIGCHLD = 17
_AT_FDCWD, _AT_RECURSIVE, _AT_EMPTY_PATH = -100, 0x8000, 0x1000
_CLONE_TREE, _FROM_AND_TO_DESCRIPTORS = 1, 0x44  # OPEN_TREE_CLONE, MOVE_MOUNT_{F,T}_EMPTY_PATH
_RESOLVE_NO_LINKS_AND_BENEATH = 0x04 | 0x08
_RESOLVE_NO_MOUNTS_AND_NO_DESCRIPTORS = 0x01 | 0x02  # RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS
_PROC = 0x9FA0  # linux/magic.h
_READ_ONLY, _NO_SET_ID, _NO_DEVICES = 1, 2, 4  # MOUNT_ATTR_…
_BIND, _RECURSIVE, _UNBINDABLE, _PRIVATE, _SLAVE = 1 << 12, 1 << 14, 1 << 17, 1 << 18, 1 << 19  # MS_…
_DETACH = 2
_MADE_OR_MOVED_HERE = 0x100 | 0x80  # IN_CREATE, IN_MOVED_TO
_FOLDER_ITSELF = 0x1000000 | 0x2000000  # IN_ONLYDIR, IN_DONT_FOLLOW
_AF_INET, _SOCK_DGRAM, _SIOCSIFFLAGS, _IFF_UP = 2, 2, 0x8914, 1


class Kernel:
    """Calls to the C library. Every method raises OSError if the kernel refuses."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long
        self._libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        self._libc.signal.restype = ctypes.c_void_p

    def syscall(self, number: int, *arguments: int | bytes | None) -> int:
        """Make a system call by its number; integers are passed as longs, bytes as a pointer to them."""
        given = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
        result: int = self._libc.syscall(ctypes.c_long(number), *given)
        if result < 0:
            raise _last_error(f"syscall {number}")
        return result

    def prctl(self, option: int, argument: int = 0, second: int = 0) -> None:
        """Call prctl(2)."""
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
        """Prevent other processes of the same user from tracing this one or reading its memory."""
        self.prctl(_PR_SET_DUMPABLE, 0)

    def drop_privileges(self, *, but_mounting: bool = False) -> None:
        """Give up every capability for good, also those that root or a set-uid program gets on execve.

        `but_mounting`: keep the right to mount in the own namespace; a program that this process becomes has none.
        """
        for capability in range(_CAPABILITIES):
            try:
                self.prctl(_PR_CAPBSET_DROP, capability)
            except OSError:
                break  # past the last one the kernel knows; or not root, and nothing to drop
        self.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        kept = _SYS_ADMIN if but_mounting else 0
        if self._libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)):  # effective, permitted
            raise _last_error("capset")
        self.prctl(_PR_SET_NO_NEW_PRIVS, 1)

    def filter_calls(self, program: bytes) -> None:
        """Apply a seccomp filter (8 bytes an instruction) to this thread and everything it will start."""
        instructions = ctypes.create_string_buffer(program, len(program))
        pointer = ctypes.addressof(instructions)
        described = (ctypes.c_uint64 * 2)(len(program) // 8, pointer)  # struct sock_fprog: u16, padding, pointer
        self.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described))

    def reset_signals(self, ignored: list[int]) -> None:
        """Set every signal to its default and block none, as a program expects at its start. execve(2) removes handlers
        anyway, but `ignored` signals would stay ignored."""
        for number in ignored:
            self._libc.signal(number, None)
        self._libc.sigprocmask(_SIG_SETMASK, bytes(128), None)

    def ignore_signal(self, number: int) -> None:
        """Ignore a signal."""
        self._libc.signal(number, 1)

    def clone_into_namespaces(self) -> int:
        """Fork as fork(2), with the child as process 1 in namespaces of its own, where it has every capability."""
        number = _CLONE[os.uname().machine]
        try:
            return self.syscall(number, _NEW_NAMESPACES | _NEW_CGROUP | _SIGCHLD, 0, 0, 0, 0)
        except OSError:
            pass  # perhaps only a cgroup namespace is refused
        try:
            return self.syscall(number, _NEW_NAMESPACES | _SIGCHLD, 0, 0, 0, 0)
        except OSError as error:
            raise OSError(error.errno, f"no namespaces can be made: {os.strerror(error.errno or 0)}") from error

    def cut_off_mounts(self) -> None:
        """Keep all later mounts invisible outside this process's mount namespace."""
        self._mount(None, "/", None, _RECURSIVE | _SLAVE)

    def bind(self, source: str, target: str) -> None:
        """Mount `source`, with everything mounted below it, at `target` as well."""
        self._mount(source, target, None, _BIND | _RECURSIVE)

    def open_path(self, root: str, path: str) -> int:
        """Open a descriptor of `root` + `path`, which keeps its meaning whatever is renamed. Follows no symlink."""
        folder = os.open(root, os.O_PATH | os.O_CLOEXEC)
        how = _words(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_LINKS_AND_BENEATH)
        try:
            return self.syscall(_OPENAT2, folder, os.fsencode(path.lstrip("/")), how, len(how))
        finally:
            os.close(folder)

    def open_mount_list(self) -> int:
        """Open the list of the mounts of this process, and nothing that was mounted over it."""
        folder = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
        how = _words(os.O_RDONLY | os.O_CLOEXEC, 0, _RESOLVE_NO_MOUNTS_AND_NO_DESCRIPTORS)
        try:
            fd = self.syscall(_OPENAT2, folder, b"self/mountinfo", how, len(how))
        except OSError as error:
            if error.errno != errno.ENOSYS:  # before Linux 5.6, or within another sandbox
                raise
            fd = os.open("self/mountinfo", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        about = (ctypes.c_long * 32)()  # struct statfs, which begins with the kind
        if self._libc.fstatfs(fd, about) or about[0] != _PROC:
            raise OSError(0, "/proc is none")
        return fd

    def bind_open(self, source: int, target: int, *, read_only: bool) -> None:
        """Mount the file or folder of the descriptor `source` at that of `target`, `read_only` from the beginning."""
        copy = self.syscall(_OPEN_TREE, source, b"", _CLONE_TREE | _AT_RECURSIVE | _AT_EMPTY_PATH | os.O_CLOEXEC)
        try:
            wanted = _NO_SET_ID | _NO_DEVICES | (_READ_ONLY if read_only else 0)
            attributes = _words(wanted, 0, _PRIVATE, 0)
            self.syscall(_MOUNT_SETATTR, copy, b"", _AT_RECURSIVE | _AT_EMPTY_PATH, attributes, len(attributes))
            self.syscall(_MOVE_MOUNT, copy, b"", target, b"", _FROM_AND_TO_DESCRIPTORS)
        finally:
            os.close(copy)

    def mount(self, kind: str, target: str, options: str = "") -> None:
        """Mount a new file system of a `kind`: without set-id bits, and with devices only for devpts."""
        flags = _NO_SET_ID if kind == "devpts" else _NO_SET_ID | _NO_DEVICES
        self._mount(kind, target, kind, flags, options)

    def keep_out_of_binds(self, target: str) -> None:
        """Leave the mount at `target`, and everything below, out of bind mounts of what is around it."""
        self._mount(None, target, None, _UNBINDABLE)

    def restrict_mount(self, target: str, *, read_only: bool) -> None:
        """Allow no set-id bits, no devices, and no propagation of the machine's mounts, at `target` and all mounts
        below."""
        wanted = _NO_SET_ID | _NO_DEVICES | (_READ_ONLY if read_only else 0)
        attributes = _words(wanted, 0, _PRIVATE, 0)
        try:
            self.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, attributes, len(attributes))
        except OSError as error:
            raise OSError(error.errno, f"{target} cannot be restricted: {error.strerror}") from error

    def make_read_only(self, target: str) -> None:
        """Make the mount at `target` read-only and change nothing else."""
        attributes = _words(_READ_ONLY, 0, 0, 0)
        self.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), 0, attributes, len(attributes))

    def change_root(self, folder: str) -> None:
        """Make a mounted folder `/`, and unmount the former one."""
        os.chdir(folder)
        if self._libc.pivot_root(b".", b".") or self._libc.umount2(b".", _DETACH):
            raise _last_error("pivot_root")
        os.chdir("/")

    def open_watch(self) -> int:
        """Open a descriptor that reports events in folders, see inotify(7)."""
        fd: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if fd < 0:
            raise _last_error("inotify")
        return fd

    def watch_folder(self, fd: int, folder: str) -> int:
        """Have `fd` report each entry that is created in or moved to `folder`; return the number it reports with
        them."""
        number: int = self._libc.inotify_add_watch(fd, os.fsencode(folder), _MADE_OR_MOVED_HERE | _FOLDER_ITSELF)
        if number < 0:
            raise _last_error(f"watch {folder}")
        return number

    def raise_loopback(self) -> None:
        """Enable 127.0.0.1 in a new network namespace."""
        fd = self._libc.socket(_AF_INET, _SOCK_DGRAM, 0)
        if fd < 0:
            raise _last_error("socket")
        request = b"lo".ljust(16, b"\0") + _IFF_UP.to_bytes(2, "little").ljust(24, b"\0")  # struct ifreq
        failed = self._libc.ioctl(fd, ctypes.c_ulong(_SIOCSIFFLAGS), request)
        os.close(fd)
        if failed:
            raise _last_error("loopback")

    def _mount(self, source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
        given = [None if value is None else os.fsencode(value) for value in (source, target, kind)]
        if self._libc.mount(*given, ctypes.c_ulong(flags), options.encode() or None):
            raise _last_error(f"mount on {target}")


def _words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
