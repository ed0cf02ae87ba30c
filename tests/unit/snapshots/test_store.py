"""What a tool changed can be taken back, and nobody else's work is lost by it."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.change_log import ChangeLog
from localllm.snapshots.file_state import ABSENT, look
from localllm.snapshots.store import Snapshots
from tests.support.tools import put


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project").mkdir()
    return ProjectRoot(tmp_path / "project")


@pytest.fixture
def store(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "state" / "snapshots")


def change(store: Snapshots, root: ProjectRoot, **contents: str) -> None:
    """One call that writes files; `_` in a name stands for the dot."""
    files = {name.replace("_", "."): content for name, content in contents.items()}
    with store.around(root, list(files), tool="write_file"):
        for name, content in files.items():
            root.write_bytes(name, content.encode())


def text(root: ProjectRoot, name: str) -> str:
    return (root.path / name).read_text()


def test_the_last_change_is_taken_back_with_its_mode(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a.py", "old").chmod(0o755)
    with store.around(root, ["a.py"], tool="run") as changes:
        root.write_bytes("a.py", b"new", mode=0o600)
    assert [(made.path, made.tool) for made in changes] == [("a.py", "run")]
    (undone,) = store.undo(root)
    assert str(undone) == "a.py: the previous version is restored."
    assert text(root, "a.py") == "old"
    assert stat.S_IMODE((root.path / "a.py").stat().st_mode) == 0o755


def test_a_new_file_is_removed_and_a_removed_one_comes_back(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    with store.around(root, ["a", "b"], tool="run"):
        root.delete("a")
        root.write_bytes("b", b"new")
    assert {undone.path: undone.deleted for undone in store.undo(root)} == {"a": False, "b": True}
    assert text(root, "a") == "old"
    assert not root.exists("b")


def test_undo_goes_back_call_by_call_and_then_says_that_nothing_is_left(store: Snapshots, root: ProjectRoot) -> None:
    for content in ("1", "2", "3"):
        change(store, root, a=content)
    for content in ("2", "1"):
        store.undo(root)
        assert text(root, "a") == content
    store.undo(root)
    with pytest.raises(ToolExecutionError) as caught:
        store.undo(root)
    assert caught.value.key == "undo_nothing"


def test_a_turn_is_taken_back_whole(store: Snapshots, root: ProjectRoot) -> None:
    change(store, root, a="before")
    store.begin_turn()
    change(store, root, a="1", b="1")
    change(store, root, a="2")
    assert len(store.undo(root, turn=True)) == 3
    assert text(root, "a") == "before"
    assert not root.exists("b")


def test_a_new_file_changed_since_is_left_and_no_earlier_version_is_spoken_of(
    store: Snapshots, root: ProjectRoot
) -> None:
    change(store, root, a="ours")
    put(root.path / "a", "theirs")
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert undone.error.key == "undo_changed_since_made"
    assert "delete the file" in str(undone.error)
    assert text(root, "a") == "theirs"


def test_what_localllm_itself_has_added_to_a_new_file_goes_with_it(store: Snapshots, root: ProjectRoot) -> None:
    change(store, root, a="ours")
    made = look(root, "a")
    put(root.path / "a", "ours, recorded")
    store.note_own("a", made, look(root, "a"))
    assert [str(one) for one in store.undo(root)] == ["a: removed, as it was not there before."]
    assert not root.exists("a")
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        store.undo(root)


def test_a_rewind_takes_what_localllm_itself_has_added_along(store: Snapshots, root: ProjectRoot) -> None:
    change(store, root, a="ours")
    made = look(root, "a")
    put(root.path / "a", "ours, recorded")
    store.note_own("a", made, look(root, "a"))
    assert [one.error for one in store.rewind(root, 0)] == [None]
    assert not root.exists("a")


def test_what_is_left_of_a_new_file_when_later_changes_are_taken_out_goes_with_it(
    store: Snapshots, root: ProjectRoot
) -> None:
    change(store, root, a_md="- one\n")
    change(store, root, a_md="- zero\n- one\n")
    before = look(root, "a.md")
    put(root.path / "a.md", "- zero\n- one\n- a record\n")
    store.note_own("a.md", before, look(root, "a.md"))
    assert "later changes to the file stay" in str(store.undo(root)[0])
    assert text(root, "a.md") == "- one\n- a record\n"
    assert [one.deleted for one in store.undo(root)] == [True]


def test_what_somebody_added_beside_localllm_keeps_a_new_file(store: Snapshots, root: ProjectRoot) -> None:
    change(store, root, a="ours\n")
    put(root.path / "a", "ours\ntheirs\n")
    before = look(root, "a")
    put(root.path / "a", "ours\ntheirs\nrecorded\n")
    store.note_own("a", before, look(root, "a"))
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert undone.error.key == "undo_changed_since_made"
    assert text(root, "a") == "ours\ntheirs\nrecorded\n"


def test_what_localllm_itself_writes_takes_no_place_among_the_newest(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    change(store, root, a="new")
    for number in range(3):
        store.note_own("b", f"{number}", f"{number + 1}")
    store.prune(max_age=-1, always=1)
    assert [str(one) for one in store.undo(root)] == ["a: the previous version is restored."]


def test_a_new_file_that_somebody_deleted_is_no_reason_to_stop(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "b", "old")
    change(store, root, b="new")
    change(store, root, a="ours")
    (root.path / "a").unlink()
    assert [str(one) for one in store.undo(root)] == ["a: it was created by the change and has been deleted since."]
    store.undo(root)
    assert text(root, "b") == "old"


def test_a_file_changed_since_is_left_and_the_way_to_its_old_version_told(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    change(store, root, a="ours", b="ours")
    put(root.path / "a", "theirs")
    undone = {item.path: item for item in store.undo(root)}
    error = undone["a"].error
    assert error is not None
    assert error.key == "undo_changed_since"
    assert Path(str(error.params["backup"])).read_text() == "old"
    assert undone["b"].error is None
    assert text(root, "a") == "theirs"
    assert not store.goes_on()
    (again,) = store.undo(root)
    assert (again.path, again.error is None) == ("a", False), "it is the only one left"
    put(root.path / "a", "ours")
    assert [str(item) for item in store.undo(root)] == ["a: the previous version is restored."]
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        store.undo(root)


def test_what_others_changed_elsewhere_in_the_file_stays(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "1\n2\n3\n4\n5\n")
    change(store, root, a="1\nnew\n2\n3\n4\n5\n")
    change(store, root, a="1\nnew\n2\n3\nfour\n5\n")
    put(root.path / "a", "1\nnew\n2\n3\nfour\n5\ntheirs\n").chmod(0o755)
    position = store.made.position
    assert [str(item) for item in store.undo(root)] == ["a: the change is undone; later changes to the file stay."]
    assert text(root, "a") == "1\nnew\n2\n3\n4\n5\ntheirs\n"
    assert stat.S_IMODE((root.path / "a").stat().st_mode) == 0o755
    store.undo(root)
    assert text(root, "a") == "1\n2\n3\n4\n5\ntheirs\n"
    assert [item.error for item in store.rewind(root, position)] == [None]
    assert text(root, "a") == "1\nnew\n2\n3\nfour\n5\ntheirs\n"
    assert [item.error for item in store.rewind(root, 0)] == [None]
    assert text(root, "a") == "1\n2\n3\n4\n5\ntheirs\n"


def test_permissions_are_taken_out_of_a_later_version_as_well(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "1\n2\n3\n").chmod(0o644)
    with store.around(root, ["a"], tool="run"):
        root.write_bytes("a", b"one\n2\n3\n", mode=0o755)
    with store.around(root, ["a"], tool="run"):
        (root.path / "a").chmod(0o777)
    put(root.path / "a", "one\n2\ntheirs\n")
    for mode, content in ((0o755, "one\n2\ntheirs\n"), (0o644, "1\n2\ntheirs\n")):
        assert [item.error for item in store.undo(root)] == [None]
        assert (stat.S_IMODE((root.path / "a").stat().st_mode), text(root, "a")) == (mode, content)


def test_nothing_is_taken_out_of_a_file_that_a_link_leads_to_by_now(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "added\n1\n2\n")
    change(store, root, a="1\n2\n")
    put(root.path / "other", "1\n2\nmine\n")
    (root.path / "a").unlink()
    (root.path / "a").symlink_to("other")
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert text(root, "other") == "1\n2\nmine\n"


def test_that_the_next_change_is_of_an_earlier_session_is_known(
    store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    put(root.path / "a", "old")
    put(root.path / "b", "old")
    change(store, root, a="earlier")
    later = Snapshots(tmp_path / "state" / "snapshots")
    change(later, root, b="ours")
    put(root.path / "b", "theirs")
    assert [item.error is None for item in later.undo(root)] == [False]
    assert later.goes_on() == "earlier"


def test_a_change_that_cannot_be_taken_back_does_not_hide_those_before_it(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    put(root.path / "b", "old")
    change(store, root, a="ours")
    change(store, root, b="ours")
    put(root.path / "b", "theirs")
    assert [item.error is None for item in store.undo(root)] == [False]
    assert store.goes_on() == "own"
    assert [str(item) for item in store.undo(root)] == ["a: the previous version is restored."]
    assert [item.path for item in store.undo(root)] == ["b"], "tried again when no other is left"
    change(store, root, a="ours")
    store.begin_turn()
    put(root.path / "b", "ours")
    store.undo(root)
    assert [str(item) for item in store.undo(root)] == ["b: the previous version is restored."]


def test_a_call_that_fails_half_way_is_recorded(store: Snapshots, root: ProjectRoot) -> None:
    def fail() -> None:
        with store.around(root, ["a"], tool="t"):
            root.write_bytes("a", b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    store.undo(root)
    assert not root.exists("a")


def test_a_call_that_changed_nothing_leaves_nothing(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "same")
    change(store, root, a="same")
    with pytest.raises(ToolExecutionError):
        store.undo(root)


def test_without_backup_changes_are_told_but_not_kept(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    with store.around(root, ["a"], tool="t", enabled=False) as changes:
        root.write_bytes("a", b"x")
    assert [(made.before, made.after) for made in changes] == [(ABSENT, look(root, "a"))]
    assert not (tmp_path / "state").exists()


def test_it_survives_a_restart_and_a_torn_line(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "old")
    change(store, root, a="1")
    with (tmp_path / "state" / "snapshots" / "changes.jsonl").open("a") as journal:
        journal.write('{"type":"change","call":"torn')
    again = Snapshots(tmp_path / "state" / "snapshots")
    change(again, root, a="2")
    again.undo(root)
    assert text(root, "a") == "1"
    Snapshots(tmp_path / "state" / "snapshots").undo(root)
    assert text(root, "a") == "old"


def test_a_program_takes_back_its_own_changes_before_those_of_another(
    store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    other = Snapshots(tmp_path / "state" / "snapshots")
    change(store, root, a="ours")
    change(other, root, b="theirs")
    assert [undone.path for undone in store.undo(root)] == ["a"]
    assert text(root, "b") == "theirs"
    (theirs,) = store.undo(root)
    assert "earlier or in another session" in str(theirs)


def test_what_an_earlier_program_made_in_this_session_is_of_no_other(
    store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    change(store, root, a="ours")
    later = Snapshots(tmp_path / "state" / "snapshots")
    later.made.adopt(store.made.since(0))
    (undone,) = later.undo(root)
    assert "another session" not in str(undone)


def test_programs_working_at_once_lose_nothing(root: ProjectRoot, tmp_path: Path) -> None:
    program = """
