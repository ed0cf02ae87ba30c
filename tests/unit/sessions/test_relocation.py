"""Logs that lie where earlier versions kept them, or in the folder of a place where the project was before."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.agent.replay import reopen
from localllm.base.paths import Storage, open_storage
from localllm.llm.messages import SystemMessage
from localllm.sessions.entries import Adopted, Began
from localllm.sessions.log import Seal, SessionLog, read_session
from localllm.sessions.store import Sessions
from tests.support.session_logs import head, keep, turn


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path / "project"
    root.mkdir()
    return root


def of_project(root: Path) -> Sessions:
    return Sessions.of_project(root, storage(root), the_seal(root))


def storage(root: Path) -> Storage:
    return open_storage(root)


def the_seal(root: Path) -> Seal:
    return Seal(root.parent / "state" / "session.key")


def in_project(root: Path) -> Sessions:
    """As an earlier version had them."""
    return Sessions(root / ".localllm" / "sessions", the_seal(root))


def kept_before(root: Path, *queries: str) -> list[str]:
    store = in_project(root)
    names = [keep_as(store, f"20260101-00000{number}-aaaa", query) for number, query in enumerate(queries)]
    for name in names:
        os.utime(store.file_of(name), (1_750_000_000, 1_750_000_000))
    return names


def keep_as(store: Sessions, name: str, query: str, *, seal: Seal | None = None) -> str:
    began = (seal or Seal(store.folder.parents[2] / "state" / "session.key")).begin(name)
    log = SessionLog(store.folder, name, began)
    for entry in (*head(), *turn(query, "done")):
        log.append(entry)
    log.close()
    return name


def without_mark(file: Path) -> bytes:
    return b"".join(line for line in file.read_bytes().splitlines(keepends=True) if b'"Adopted"' not in line)


def test_own_logs_are_moved_out_of_the_project_and_nothing_is_lost(root: Path) -> None:
    names = kept_before(root, "one", "消費税")
    before = {name: in_project(root).file_of(name).read_bytes() for name in names}
    store = of_project(root)
    store.adopt_sealed()
    assert not (root / ".localllm" / "sessions").exists()
    assert [one.first for one in store.all()] == ["消費税", "one"]
    for name in names:
        file = store.file_of(name)
        assert file.is_relative_to(root.parent / "state" / "sessions")
        assert without_mark(file) == before[name]
        assert isinstance(read_session(file).entries[0], Began)
        about = file.stat()
        assert (stat.S_IMODE(about.st_mode), about.st_mtime) == (0o600, 1_750_000_000)
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert store.is_ours(store.find(name))


@pytest.mark.parametrize("adopt", [lambda _: None, Sessions.adopt_sealed], ids=["when resumed", "when tidied"])
def test_what_they_hold_could_be_a_commands_and_counts_as_a_strangers(
    root: Path, adopt: Callable[[Sessions], None]
) -> None:
    (name,) = kept_before(root, "one")
    store = of_project(root)
    adopt(store)
    reopened = reopen(store, store.find(name))
    assert not reopened.is_ours
    assert reopened.replayed.tainted
    assert not reopened.replayed.points
    assert reopened.replayed.history.messages[0] != SystemMessage("You are an assistant.")
    assert reopened.log.file.parent == store.folder
    assert not list((root / ".localllm").rglob("*.jsonl"))
    copy = reopen(store, store.find(store.fork(name)))
    assert not copy.is_ours
    for each in (reopened, copy):
        each.log.close()


def test_a_strangers_log_stays_where_it_is_until_it_is_gone_on_with(root: Path) -> None:
    stranger = Seal(root.parent / "key of another machine")
    name = keep_as(in_project(root), "20260101-000000-aaaa", "theirs", seal=stranger)
    store = of_project(root)
    store.adopt_sealed()
    assert store.file_of(name).parent == root / ".localllm" / "sessions"
    assert {file.name for file in (root / ".localllm" / "sessions").iterdir()} == {f"{name}.jsonl"}
    log = store.open_log(name)
    log.close()
    assert log.file.parent == store.folder
    assert not store.is_ours(store.find(name))
    assert not any(store.prune(keep_days=1, keep_count=1))


def test_one_with_the_name_of_a_session_neither_hides_nor_changes_it(root: Path) -> None:
    store = of_project(root)
    name = keep_as(store, "20260101-000000-aaaa", "mine", seal=the_seal(root))
    before = store.file_of(name).read_bytes()
    keep_as(in_project(root), name, "forged")
    for _ in range(2):
        assert [one.first for one in store.all()] == ["mine"]
        assert store.is_ours(store.find(name))
        store.adopt_sealed()
    assert store.file_of(name).read_bytes() == before
    assert in_project(root).find(name).first == "forged", "it is no copy, so it is not removed"


def test_no_link_in_the_project_leads_to_the_logs_of_another(root: Path) -> None:
    other = root.with_name("other")
    other.mkdir()
    (name,) = kept_before(other, "one")
    for link, target in ((root / ".localllm", other / ".localllm"), (root / ".localllm/sessions", other / ".localllm")):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target / "sessions" if link.name == "sessions" else target)
        store = of_project(root)
        store.adopt_sealed()
        assert store.all() == []
        link.unlink()
    assert in_project(other).find(name).first == "one"


def test_logs_of_a_read_only_project_in_the_state_folder_are_as_trusted_as_before(root: Path) -> None:
    older = Sessions(storage(root).older_sessions, the_seal(root))
    name = keep_as(older, "20260101-000000-aaaa", "one", seal=the_seal(root))
    store = of_project(root)
    assert store.is_ours(store.find(name))
    reopened = reopen(store, store.find(name))
    reopened.log.close()
    assert reopened.is_ours
    assert not older.folder.exists()


class TestMoved:
    """A project whose folder was renamed or moved finds its sessions again, a copy does not."""

    @pytest.fixture
    def name(self, root: Path) -> str:
        store = of_project(root)
        name = keep_as(store, "20260101-000000-aaaa", "one", seal=the_seal(root))
        of_project(root)
        return name

    def test_there_and_back(self, root: Path, name: str) -> None:
        other = root.rename(root.with_name("other"))
        assert of_project(other).find(name).first == "one"
        assert of_project(other.rename(root)).find(name).first == "one"

    def test_to_a_place_where_another_project_was(self, root: Path, name: str) -> None:
        other = root.with_name("other")
        other.mkdir()
        keep_as(of_project(other), "20260202-000000-bbbb", "two", seal=the_seal(root))
        shutil.rmtree(other)
        assert {one.id for one in of_project(root.rename(other)).all()} >= {name}

    def test_a_project_around_it_does_not_take_them_with_its_file(self, root: Path, name: str) -> None:
        """A command in the outer one can move the inner one's file, which is then put back as a new one."""
        inner = (root / ".localllm/.gitignore").rename(root.parent / "moved")
        outer = root.parent
        (outer / ".localllm").mkdir()
        inner.rename(outer / ".localllm/.gitignore")
        (root / ".localllm/.gitignore").write_text("*\n")
        assert of_project(outer).all() == []
        assert of_project(root).find(name).first == "one"

    def test_a_copy_has_none(self, root: Path, name: str) -> None:
        copy = root.with_name("copy")
        shutil.copytree(root, copy)
        assert of_project(copy).all() == []
        assert of_project(root).find(name).first == "one"
        shutil.rmtree(root)
        assert of_project(copy).all() == []

    def test_while_a_program_has_one_open(self, root: Path, name: str) -> None:
        log = of_project(root).open_log(name)
        other = root.rename(root.with_name("other"))
        moved = of_project(other)
        for entry in turn("more", "b", number=2):
            log.append(entry)
        log.close()
        assert moved.find(name).turns == 2

    def test_in_the_first_session_already(self, root: Path) -> None:
        """The place is noted when the log is made, not when the program ends in order."""
        script = """
import os, sys
from functools import partial
from pathlib import Path
from localllm.sessions.log import SessionLog
from localllm.sessions.relocation import settle
from tests.support.session_logs import head, turn
from tests.unit.sessions.test_relocation import storage, the_seal
root, name = Path(sys.argv[1]), "20260101-000000-aaaa"
kept = storage(root)
made = partial(settle, kept.sessions, root, kept.older_sessions)
log = SessionLog(kept.sessions, name, the_seal(root).begin(name), made)
for entry in (*head(), *turn("one", "a")):
    log.append(entry)
os.kill(os.getpid(), 9)
"""
        subprocess.run([sys.executable, "-c", script, str(root)], check=False)
        assert [one.first for one in of_project(root.rename(root.with_name("other"))).all()] == ["one"]


def test_an_adopted_log_says_so_once(root: Path) -> None:
    (name,) = kept_before(root, "one")
    store = of_project(root)
    for _ in range(2):
        store.open_log(name).close()
    marks = [entry for entry in store.read(name).entries if isinstance(entry, Adopted)]
    assert len(marks) == 1
    assert keep(store, turn("two", "b")) != name
