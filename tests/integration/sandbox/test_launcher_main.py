"""The launcher with orders that no runner gives: small limits, and folders that are not there."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import ConfinedLaunch
from localllm.sandbox.process import Ending, Process, as_argument
from tests.support.in_time import ends
from tests.support.launching import order
from tests.support.sandbox_world import processes_with, unlike_any_other

pytestmark = [
    pytest.mark.on_disk,
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux so far"),
]


async def run(spec: LaunchSpec) -> Ending:
    launch = ConfinedLaunch(Bundle(), spec)
    try:
        outcome = await Process(launch, 10_000).run(30)
        return launch.ending(outcome.exit_status)
    finally:
        launch.close()


async def test_a_command_is_run(tmp_path: Path) -> None:
    assert await run(order(tmp_path, "echo x > made; exit 3")) == Ending(3)
    assert (tmp_path / "made").read_text() == "x\n"


async def test_too_much_memory(tmp_path: Path) -> None:
    spec = order(tmp_path, "python3 -c 'held = bytes(range(256)) * (1 << 20); import time; time.sleep(30)'")
    spec.memory = 100_000_000
    assert await run(spec) == Ending(-9, "memory")


async def test_memory_that_is_shared_is_counted_once(tmp_path: Path) -> None:
    held = "import os, time; held = b'x' * 60_000_000"
    program = f"{held}; children = [os.fork() for _ in range(2)]; time.sleep(0.3 if all(children) else 300)"
    spec = order(tmp_path, f'python3 -c "{program}"')
    spec.memory = 150_000_000
    ending = await run(spec)
    assert (ending.return_code, ending.excess) == (0, "")


async def test_too_much_disk(tmp_path: Path) -> None:
    spec = order(tmp_path, "for i in $(seq 100); do head -c 4M /dev/zero > $i; sleep 0.02; done")
    spec.disk = 30_000_000
    assert await run(spec) == Ending(-9, "disk")


@pytest.fixture
def apart() -> Iterator[Path]:
    """A folder on a file system where hardly anybody else makes files meanwhile: what is used is counted for all of
    it."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


async def test_one_file_too_large(apart: Path) -> None:
    spec = order(apart, "head -c 4M /dev/zero > large")
    spec.disk = 1_000_000
    assert (await run(spec)).return_code != 0
    assert (apart / "large").stat().st_size == 1_000_000


LOWERED = """
    import resource, types
    from localllm.sandbox.launcher import limits

    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    limits.set_limits(types.SimpleNamespace(open_files=100, disk=1 << 30, threads=1000))
    print(*resource.getrlimit(resource.RLIMIT_NOFILE), *resource.getrlimit(resource.RLIMIT_FSIZE))
"""


def test_a_limit_of_the_user_that_is_lower_stays() -> None:
    assert ends(LOWERED).split() == ["64", "64", str(1 << 30), str(1 << 30)]


async def test_too_many_files(apart: Path) -> None:
    spec = order(apart, "mkdir many; cd many; i=0; while true; do i=$((i+1)); : > $i; done")
    spec.files = 3_000
    assert await run(spec) == Ending(-9, "files")
    assert len(list((apart / "many").iterdir())) > 1_000


async def test_files_that_are_gone_again_do_not_count(apart: Path) -> None:
    spec = order(apart, "for round in 1 2 3 4; do mkdir m; touch m/{1..4000}; rm -r m; sleep 0.1; done")
    spec.files = 10_000
    assert await run(spec) == Ending(0)


async def test_too_many_processes(tmp_path: Path) -> None:
    spec = order(tmp_path, "for i in $(seq 40); do sleep 30 & done; wait")
    spec.processes = 20
    assert await run(spec) == Ending(-9, "processes")


async def test_too_many_threads(tmp_path: Path) -> None:
    program = "import threading, time; [threading.Thread(target=time.sleep, args=(30,)).start() for _ in range(40)]"
    spec = order(tmp_path, f"python3 -c '{program}' 2> /dev/null")
    spec.threads = 20
    ending = await run(spec)
    assert ending.excess == "processes" or ending.return_code == 1  # the kernel may be first, but not for root


@pytest.mark.parametrize("broken", ["writable", "folder", "filter"])
async def test_a_failed_set_up_is_told_and_nothing_is_run(tmp_path: Path, broken: str) -> None:
    spec = order(tmp_path, f"touch {tmp_path}/ran")
    match broken:
        case "writable":
            spec.writable.append(str(tmp_path / "missing"))
        case "folder":
            spec.folder = str(tmp_path / "missing")
        case _:
            spec.call_filter = b"\xff" * 8
    with pytest.raises(ToolExecutionError) as raised:
        await run(spec)
    assert raised.value.key == "command_failed_to_start"
    assert raised.value.params["reason"]
    assert not (tmp_path / "ran").exists()


