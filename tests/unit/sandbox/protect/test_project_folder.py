"""What a command changed is put back in its project, wherever that is moved meanwhile, and in no other one."""

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.sandbox.protect.project_folder import ProjectFolder
from localllm.sandbox.protect.restore import Restorer
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.sandbox.runner import SandboxRunner

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folder of a command where it is")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    for name in (".git/hooks", ".vscode"):
        (root / name).mkdir(parents=True)
    (root / ".envrc").write_text("mine")
    (root / ".vscode/settings.json").write_text("{}")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "state/quarantine", coarse=50_000_000)


def attack(root: Path) -> None:
    (root / ".husky").mkdir()
    (root / ".husky/pre-commit").write_text("evil")
    (root / ".vscode/tasks.json").write_text("evil")
    (root / ".envrc").write_text("evil")


def move(root: Path) -> Path:
    return root.rename(root.parent / "moved")


def nowhere(_folder: ProjectFolder) -> None:
    """Pretend that the system does not tell where a folder is."""


def another(root: Path) -> None:
    (root / ".vscode").mkdir(parents=True)
    for name in (".envrc", ".vscode/tasks.json"):
        (root / name).write_text("another's")


def nothing(_root: Path) -> None:
    """Leave the place empty."""


def link(root: Path) -> None:
    root.symlink_to(root.parent / "moved")


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("then", [nothing, another, link], ids=["nothing", "another", "link"])
def test_of_a_moved_project_all_is_put_back_where_it_is_and_only_there(
    root: Path, files: ProtectedFiles, then: Callable[[Path], object]
) -> None:
    files.begin()
    moved = move(root)
    then(root)
    attack(moved)
    with pytest.raises(SafetyViolationError) as running:
        files.check()
    with pytest.raises(SafetyViolationError) as ended:
        files.end()
    assert (running.value.key, ended.value.key) == ("project_moved", "project_moved")
    assert ".husky/pre-commit" in ended.value.english
    assert contents(moved) == {".envrc": "mine", ".vscode/settings.json": "{}"}
    if then is another:
        assert contents(root) == {".envrc": "another's", ".vscode/tasks.json": "another's"}
    assert ProtectedFiles(moved, root.parent / "state/quarantine").recover() == ()


def test_where_it_is_not_found_the_next_start_in_it_puts_it_back(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectFolder, "place", nowhere)
    files.begin()
    moved = move(root)
    another(root)
    attack(moved)
    with pytest.raises(SafetyViolationError, match="no longer at"):
        files.end()
    assert (moved / ".envrc").read_text() == "evil"
    restored = ProtectedFiles(moved, root.parent / "state/quarantine").recover()
    assert set(restored) == {".envrc", ".husky/pre-commit", ".vscode/tasks.json"}
    assert contents(moved) == {".envrc": "mine", ".vscode/settings.json": "{}"}
    with pytest.raises(SafetyViolationError, match="no longer at"):
        files.begin()


def test_without_a_record_it_is_said_that_nothing_is_put_back(root: Path) -> None:
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    attack(move(root))
    with pytest.raises(SafetyViolationError, match="could not be undone"):
        files.end()


def test_of_several_commands_the_last_one_puts_it_back(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    files.begin()
    moved = move(root)
    attack(moved)
    with pytest.raises(SafetyViolationError, match="no longer at"):
        files.end()
    assert (moved / ".envrc").read_text() == "evil"
    with pytest.raises(SafetyViolationError, match="no longer at"):
        files.end()
    assert contents(moved) == {".envrc": "mine", ".vscode/settings.json": "{}"}


def test_one_that_is_moved_while_it_is_looked_at_is_not_mixed_up(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.begin()
    attack(root)
    restorer = Restorer.__enter__

    def moves_first(self: Restorer) -> Restorer:
        if root.parent.joinpath("moved").exists():
            return restorer(self)
        move(root)
        another(root)
        return restorer(self)

    monkeypatch.setattr(Restorer, "__enter__", moves_first)
    with pytest.raises(SafetyViolationError, match="no longer at"):
        files.end()
    assert contents(root) == {".envrc": "another's", ".vscode/tasks.json": "another's"}
    assert contents(root.parent / "moved") == {".envrc": "mine", ".vscode/settings.json": "{}"}


def test_one_that_is_moved_back_in_time_is_as_if_it_had_stayed(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    moved = move(root)
    attack(moved)
    moved.rename(root)
    assert set(files.end()) == {".envrc", ".husky/pre-commit", ".vscode/tasks.json"}


def test_a_deleted_project_is_no_other_one(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    shutil.rmtree(root)
    another(root)
    with pytest.raises(SafetyViolationError, match="deleted"):
        files.end()
    assert contents(root) == {".envrc": "another's", ".vscode/tasks.json": "another's"}
    assert not list((root.parent / "state/commands").iterdir())  # its number may be another folder's by now
    files.begin()  # it is a project like any other
    assert files.end() == ()


def test_a_link_in_its_place_is_not_followed_at_the_start(root: Path, files: ProtectedFiles) -> None:
    move(root)
    link(root)
    with pytest.raises(ToolExecutionError):
        files.begin()


@pytest.mark.anyio
async def test_the_command_itself_is_ended(root: Path, tmp_path: Path) -> None:
    runner = SandboxRunner(root, state_folder=tmp_path / "state", accept_no_sandbox=True)
    begun = await runner.begin("touch ready; sleep 600", cwd=Path())
    while not (root / "ready").exists():
        await asyncio.sleep(0.02)
    moved = move(root)
    another(root)
    with pytest.raises(SafetyViolationError, match="no longer at"):
        await begun.ended()
    assert contents(moved) == {".envrc": "mine", ".vscode/settings.json": "{}", "ready": ""}
    assert contents(root) == {".envrc": "another's", ".vscode/tasks.json": "another's"}


@pytest.mark.anyio
async def test_no_command_is_run_in_another_folder_than_the_session_began_in(root: Path, tmp_path: Path) -> None:
    runner = SandboxRunner(root, state_folder=tmp_path / "state", accept_no_sandbox=True)
    await runner.run("touch first", cwd=Path(), timeout=60)
    moved = move(root)
    another(root)
    for _ in range(2):
        with pytest.raises(SafetyViolationError, match="was not run"):
            await runner.run("touch second; rm .envrc", cwd=Path(), timeout=60)
    assert contents(root) == {".envrc": "another's", ".vscode/tasks.json": "another's"}
    shutil.rmtree(root)
    moved.rename(root)
    await runner.run("touch second", cwd=Path(), timeout=60)
    assert (root / "second").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_no_descriptor_is_left_open(files: ProtectedFiles) -> None:
    count = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        files.begin()
        files.end()
    assert len(list(Path("/proc/self/fd").iterdir())) == count
