"""The launcher cannot be tampered with, and where it fails nothing is run."""

import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.sandbox.backend import Level
from localllm.sandbox.environment import Visibility
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import Parts, make
from localllm.sandbox.process import Process
from localllm.sandbox.runner import SandboxRunner
from localllm.sandbox.scratch import Scratch
from tests.support.sandbox_world import SECRET, World, processes_with, unlike_any_other

pytestmark = pytest.mark.anyio


async def test_a_command_cannot_change_how_the_next_one_is_started(tmp_path: Path, level: Level) -> None:
    """The package lies in the project, as it does in an environment there; a command rewrites it."""
    import localllm

    project = tmp_path / "project"
    package = project / "localllm"
    shutil.copytree(Path(localllm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    program = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from localllm.sandbox import runner
        root = Path(sys.argv[1])
        assert Path(runner.__file__).is_relative_to(root)
        async def main():
            sandbox = runner.SandboxRunner(root, levels=(sys.argv[4],))
            tampered = await sandbox.run(sys.argv[2], cwd=root, timeout=20)
            assert tampered.return_code == 0, tampered
            after = await sandbox.run(f"echo changed > {sys.argv[3]}; echo >> {sys.argv[3]}", cwd=root, timeout=20)
            assert after.level == sys.argv[4], after
        asyncio.run(main())
    """)
    outside = tmp_path / "outside"
    outside.write_text("kept")
    tamper = """
        echo 'import os; os.execv("/bin/sh", ["sh", "-c", "id > ../owned"])' > evil
        for file in localllm/sandbox/*.py ctypes.py marshal.py os.py sitecustomize.py; do cp evil $file; done
    """
    done = subprocess.run(
        [sys.executable, "-c", program, project, tamper, outside, level],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{project}{os.pathsep}{os.pathsep.join(sys.path)}"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert outside.read_text() == "kept"
    assert not (tmp_path / "owned").exists()


async def test_a_failed_set_up_runs_nothing(tmp_path: Path, level: Level) -> None:
    project = tmp_path / "project"
    project.mkdir()
    runner = SandboxRunner(project, levels=(level,))
    assert runner.level == level
    shutil.rmtree(project)
    with pytest.raises(ToolExecutionError) as raised:
        await runner.run(f"touch {tmp_path}/ran", cwd=project, timeout=10)
    assert raised.value.key == "command_failed_to_start"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("taken", ["project", "tools"])
async def test_a_link_put_in_the_place_of_a_checked_folder_is_not_followed(
    tmp_path: Path, level: Level, taken: str
) -> None:
    """A command of the project around both may exchange them at any moment."""
    home = tmp_path / "home"
    for name in ("around/project", "around/tools", "other"):
        (home / name).mkdir(parents=True)
    (home / "other/notes").write_text(SECRET)
    project, tools = home / "around/project", home / "around/tools"
    seen = Visibility(homes=(home,), hidden=(home,), shown=(tools,), toolchains={})
    confinement = make(Parts(level, project, seen, Bundle()))
    command = f"cat {project}/notes {tools}/notes; echo changed > {project}/notes; echo new > {project}/new"
    with Scratch({}) as scratch:
        launch = confinement.launch(command, project, scratch, os.environ)
        (home / "around" / taken).rename(home / "around/moved")
        (home / "around" / taken).symlink_to("../other")
        try:
            outcome = await Process(launch, 10_000).run(20)
            with suppress(ToolExecutionError):
                launch.ending(outcome.exit_status)
        finally:
            launch.close()
    assert SECRET not in outcome.stdout
    assert (home / "other/notes").read_text() == SECRET
    assert not (home / "other/new").exists()
    assert (project / "new").exists() == (taken == "tools"), outcome.stderr


async def test_a_command_too_long_is_told_so(world: World) -> None:
    with pytest.raises(ToolExecutionError) as raised:
        await world.run("touch ran; : " + "x" * 200_000)
    assert raised.value.key == "command_failed_to_start"
    assert not (world.project / "ran").exists()


async def test_a_project_that_holds_the_home_is_refused(world: World) -> None:
    runner = SandboxRunner(world.home)
    with pytest.raises(SafetyViolationError) as raised:
        await runner.run("touch ran", cwd=world.home, timeout=10)
    assert raised.value.key == "command_root_too_wide"
    assert not (world.home / "ran").exists()


@pytest.mark.parametrize(
    "folder", ["/tmp", "/var/tmp", "/var", "/dev/shm", "/dev", "/usr", "/usr/bin", os.path.realpath("/bin")]
)
async def test_a_project_of_temporary_files_or_the_systems_programs_is_refused(tmp_path: Path, folder: str) -> None:
    runner = SandboxRunner(Path(folder))
    with pytest.raises(SafetyViolationError) as raised:
        await runner.run(f"touch {tmp_path}/ran", cwd=Path(folder), timeout=10)
    assert raised.value.key == "command_root_too_wide"
    assert not (tmp_path / "ran").exists()


async def test_a_folder_outside_is_refused(world: World) -> None:
    (world.project / "link").symlink_to(world.outside)
    for folder in (world.outside, world.project / "link", world.project / ".."):
        with pytest.raises(SafetyViolationError) as raised:
            await world.runner.run("touch ran", cwd=folder, timeout=10)
        assert raised.value.key == "path_outside"
    assert world.outside_is_untouched()


NOBODY = 65534
AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from localllm.sandbox.runner import SandboxRunner
project, outside, key, seconds, level = sys.argv[1:]

async def main():
    runner = SandboxRunner(Path(project), levels=(level,))
    assert runner.level == level, runner.reason
    async def run(command):
        return await runner.run(command, cwd=Path(project), timeout=20)
    await run(f"echo changed > {outside}; cat {key}; cp {key} stolen; setsid sleep {seconds} & echo x > .envrc")
    done = await run("echo works; id -u; for i in $(seq 2000); do sleep 30 & done; wait")
    assert done.stdout.startswith(f"works\\n{os.getuid()}\\n"), done
    assert done.excess == "processes" or done.return_code, done

asyncio.run(main())
"""


STARTS_PYTHON = """
import subprocess
from localllm.sandbox.runner import SandboxRunner
from localllm.base.environment import base_interpreter
subprocess.run([base_interpreter(), "-c", ""], check=True)
"""
BARE = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": os.pathsep.join(sys.path),
    "PYTHONDONTWRITEBYTECODE": "1",
}


def command_as_nobody() -> list[str]:
    """A Python that a user without rights can start, with what it needs to import this program."""
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    for interpreter in (sys.executable, "/usr/bin/python3"):
        try:
            subprocess.run([*drop, interpreter, "-c", STARTS_PYTHON], check=True, capture_output=True, env=BARE)
        except (OSError, subprocess.CalledProcessError):
            continue
        return [*drop, interpreter]
    return []


@pytest.mark.root
async def test_a_user_without_rights_is_held_as_well(level: Level) -> None:
    command = command_as_nobody()
    if not command:
        pytest.skip("no Python here that another user can start")
    seconds = unlike_any_other()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project, home, outside = folder / "project", folder / "home", folder / "outside"
        project.mkdir()
        home.mkdir()
        outside.write_text("kept")
        (home / "key").write_text(SECRET)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        done = subprocess.run(
            [*command, "-c", AS_NOBODY, project, outside, home / "key", seconds, level],
            env={**BARE, "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert outside.read_text() == "kept"
        assert [path.name for path in project.iterdir() if path.stat().st_size] == []
        assert not processes_with(seconds)


async def test_sockets_that_come_and_go_meanwhile_do_not_matter(world: World) -> None:
    """They are closed to the command while it runs; some vanish just when that is done."""
    ended = threading.Event()

    def come_and_go() -> None:
        for number in itertools.count():
            path = world.project / f"socket{number}"
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
                server.listen()
                if ended.wait(0.002):
                    return
            path.unlink()

    others = threading.Thread(target=come_and_go)
    others.start()
    try:
        results = [await world.run("echo fine; echo also >&2") for _ in range(25)]
    finally:
        ended.set()
        others.join()
    assert {(done.stdout, done.stderr, done.return_code) for done in results} == {("fine\n", "also\n", 0)}
