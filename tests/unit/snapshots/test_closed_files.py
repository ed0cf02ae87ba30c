"""What a command made read-only, or closed to its owner, comes back for a user who is not root as well."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from localllm.base.regular_files import hides_changes
from tests.support.tools import put

_AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

_PROGRAM = """
import asyncio, os, subprocess, sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots

how, project, *lines = sys.argv[1:]
os.chdir(project)
root, store = ProjectRoot(Path(project)), Snapshots(Path(project).parent / "state")
commands = CommandSnapshots(store)

async def run():
    for line in lines:
        async with commands.around(root, tool="run_command"):
            subprocess.run(["sh", "-c", line], check=True)

asyncio.run(run())
if how == "rewind":
    print(*store.rewind(root, 0), sep="\\n")
for _ in lines if how == "undo" else (how,) if how == "turn" else ():
    print(*store.undo(root, turn=how == "turn"), sep="\\n")
"""


def _undone(root: Path, *commands: str, how: str = "undo") -> str:
    """Run commands and take them back as a user whom permissions hold; return what is said of it."""
    done = subprocess.run(
        [*_AS_USER, sys.executable, "-c", _PROGRAM, how, root, *commands], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def _files(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in sorted(files)
    }


_EACH = "for f in x/*; do chmod {0} $f; done"


@pytest.mark.parametrize("how", ["undo", "turn", "rewind"])
@pytest.mark.parametrize(
    "commands",
    [
        (_EACH.format("000"), f"{_EACH.format('644')}; echo junk > x/f; rm x/g"),
        ("chmod 200 x/f; echo junk > x/f",),
        ("echo junk > x/f; chmod 444 x/f",),
        ("chmod 444 x/f", "chmod 644 x/f; echo junk > x/f; chmod 444 x/f"),
        ("echo junk > x/f; chmod 555 x",),
        ("rm -r x; mkdir x; chmod 555 x",),
        ("rm -r x; chmod 555 .",),
        ("mkdir y; echo made > y/f; chmod 555 y",),
        ("rm x/f; mkdir -p x/f/deep; chmod 555 x/f x",),
    ],
    ids=[
        "closed, and lost by the next command",
        "cannot be read",
        "read-only",
        "read-only, and changed once more",
        "in a read-only folder",
        "gone from a read-only folder",
        "gone from a read-only project",
        "made in a read-only folder",
        "a read-only folder in its place",
    ],
)
def test_what_an_ordinary_user_may_not_read_or_write_comes_back(
    root: Path, commands: tuple[str, ...], how: str
) -> None:
    for name in ("x/f", "x/g"):
        put(root / name, f"precious {name}\n")
    before = _files(root)
    said = _undone(root, *commands, how=how)
    assert _files(root) == before, said


@pytest.mark.parametrize("command", ["rm -r .git/objects/??; chmod 555 .git/objects", "rm .git/HEAD; chmod 555 .git"])
def test_a_repository_in_a_read_only_folder_comes_back(root: Path, command: str) -> None:
    put(root / "a", "precious\n")
    for words in (["init", "-q"], ["add", "a"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    before = _files(root)
    said = _undone(root, command)
    assert _files(root) == before, said


def test_the_permissions_of_folders_stay_as_they_were_left(root: Path) -> None:
    put(root / "x/f", "precious\n")
    _undone(root, "rm x/f; chmod 555 x; chmod 500 .")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root, root / "x", root / "x/f")] == [0o500, 0o555, 0o644]


def test_a_closed_file_is_read_once_and_stays_closed() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as above:
        file = put(Path(above, "project").resolve() / "f", "precious\n")
        if hides_changes(file.parent):
            pytest.skip("every file is read before each command here")
        os.utime(file, (1, 1))
        file.chmod(0o200)
        _undone(file.parent, "true", how="")
        assert stat.S_IMODE(file.stat().st_mode) == 0o200
        read_at = file.stat().st_ctime_ns
        _undone(file.parent, "true", how="")
        assert file.stat().st_ctime_ns == read_at
