"""Whatever a command ignores, moves, links or adds: what was there before it comes back."""

import mmap
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.base import regular_files
from localllm.safety.paths import ProjectRoot
from localllm.snapshots import project_scan, recorder
from localllm.snapshots.change_log import Change
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from tests.support.tools import put

pytestmark = pytest.mark.anyio

OLD = "worth a week"
MANY = project_scan._SMALL_FILES + 10
"""So many files that not all of them are kept before each command."""


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project" / "src").mkdir(parents=True)
    return ProjectRoot(tmp_path / "project")


@pytest.fixture
def store(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "state" / "snapshots")


@pytest.fixture(params=[True, False], ids=["told", "walked"])
def commands(store: Snapshots, request: pytest.FixtureRequest) -> CommandSnapshots:
    return CommandSnapshots(store, watch=request.param)


async def ran(commands: CommandSnapshots, root: ProjectRoot, command: Callable[[], object]) -> list[Change]:
    async with commands.around(root, tool="run_command") as changes:
        command()
    return changes


def undo_all(store: Snapshots, root: ProjectRoot) -> None:
    assert not [undone for undone in store.undo(root, turn=True) if undone.error]


def fill(folder: Path, count: int = MANY) -> None:
    for number in range(count):
        put(folder / f"f{number}", OLD)


@pytest.mark.parametrize(
    ("rules", "count"), [(".gitignore", 1), ("src/.gitignore", 1), (".git/info/exclude", 1), (".gitignore", MANY)]
)
@pytest.mark.parametrize("at_once", [True, False], ids=["one command", "two commands"])
async def test_what_is_ignored_by_a_command_counts_as_before(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, rules: str, count: int, at_once: bool
) -> None:
    fill(root.path / "src", count)

    def ignore() -> None:
        put(root.path / rules, "*\n" if rules != ".gitignore" else "src/\n")

    def destroy() -> None:
        for number in range(0, count, 2):
            (root.path / "src" / f"f{number}").write_text("gone")
        for number in range(1, count, 2):
            (root.path / "src" / f"f{number}").unlink()

    if at_once:
        await ran(commands, root, lambda: (ignore(), destroy()))
    else:
        await ran(commands, root, ignore)
        await ran(commands, root, destroy)
    undo_all(store, root)
    assert {(root.path / "src" / f"f{number}").read_text() for number in range(count)} == {OLD}


async def test_what_a_build_makes_in_a_folder_that_is_ignored_later_is_no_change(
    commands: CommandSnapshots, root: ProjectRoot
) -> None:
    fill(root.path / "dist")
    commands.keep(root)
    put(root.path / ".gitignore", "dist/\n")
    assert await ran(commands, root, lambda: put(root.path / "dist" / "made", "x")) == []


@pytest.mark.parametrize("aside", [".tox", "node_modules", "__pycache__", ".venv"])
async def test_a_folder_moved_aside_and_replaced_by_a_link(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, aside: str
) -> None:
    file, other = put(root.path / "src" / "app.py", OLD), put(root.path / "src" / "in" / "b.py", OLD)

    def command() -> None:
        (root.path / aside).mkdir()
        (root.path / "src").rename(root.path / aside / "s")
        (root.path / "src").symlink_to(f"{aside}/s")
        file.write_text("gone")

    await ran(commands, root, command)
    undo_all(store, root)
    assert not (root.path / "src").is_symlink()
    assert (file.read_text(), other.read_text()) == (OLD, OLD)


