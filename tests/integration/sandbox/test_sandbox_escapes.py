"""What a command tried is judged by what it left behind outside, never by what it says."""

import os
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from localllm.sandbox.runner import SandboxRunner
from tests.support.sandbox_world import SECRET, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "attempt",
    [
        "echo changed > {file}",
        "echo changed >> {file}",
        ": > {file}",
        "truncate -s 0 {file}",
        "rm -f {file}",
        "mv {file} {outside}/renamed",
        "mv {file} stolen",
        "echo new > new; mv new {file}",
        "echo new > {outside}/new",
        "mkdir {outside}/new",
        "ln -s /etc/passwd {outside}/new",
        "mkfifo {outside}/new",
        "ln {file} linked; echo changed > linked",
        "ln -s {file} link; echo changed > link",
        "ln -s {outside} link; echo new > link/new",
        "cd {outside} && echo new > new",
        "echo changed > ../outside/file",
        "echo changed > /proc/self/cwd/../outside/file",
        "echo changed > /proc/self/root{file}",
        "cp /bin/ls {outside}/new",
        'python3 -c \'open("{file}", "r+").write("changed")\'',
        "bash -c 'exec 3<>{file}; echo changed >&3'",
        "unshare -Ur bash -c 'echo changed > {file}'",
        "unshare -Urm bash -c 'mount --bind {outside} $PWD && cd $PWD && echo changed > file'",
        "dd if=/dev/zero of={file} bs=1 count=1 conv=notrunc",
        "touch new; tar cf - new | tar xf - -C {outside}",
        "(sleep 0.2; echo changed > {file}) & wait",
        "exec -a -sh bash -c 'echo changed > {file}'",
        "BASH_ENV=x env -i bash -c 'echo changed > {file}'",
        "setsid -w nohup bash -c 'echo changed > {file}'",
        'python3 -c \'import os; os.setxattr("{file}", "user.x", b"y")\'',
    ],
)
async def test_nothing_outside_is_changed(world: World, attempt: str) -> None:
    await world.run(attempt.format(file=world.file, outside=world.outside))
    assert world.outside_is_untouched()
    assert not os.listxattr(world.file)


async def test_a_link_that_already_points_outside_is_no_way_out(world: World) -> None:
    (world.project / "link").symlink_to(world.file)
    (world.project / "folder").symlink_to(world.outside)
    await world.run("echo changed > link; echo new > folder/new; rm folder/file")
    assert world.outside_is_untouched()


@pytest.mark.parametrize(
    "attempt",
    [
        "cat {key}",
        "cp {key} stolen; cat stolen",
        "ln {key} stolen; cat stolen",
        "ln -s {key} stolen; cat stolen",
        "mv {key} stolen; cat stolen",
        "cat ../home/.ssh/id_ed25519",
        "cat < /proc/self/root{key}",
        "cd {home}/.ssh && cat id_ed25519",
        "grep -r PRIVATE {home}",
        "tar cf - {home} | cat",
        "python3 -c 'print(open(\"{key}\").read())'",
    ],
)
async def test_the_home_is_not_read(world: World, attempt: str) -> None:
    done = await world.run(attempt.format(key=world.key, home=world.home))
    assert SECRET not in done.stdout + done.stderr
    files = [path for path in world.project.iterdir() if path.is_file() and not path.is_symlink()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert world.key.read_text() == SECRET


async def test_the_names_in_the_home_are_not_told(world: World) -> None:
    done = await world.run(f"ls -a {world.home} {world.home}/.ssh; find {world.home.parent}; echo {world.home}/.ssh/*")
    assert "id_ed25519" not in done.stdout + done.stderr


async def test_the_temporary_files_of_others_are_not_read(world: World) -> None:
    with tempfile.NamedTemporaryFile("w", prefix="krb5cc_", dir="/tmp") as ticket:
        ticket.write("a ticket")
        ticket.flush()
        done = await world.run(f"cat {ticket.name}; cat /tmp/krb5cc_*; ls /tmp")
    assert "a ticket" not in done.stdout
    assert "krb5cc_" not in done.stdout


async def test_the_state_of_the_program_is_not_read(world: World) -> None:
    state = world.project.parent / "state"
    state.mkdir()
    (state / "history").write_text("what others said")
    done = await world.run(f"cat {state}/history; echo x > {state}/history")
    assert "what others said" not in done.stdout
    assert (state / "history").read_text() == "what others said"


async def test_secrets_in_the_environment_are_absent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "HTTPS_PROXY", "GIT_DIR", "MY_TOKEN"):
        monkeypatch.setenv(name, "leaked")
    done = await world.run(f"env; cat /proc/self/environ /proc/$PPID/environ /proc/{os.getpid()}/environ")
    assert "sk-very-secret" not in done.stdout
    assert "leaked" not in done.stdout
    assert "PATH=" in done.stdout


