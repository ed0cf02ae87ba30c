"""What a command changed or deleted comes back, whatever it was; what somebody else did meanwhile stays."""

import asyncio
import gc
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.snapshots import blob_store, project_scan, recorder
from localllm.snapshots.change_log import Change, Transition
from localllm.snapshots.file_state import is_unkept
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from tests.support.tools import put

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project").mkdir()
    return ProjectRoot(tmp_path / "project")


@pytest.fixture
def store(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "state" / "snapshots")


async def ran(store: Snapshots, root: ProjectRoot, command: Callable[[], object]) -> list[Change]:
    async with CommandSnapshots(store).around(root, tool="run_command") as changes:
        command()
    return changes


async def test_what_was_changed_made_and_deleted_is_taken_back(store: Snapshots, root: ProjectRoot) -> None:
    kept = put(root.path / "src" / "a.py", "old")
    script = put(root.path / "run.sh", "#!/bin/sh\n")
    script.chmod(0o755)
    put(root.path / "src" / "deep" / "b.bin", b"\0\1\2")
    same = put(root.path / "same", "same")

    def command() -> None:
        kept.write_text("new")
        shutil.rmtree(root.path / "src" / "deep")
        script.chmod(0o644)
        put(root.path / "out" / "made", "x")
        os.utime(same)

    changes = await ran(store, root, command)
    assert [change.path for change in changes] == ["run.sh", "src/a.py", "src/deep/b.bin", "out/made"]
    assert not [undone for undone in store.undo(root) if undone.error]
    assert kept.read_text() == "old"
    assert (root.path / "src/deep/b.bin").read_bytes() == b"\0\1\2"
    assert script.stat().st_mode & 0o777 == 0o755
    assert not (root.path / "out" / "made").exists()


@pytest.mark.parametrize("name", ["k" * 255, "k" * 249 + "é", "あ" * 85])
async def test_a_file_with_the_longest_name_comes_back_beside_what_took_its_place(
    store: Snapshots, root: ProjectRoot, name: str
) -> None:
    file = put(root.path / name, "old")
    other = put(root.path / "other", "old")

    def command() -> None:
        file.unlink()
        file.mkdir()
        (file / "link").symlink_to("x")
        other.write_text("new")

    await ran(store, root, command)
    assert not [undone for undone in store.undo(root) if undone.error]
    assert (file.read_text(), other.read_text()) == ("old", "old")
    aside = next(path for path in root.path.iterdir() if path.name.endswith(".aside1"))
    assert (name.startswith(aside.name[:80]), (aside / "link").is_symlink()) == (True, True)


async def test_a_file_of_a_year_far_off_stops_no_command(store: Snapshots, root: ProjectRoot) -> None:
    far = 99_999_999_999
    file = put(root.path / "a", "old")
    os.utime(file, (far, far))
    await ran(store, root, lambda: file.write_text("new"))
    assert not [undone for undone in store.undo(root) if undone.error]
    assert file.read_text() == "old"


async def test_a_change_that_keeps_size_and_time_is_seen(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "one")
    commands = CommandSnapshots(store)
    commands.keep(root)
    facts = file.stat()

    def command() -> None:
        file.write_text("two")
        os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert [change.path for change in await ran(store, root, command)] == ["a"]
    store.undo(root)
    assert file.read_text() == "one"


async def test_a_second_look_reads_nothing_again(store: Snapshots, root: ProjectRoot) -> None:
    for number in range(20):
        put(root.path / f"f{number}", "x" * number)
    old = time.time_ns() - 10**9
    while any(file.stat().st_ctime_ns > old for file in root.path.iterdir()):
        old = time.time_ns() - 60_000_000
    CommandSnapshots(store).keep(root)
    written = store.index_file.stat().st_mtime_ns
    assert CommandSnapshots(store).keep(root) == 0
    assert store.index_file.stat().st_mtime_ns == written