async def test_a_file_replaced_by_a_link_to_its_moved_self(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    file = put(root.path / "notes.txt", OLD)

    def command() -> None:
        (root.path / ".tox").mkdir()
        file.rename(root.path / ".tox" / "n")
        file.symlink_to(".tox/n")
        file.write_text("gone")

    await ran(commands, root, command)
    undo_all(store, root)
    assert not file.is_symlink()
    assert file.read_text() == OLD


async def test_nothing_outside_is_written_through_a_link(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    file, outside = put(root.path / "src" / "app.py", OLD), put(tmp_path / "outside" / "app.py", "the user's")

    def command() -> None:
        shutil.rmtree(root.path / "src")
        (root.path / "src").symlink_to(outside.parent)

    await ran(commands, root, command)
    undo_all(store, root)
    assert outside.read_text() == "the user's"
    assert file.read_text() == OLD


async def test_a_link_made_after_the_command_gets_another_name(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    file = put(root.path / "notes.txt", OLD)
    (change,) = await ran(commands, root, file.unlink)
    while root.path.stat().st_ctime <= change.time:  # the clock of a file system may lag behind
        os.utime(root.path)
    file.symlink_to("src")
    (undone,) = store.undo(root)
    assert str(undone).endswith("version is restored. What was in its place is now notes.txt.aside1.")
    assert file.read_text() == OLD
    assert (root.path / "notes.txt.aside1").readlink() == Path("src")


async def test_many_new_names_push_nothing_out(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_CHANGES", 20)
    changed, deleted = put(root.path / "y", OLD), put(root.path / "z", OLD)

    def command() -> None:
        fill(root.path / "a", 30)
        changed.write_text("gone")
        deleted.unlink()

    changes = await ran(commands, root, command)
    assert len(changes) == 22
    assert store.take_failure()
    undo_all(store, root)
    assert (changed.read_text(), deleted.read_text()) == (OLD, OLD)
    assert len(list((root.path / "a").iterdir())) == 10


async def test_more_deletions_than_new_files_are_recorded_all_come_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_CHANGES", 20)
    fill(root.path / "src", 50)
    await ran(commands, root, lambda: shutil.rmtree(root.path / "src"))
    assert not store.take_failure()
    undo_all(store, root)
    assert len(list((root.path / "src").iterdir())) == 50


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def nested(path: Path) -> None:
    put(path / "deep" / "er", "x")


@pytest.mark.parametrize("make", [pipe, listening, nested, Path.mkdir])
async def test_a_file_whose_name_something_else_has_now(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, make: Callable[[Path], object]
) -> None:
    file = put(root.path / "notes.txt", OLD)
    await ran(commands, root, lambda: (file.unlink(), make(file)))
    undo_all(store, root)
    assert file.read_text() == OLD


@pytest.mark.parametrize("make", [pipe, listening, Path.touch])
async def test_a_folder_whose_name_something_else_has_now(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, make: Callable[[Path], object]
) -> None:
    file = put(root.path / "src" / "a" / "app.py", OLD)
    await ran(commands, root, lambda: (shutil.rmtree(root.path / "src"), make(root.path / "src")))
    undo_all(store, root)
    assert file.read_text() == OLD


def link(path: Path) -> None:
    path.symlink_to("elsewhere")


def cache(path: Path) -> None:
    put(path / "__pycache__" / "a", "x")


def ignored(path: Path) -> None:
    put(path.parents[path.parts[::-1].index("project") - 1] / ".gitignore", "/src\n")
    put(path / "x", "x")


@pytest.mark.parametrize("make", [pipe, listening, link, cache, ignored])
@pytest.mark.parametrize("place", ["src", "src/a.py"])
async def test_a_file_whose_place_a_later_command_takes(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, make: Callable[[Path], object], place: str
) -> None:
    file, elsewhere = put(root.path / "src" / "a.py", OLD), put(root.path / "elsewhere" / "a.py", "the user's")
    barred = root.path / place
    await ran(commands, root, lambda: shutil.rmtree(root.path / "src"))
    await ran(commands, root, lambda: (barred.parent.mkdir(exist_ok=True), make(barred)))
    while not file.is_file() or file.read_text() != OLD:
        undo_all(store, root)
    assert elsewhere.read_text() == "the user's"
    assert os.path.lexists(f"{barred}.aside1") == (place == "src/a.py" or make not in (cache, ignored))


@pytest.mark.parametrize("mode", [0, 0o444])
async def test_a_file_that_was_overwritten_and_closed(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, mode: int
) -> None:
    file = put(root.path / "notes.txt", OLD)
    await ran(commands, root, lambda: (file.write_text("gone"), file.chmod(mode)))
    undo_all(store, root)
    assert file.read_text() == OLD
    assert file.stat().st_mode & 0o777 == 0o644


async def test_a_name_in_other_letters(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot) -> None:
    file = put(root.path / "notes.txt", OLD)

    def command() -> None:
        file.rename(root.path / "NOTES.TXT")
        (root.path / "NOTES.TXT").write_text("gone")

    await ran(commands, root, command)
    undo_all(store, root)
    assert file.read_text() == OLD


async def test_a_rewind_removes_the_link_as_well(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    file = put(root.path / "src" / "app.py", OLD)
    position = store.made.position

    def command() -> None:
        (root.path / ".tox").mkdir()
        (root.path / "src").rename(root.path / ".tox" / "s")
        (root.path / "src").symlink_to(".tox/s")
        file.write_text("gone")

    await ran(commands, root, command)
    assert not [undone for undone in store.rewind(root, position) if undone.error]
    assert file.read_text() == OLD
    assert not (root.path / "src").is_symlink()


IN_MEMORY = Path("/dev/shm")


@pytest.mark.skipif(not os.access(IN_MEMORY, os.W_OK), reason="there is no file system in memory")
@pytest.mark.parametrize("watch", [True, False], ids=["told", "walked"])
async def test_a_write_through_a_mapping_that_leaves_the_times_comes_back(
    store: Snapshots, watch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regular_files, "IN_MEMORY", ("tmpfs",))
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        root, commands = ProjectRoot(Path(folder)), CommandSnapshots(store, watch=watch)
        kept = put(root.path / "kept", OLD)
        put(root.path / "other", OLD)
        await ran(commands, root, lambda: None)
        before = kept.stat()

        def write() -> None:
            with kept.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
                mapped[:] = mapped[:].upper()

        changes = await ran(commands, root, write)
        assert kept.read_text() == OLD.upper()
        assert (kept.stat().st_mtime_ns, kept.stat().st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
        assert [change.path for change in changes] == ["kept"]
        undo_all(store, root)
        assert kept.read_text() == OLD


async def test_a_large_ignored_folder_that_is_gone_is_named(store: Snapshots, root: ProjectRoot) -> None:
    commands, path = CommandSnapshots(store), root.path
    put(path / ".gitignore", "data/\nbuild/\nold/\n")
    for folder in ("data", "src/data", "build", "old", "node_modules", "kept/data"):
        fill(path / folder)

    def move_and_remove() -> None:
        (path / "data").rename(path / "src/moved")
        shutil.rmtree(path / "src/data")
        shutil.rmtree(path / "build")
        fill(path / "build")
        (path / "old").rename(path / "kept/old")
        shutil.rmtree(path / "node_modules")

    await ran(commands, root, move_and_remove)
    assert commands.take_note() == "Gone, and not kept for /undo, as .gitignore leaves it out: src/data/."
    await ran(commands, root, lambda: put(path / "a", ""))
    assert commands.take_note() == ""
    await ran(commands, root, lambda: shutil.rmtree(path / "kept"))
    assert "kept/data/, kept/old/" in commands.take_note()