async def test_a_supervisor_that_is_lost_is_told(tmp_path: Path) -> None:
    spec = order(tmp_path, "sleep 30")
    launch = ConfinedLaunch(Bundle(), spec)
    launch.kill()
    launch.started(0)
    with pytest.raises(ToolExecutionError) as raised:
        launch.ending(-9)
    assert raised.value.key == "command_lost"
    launch.close()


async def test_hidden_and_shown(tmp_path: Path) -> None:
    """A secret in a shown folder in a hidden one stays hidden, and what surrounds it does not."""
    for name in ("project", "home/.cargo/bin", "home/.ssh", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home/.cargo/config", "home/.cargo/bin/x", "home/.cargo/credentials", "home/.ssh/key", "other/y"):
        (tmp_path / name).write_text(f"[{name}]")
    spec = order(tmp_path / "project", f"for file in $(<list); do cat {tmp_path}/$file; done > seen")
    names = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    (tmp_path / "project/list").write_text("\n".join(names))
    spec.hidden = [str(tmp_path / "home"), str(tmp_path / "home/.cargo/credentials")]
    spec.shown = [str(tmp_path / "home/.cargo")]
    await run(spec)
    seen = (tmp_path / "project/seen").read_text()
    assert set(seen.replace("][", "]\n[").split("\n")) == {"[home/.cargo/config]", "[home/.cargo/bin/x]", "[other/y]"}


async def test_only_the_three_descriptors_are_passed_on(tmp_path: Path) -> None:
    await run(order(tmp_path, "for fd in /proc/self/fd/*; do echo ${fd##*/}; done | grep -v 255 > seen"))
    assert set((tmp_path / "seen").read_text().split()) <= {"0", "1", "2", "3"}


async def test_a_command_is_started_with_no_signal_blocked_or_ignored(tmp_path: Path) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGHUP})
    handler = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        await run(order(tmp_path, "cat /proc/self/status > seen"))
    finally:
        signal.signal(signal.SIGUSR2, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    seen = dict(line.split(":") for line in (tmp_path / "seen").read_text().splitlines() if line.startswith("Sig"))
    of_libc = 0b11 << 31  # 32 and 33 are the C library's own, which no program can set: posix_spawn leaves them ignored
    assert int(seen["SigBlk"], 16) & ~of_libc == int(seen["SigIgn"], 16) & ~of_libc == 0


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud83d"])
def test_a_command_that_is_no_text_is_refused(command: str) -> None:
    with pytest.raises(ToolExecutionError) as raised:
        as_argument(command)
    assert raised.value.key == "command_failed_to_start"


FILTERED = """
import os, sys
from pathlib import Path
from localllm.sandbox.launcher.main import _filter
from localllm.sandbox.launcher.syscalls import Kernel
from tests.support.in_time import ends
from tests.support.launching import order
os.setsid()
supervisor = os.getpid()
pid = os.fork()
if not pid:
    kernel = Kernel()
    kernel.drop_privileges()
    kernel.filter_calls(_filter(order(Path(sys.argv[1]), ""), supervisor))
    for whom in (supervisor, -supervisor):
        try:
            os.kill(whom, 0)
        except PermissionError:
            print("refused", flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_the_filter_alone_keeps_signals_from_the_supervisor_and_its_group(tmp_path: Path) -> None:
    """Without Landlock, which refuses them as well where the kernel is new enough."""
    done = subprocess.run(
        [sys.executable, "-c", FILTERED, tmp_path], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "refused\nrefused\n", done.stderr


UNENCLOSED = """
import os, sys
from localllm.sandbox.launcher.limits import Supervisor
from localllm.sandbox.launcher.syscalls import Kernel
from localllm.sandbox.launcher.spec import LaunchSpec
from tests.support.sandbox_world import processes_with, unlike_any_other
folder, seconds = sys.argv[1:]
live, held = os.pipe()
spec = LaunchSpec(command=b"", folder=folder, environment={}, writable=[folder], hidden=[], shown=[], scratch=folder,
                  call_filter=b"", live_fd=live, processes=50)
Kernel().adopt_orphans()
daemons, bomb = f"setsid sleep {seconds} & (setsid sleep {seconds} &); exit 3", "for i in {1..200}; do sleep 30 & done"
for command in (daemons, bomb):
    supervisor = Supervisor(spec, is_enclosed=False)
    pid = os.fork()
    if not pid:
        os.setsid()
        os.execv("/bin/bash", ["bash", "-c", command + "; wait"])
    print(*supervisor.wait(pid))
"""


def test_where_signals_cannot_be_enclosed_every_process_is_found_all_the_same(tmp_path: Path) -> None:
    seconds = unlike_any_other()
    done = subprocess.run(
        [sys.executable, "-c", UNENCLOSED, tmp_path, seconds], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "3 \n-9 processes\n", done.stderr
    assert not processes_with(seconds)