async def test_the_index_is_no_more_than_a_hint(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "old")
    CommandSnapshots(store).keep(root)
    store.index_file.write_bytes(b"garbage")
    await ran(store, root, file.unlink)
    store.undo(root)
    assert file.read_text() == "old"


async def test_what_is_ignored_comes_back_when_it_was_deleted_but_is_no_change(
    store: Snapshots, root: ProjectRoot
) -> None:
    put(root.path / ".gitignore", "*.log\nbuild/\n.env\n")
    log, secret = put(root.path / "a.log", "1"), put(root.path / ".env", "KEY=1")
    built = put(root.path / "build" / "out.o", "1")
    put(root.path / "src" / "__pycache__" / "a.pyc", "1")

    def command() -> None:
        log.write_text("2")
        secret.write_text("KEY=2")
        built.unlink()
        put(root.path / "build" / "new.o", "x")
        put(root.path / "src" / "__pycache__" / "b.pyc", "1")

    assert [change.path for change in await ran(store, root, command)] == [".env", "build/out.o"]


@pytest.mark.parametrize(
    ("paths", "comes_back"),
    [
        (["a.py"], True),
        (["src"], True),
        (["a.py", "src"], True),
        (["a.log"], False),
        (["a.py", "a.log"], False),
        (["made"], False),
        (["link"], False),
        (["missing"], False),
        ([".git"], False),
        (["../project/a.py"], False),
        (["./src/", "src/../a.py"], True),
        (["folder/../a.py"], False),  # of made, where the folder is
    ],
)
def test_what_undo_surely_brings_back(
    store: Snapshots, root: ProjectRoot, paths: list[str], *, comes_back: bool
) -> None:
    put(root.path / ".gitignore", "*.log\n")
    for path in ("a.py", "a.log", "src/b.py", "made/c.py", "made/c.log", ".git/config"):
        put(root.path / path, path)
    (root.path / "link").symlink_to("a.py")
    (root.path / "made" / "deep").mkdir()
    (root.path / "folder").symlink_to("made/deep")
    assert CommandSnapshots(store).would_bring_back(root, paths) is comes_back


async def test_heavy_folders_are_passed_over(store: Snapshots, root: ProjectRoot) -> None:
    for number in range(300):
        put(root.path / "node_modules" / f"m{number}" / "index.js", "x")
    put(root.path / "a.js", "x")
    assert await ran(store, root, lambda: shutil.rmtree(root.path / "node_modules")) == []


async def test_what_is_too_large_is_told_not_to_be_kept(store: Snapshots, root: ProjectRoot) -> None:
    large = put(root.path / "large.bin", b"\0" * (recorder.LARGEST_BINARY + 1))
    put(root.path / "a", "old")
    commands = CommandSnapshots(store)
    assert commands.keep(root) == 1
    assert [change.path for change in await ran(store, root, large.unlink)] == ["large.bin"]
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert undone.error.key == "undo_not_kept"


