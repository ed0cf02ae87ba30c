"""What a command changed is put back also where its program was killed."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.base.paths import is_recorded, records_name
from localllm.sandbox.protect import protected_walk
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return (tmp_path / "project").resolve()


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


KILLED = """
import os, signal, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root, quarantine = map(Path, sys.argv[1:])
files = ProtectedFiles(root, quarantine, coarse=50_000_000)
files.begin()
(root / ".envrc").write_text("evil")
(root / ".vscode").mkdir(exist_ok=True)
(root / ".vscode/tasks.json").write_text("evil")
(root / ".git/hooks/pre-commit").write_text("evil")
(root / "localllm.toml").unlink(missing_ok=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_command_changed_is_put_back_after_the_program_was_killed(root: Path, tmp_path: Path) -> None:
    put(root / ".git/hooks/pre-commit", "mine")
    put(root / "localllm.toml", "mine")
    put(root / "node_modules/a/.vscode/tasks.json", "theirs")
    time.sleep(0.1)
    quarantine = tmp_path / "state/quarantine"
    assert subprocess.run([sys.executable, "-c", KILLED, root, quarantine], check=False).returncode == -9
    assert (root / ".envrc").exists()
    files = ProtectedFiles(root, quarantine)
    changed = {".envrc", ".git/hooks/pre-commit", ".vscode/tasks.json", "localllm.toml"}
    assert is_recorded(root, tmp_path / "state/commands")
    assert set(files.recover()) == changed
    assert not is_recorded(root, tmp_path / "state/commands")
    assert not (root / ".vscode").exists()
    assert {path.read_text() for path in (root / ".git/hooks/pre-commit", root / "localllm.toml")} == {"mine"}
    assert (root / "node_modules/a/.vscode/tasks.json").read_text() == "theirs"
    assert (files.recover(), list(quarantine.rglob(".envrc")) != []) == ((), True)


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_used(root: Path, tmp_path: Path) -> None:
    quarantine = tmp_path / "state/quarantine"
    subprocess.run([sys.executable, "-c", KILLED, root, quarantine], check=False)
    record = tmp_path / "state/commands" / f"{records_name(root)}0"
    record.symlink_to(tmp_path / "elsewhere")  # as unreadable for root as for others
    with pytest.raises(SafetyViolationError) as raised:
        ProtectedFiles(root, quarantine).recover()
    assert (raised.value.key, str(record) in raised.value.what) == ("record_unreadable", True)
    assert not (root / ".envrc").exists()
    record.unlink()
    assert ProtectedFiles(root, quarantine).recover() == ()


def test_what_the_user_changed_after_the_program_was_killed_stays(root: Path, tmp_path: Path) -> None:
    quarantine = tmp_path / "state/quarantine"
    subprocess.run([sys.executable, "-c", KILLED, root, quarantine], check=False)
    (record,) = (tmp_path / "state/commands").iterdir()
    past = time.time() - 60
    os.utime(record, (past, past))
    assert ProtectedFiles(root, quarantine).recover() == ()
    assert (root / ".envrc").read_text() == "evil"


def test_what_the_command_of_a_program_that_lives_has_changed_is_its_own(root: Path, tmp_path: Path) -> None:
    first = ProtectedFiles(root, tmp_path / "state/quarantine")
    first.begin()
    put(root / ".envrc", "evil")
    assert ProtectedFiles(root, tmp_path / "state/quarantine").recover() == ()
    assert first.end() == (".envrc",)
    assert not is_recorded(root, tmp_path / "state/commands")


def test_another_project_at_the_path_is_left_alone(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    put(root / "localllm.toml", "theirs")
    put(other / ".vscode/settings.json", "mine")
    quarantine = tmp_path / "state/quarantine"
    subprocess.run([sys.executable, "-c", KILLED, root, quarantine], check=False)
    root.rename(tmp_path / "broken")
    other.rename(root)
    assert ProtectedFiles(root, quarantine).recover() == ()
    assert [path.name for path in root.rglob("*")] == [".vscode", "settings.json"]
    assert ".envrc" in ProtectedFiles(tmp_path / "broken", quarantine).recover()


def test_a_link_on_the_way_to_another_protected_path_goes(root: Path, tmp_path: Path) -> None:
    quarantine = tmp_path / "state/quarantine"
    killed = KILLED.replace("coarse=", "also=[f'{root}/conf/settings'], coarse=")
    killed = killed.replace("os.kill", "(root / 'conf').symlink_to('/tmp'); os.kill")
    assert subprocess.run([sys.executable, "-c", killed, root, quarantine], check=False).returncode == -9
    assert "conf" in ProtectedFiles(root, quarantine).recover()


def test_names_and_times_that_are_none_stop_no_command(root: Path, tmp_path: Path) -> None:
    odd = root / os.fsdecode(b".vscode/\xff")
    put(odd, "mine")
    put(root / os.fsdecode(b"a\xff/node_modules/x"), "")
    put(root / ".envrc", "mine")
    far = 99_999_999_999
    os.utime(root / ".envrc", (far, far))
    quarantine = tmp_path / "state/quarantine"
    killed = KILLED.replace("os.kill", r"(root / os.fsdecode(b'.vscode/\xff')).unlink(); os.kill")
    assert subprocess.run([sys.executable, "-c", killed, root, quarantine], check=False).returncode == -9
    assert {".envrc", str(odd.relative_to(root))} <= set(ProtectedFiles(root, quarantine).recover())
    assert odd.read_text() == "mine"


def test_a_record_that_cannot_be_kept_stops_no_command(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "state/commands", "no folder")
    files = ProtectedFiles(root, tmp_path / "state/quarantine")
    files.begin()
    put(root / ".envrc", "evil")
    assert files.end() == (".envrc",)


ENDED_OR_KILLED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from localllm.sandbox.protect import protected_walk
from localllm.sandbox.protect.revert import ProtectedFiles
folder, how, before, command = Path(sys.argv[1]), *sys.argv[2:]
if not os.getuid():
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)
root, quarantine = folder / "project", folder / "state/quarantine"
root.mkdir()
subprocess.run(["sh", "-ec", f"git init -q; git commit -q --allow-empty -m m; {before}"], cwd=root, check=True)
time.sleep(0.1)
if not (pid := os.fork()):
    files = ProtectedFiles(root, quarantine, coarse=50_000_000)
    files.begin()
    subprocess.run(["sh", "-ec", command], cwd=root, check=True)
    if how == "ended":
        print(*files.end(), sep="\\n", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
assert os.waitpid(pid, 0)[1] == signal.SIGKILL
if how == "killed":
    print(*ProtectedFiles(root, quarantine).recover(), sep="\\n")
"""


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that anybody may write in; pytest's own is closed to others."""
    folder = Path(f"/var/tmp/killed-{os.getpid()}-{tmp_path.name}")
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="is about permissions")
@pytest.mark.parametrize(
    ("before", "command"),
    [
        ("", "ln -sf /etc/passwd .git/COMMIT_EDITMSG; ln -s /etc/passwd .git/refs/heads/topic"),
        ("mkdir .git/mine; touch .git/mine/x", "mkdir .git/evil; echo x > .git/evil/x; touch .git/mine/y"),
        ("", "rm .git/HEAD; mkdir -p .vscode; touch .vscode/tasks.json"),
        ("", "mkdir .vscode; touch .vscode/tasks.json; chmod 311 .vscode"),
        ("", "mkdir -p a/b/.vscode; touch a/b/.vscode/tasks.json; chmod 000 a/b/.vscode a/b a"),
        ("echo x > .git/hooks/pre-commit", "rm .git/hooks/pre-commit; chmod 111 .git/hooks"),
        ("mkdir -p a/vscode; touch a/vscode/tasks.json", "mv a/vscode .vscode"),
        ("git worktree add -q d/a", "mv d e; ln -s /tmp d"),
        ("mkdir -p a/node_modules/x/.vscode; touch a/node_modules/x/.vscode/t", "cp -r a b; mv a/node_modules c"),
    ],
)
def test_the_next_start_undoes_what_the_end_would_have(open_folder: Path, before: str, command: str) -> None:
    author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = os.pathsep.join(filter(None, sys.path))
    undone: dict[str, list[str]] = {}
    for how in ("ended", "killed"):
        (open_folder / how).mkdir()
        (open_folder / how).chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", ENDED_OR_KILLED, open_folder / how, how, before, command],
            env={**os.environ, **author, "PYTHONPATH": path},
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        undone[how] = done.stdout.split()
    assert undone["killed"] == undone["ended"] != []


def test_what_a_killed_program_left_in_a_project_within_does_not_count_as_there_before(
    root: Path, tmp_path: Path
) -> None:
    quarantine = tmp_path / "state/quarantine"
    inner = root / "sub"
    subprocess.run(["git", "init", "-q", inner], check=True)
    subprocess.run([sys.executable, "-c", KILLED, inner, quarantine], check=False)
    outer = ProtectedFiles(root, quarantine)
    outer.begin()
    assert ".envrc" in ProtectedFiles(inner, quarantine).recover()
    assert outer.end() == ()
    assert not (inner / ".envrc").exists()


def _hide(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make more folders than are scanned, and something protected behind them."""
    monkeypatch.setattr(protected_walk, "_MOST_FOLDERS", 20)
    for number in range(30):
        (root / f"many/{number}").mkdir(parents=True)
    put(root / "many/29/a/b/c/.vscode/tasks.json", "evil")


@pytest.mark.parametrize("is_new_session", [True, False])
def test_what_lies_behind_too_many_folders_is_put_back_as_soon_as_all_can_be_scanned(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new_session: bool
) -> None:
    files = ProtectedFiles(root, tmp_path / "state/quarantine")
    files.begin()
    _hide(root, monkeypatch)
    assert files.end() == ()
    assert files.is_overlooked
    monkeypatch.undo()
    files = ProtectedFiles(root, tmp_path / "state/quarantine") if is_new_session else files
    files.begin()
    assert files.end() == ("many/29/a/b/c/.vscode/tasks.json",)
    assert not files.is_overlooked
    assert not is_recorded(root, tmp_path / "state/commands")


def test_what_lies_behind_too_many_folders_is_not_known_while_not_all_can_be_scanned(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quarantine = tmp_path / "state/quarantine"
    files = ProtectedFiles(root, quarantine, coarse=0)
    files.begin()
    _hide(root, monkeypatch)
    assert files.end() == ()
    time.sleep(0.1)  # the clock of files is coarse
    put(root / "mine/.vscode/tasks.json", "of the user")
    for _ in range(2):
        files = ProtectedFiles(root, quarantine, coarse=0)
        files.begin()
        assert files.end() == ()
        assert files.is_overlooked
    files.begin()
    (root / "many/29").rename(root / "c")
    shutil.rmtree(root / "many")
    assert files.end() == ("c/a/b/c/.vscode/tasks.json",)
    assert (root / "mine/.vscode/tasks.json").read_text() == "of the user"


def test_of_the_commands_after_which_not_all_could_be_scanned_some_are_remembered(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ProtectedFiles(root, tmp_path / "state/quarantine")
    _hide(root, monkeypatch)
    for _ in range(25):
        files.begin()
        files.end()
    assert len(list((tmp_path / "state/commands").iterdir())) == 20