import sys
import time
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
root, store = ProjectRoot(Path(sys.argv[1])), Snapshots(Path(sys.argv[2]))
for number in range(10):
    with store.around(root, [sys.argv[3]], tool="t"):
        root.write_bytes(sys.argv[3], b"%d" % number)
"""
    folder = tmp_path / "snapshots"
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(root.path), str(folder), name]) for name in ("a", "b")
    ]
    assert [process.wait() for process in running] == [0, 0]
    store = Snapshots(folder)
    for _ in range(20):
        assert all(undone.error is None for undone in store.undo(root))
    assert list(root.path.iterdir()) == []


def test_only_the_owner_reads_what_is_kept(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "secret").chmod(0o644)
    change(store, root, a="new")
    kept = list((tmp_path / "state").rglob("*"))
    assert any(path.is_file() and path.read_bytes() == b"secret" for path in kept)
    assert not [path for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_what_somebody_saves_while_it_is_kept_for_undo_is_not_overwritten(root: ProjectRoot, tmp_path: Path) -> None:
    class Disturbed(Snapshots):
        is_disturbed = False

        def take(self, root: ProjectRoot, relative: str) -> str:
            state = super().take(root, relative)
            if self.is_disturbed:
                put(root.path / relative, "saved")
            return state

    store = Disturbed(tmp_path / "state" / "snapshots")
    put(root.path / "a", "old")
    change(store, root, a="new")
    store.is_disturbed = True
    (undone,) = store.undo(root)
    assert undone.error
    assert text(root, "a") == "saved"


def test_equal_contents_are_kept_once(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(root.path / name, "same")
        store.take(root, name)
    assert len(list((tmp_path / "state" / "snapshots" / "objects").glob("*/*"))) == 1


def age(tmp_path: Path) -> None:
    """Make the kept contents so old that no running call can need them."""
    for file in (tmp_path / "state" / "snapshots" / "objects").glob("*/*"):
        os.utime(file, (0, 0))


def test_old_changes_are_forgotten(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "old")
    change(store, root, a="new")
    age(tmp_path)
    store.prune(max_age=-1, always=0)
    assert list((tmp_path / "state" / "snapshots" / "objects").glob("*/*")) == []
    with pytest.raises(ToolExecutionError):
        store.undo(root)


def test_the_newest_calls_stay_whatever_the_clock_says(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "0")
    for number in range(1, 23):
        change(store, root, a=str(number))
    age(tmp_path)
    store.prune(max_age=-1)
    for number in range(21, 1, -1):
        assert store.undo(root)[0].error is None
        assert text(root, "a") == str(number)
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        store.undo(root)


def test_of_too_much_the_oldest_goes(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "0" * 100)
    for digit in "123":
        change(store, root, a=digit * 100)
    age(tmp_path)
    store.prune(max_bytes=350)
    for digit in "21":
        assert store.undo(root)[0].error is None
        assert text(root, "a") == digit * 100
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        store.undo(root)


def test_what_new_files_hold_counts_as_well(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    for name in "abc":
        change(store, root, **{name: name * 100})
    age(tmp_path)
    store.prune(max_bytes=250)
    assert len(list((tmp_path / "state" / "snapshots" / "objects").glob("*/*"))) == 2


def test_what_a_running_call_has_just_kept_is_not_pruned(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    with store.around(root, ["a"], tool="t"):
        root.write_bytes("a", b"new")
        store.prune()
    store.undo(root)
    assert text(root, "a") == "old"


def test_a_version_that_is_gone_is_told(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "old")
    change(store, root, a="new")
    for file in (tmp_path / "state" / "snapshots" / "objects").glob("*/*"):
        file.unlink()
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert undone.error.key == "undo_not_kept"
    assert text(root, "a") == "new"


def test_a_full_or_closed_store_stops_the_call_before_it_changes_anything(root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "a", "old")
    put(tmp_path / "state")
    store = Snapshots(tmp_path / "state")
    with pytest.raises(ToolExecutionError) as caught:
        change(store, root, a="new")
    assert caught.value.key == "undo_cannot_keep"
    assert text(root, "a") == "old"


def test_nobody_writes_while_something_is_taken_back(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    change(store, root, a="new")
    impatient = Snapshots(tmp_path / "state" / "snapshots", patience=0.05)
    with store.writing():
        for action in (lambda: impatient.undo(root), lambda: impatient.undo(root, turn=True)):
            with pytest.raises(ToolExecutionError) as caught:
                action()
            assert caught.value.key == "undo_busy"
    assert text(root, "a") == "new"
    impatient.undo(root)
    assert not root.exists("a")


def test_a_rewind_waits_for_nobody_for_long(root: ProjectRoot, tmp_path: Path) -> None:
    store = Snapshots(tmp_path / "state" / "snapshots", patience=0.05)
    change(store, root, a="new")
    with store.writing(), pytest.raises(ToolExecutionError) as caught:
        store.rewind(root, 0)
    assert caught.value.key == "undo_busy"
    assert [undone.deleted for undone in store.rewind(root, 0)] == [True]
    assert not root.exists("a")


def test_a_rewind_that_was_killed_does_not_make_others_work_its_own(store: Snapshots, root: ProjectRoot) -> None:
    program = """