@pytest.mark.root
async def test_the_secret_files_of_root_are_not_read(world: World) -> None:
    secret = Path("/etc/shadow").read_text()
    done = await world.run("cat /etc/shadow; cp /etc/shadow stolen")
    assert not set(secret.splitlines()) & set(done.stdout.splitlines())
    assert not (world.project / "stolen").exists() or not (world.project / "stolen").read_text()


async def test_set_id_bits_cannot_be_made(world: World) -> None:
    await world.python("""
        import ctypes, os
        fchmodat2 = lambda mode: ctypes.CDLL(None).syscall(452, -100, b"program.py", mode, 0)
        for number, make in enumerate((
            lambda: fchmodat2(0o4755),
            lambda: fchmodat2(0o2755),
            lambda: os.chmod("program.py", 0o4755),
            lambda: os.chmod("program.py", 0o2755),
            lambda: os.fchmod(os.open("program.py", os.O_RDONLY), 0o4755),
            lambda: os.close(os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755)),
            lambda: os.mknod("made2", 0o104755),
        )):
            try: make()
            except OSError: pass
        open("done", "w").close()
    """)
    assert (world.project / "done").exists()
    assert not [path for path in world.project.iterdir() if path.stat().st_mode & 0o6000]


def attempts_to_connect(address: str, port: int) -> str:
    return f"""
        import socket, os
        def attempt(*steps):
            try:
                made = socket.socket(*steps[0])
                for name, *arguments in steps[1:]:
                    getattr(made, name)(*arguments)
            except OSError as error:
                print(error)
        there = ("{address}", {port})
        tcp, udp = (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM)
        attempt(tcp, ("connect", there))
        attempt((*tcp, 262), ("connect", there))
        attempt(tcp, ("sendto", b"x", 0x20000000, there))
        attempt(udp, ("sendto", b"x", there))
        attempt((socket.AF_INET6, socket.SOCK_STREAM), ("connect", ("::ffff:{address}", {port})))
        attempt((socket.AF_INET, socket.SOCK_RAW, 1), ("sendto", b"x" * 8, ("{address}", 0)))
        open("tried", "w").close()
    """


async def test_no_connection_arrives(world: World) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        tcp.setblocking(False)
        udp.setblocking(False)
        await world.python(attempts_to_connect("127.0.0.1", port))
        await world.run(f"echo x > /dev/tcp/127.0.0.1/{port}; echo x > /dev/udp/127.0.0.1/{port}")
        with pytest.raises(BlockingIOError):
            tcp.accept()
        with pytest.raises(BlockingIOError):
            udp.recvfrom(1)
    assert (world.project / "tried").exists()


