"""Earlier contents, the programs that use them, and what is known of each file."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.snapshots.blob_store import Contents, Programs
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import FileIndex, Known, is_in_state, state_of_losses, unkept
from localllm.snapshots.project_scan import Sign
from localllm.snapshots.store import Snapshots
from tests.support.tools import put


def test_a_content_is_kept_once_closed_to_others_and_goes_when_nobody_needs_it(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "objects", Programs(tmp_path / "programs"))
    name = contents.put([b"one ", b"two"])
    assert contents.put_bytes(b"one two") == name
    other = contents.put_bytes(b"other")
    assert (contents.get(name), contents.size(name), contents.size("00" * 32)) == (b"one two", 7, 0)
    assert stat.S_IMODE(contents.path(name).stat().st_mode) == 0o600
    for folder in (tmp_path / "objects", contents.path(name).parent, tmp_path / "programs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    os.utime(contents.path(name), (0, 0))
    contents.put_bytes(b"one two")  # which a running call may need from now on
    os.utime(contents.path(other), (0, 0))
    contents.forget_all_but(set())
    assert (contents.size(name), contents.size(other)) == (7, 0)
    contents.forget_all_but({name}, grace=-1)
    assert contents.size(name) == 7
    contents.forget_all_but(set(), grace=-1)
    assert contents.size(name) == 0


def test_a_content_is_kept_under_a_name_that_stands_for_it(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "objects", Programs(tmp_path / "programs"))
    small, large = "ab" * 32, "cd" * 32
    for data in (b"first", b"second"):
        contents.put_small(small, data)
        assert contents.get(small) == data
    fd = os.open(put(tmp_path / "file", "whole"), os.O_RDONLY)
    contents.put_file(large, fd)
    os.close(fd)
    assert contents.get(large) == b"whole"
    assert list((tmp_path / "objects").glob("*.tmp")) == []


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    def chunks() -> object:
        yield b"half"
        raise OSError

    contents = Contents(tmp_path / "objects", Programs(tmp_path / "programs"))
    with pytest.raises(OSError):  # noqa: PT011 - its own
        contents.put(chunks())  # type: ignore[arg-type] - a generator of bytes
    assert list((tmp_path / "objects").iterdir()) == []


def test_a_program_that_runs_is_seen_and_one_that_was_killed_leaves_nothing(tmp_path: Path) -> None:
    root, store = ProjectRoot(put(tmp_path / "project" / "a", "old").parent), Snapshots(tmp_path / "state")
    script = """
import os, sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
root, store = ProjectRoot(Path(sys.argv[1])), Snapshots(Path(sys.argv[2]))
with store.around(root, ["a"], tool="t"):
    root.write_bytes("a", b"new")
    for folder in (store._contents, store.repositories):
        folder._folder.mkdir(parents=True, exist_ok=True)
        (folder._folder / f"{store._programs.own}-x.tmp").touch()
    print(store._programs.own, flush=True)
    sys.stdin.read()
    os._exit(9)
