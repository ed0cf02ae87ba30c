"""What is closed stays closed by each path at which the machine mounts it."""

import os
import subprocess
import sys
from pathlib import Path

from localllm.sandbox.backend import Level
from tests.support.sandbox_world import SECRET

_MOUNT = """
mount -t tmpfs none /mnt && mkdir /mnt/distro && mount --rbind / /mnt/distro
mount -t tmpfs none /media && mkdir /media/a /media/b && mount --bind /media/a /media/b && exec "$@"
"""
_RUN = """
import asyncio, socket, sys
from pathlib import Path
from localllm.sandbox.runner import SandboxRunner
server = socket.socket(socket.AF_UNIX)
server.bind("/media/a/server")
server.listen()
async def main(level, project, command):
    runner = SandboxRunner(Path(project), state_folder=Path(project).parent / "state", levels=(level,))
    result = await runner.run(command, cwd=Path(project), timeout=20)
    print(runner.level, result.stdout, result.stderr)
    runner.close()
asyncio.run(main(*sys.argv[1:]))
"""
_CONNECT = """import socket, sys
try: print(socket.socket(socket.AF_UNIX).connect(sys.argv[1]) or "CONNECTED")
except OSError as error: print(error)"""


def run(folder: Path, level: Level, command: str) -> str:
    """What a command prints on a machine whose root is mounted again, as WSL does it, at `/mnt/distro`."""
    project, home = folder / "project", folder / "home"
    for made in (project, home / ".ssh"):
        made.mkdir(parents=True)
    (home / ".ssh/key").write_text(SECRET)
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _MOUNT, "sh"]
    environ = {**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[3])}
    program = [sys.executable, "-c", _RUN, level, project, command]
    done = subprocess.run([*alone, *program], env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(level), done.stderr
    return done.stdout


def test_the_home_is_not_there_either(tmp_path: Path, level: Level) -> None:
    said = run(tmp_path, level, f"cat /mnt/distro{tmp_path}/home/.ssh/key; ls /mnt/distro/usr")
    assert "lib" in said
    assert SECRET not in said


def test_a_server_is_not_reached_either(tmp_path: Path, level: Level) -> None:
    said = run(tmp_path, level, f"{sys.executable} -c '{_CONNECT}' /media/b/server")
    assert "CONNECTED" not in said


_MOUNT_HOME = """
mount --bind "$HOME" "$1/h" && mount --bind "$HOME/.config" "$1/c" && mount --bind "$HOME/.local/state/localllm" "$1/s"
exec "$2" -c "$3" "$1"
"""
_ASK = """
import sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
root = ProjectRoot(Path(sys.argv[1]))
for path in ("h/.config/fish/config.fish", "h/.local/state/localllm/trust.json", "c/fish/config.fish", "s/trust.json",
             "h/notes.txt", "src/h/.x"):
    print(path, root.is_protected(path))
"""


def test_the_tools_for_files_leave_alone_what_is_hidden_in_a_home_that_is_mounted_in_the_project(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".config", home / ".local/state/localllm", *(project / name for name in "hcs")):
        folder.mkdir(parents=True)
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _MOUNT_HOME, "sh"]
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "LOCALLLM_"))},
        "HOME": str(home),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    done = subprocess.run(
        [*alone, project, sys.executable, _ASK], env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    said = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert {path for path, is_protected in said.items() if is_protected == "True"} == {
        "h/.config/fish/config.fish",
        "h/.local/state/localllm/trust.json",
        "c/fish/config.fish",
        "s/trust.json",
    }