async def test_a_file_too_large_to_keep_that_a_command_made_is_removed(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    await ran(store, root, lambda: put(root.path / "large", b"\0" * (recorder.LARGEST_BINARY + 1)))
    store.undo(root)
    assert not (root.path / "large").exists()


async def test_an_edit_another_program_made_meanwhile_is_its_own(store: Snapshots, root: ProjectRoot) -> None:
    put(root.path / "a", "old")
    put(root.path / "b", "old")
    other = Snapshots(store.index_file.parent)

    def command() -> None:
        with other.around(root, ["b"], tool="edit_file"):
            root.write_bytes("b", b"theirs")
        (root.path / "a").write_text("ours")

    assert [change.path for change in await ran(store, root, command)] == ["a"]
    store.undo(root)
    assert (root.path / "b").read_text() == "theirs"


async def test_what_the_user_changed_after_a_command_is_left(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "old")
    await ran(store, root, lambda: file.write_text("command"))
    file.write_text("user")
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert undone.error.key == "undo_changed_since"
    assert file.read_text() == "user"


async def test_git_is_never_touched(store: Snapshots, root: ProjectRoot) -> None:
    def git(*words: str) -> str:
        command = ["git", "-C", str(root.path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    file = put(root.path / "a", "one\n")
    git("add", "a")
    git("commit", "-qm", "x")
    file.write_text("two\n")
    git("stash")
    file.write_text("three\n")
    index = (root.path / ".git" / "index").read_bytes()
    await ran(store, root, lambda: file.write_text("four\n"))
    store.undo(root)
    assert file.read_text() == "three\n"
    assert (root.path / ".git" / "index").read_bytes() == index
    assert len(git("stash", "list").splitlines()) == 1


@pytest.mark.parametrize(("more", "left_out"), [(blob_store.SECONDS_FOR_FEW, 0), (0.0, 1)])
async def test_a_few_files_are_waited_for_on_a_busy_machine(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch, more: float, left_out: int
) -> None:
    monkeypatch.setattr(recorder, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(blob_store, "SECONDS_FOR_FEW", more)
    put(root.path / "a", "old")
    assert CommandSnapshots(store).keep(root) == left_out


async def test_what_a_killed_program_left_is_found_by_the_next(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "old")
    other = Snapshots(store.index_file.parent)
    commands = CommandSnapshots(other)
    commands.keep(root)
    other.begin({}, tool="run_command")
    file.write_text("half done")
    del other, commands  # its lock goes with it, as at the end of a process
    assert [change.path for change in CommandSnapshots(store).recover(root)] == ["a"]
    store.undo(root)
    assert file.read_text() == "old"
    assert CommandSnapshots(store).recover(root) == []


@pytest.mark.parametrize("resumed", ["", "that one", "another"])
async def test_what_a_killed_session_left_is_its_own_when_it_is_resumed(
    store: Snapshots, root: ProjectRoot, resumed: str
) -> None:
    file, folder = put(root.path / "a", "old"), store.index_file.parent
    killed = Snapshots(folder, session="that one")
    CommandSnapshots(killed).keep(root)
    killed.begin({}, tool="run_command")
    file.write_text("half done")
    del killed  # its lock goes with it, as at the end of a process
    CommandSnapshots(store).recover(root)
    later = Snapshots(folder, session=resumed)
    later.made.adopt([Transition("b", "absent", "absent")])
    later.adopt_recovered()
    is_own = resumed == "that one"
    assert (later.earlier(turn=False) == []) is is_own
    assert [made.path for made in later.made.since(0)] == ["b", "a"][: 1 + is_own]
    (undone,) = later.undo(root)
    assert (undone.earlier == 0.0) is is_own
    later.adopt_recovered()
    assert later.made.position == (3 if is_own else 2), "an undone change is not taken for a new one"


@pytest.mark.parametrize("watch", [True, False])
async def test_what_the_user_did_between_two_commands_is_no_commands(
    store: Snapshots, root: ProjectRoot, watch: bool
) -> None:
    commands = CommandSnapshots(store, watch=watch)
    edited, deleted, made = put(root.path / "a", "1"), put(root.path / "b", "1"), root.path / "c"
    async with commands.around(root, tool="run_command") as changes:
        edited.write_text("first command")
    edited.write_text("user")
    deleted.unlink()
    async with commands.around(root, tool="run_command") as more:
        edited.write_text("second command")
        put(made, "second command")
    assert [[change.path for change in found] for found in (changes, more)] == [["a"], ["a", "c"]]
    store.undo(root)
    assert edited.read_text() == "user"
    assert not deleted.exists()
    assert not made.exists()
    (undone,) = store.undo(root)
    assert undone.error is not None
    assert edited.read_text() == "user"


@pytest.mark.parametrize("watch", [True, False])
async def test_an_ignored_folder_that_outgrows_what_is_kept_is_not_taken_for_deleted(
    store: Snapshots, root: ProjectRoot, watch: bool
) -> None:
    put(root.path / ".gitignore", "build/\n")
    put(root.path / "build" / "o", "1")
    commands = CommandSnapshots(store, watch=watch)
    async with commands.around(root, tool="run_command") as changes:
        put(root.path / "build" / "large", "x" * 5_000_001)
    assert changes == []


async def test_a_second_command_adds_to_the_index(store: Snapshots, root: ProjectRoot) -> None:
    for number in range(20):
        put(root.path / f"f{number}", "x")
    commands = CommandSnapshots(store)
    commands.keep(root)
    time.sleep(0.06)  # until then what was just made may change unseen
    commands.keep(root)
    whole = store.index_file.read_bytes()
    put(root.path / "f1", "y")
    commands.keep(root)
    added = store.index_file.read_bytes()
    assert added.startswith(whole)
    assert len(whole) < len(added) < 1.5 * len(whole)
    CommandSnapshots(store).keep(root)
    assert await ran(store, root, (root.path / "f1").unlink)
    store.undo(root)
    assert (root.path / "f1").read_text() == "y"


async def test_a_torn_index_is_written_anew(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "old")
    CommandSnapshots(store).keep(root)
    with store.index_file.open("ab") as index:
        index.write(b"\0\0\1\0torn")
    await ran(store, root, lambda: file.write_text("new"))
    await ran(store, root, file.unlink)
    store.undo(root)
    assert file.read_text() == "new"


async def test_texts_that_assistants_obey_are_changes_also_where_they_are_ignored(
    store: Snapshots, root: ProjectRoot
) -> None:
    put(root.path / ".gitignore", "CLAUDE.md\n")
    put(root.path / "CLAUDE.md", "old")

    def command() -> None:
        put(root.path / ".gitignore", "*\n")
        put(root.path / "CLAUDE.md", "new")
        put(root.path / "AGENTS.md", "made")
        put(root.path / "packages" / "a" / "CLAUDE.local.md", "made")

    changes = await ran(store, root, command)
    assert {change.path for change in changes} >= {"CLAUDE.md", "AGENTS.md"}
    store.undo(root)
    assert (root.path / "CLAUDE.md").read_text() == "old"


async def test_a_text_that_assistants_obey_is_recorded_before_all_else_that_is_new(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_CHANGES", 3)

    def command() -> None:
        for number in range(9):
            put(root.path / "0" / str(number), "x")
        put(root.path / "AGENTS.md", "made")

    assert "AGENTS.md" in [change.path for change in await ran(store, root, command)]


@pytest.mark.parametrize("watch", [True, False])
async def test_links_that_assistants_obey_and_what_they_stand_for_are_told(
    store: Snapshots, root: ProjectRoot, watch: bool
) -> None:
    project = root.path
    put(project / "docs" / "guide.md", "old")
    put(project / "src" / "a.md", "old")
    (project / "CLAUDE.md").symlink_to("docs/guide.md")
    (project / ".agents").symlink_to(".")
    commands = CommandSnapshots(store, watch=watch)

    async def told(command: Callable[[], object]) -> list[str]:
        async with commands.around(root, tool="run_command"):
            command()
        return list(commands.take_obeyed())

    assert await told(lambda: put(project / "src" / "a.md", "new")) == []
    assert await told(lambda: (project / "AGENTS.md").symlink_to("src/a.md")) == ["AGENTS.md"]
    assert await told(lambda: put(project / "src" / "a.md", "newer")) == ["src/a.md"]
    (project / "src" / ".github").mkdir()
    assert await told(lambda: (project / "src/.github/instructions").symlink_to("../../docs")) == [
        "src/.github/instructions"
    ]
    assert await told(lambda: put(project / "docs" / "guide.md", "new")) == ["docs/guide.md"]
    assert await told((project / "AGENTS.md").unlink) == []
    assert await told(lambda: put(project / "src" / "a.md", "newest")) == []


async def test_that_there_are_too_many_files_is_said(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_scan, "MOST_FILES", 3)
    for number in range(4):
        put(root.path / str(number), "x")
    commands = CommandSnapshots(store)
    commands.keep(root)
    assert "3" in commands.take_note()
    assert not commands.take_note()


async def test_that_there_are_files_too_deep_is_said(store: Snapshots, root: ProjectRoot) -> None:
    (root.path / "/".join("x" * 210)).mkdir(parents=True)
    commands = CommandSnapshots(store)
    commands.keep(root)
    assert "/undo" in commands.take_note()
    assert not commands.take_note()


async def test_that_something_is_not_kept_is_said_also_where_the_first_command_removes_it(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LARGEST_TEXT", 10)
    file = put(root.path / "big", "x" * 20)
    commands = CommandSnapshots(store)
    async with commands.around(root, tool="run_command") as changes:
        file.unlink()
    assert "1" in commands.take_note()
    assert [is_unkept(change.before) for change in changes] == [True]


def _grow(file: Path) -> None:
    os.truncate(file, recorder.LARGEST_TEXT + 1)


@pytest.mark.parametrize(
    "lose", [Path.unlink, _grow, lambda file: file.write_text("junk")], ids=["gone", "large again", "small"]
)
@pytest.mark.parametrize("turn", [True, False])
async def test_a_change_of_what_was_too_large_is_taken_back_with_the_one_before(
    store: Snapshots, root: ProjectRoot, lose: Callable[[Path], object], turn: bool
) -> None:
    file = put(root.path / "a", "old")
    await ran(store, root, lambda: _grow(file))
    await ran(store, root, lambda: file.write_bytes(b"\0" * (recorder.LARGEST_BINARY + 1)))
    await ran(store, root, lambda: lose(file))
    if not turn:
        for _ in range(2):
            assert [undone.error and undone.error.key for undone in store.undo(root)] == ["undo_not_kept"]
    assert [undone.error for undone in store.undo(root, turn=turn)] == [None]
    assert file.read_text() == "old"
    with pytest.raises(ToolExecutionError):
        store.undo(root)


async def test_what_somebody_else_made_of_what_was_too_large_stays(store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "a", "old")
    await ran(store, root, lambda: _grow(file))
    await ran(store, root, lambda: file.write_text("junk"))
    file.write_text("of the user")
    assert all(undone.error for undone in store.undo(root, turn=True))
    assert file.read_text() == "of the user"


def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_SECONDS", -1.0)
    monkeypatch.setattr(blob_store, "SECONDS_FOR_FEW", 0.0)


async def test_the_rest_is_copied_between_the_commands(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        put(root.path / f"f{number}", "old")
    in_a_hurry(monkeypatch)
    commands = CommandSnapshots(store)
    async with commands.around(root, tool="run_command"):
        monkeypatch.undo()
        await asyncio.sleep(0.3)
        assert commands.left_out == 30, "nothing is read while a command runs"
    note = commands.take_note()
    assert "30 of 30" in note
    assert "too large" not in note
    until = time.monotonic() + 20
    while commands.left_out and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert commands.left_out == 0
    in_a_hurry(monkeypatch)
    async with commands.around(root, tool="run_command"):
        put(root.path / "f7", "new")
    store.undo(root)
    assert (root.path / "f7").read_text() == "old"


async def test_the_rest_is_copied_also_if_a_command_was_cancelled_before_it_began(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        put(root.path / f"f{number}", "old")
    in_a_hurry(monkeypatch)
    commands, begin = CommandSnapshots(store), threading.Event()
    keep = commands.keep
    monkeypatch.setattr(commands, "keep", lambda *args: (begin.wait(20), keep(*args))[1])

    async def run() -> None:
        async with commands.around(root, tool="run_command"):
            monkeypatch.undo()

    cancelled = asyncio.create_task(run())
    await asyncio.sleep(0.05)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    begin.set()
    await run()
    until = time.monotonic() + 20
    while commands.left_out and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert commands.left_out == 0


class _SlowToBegin(Snapshots):
    """Snapshots in which a call begins once it `may_begin`: its record is written before that if `is_recorded`."""

    def __init__(self, folder: Path, *, is_recorded: bool) -> None:
        super().__init__(folder)
        self._is_recorded = is_recorded
        self.reached, self.may_begin = threading.Event(), threading.Event()

    def begin(self, before: dict[str, str], *, tool: str, undoes: tuple[str, ...] = ()) -> str:
        name = super().begin(before, tool=tool, undoes=undoes) if self._is_recorded else ""
        self.reached.set()
        self.may_begin.wait(20)
        return name or super().begin(before, tool=tool, undoes=undoes)


async def cancel_before_it_begins(snapshots: _SlowToBegin, root: ProjectRoot) -> None:
    async def run() -> None:
        async with CommandSnapshots(snapshots).around(root, tool="run_command"):
            raise AssertionError

    task = asyncio.create_task(run())
    await asyncio.to_thread(snapshots.reached.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    snapshots.may_begin.set()
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.mark.parametrize("is_recorded", [False, True])
async def test_nothing_is_taken_for_the_work_of_a_command_that_was_cancelled_before_it_began(
    store: Snapshots, root: ProjectRoot, is_recorded: bool
) -> None:
    file = put(root.path / "a", "old")
    await cancel_before_it_begins(_SlowToBegin(store.index_file.parent, is_recorded=is_recorded), root)
    gc.collect()  # the lock of those snapshots goes with them, as at the end of a process
    file.write_text("the user's")
    assert CommandSnapshots(store).recover(root) == []
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        store.undo(root)
    assert file.read_text() == "the user's"


@pytest.mark.parametrize("tool", ["run_command", "edit_file"])
async def test_nothing_is_taken_for_the_work_of_a_call_whose_changes_could_not_be_recorded(
    store: Snapshots, root: ProjectRoot, tool: str
) -> None:
    file, journal = put(root.path / "a", "old"), store.index_file.with_name("changes.jsonl")

    async def run() -> None:
        snapshots = Snapshots(store.index_file.parent)
        commands = CommandSnapshots(snapshots)

        def change(number: int) -> None:
            file.write_text(f"{number}")
            if number == 1:  # no more can be written to the journal
                journal.rename(journal.with_name("aside"))
                journal.mkdir()

        for number in (1, 2):
            if tool == "run_command":
                async with commands.around(root, tool=tool):
                    change(number)
            else:
                with snapshots.around(root, ["a"], tool=tool):
                    change(number)
            assert bool(snapshots.take_failure()) is (number == 1)
            if number == 1:
                journal.rmdir()
                journal.with_name("aside").rename(journal)

    await run()
    await asyncio.get_running_loop().shutdown_default_executor()
    gc.collect()  # the lock of those snapshots goes with them, as at the end of a process
    file.write_text("the user's")
    assert CommandSnapshots(store).recover(root) == []


async def test_what_the_command_names_is_copied_first(
    store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        put(root.path / "src" / f"f{number}.py", "old")
    commands, keep_bytes = CommandSnapshots(store), store.keep_bytes
    passed = [0.0]
    monkeypatch.setattr(recorder.time, "monotonic", lambda: passed[0])

    def slow(data: bytes) -> str:
        passed[0] += recorder.MOST_SECONDS + blob_store.SECONDS_FOR_FEW + 1
        return keep_bytes(data)

    monkeypatch.setattr(store, "keep_bytes", slow)
    commands.keep(root, "sed -i s/old/new/ src/f17.py")
    assert commands.left_out == 29
    monkeypatch.undo()
    async with commands.around(root, tool="run_command") as changes:
        put(root.path / "src" / "f17.py", "new")
    assert [is_unkept(change.before) for change in changes] == [False]
