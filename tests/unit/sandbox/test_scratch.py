"""The folder a command gets, and what becomes of those nobody needs any more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.sandbox.scratch import Scratch, remove_stale

NOBODY = 65534


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_it_is_private_and_leaves_nothing(base: Path) -> None:
    tool = base / "tool"
    tool.mkdir()
    scratch = Scratch({".config/git": tool})
    assert scratch.folder.stat().st_mode & 0o777 == 0o700
    assert (scratch.home / ".config/git").resolve() == tool
    scratch.remove()
    assert list(base.iterdir()) == [tool]


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is inspected there")
def test_results_are_files_of_its_own_folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.sandbox.scratch._MOST_IN_RESULT", 4)
    monkeypatch.setattr("localllm.sandbox.scratch._MOST_IN_RESULTS", 6)
    (base / "elsewhere").mkdir()
    (base / "elsewhere/secret").write_text("secret")
    with Scratch({}) as scratch:
        for name in ("a", "b", "not-asked-for"):
            (scratch.temporary / name).write_text("12345")
        (scratch.temporary / "link").symlink_to(base / "elsewhere/secret")
        os.mkfifo(scratch.temporary / "pipe")
        assert scratch.results(["link", "pipe", "gone", "a", "b"]) == {"a": b"1234", "b": b"12"}
        scratch.temporary.rename(scratch.folder / "old")
        scratch.temporary.symlink_to(base / "elsewhere")
        assert scratch.results(["secret"]) == {}


def test_one_that_cannot_be_made_leaves_nothing(base: Path) -> None:
    with pytest.raises(OSError, match="too long"):
        Scratch({"x" * 300: base})
    assert list(base.iterdir()) == []


CLOSES_FOLDERS = """
import os, shutil, sys
os.environ["TMPDIR"] = sys.argv[1]
from localllm.sandbox.scratch import Scratch
tool = f"{sys.argv[1]}/tool"
os.mkdir(tool, 0o500)
scratch = Scratch({"tool": tool})
os.makedirs(scratch.temporary / "a" / "b")
(scratch.temporary / "a" / "b" / "c").touch()
(scratch.temporary / "a" / "b").chmod(0o500)
(scratch.temporary / "a").chmod(0)
if os.getuid() == 0:
    os.chown(sys.argv[1], 65534, 65534)
    for folder, names, files in os.walk(sys.argv[1]):
        for name in names + files:
            os.lchown(f"{folder}/{name}", 65534, 65534)
    os.setuid(65534)
scratch.remove()
print(scratch.folder.exists(), oct(os.stat(tool).st_mode & 0o777))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="other permissions there")
def test_folders_closed_to_their_owner_go_too_and_links_are_not_followed(base: Path) -> None:
    """As an ordinary user: root is let in everywhere."""
    folder = Path("/tmp" if sys.platform == "linux" else base) / f"scratch-of-nobody-{os.urandom(4).hex()}"
    folder.mkdir()
    try:
        done = subprocess.run(
            [sys.executable, "-c", CLOSES_FOLDERS, folder], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.stdout == "False 0o500\n", done.stderr
    finally:
        shutil.rmtree(folder)


LEAVES_IT = "import os; from localllm.sandbox.scratch import Scratch; Scratch({}); os._exit(9)"


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of folders there")
def test_what_a_killed_program_left_is_removed(base: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVES_IT], check=False, timeout=30)
    (left,) = base.iterdir()
    remove_stale()
    assert left.exists(), "too young to be sure"
    in_use = Scratch({})
    (base / "localllm-notes").mkdir()
    remove_stale(age=0)
    assert sorted(base.iterdir()) == sorted([in_use.folder, base / "localllm-notes"])
    in_use.remove()


@pytest.mark.skipif(sys.platform != "linux", reason="it lists what is open there")
def test_one_in_use_stays_and_looking_leaves_nothing_open(base: Path) -> None:
    with Scratch({}) as scratch:
        before = len(list(Path("/proc/self/fd").iterdir()))
        remove_stale(age=0)
        assert scratch.folder.is_dir()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(base.iterdir()) == []


def test_where_there_is_nothing_to_remove(base: Path) -> None:
    (base / "localllm-0123456789abcdef").write_text("a file")
    remove_stale(age=0)
    assert (base / "localllm-0123456789abcdef").read_text() == "a file"


@pytest.mark.parametrize(("name", "asks"), [("plain", True), ("with a blank", False), ("a'b", False), ("一時", False)])
def test_a_path_the_shell_would_read_otherwise_is_not_put_into_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asks: bool
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with Scratch({}) as scratch:
        scratch.ask_for_statuses()
        assert ("BASH_ENV" in scratch.variables) == asks


@pytest.mark.skipif(sys.platform == "win32", reason="there is no /tmp")
@pytest.mark.parametrize("leading", ["var/tmp", "link", "link/../var/tmp"])
def test_it_does_not_lie_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leading: str) -> None:
    """A command in the background could put a link in the place of the next command's home."""
    project = (tmp_path / "project").resolve()
    (project / "var/tmp").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (project / "link").symlink_to("../elsewhere")
    monkeypatch.setenv("TMPDIR", str(project / leading))
    with Scratch({}, project) as scratch:
        assert scratch.folder.parent == Path("/tmp").resolve()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    with Scratch({}, project) as scratch:
        assert scratch.folder.parent == (tmp_path / "elsewhere").resolve()