import os, sys
from pathlib import Path
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
class Killed(ProjectRoot):
    def write_bytes(self, *arguments, **options):
        os._exit(9)
root, store = ProjectRoot(Path(sys.argv[1])), Snapshots(Path(sys.argv[2]))
with store.around(root, ["a", "b"], tool="t"):
    for name in "ab":
        root.write_bytes(name, b"ours")
root.write_bytes("a", b"theirs")
store.rewind(Killed(root.path), 0)
"""
    for name in "ab":
        put(root.path / name, "old")
    killed = subprocess.run([sys.executable, "-c", program, root.path, store.index_file.parent], check=False)
    assert killed.returncode == 9
    assert store.recover(root) == []
    assert [item.path for item in store.undo(root) if not item.error] == ["b"]
    assert (text(root, "a"), text(root, "b")) == ("theirs", "old")


def test_a_deleted_file_comes_back_with_its_mode_at_once(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old").chmod(0o750)
    with store.around(root, ["a"], tool="t"):
        root.delete("a")
    store.undo(root)
    assert stat.S_IMODE((root.path / "a").stat().st_mode) == 0o750


def test_a_state_folder_nobody_can_write_to_is_told_before_anything_is_changed(root: ProjectRoot) -> None:
    store = Snapshots(Path("/sys/localllm/snapshots"))
    with pytest.raises(ToolExecutionError) as caught:
        store.writing()
    assert caught.value.code == "E8076"
    assert "/sys/localllm" in caught.value.what
    with pytest.raises(ToolExecutionError, match="cannot be kept"):
        store.undo(root)


def test_where_the_folder_cannot_be_used_undo_says_so_and_not_the_question_before_it(
    root: ProjectRoot, tmp_path: Path
) -> None:
    put(tmp_path / "file")
    store = Snapshots(tmp_path / "file" / "snapshots")
    assert store.earlier(turn=False) == []
    with pytest.raises(ToolExecutionError) as caught:
        store.undo(root)
    assert caught.value.key == "undo_no_folder"


def test_no_call_stays_open(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    """What is open counts as a call that was killed."""
    change(store, root, a="1", b="1")
    with store.around(root, ["a"], tool="nothing"):
        pass
    store.undo(root)
    change(store, root, a="2")
    store.rewind(root, 0)
    assert ChangeLog(tmp_path / "state" / "snapshots" / "changes.jsonl").read().open_calls == []


def test_old_changes_are_looked_for_once_a_day(
    store: Snapshots, root: ProjectRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruned: list[str] = []
    monkeypatch.setattr(store, "prune", lambda: pruned.append(text(root, "a")))
    stamp = tmp_path / "state" / "snapshots" / "pruned"
    for content, days in (("first", 0), ("young", 0.9), ("old", -1.1), ("again", 0), ("ahead", 1.1), ("last", 0)):
        if stamp.exists() and days:
            os.utime(stamp, (time.time() + days * 86_400,) * 2)
        change(store, root, a=content)
    assert pruned == ["old", "ahead"]


def test_why_a_change_could_not_be_recorded_is_told_once(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    (tmp_path / "state" / "snapshots" / "changes.jsonl").mkdir(parents=True)
    change(store, root, a="new")
    assert text(root, "a") == "new"
    assert "directory" in store.take_failure()
    assert store.take_failure() == ""


def test_what_was_made_since_a_position_is_known(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    change(store, root, a="1")
    position, size, since = store.made.position, store.recorded, time.time()
    change(store, root, a="2", b="1")
    change(store, root, a="1", b="2")
    assert position == 1
    assert store.made.changed_since(position) == ["b"]
    assert store.made.changed_since(0) == ["a", "b"]
    assert [made.path for made in store.made.since(position)] == ["a", "b", "a", "b"]
    states = store.recorded_since(since, size)
    assert states == store.recorded_since(since)
    assert [(before == after, before == ABSENT) for before, after in (states["a"], states["b"])] == [
        (True, False),
        (False, True),
    ]
    assert store.recorded_since(time.time() + 60) == {}
    later = Snapshots(tmp_path / "state" / "snapshots")
    later.made.adopt(store.made.since(0))
    assert later.made.changed_since(0) == ["a", "b"]
    assert later.goes_on() == "own"
    assert Snapshots(tmp_path / "state" / "snapshots").goes_on() == "earlier"
