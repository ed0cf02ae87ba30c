"""Two programs in one project, or in projects that lie in each other, take account of each other's commands."""

import os
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.sandbox.protect import command_records, revert
from localllm.sandbox.protect.referenced_files import ReferencedFiles
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return (tmp_path / "project").resolve()


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_what_commands_of_another_program_have_changed_is_not_put_back(root: Path, tmp_path: Path) -> None:
    put(root / ".vscode/tasks.json", "of the user")
    put(root / ".envrc", "of the user")
    theirs, ours = (ProtectedFiles(root, tmp_path / "state/quarantine") for _ in range(2))
    theirs.begin()
    put(root / "mise.toml", "evil")
    put(root / ".vscode/tasks.json", "evil")
    (root / ".envrc").unlink()
    ours.begin()
    assert theirs.end() == (".envrc", ".vscode/tasks.json", "mise.toml")
    assert ours.end() == ()
    assert not (root / "mise.toml").exists()
    assert (root / ".vscode/tasks.json").read_text() == (root / ".envrc").read_text() == "of the user"


def test_what_commands_of_another_program_have_left_is_undone_here_as_well(root: Path, tmp_path: Path) -> None:
    theirs, ours = (ProtectedFiles(root, tmp_path / "state/quarantine") for _ in range(2))
    theirs.begin()
    put(root / "mise.toml", "evil")
    ours.begin()
    assert ours.end() == ("mise.toml",)
    assert theirs.end() == ()


@pytest.mark.parametrize("is_inner", [True, False])
def test_what_commands_in_a_project_around_or_within_have_changed_is_not_put_back(
    root: Path, tmp_path: Path, is_inner: bool
) -> None:
    put(root / "sub/.envrc", "of the user")
    put(root / "sub/ready/tasks.json", "evil")
    roots = [root, root / "sub"]
    ours, theirs = (
        ProtectedFiles(folder, tmp_path / "state/quarantine", 0) for folder in roots[:: -1 if is_inner else 1]
    )
    theirs.begin()
    put(root / "sub/mise.toml", "evil")
    (root / "sub/.envrc").unlink()
    (root / "sub/ready").rename(root / "sub/.vscode")
    ours.begin()
    changed = {".envrc", ".vscode/tasks.json", "mise.toml"}
    assert set(theirs.end()) == {f"sub/{path}" if is_inner else path for path in changed}
    assert ours.end() == ()
    assert not (root / "sub/mise.toml").exists()
    assert not (root / "sub/.vscode/tasks.json").exists()
    assert (root / "sub/.envrc").read_text() == "of the user"


def test_what_a_command_of_another_program_has_changed_that_ends_during_the_scan_is_not_put_back(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = (ProtectedFiles(root, tmp_path / "state/quarantine") for _ in range(2))
    theirs.begin()
    put(root / "mise.toml", "evil")
    scan = ReferencedFiles.look

    def scan_while_theirs_ends(*arguments: Any) -> Any:
        assert theirs.end() == ("mise.toml",)
        return scan(*arguments)

    monkeypatch.setattr(ReferencedFiles, "look", scan_while_theirs_ends)
    ours.begin()
    assert ours.end() == ()
    assert not (root / "mise.toml").exists()


def test_what_the_user_changes_beside_a_project_within_stays(root: Path, tmp_path: Path) -> None:
    (root / "sub").mkdir()
    ours, theirs = (ProtectedFiles(folder, tmp_path / "state/quarantine", 0) for folder in (root, root / "sub"))
    theirs.begin()
    put(root / "mise.toml", "of the user")
    ours.begin()
    assert ours.end() == theirs.end() == ()
    assert (root / "mise.toml").read_text() == "of the user"


@pytest.mark.parametrize("is_inner", [True, False])
def test_a_record_that_a_killed_program_left_around_or_within_is_read_once_and_counts(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_inner: bool
) -> None:
    put(root / "sub/.envrc", "of the user")
    put(root / "sub/\udcff/.envrc", "of the user")
    roots = [root, root / "sub"]
    ours, theirs = (ProtectedFiles(one, tmp_path / "state/quarantine", 0) for one in roots[:: -1 if is_inner else 1])
    theirs.begin()
    (record,) = (tmp_path / "state/commands").glob("[!.]*")
    left = record.with_name(f"{record.name}left")
    left.write_bytes(record.read_bytes())  # no program holds it
    os.utime(left, (time.time() + 100,) * 2)
    read: list[Path] = []
    monkeypatch.setattr(command_records, "read_regular", lambda file, _: read.append(file) or file.read_bytes())
    names = ["sub/.envrc", "sub/\udcff/.envrc"]
    for number in range(3):
        for name in names:
            (root / name).write_text("evil")
        ours.begin()
        if number == 1:
            theirs._records.end()
        assert sorted(ours.end()) == [name.removeprefix("sub/" if is_inner else "") for name in names]
        assert all((root / name).read_text() == "of the user" for name in names)
    assert sorted(read) == sorted([record, left])
    left.write_bytes(left.read_bytes().partition(b"\0")[0] + b"\0of another version")
    ours.begin()
    assert sorted(read) == sorted([record, left, left])
    ours.end()


def test_no_command_starts_where_commands_are_held_off(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "PATIENCE", 0)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ours, theirs = (ProtectedFiles(folder, tmp_path / "state/quarantine") for folder in (root, elsewhere))
    for held in (elsewhere / ".git", elsewhere, tmp_path):
        with ours.hold_off([held]) as is_alone:
            assert is_alone
            for files in (ours, theirs):
                with pytest.raises(ToolExecutionError, match="another localllm has been running git here"):
                    files.begin()
    with ours.hold_off([tmp_path / "else"]), ours.hold_off([tmp_path / "more"]):
        theirs.begin()
        assert theirs.end() == ()


def test_a_command_starts_when_git_has_ended(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = (ProtectedFiles(root, tmp_path / "state/quarantine") for _ in range(2))
    with ExitStack() as stack:
        stack.enter_context(ours.hold_off([]))
        monkeypatch.setattr(command_records.time, "sleep", lambda _: stack.close())
        theirs.begin()
    assert theirs.end() == ()


def test_a_command_that_is_stopped_does_not_wait(root: Path, tmp_path: Path) -> None:
    ours, theirs = (ProtectedFiles(root, tmp_path / "state/quarantine") for _ in range(2))
    with ours.hold_off([]), pytest.raises(ToolExecutionError, match="has been running git here"):
        theirs.begin(lambda: True)


def test_a_program_that_was_killed_holds_no_command_off(root: Path, tmp_path: Path) -> None:
    files = ProtectedFiles(root, tmp_path / "state/quarantine")
    left = tmp_path / "state/commands/.held-off-1-a"
    put(left, str(root))
    files.begin()
    assert files.end() == ()
    assert not left.exists()


@pytest.mark.parametrize(
    ("folder", "is_alone"),
    [("elsewhere", False), ("elsewhere/.git/worktrees/a", False), (".", False), ("else", True), ("other", True)],
)
def test_a_command_in_a_project_that_holds_or_lies_in_a_repository_is_noticed(
    root: Path, tmp_path: Path, folder: str, is_alone: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ours, theirs = (ProtectedFiles(folder, tmp_path / "state/quarantine") for folder in (root, elsewhere))
    theirs.begin()
    with ours.hold_off([]) as found:
        assert found
    with ours.hold_off([tmp_path / folder]) as found:
        assert found == is_alone
    theirs.end()
    with ours.hold_off([tmp_path / folder]) as found:
        assert found
