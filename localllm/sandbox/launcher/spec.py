"""Define what the launcher is given. Runs there, too: a plain class, as it has only the standard library and little
time.

All values are of built-in types, so that `vars(spec)` can be sent as marshal data.
"""

BASH = ("/bin/bash", "--noprofile", "--norc", "-c")
"""The shell, which reads none of the files that could change what a command means."""

SUPERVISOR = 0x5AFE5AFE
"""Stands for the supervisor's process id in a filter that is made before the process exists. No real id is that
high."""


END, STOP, GO_ON, NOTHING = b"t", b"s", b"c", b"."
"""Requests to the supervisor: have all processes end in good order; stop them; let them go on; and none, which is read
when the one before has been complied with."""


class LaunchSpec:
    """One command and what it may do.

    Paths are absolute, with symlinks resolved. `writable`: folders it may change; `scratch`: the one of them that is
    deleted afterwards. `hidden`: what it may not read, except for `shown` below. `call_filter`: a seccomp program.
    `level`: how it is confined. "landlock" makes rules on files of `hidden` and `shown`; "namespaces" and "bubblewrap"
    make a view of the machine of them, in which also each of `private` is an empty folder of the command's own,
    `pinned` are read-only, `held` cannot be renamed, `masked` (sockets) are closed, `links` (name → target) are
    created, and each folder of `copies` is replaced by its copy; of `present` only
    the names are shown. "inside" is the second half of "bubblewrap", which
    starts itself again by `again`: a command line, to which a descriptor is added, and the code to be read from that.
    `live_fd`: a pipe; data on it are requests (`END`, …), its end of file means that nobody waits any more.
    `status_fd`: a pipe for the outcome. `gate_fd`: a socket for the way to the network (see `listener`), -1 for none.
    `error_fd`: the stderr of the command if it is not the launcher's, else -1.
    For "inside" also: `steps`, the mounts that were planned; `outside`, the mountinfo there; `words_fd`, for the reason
    why it is not run.
    `record`: a file whose time shows until when the command ran, "" for none; `record_fd`: the same, open.
    `threads` 0: some hundreds, more on larger machines; `memory` (bytes) 0: three quarters of the machine's; `disk`
    (bytes): limits each file, and by how much the free space may shrink; `files`: how many may be added.
    """

    def __init__(
        self,
        *,
        command: bytes,
        folder: str,
        environment: dict[bytes, bytes],
        writable: list[str],
        hidden: list[str],
        shown: list[str],
        scratch: str,
        call_filter: bytes,
        level: str = "landlock",
        private: list[str] | None = None,
        pinned: list[str] | None = None,
        held: list[str] | None = None,
        masked: list[str] | None = None,
        links: dict[str, str] | None = None,
        copies: dict[str, str] | None = None,
        present: list[str] | None = None,
        again: tuple[list[str], bytes] = ([], b""),
        live_fd: int = -1,
        status_fd: int = -1,
        gate_fd: int = -1,
        error_fd: int = -1,
        record: str = "",
        record_fd: int = -1,
        steps: list[tuple[str, str, str]] | None = None,
        outside: bytes = b"",
        words_fd: int = -1,
        processes: int = 512,
        threads: int = 0,
        open_files: int = 4096,
        memory: int = 0,
        disk: int = 8 << 30,
        files: int = 500_000,
    ) -> None:
        self.command = command
        self.folder = folder
        self.environment = environment
        self.writable = writable
        self.hidden = hidden
        self.shown = shown
        self.scratch = scratch
        self.call_filter = call_filter
        self.level = level
        self.private = private or []
        self.pinned = pinned or []
        self.held = held or []
        self.masked = masked or []
        self.links = links or {}
        self.copies = copies or {}
        self.present = present or []
        self.again = again
        self.live_fd = live_fd
        self.status_fd = status_fd
        self.gate_fd = gate_fd
        self.error_fd = error_fd
        self.record = record
        self.record_fd = record_fd
        self.steps = steps or []
        self.outside = outside
        self.words_fd = words_fd
        self.processes = processes
        self.threads = threads
        self.open_files = open_files
        self.memory = memory
        self.disk = disk
        self.files = files