"""
    command = [sys.executable, "-c", script, root.path, tmp_path / "state"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        name = other.stdout.readline().strip()
        programs = Programs(tmp_path / "state" / "programs")
        programs.show_alive()
        assert (programs.living(), programs.dead()) == ([name], [])
        assert store.recover(root) == []
        other.communicate()
    assert (programs.living(), programs.dead()) == ([], [name])
    put(tmp_path / "state" / ".localllm-0a.tmp", "half")
    assert [made.path for made in store.recover(root)] == ["a"]
    assert programs.dead() == []
    assert list((tmp_path / "state").rglob("*.tmp")) == []
    assert store.recover(root) == []
    (undone,) = store.undo(root)
    assert (undone.error, (root.path / "a").read_text()) == (None, "old")


def sign(size: int) -> Sign:
    return Sign(7, size, 1, 1, 0o644)


class Place:
    def __init__(self, folder: Path) -> None:
        self.index_file = folder / "index"
        self.writes: list[bool] = []

    def write_index(self, data: bytes, *, add: bool = False) -> None:
        self.writes.append(add)
        with self.index_file.open("ab" if add else "wb") as file:
            file.write(data)


def test_what_is_known_of_files_is_kept_and_counted(tmp_path: Path) -> None:
    place = Place(tmp_path)
    index = FileIndex(place)
    for number in range(6):
        index.put(f"src/{number}.py", Known(sign(10), "x:644", settled=True, ignored=False))
    index.put("big", Known(sign(1_000), "", settled=True, ignored=False))
    index.put("new", Known(sign(5), "y:644", settled=False, ignored=True))
    index.save()
    index.save()
    assert place.writes == [False]
    index.put("src/0.py", None)
    index.put("new", Known(sign(7), "y:644", settled=True, ignored=False))
    index.save()
    assert place.writes == [False, True]
    for known in (index, FileIndex(place)):
        assert (known.size, known.left_out, known.pending) == (57, {"big"}, set())
        assert (known.get("src/0.py"), len(known.paths())) == (None, 7)
        assert [known.holds(path) for path in ("src/", "sr/", "src/1.py", "new", "src/0.py", "z/")] == [
            *(True, False, True, True, False, False)
        ]
    index.put("new", Known(sign(7), "y:644", settled=True, ignored=True))
    assert not index.holds("new")
    assert not index.holds("ne/")


def test_a_file_that_is_not_kept_is_known_by_its_size_and_time(tmp_path: Path) -> None:
    root = ProjectRoot(put(tmp_path / "project" / "a", "text").parent)
    facts = (root.path / "a").stat()
    state = unkept(Sign(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, 0o644))
    assert is_in_state(root, "a", state)
    os.utime(root.path / "a", ns=(1, 1))
    assert not is_in_state(root, "a", state)
    (root.path / "a").unlink()
    assert not is_in_state(root, "a", state)
    assert not is_in_state(root, "a", state_of_losses("00" * 32))


def test_an_undo_killed_where_a_folder_stands_for_a_file_is_gone_on_with(tmp_path: Path) -> None:
    root, store = ProjectRoot(put(tmp_path / "project" / "d" / "x", "x").parent.parent), Snapshots(tmp_path / "state")
    script = """
import os, shutil, sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
root, store = ProjectRoot(Path(sys.argv[1])), Snapshots(Path(sys.argv[2]))
with store.around(root, ["d/x"], tool="t"):
    shutil.rmtree(root.path / "d")
with store.around(root, ["d", "e"], tool="t"):
    root.write_bytes("d", b"file")
    root.write_bytes("e", b"new")
def killed(*_):
    (root.path / "d").unlink()
    (root.path / "d").mkdir()
    os._exit(9)
store._take_back = killed
store.undo(root)
"""
    subprocess.run([sys.executable, "-c", script, root.path, tmp_path / "state"], check=False)
    assert (root.path / "d").is_dir()
    assert store.recover(root) == []
    assert store.not_undone == ["d", "e"]
    for result in (*store.undo(root), *store.undo(root)):
        assert result.error is None
    assert ((root.path / "d" / "x").read_text(), (root.path / "e").exists()) == ("x", False)


def test_what_cannot_be_looked_at_does_not_keep_the_rest_from_being_found(tmp_path: Path) -> None:
    root, store = ProjectRoot(put(tmp_path / "project" / "a", "old").parent), Snapshots(tmp_path / "state")
    script = """
import os, sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
root, store = ProjectRoot(Path(sys.argv[1])), Snapshots(Path(sys.argv[2]))
store.begin({}, tool="run_command")
with store.around(root, ["a"], tool="t"):
    root.write_bytes("a", b"new")
    os._exit(9)
"""
    subprocess.run([sys.executable, "-c", script, root.path, tmp_path / "state"], check=False)

    def unreadable(_: object) -> list[Change]:
        raise PermissionError

    assert [made.path for made in store.recover(root, unreadable)] == ["a"]
    assert store.recover(root, lambda _: []) == []
    assert Programs(tmp_path / "state" / "programs").dead() == []