@pytest.mark.parametrize("kind", ["path", "abstract"])
async def test_no_unix_socket_of_others_is_reached(world: World, kind: str) -> None:
    address = "\0localllm-test" if kind == "abstract" else str(world.project / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        listener.setblocking(False)
        await world.python(f"""
            import socket
            open("tried", "w").close()
            socket.socket(socket.AF_UNIX).connect({address!r})
        """)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert (world.project / "tried").exists()


@pytest.mark.parametrize("kind", ["SOCK_DGRAM", "SOCK_RAW"])
async def test_no_datagram_leaves_through_a_pair_of_sockets(world: World, kind: str) -> None:
    address = str(world.project / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        listener.setblocking(False)
        await world.python(f"""
            import socket
            open("tried", "w").close()
            socket.socketpair(socket.AF_UNIX, socket.{kind})[1].sendto(b"x", {address!r})
        """)
        with pytest.raises(BlockingIOError):
            listener.recv(1)
    assert (world.project / "tried").exists()


LANDLOCK_CANNOT = {
    "chmod": "chmod 777 {file}",
    "utime": "touch -d 2001-01-01 {file}",
    "names": "ls {folder}/..; stat {file} > seen && grep -q Size seen && touch -d 2001-01-01 {file}",
}
"""What changes a file outside under Landlock alone, which has no word on permissions and times."""


@pytest.mark.parametrize("attempt", LANDLOCK_CANNOT.values(), ids=LANDLOCK_CANNOT)
async def test_permissions_and_times_of_what_can_be_read_are_kept(world: World, attempt: str) -> None:
    """Of a toolchain, say. This is one of the differences between the levels."""
    toolchain = world.home / ".cargo"
    toolchain.mkdir()
    file = toolchain / "env"
    file.write_text("kept")
    before = file.stat()
    done = await world.run(f"cat {file}; {attempt.format(file=file, folder=toolchain)}")
    assert "kept" in done.stdout, "it is there to be read"
    after = file.stat()
    is_untouched = (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert is_untouched == (world.runner.level != "landlock")


async def test_what_a_command_closes_of_the_programs_own_is_open_again(world: World, tmp_path: Path) -> None:
    """Otherwise nothing could be put back, recorded or undone any more."""
    state = tmp_path / "state"
    (state / "commands").mkdir(parents=True)
    (state / "journal.jsonl").touch(0o600)
    done = await world.run(f"""
        mkdir -p new/.vscode; echo evil > new/.vscode/tasks.json
        chmod 000 {state}/commands/* {state}/commands {state}/journal.jsonl {state}
    """)
    assert not (world.project / "new/.vscode/tasks.json").exists()
    modes = [stat.S_IMODE(path.stat().st_mode) & 0o700 for path in (state, state / "commands", state / "journal.jsonl")]
    assert modes == [0o700, 0o700, 0o600]
    assert (str(state) in done.reopened) == (world.runner.level == "landlock")


async def test_what_the_user_has_closed_of_the_programs_own_stays_closed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    (config / "theirs").mkdir(parents=True)
    (config / "localllm.toml").touch(0o600)
    (config / "theirs").chmod(0o000)
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(config))
    runner = SandboxRunner(world.project, state_folder=tmp_path / "state", levels=world.levels)
    done = await runner.run(f"chmod 000 {config}/localllm.toml {config}", cwd=world.project, timeout=20)
    runner.close()
    assert [path.stat().st_mode & 0o700 for path in (config, config / "theirs")] == [0o700, 0o000]
    closed = (str(config), str(config / "localllm.toml"))
    assert done.reopened == (closed if runner.level == "landlock" else ())


@pytest.mark.parametrize("attempt", ["echo changed > {file}", "rm {file}", "mv {file} x", "echo x > {file}/../new"])
async def test_what_can_be_read_outside_cannot_be_changed(world: World, attempt: str) -> None:
    toolchain = world.home / ".cargo"
    toolchain.mkdir()
    (toolchain / "env").write_text("kept")
    await world.run(f"cat {toolchain}/env && {attempt.format(file=toolchain / 'env')}")
    assert [(path.name, path.read_text()) for path in toolchain.iterdir()] == [("env", "kept")]


async def test_a_hard_link_that_already_stood_in_the_project_is_no_way_out(world: World) -> None:
    (world.project / "linked").hardlink_to(world.file)
    (world.project / "sub").mkdir()
    (world.project / "sub/linked").hardlink_to(world.file)
    done = await world.run("cat linked; chmod 777 linked; touch -d 2001-01-01 linked; echo changed > linked")
    assert (done.stdout, done.unlinked) == ("kept", ("linked", "sub/linked"))
    assert world.outside_is_untouched()
    assert world.file.stat().st_mode & 0o777 != 0o777
    assert (world.project / "sub/linked").read_text() == "changed\n", "they are still one file"
    assert (await world.run("true")).unlinked == ()


async def test_a_large_shared_file_is_read_only_or_copied(world: World) -> None:
    with world.file.open("r+b") as file:
        file.truncate(65 << 20)
    (world.project / "linked").hardlink_to(world.file)
    await world.run("printf changed > linked; printf changed | dd of=linked conv=notrunc; mv linked x; rm linked")
    assert world.file.stat().st_size == 65 << 20
    with world.file.open("rb") as file:
        assert file.read(7) == b"kept\0\0\0"


@pytest.mark.parametrize("kind", ["in a toolchain", "by a relative name", "moved"])
async def test_a_listening_socket_that_can_be_seen_is_not_reached(world: World, kind: str) -> None:
    folder = world.home / ".cargo" if kind == "in a toolchain" else world.project / "sub"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(folder)
        try:
            listener.bind(str(folder / "s") if kind == "in a toolchain" else "s")
        finally:
            os.chdir(here)
        listener.listen()
        listener.setblocking(False)
        if kind == "moved":
            folder = folder.rename(world.project / "elsewhere")
        await world.python(f"""
            import os, socket
            open("tried", "w").close()
            os.chdir({str(folder)!r})
            try: os.rename("s", "t")
            except OSError: pass
            for name in "st":
                try: socket.socket(socket.AF_UNIX).connect(name)
                except OSError: pass
        """)
        assert (world.project / "tried").exists()
        with pytest.raises(BlockingIOError):
            listener.accept()


async def test_other_processes_are_not_even_seen(world: World) -> None:
    done = await world.run(f"cat /proc/{os.getpid()}/cmdline /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert ("pytest" in done.stdout) == (world.runner.level == "landlock"), "Landlock does not hide command lines"


async def test_the_settings_of_the_kernel_are_read_only(world: World) -> None:
    """Root may write to them without any capability."""
    pattern = Path("/proc/sys/kernel/core_pattern")
    before = pattern.read_text()
    await world.run(f"echo '|/bin/false' > {pattern}; echo h > /proc/sysrq-trigger; echo 1 > /sys/kernel/profiling")
    try:
        assert pattern.read_text() == before
    finally:
        if os.geteuid() == 0 and pattern.read_text() != before:
            pattern.write_text(before)


async def test_no_namespaces_no_mounts_and_no_devices(world: World) -> None:
    await world.python("""
        import ctypes, os
        libc = ctypes.CDLL(None)
        made = [libc.unshare(flag) for flag in (0x10000000, 0x20000, 0x40000000)]
        made += [libc.mount(b"/", b"/tmp", None, 4096, None), libc.umount2(b"/root", 2), libc.chroot(b".")]
        made.append(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))
        open("said", "w").write(repr(made))
    """)
    assert set((world.project / "said").read_text().strip("[]").split(", ")) == {"-1"}


@pytest.mark.parametrize("family", [17, 38, 40])  # packets, the kernel's cryptography, the host of a virtual machine
async def test_no_socket_of_another_kind_is_made(world: World, family: int) -> None:
    await world.python(f"""
        import socket
        try: socket.socket({family}, socket.SOCK_STREAM); open("made", "w")
        except OSError: open("refused", "w")
    """)
    assert (world.project / "refused").exists()


async def test_other_processes_are_left_alone(world: World) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        before = os.getpriority(os.PRIO_PROCESS, other.pid), os.sched_getaffinity(other.pid)
        await world.run(f"kill -9 {other.pid}; kill {other.pid}; renice 19 -p {other.pid}; kill -0 {os.getpid()}")
        await world.python(f"""
            import os, resource, signal
            for attempt in (
                lambda: os.kill({other.pid}, 9),
                lambda: signal.pidfd_send_signal(os.pidfd_open({other.pid}), 9),
                lambda: resource.prlimit({other.pid}, resource.RLIMIT_NOFILE, (5, 5)),
                lambda: os.setpriority(os.PRIO_PROCESS, {other.pid}, 19),
                lambda: os.kill(-1, 9),
            ):
                try: attempt()
                except OSError: pass
            open("tried", "w").close()
        """)
        assert (world.project / "tried").exists()
        assert other.poll() is None
        assert before == (os.getpriority(os.PRIO_PROCESS, other.pid), os.sched_getaffinity(other.pid))
        assert "5 " not in Path(f"/proc/{other.pid}/limits").read_text().split("Max open files")[1][:30]
    finally:
        other.kill()
        other.wait()


async def test_the_supervisor_cannot_be_stopped(world: World) -> None:
    done = await world.run("kill -9 $PPID; kill -STOP $PPID; kill -9 -$PPID; echo still watched")
    assert (done.return_code, done.stdout) == (0, "still watched\n")


async def test_this_process_is_left_alone(world: World) -> None:
    me = os.getpid()
    before = os.sched_getaffinity(0), os.sched_getscheduler(0)
    done = await world.python(f"""
        import os
        for attempt in (
            lambda: os.sched_setaffinity({me}, {{0}}),
            lambda: os.sched_setscheduler({me}, os.SCHED_BATCH, os.sched_param(0)),
            lambda: open("/proc/{me}/mem", "rb"),
            lambda: open("/proc/{me}/oom_score_adj", "w").write("1000"),
            lambda: print(os.readlink("/proc/{me}/exe"), os.listdir("/proc/{me}/fd")),
        ):
            try: attempt(); print("succeeded")
            except OSError: pass
        open("tried", "w").close()
    """)
    assert (world.project / "tried").exists()
    assert "succeeded" not in done.stdout
    assert before == (os.sched_getaffinity(0), os.sched_getscheduler(0))


async def test_a_command_holds_no_capability(world: World) -> None:
    done = await world.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    held = dict(line.split(":\t") for line in done.stdout.splitlines())
    assert held.pop("NoNewPrivs") == "1"
    assert held.pop("Seccomp") == "2"
    ours = "0" * 16
    assert {held[name] for name in ("CapPrm", "CapEff", "CapAmb")} == {ours}
