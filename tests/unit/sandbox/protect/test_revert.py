"""What of a project is put back after a command, and what is left as it was."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.base.file_systems import has_exact_times
from localllm.sandbox.protect import revert
from localllm.sandbox.protect.harmful_changes import HarmfulChanges
from localllm.sandbox.protect.protected_walk import ProtectedWalk
from localllm.sandbox.protect.repositories.git_index import IndexFiles
from localllm.sandbox.protect.revert import ProtectedFiles

EVIL = "[core]\n\tfsmonitor = evil\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return (tmp_path / "project").resolve()


def put(file: Path, text: str = EVIL) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_of_packages_only_what_is_new_is_taken_away(root: Path) -> None:
    put(root / "node_modules/old/.git/config")
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    put(root / "node_modules/new/.git/config")
    assert files.end() == ("node_modules/new/.git/config",)
    assert (root / "node_modules/old/.git/config").read_text() == EVIL


@pytest.mark.parametrize("packages", ["node_modules", "lib/python3.11/site-packages"])
def test_of_a_package_what_was_there_stays_whatever_is_put_beside_it(root: Path, packages: str) -> None:
    package = root / packages / "one"
    old = [".vscode/tasks.json", ".github/workflows/ci.yml", "localllm.toml", "sub/.envrc", ".git/hooks/pre-commit"]
    for name in old:
        put(package / name, "old")
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    assert files.end() == ()
    files.begin()
    put(package / "index.js")
    put(package / "sub/index.js")
    put(package / "other/.vscode/tasks.json")
    assert files.end() == (f"{packages}/one/other/.vscode/tasks.json",)
    assert all((package / name).read_text() == "old" for name in old)
    files.begin()
    (package / ".github/workflows").rename(package / "workflows")
    (package / "sub/vscode").mkdir()
    put(package / "sub/vscode/tasks.json")
    (package / "sub/vscode").rename(package / "sub/.vscode")
    assert f"{packages}/one/sub/.vscode/tasks.json" in files.end()


def test_of_a_package_what_was_there_before_a_command_stays_whenever_it_came(root: Path) -> None:
    put(root / "node_modules/one/sub/.vscode/tasks.json", "old")
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()  # without a look ahead: that may take longer
    put(root / "node_modules/one/index.js")
    put(root / "node_modules/one/sub/index.js")
    assert files.end() == ()
    put(root / "node_modules/two/.github/workflows/ci.yml", "the user's")
    time.sleep(0.1)
    files.begin()
    put(root / "node_modules/two/build/addon.node")
    assert files.end() == ()
    assert (root / "node_modules/one/sub/.vscode/tasks.json").read_text() == "old"
    assert (root / "node_modules/two/.github/workflows/ci.yml").read_text() == "the user's"


@pytest.mark.skipif(not has_exact_times(Path(tempfile.gettempdir())), reason="its times are not those of the clock")
def test_what_was_installed_right_before_a_command_stays(root: Path) -> None:
    """By the times that the file system keeps, not by those that the coarsest one would."""
    files = ProtectedFiles(root, None)
    for at in range(3):
        put(root / f"node_modules/user{at}/.vscode/tasks.json", "the user's")
        files.begin()
        put(root / f"node_modules/user{at}/build/addon.node")
        put(root / f"node_modules/new{at}/.vscode/tasks.json")
        assert files.end() == (f"node_modules/new{at}/.vscode/tasks.json",)
        assert (root / f"node_modules/user{at}/.vscode/tasks.json").read_text() == "the user's"


@pytest.mark.skipif(not has_exact_times(Path(tempfile.gettempdir())), reason="its times are not those of the clock")
def test_what_lay_right_before_a_command_in_folders_it_had_no_time_for_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "_TIME_BEFORE", 0.0)
    put(root / "user/tools/.vscode/tasks.json", "the user's")
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / "user/new/.vscode/tasks.json")
    assert files.end() == ("user/new/.vscode/tasks.json",)
    assert (root / "user/tools/.vscode/tasks.json").read_text() == "the user's"


def test_where_times_are_not_exact_a_command_waits_until_they_tell_what_it_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "has_exact_times", lambda _folder: False)
    files = ProtectedFiles(root, None, coarse=400_000_000)
    put(root / "node_modules/user/.vscode/tasks.json", "the user's")
    files.begin()
    put(root / "node_modules/new/.vscode/tasks.json")
    assert files.end() == ("node_modules/new/.vscode/tasks.json",)


def test_what_is_moved_into_a_package_with_the_folder_around_it_is_new(root: Path) -> None:
    packages = root / "node_modules"
    for package in ("one", "two"):
        put(packages / package / "sub/.envrc", "old")
        put(root / "old" / package / "sub/.envrc", "evil")
    put(root / "old/three/.vscode/tasks.json", "evil")
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.look_ahead()
    files.begin()
    (packages / "one").rename(packages / "gone")
    (root / "old/one").rename(packages / "one")
    put(packages / "one/index.js")  # as beside what was there
    (packages / "two/sub").rename(root / "sub")
    (root / "old/two/sub").rename(packages / "two/sub")
    (root / "old/three").rename(packages / "three")
    undone = files.end()
    assert {
        "node_modules/one/sub/.envrc",
        "node_modules/two/sub/.envrc",
        "node_modules/three/.vscode/tasks.json",
    } <= set(undone)
    assert not any(path.read_text() == "evil" for path in packages.rglob("*") if path.is_file())


def test_a_planted_step_of_a_rebase_goes_and_the_others_stay(root: Path) -> None:
    todo = root / ".git/rebase-merge/git-rebase-todo"
    put(todo, "pick 1 a\nexec make\n")
    files = ProtectedFiles(root, None)
    files.begin()
    assert str(todo) not in files.pins()[0]
    todo.write_text("exec evil\npick 2 b\nexec make\n")
    assert files.end() == (".git/rebase-merge/git-rebase-todo",)
    assert todo.read_text() == "pick 2 b\nexec make\n"
    files.begin()
    todo.unlink()
    assert files.end() == ()


def test_what_a_protected_link_leads_to_is_put_back(root: Path) -> None:
    put(root / "env/dev.sh", "export A=1\n")
    (root / ".envrc").symlink_to("env/dev.sh")
    files = ProtectedFiles(root, None)
    files.begin()
    assert str(root / "env/dev.sh") in files.pins()[0]
    put(root / "env/dev.sh", "evil")
    assert files.end() == ("env/dev.sh",)
    assert (root / "env/dev.sh").read_text() == "export A=1\n"


def test_settings_included_by_included_settings(root: Path) -> None:
    subprocess.run(["git", "-C", root, "config", "include.path", "../conf/team"], check=True)
    put(root / "conf/team", "[include]\n\tpath = more\n")
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / "conf/more")
    assert files.end() == ("conf/more",)


AS_AN_ORDINARY_USER = """
import os, subprocess, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root = Path(sys.argv[1])
files = ProtectedFiles(root, None)
files.begin()
if not os.getuid():
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)
subprocess.run(["sh", "-c", sys.argv[2]], cwd=root, check=True)
print(*files.end())
"""


@pytest.fixture
def open_root(tmp_path: Path) -> Iterator[Path]:
    """A project that anybody may write in; pytest's own folder is closed to others."""
    root = Path(f"/var/tmp/closed-{os.getpid()}-{tmp_path.name}")
    root.mkdir()
    root.chmod(0o777)
    yield root
    shutil.rmtree(root)


def as_an_ordinary_user(script: str, *arguments: str | Path) -> list[str]:
    """What it prints. Root is never kept out, so that this is somebody else there."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


OF_PERMISSIONS = pytest.mark.skipif(sys.platform != "linux", reason="is about permissions")


@OF_PERMISSIONS
def test_folders_that_are_closed_are_looked_into(open_root: Path) -> None:
    command = "mkdir -p .vscode a/b/c; for d in .vscode a a/b/c; do echo evil > $d/.envrc; done; echo x > .vscode/t"
    closing = "chmod 311 .vscode a/b/c; chmod 111 a/b; chmod 311 a"
    found = as_an_ordinary_user(AS_AN_ORDINARY_USER, open_root, f"{command}; {closing}")
    assert found == [".vscode/.envrc", ".vscode/t", "a/.envrc", "a/b/c/.envrc"]
    assert not list(open_root.rglob(".envrc"))


@OF_PERMISSIONS
@pytest.mark.parametrize("mode", ["500", "400", "600", "000"])
def test_folders_that_cannot_be_written(open_root: Path, mode: str) -> None:
    command = (
        f"mkdir -p a/b .vscode/c; echo evil > a/b/.envrc; echo x > .vscode/c/t; chmod {mode} .vscode/c .vscode a/b a"
    )
    assert as_an_ordinary_user(AS_AN_ORDINARY_USER, open_root, command) == [".vscode/c/t", "a/b/.envrc"]
    assert not (open_root / ".vscode").exists()
    assert not (open_root / "a/b/.envrc").exists()


@OF_PERMISSIONS
def test_a_file_that_nobody_may_read(open_root: Path) -> None:
    assert as_an_ordinary_user(AS_AN_ORDINARY_USER, open_root, "echo evil > .envrc; chmod 111 .envrc") == [".envrc"]
    assert not (open_root / ".envrc").exists()


WITH_A_FILE_OF_ANOTHER_USER = """
import os, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root = Path(sys.argv[1])
files = ProtectedFiles(root, None)
files.begin()
(root / "a").mkdir()
(root / "a/.envrc").write_text("evil")
os.setgroups([])
os.setresuid(65534, 65534, 65534)
for _ in range(2):
    (root / ".envrc").write_text("evil")
    try:
        files.end()
    except OSError as error:
        print(error.filename, (root / ".envrc").exists())
    files.begin()
"""


@OF_PERMISSIONS
@pytest.mark.root
def test_what_cannot_be_undone_keeps_nothing_else_and_is_tried_again(open_root: Path) -> None:
    assert as_an_ordinary_user(WITH_A_FILE_OF_ANOTHER_USER, open_root) == ["a/.envrc", "False"] * 2


@pytest.mark.on_disk  # tests of the launcher count the files that are made in memory meanwhile
def test_a_hook_goes_from_among_any_number_of_files_and_what_was_there_stays(root: Path) -> None:
    put(root / ".git/config", "[core]\n\thooksPath = .githooks\n")
    (root / ".githooks").mkdir()
    for number in range(10_100):
        (root / f".githooks/{number}").touch()
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    (root / ".githooks/0").unlink()
    put(root / ".githooks/pre-commit", "evil")
    assert ".githooks/pre-commit" in files.end()
    assert not (root / ".githooks/pre-commit").exists()
    assert files.is_overlooked
    assert len(list((root / ".githooks").iterdir())) >= 10_099


@pytest.mark.parametrize("top", ["", "node_modules"])
def test_what_a_command_lays_where_no_path_leads_is_taken_away_with_its_folders(
    root: Path, tmp_path: Path, top: str
) -> None:
    (root / top).mkdir(exist_ok=True)
    files = ProtectedFiles(root, tmp_path / "quarantine")
    files.begin()
    script = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(30):
    os.mkdir("x" * 250)
    os.chdir("x" * 250)
os.mkdir(".vscode")
open(".vscode/tasks.json", "w").write("{}")
"""
    subprocess.run([sys.executable, "-c", script, root / top], check=True)
    (changed,) = files.end()
    assert not (root / changed).exists()
    assert (root / changed).parent.is_dir()
    files.begin()
    assert files.end() == ()


def test_what_a_command_makes_takes_no_pin_away(root: Path) -> None:
    put(root / ".git/config", "[core]\n\tbare = false\n")
    put(root / ".git/hooks/pre-commit")
    for name in ("deep/in/.envrc", "z/.vscode/tasks.json"):
        put(root / name)
    files = ProtectedFiles(root, None)
    files.begin()
    before = files.pins()[0]
    for number in range(300):
        for name in ("HEAD", "objects/x", "refs/x"):
            put(root / f".a{number}" / name, "ref: refs/heads/main\n")
        put(root / f".a{number}/config", "[core]\n\tbare = true\n")
    assert files.end() == ()
    files.begin()
    now = files.pins()[0]
    assert {str(root / ".git/config"), str(root / ".git/hooks"), str(root / "deep/in/.envrc")} <= set(before)
    assert set(before) < set(now)
    assert files.end() == ()


def test_what_can_be_pinned_is_found_in_folders_however_deep(root: Path) -> None:
    deep = "/".join(["d"] * 900)
    (root / deep).mkdir(parents=True)
    (root / ".envrc").symlink_to(deep)
    for number in range(1_000):
        (root / deep / f"f{number}").touch()
    files = ProtectedFiles(root, None)
    files.begin()
    assert str(root / deep) in files.pins()[0]
    assert not [path for path in files.pins()[0] if path.startswith(f"{root / deep}/")]


@pytest.mark.parametrize("made", ["a{}", "a{}/.git", ".a{}/b", ".git/modules/a{}"])
def test_what_was_there_is_read_only_however_many_repositories_a_command_makes(
    root: Path, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "_TIME_BEFORE", 60.0)  # it is about their number
    own = [".git/config", ".git/hooks"]
    there = ["src/lib/.envrc", "src/lib/.vscode/tasks.json"]
    for name in there:
        put(root / name, "old")
    put(root / ".git/hooks/pre-commit", "old")
    files = ProtectedFiles(root, None)
    files.begin()
    for number in range(240):
        data = root / made.format(number)
        put(data / "HEAD", "ref: refs/heads/main\n")
        (data / "refs").mkdir()
        put(data / "objects/info/alternates", f"{root}/.git/objects\n")
        put(data / "config", "[core]\n\tbare = true\n")
    assert not any(path.startswith(made.partition("{}")[0]) for path in files.end())
    for later in (files, ProtectedFiles(root, None)):  # also of the next session
        later.begin()
        pinned, held = later.pins()
        assert {str(root / name) for name in (*own, "src/lib/.envrc", "src/lib/.vscode")} <= set(pinned)
        assert str(root / ".git") in held
        later.end()


KEPT = {".envrc": "export A=1\n", "sub/.envrc": "export B=1\n", "src/a.py": "a = 1\n"}


@pytest.mark.parametrize(
    ("command", "changed", "stays"),
    [
        ("echo evil > .envrc", (".envrc",), {}),
        ("rm .envrc", (".envrc",), {}),
        ("chmod 777 .envrc", (".envrc",), {}),
        ("rm .envrc; ln -s /etc/passwd .envrc", (".envrc",), {}),
        ("rm .envrc; mkdir .envrc; echo evil > .envrc/x", (".envrc", ".envrc/x"), {}),
        ("mv sub other", ("other/.envrc", "sub/.envrc"), {}),
        ("echo evil > new/.envrc", (), {}),
        ("mkdir new; echo evil > new/.envrc", ("new/.envrc",), {}),
        ("mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit", (".git/hooks/pre-commit",), {}),
        ("git config core.fsmonitor evil", (".git/config",), {}),
        (
            "touch .envrc; echo b = 2 >> src/a.py; echo x > src/b.py",
            (),
            {"src/a.py": "a = 1\nb = 2\n", "src/b.py": "x\n"},
        ),
    ],
)
def test_what_a_command_makes_of_protected_files_is_undone_and_nothing_else(
    root: Path, tmp_path: Path, command: str, changed: tuple[str, ...], stays: dict[str, str]
) -> None:
    for name, text in KEPT.items():
        put(root / name, text)
    settings = (root / ".git/config").read_text()
    files = ProtectedFiles(root, tmp_path / "quarantine")
    files.begin()
    subprocess.run(["sh", "-c", command], cwd=root, check=False, capture_output=True)
    assert files.end() == changed
    for name, text in (KEPT | stays).items():
        assert (root / name).read_text() == text
    assert (root / ".envrc").stat().st_mode & 0o777 == 0o644
    assert (root / ".git/config").read_text() == settings
    for gone in ("new/.envrc", "other/.envrc", ".git/hooks/pre-commit"):
        assert not (root / gone).exists()
    kept = [
        file.read_text() for file in (tmp_path / "quarantine").rglob("*") if file.is_file() and not file.is_symlink()
    ]
    assert ("evil\n" in kept) == ("echo evil" in command and bool(changed))
    assert files.end() == ()


def test_while_commands_run_what_they_have_changed_so_far_is_undone(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    files.begin()
    assert not files.is_alone
    put(root / ".envrc")
    assert files.check() == (".envrc",)
    assert files.check() == ()
    put(root / ".envrc")
    assert files.end() == (".envrc",)
    assert files.is_alone
    assert files.end() == ()
    assert not files.is_overlooked


def test_hooks_that_the_users_settings_name_in_a_repository_a_command_has_made(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "home" / ".gitconfig", "[core]\n\thooksPath = githooks\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    put(root / "lib/githooks/pre-commit", "old\n")
    files = ProtectedFiles(root, None)
    files.begin()
    subprocess.run(["git", "init", "-q", root / "new"], check=True)
    put(root / "new/githooks/pre-commit", "evil\n")
    put(root / "githooks/pre-commit", "evil\n")
    put(root / "lib/githooks/pre-commit", "new\n")
    assert set(files.end()) == {"new/githooks/pre-commit", "githooks/pre-commit"}
    assert (root / "lib/githooks/pre-commit").read_text() == "new\n"


def test_a_file_that_tells_jj_of_another_repository_is_undone(root: Path) -> None:
    put(root / "old/.jj/repo", "../../main/.jj/repo")
    put(root / ".jj/repo/store/type", "git")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / ".jj/repo").rename(root / ".jj/moved")
    for folder in ("", "new/"):
        put(root / f"{folder}.jj/repo", "../evil")
    put(root / "other/.jj/repo/store/type", "git")
    assert files.end() == (".jj/repo", "new/.jj/repo")
    assert (root / "old/.jj/repo").is_file()
    assert (root / "other/.jj/repo/store/type").is_file()


@pytest.mark.parametrize("name", [".jj/repo/config-id", ".jj/workspace-config-id"])
def test_jj_may_replace_its_id_by_the_same_and_no_other(root: Path, name: str) -> None:
    put(root / name, "0" * 20)
    files = ProtectedFiles(root, None)
    for text, undone in (("0" * 20, ()), ("a" * 20, (name,))):
        files.begin()
        assert str(root / name) not in files.pins()[0]
        put(root / "new", text)
        (root / "new").replace(root / name)
        assert files.end() == undone
        assert (root / name).read_text() == "0" * 20


def test_a_new_folder_of_very_many_files_is_moved_as_a_whole(root: Path, tmp_path: Path) -> None:
    put(root / ".idea/old.xml")
    put(root / ".claude/commands/old.md")
    put(root / "data/keep")
    files = ProtectedFiles(root, tmp_path / "kept")
    files.begin()
    for number in range(150):
        for folder in (".vscode/deep/er", ".idea", ".claude/commands/new", "data"):
            put(root / folder / str(number), "")
    reverted = files.end()
    assert {".vscode", ".claude/commands/new"} <= set(reverted)
    assert set(reverted) - {".vscode", ".claude/commands/new"} == {f".idea/{number}" for number in range(150)}
    assert not (root / ".vscode").exists()
    assert [file.name for file in (root / ".idea").iterdir()] == ["old.xml"]
    assert [file.name for file in (root / ".claude/commands").iterdir()] == ["old.md"]
    assert len(list((root / "data").iterdir())) == 151
    (kept,) = (tmp_path / "kept").iterdir()
    assert len(list((kept / ".vscode/deep/er").iterdir())) == 150
    files.begin()
    assert files.end() == ()


def test_what_git_makes_in_several_steps_is_undone_only_if_it_stays_incomplete(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    data = root / ".git/worktrees/w"
    data.mkdir(parents=True)

    def complete(_seconds: float) -> None:
        put(data / "commondir", "../..")
        put(root / "w/.git", f"gitdir: {data}")

    def wait_in_vain(_seconds: float) -> None:
        pass

    put(data / "gitdir", f"{root}/w/.git\n")
    monkeypatch.setattr(time, "sleep", complete)
    assert files.check() == ()
    assert (data / "gitdir").exists()
    put(root / ".git/worktrees/v/gitdir", "/elsewhere/.git\n")
    monkeypatch.setattr(time, "sleep", wait_in_vain)
    assert files.check() == (".git/worktrees/v/gitdir",)
    put(root / ".git/worktrees/v/gitdir", "/elsewhere/.git\n")
    monkeypatch.setattr(time, "sleep", complete)
    assert files.check_stopped() == (".git/worktrees/v/gitdir",)
    files.end()


def test_what_is_left_to_do_of_a_rebase_may_be_being_done(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / ".git/rebase-merge/git-rebase-todo", "exec make test\n")
    assert (files.check(), files.check_stopped()) == ((), ())
    assert files.end() == (".git/rebase-merge/git-rebase-todo",)


def test_a_new_repository_with_very_many_hooks_stays(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    subprocess.run(["git", "init", "-q", root / "sub"], check=True)
    put(root / "sub/.git/config")
    for number in range(150):
        put(root / "sub/.git/hooks" / str(number), "")
    assert set(files.end()) == {"sub/.git/config", "sub/.git/hooks"}
    assert (root / "sub/.git/HEAD").exists()


def test_while_a_command_runs_very_many_files_are_undone_a_part_at_a_time(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    for number in range(1_100):
        put(root / ".vscode" / str(number), "")
    assert len(files.check()) == 1_000
    assert len(files.check()) == 100
    assert files.end() == ()


def test_a_link_leads_to_no_path_that_must_not_be_made(root: Path) -> None:
    put(root / "made/lib/a")
    (root / "old").mkdir()
    (root / "real").symlink_to("old")
    closed = [f"{root}/{path}" for path in ("vendor/lib", "conf/x/y", "real/z")]
    files = ProtectedFiles(root, None, also=closed)
    files.begin()
    (root / "vendor").symlink_to("made")
    (root / "conf").mkdir()
    (root / "conf/x").symlink_to("../made/lib")
    put(root / "conf/other")
    assert files.end() == ("conf/x", "vendor")
    assert sorted(path.name for path in root.iterdir()) == [".git", "conf", "made", "old", "real"]
    assert [path.name for path in (root / "conf").iterdir()] == ["other"]


def test_a_protected_file_that_a_command_gave_another_name_becomes_a_file_of_its_own(root: Path) -> None:
    hook, shared, log = (root / ".git" / name for name in ("hooks/post-checkout", "hooks/pre-push", "logs/HEAD"))
    put(hook, "exit\n")
    put(shared, "exit\n")
    hook.chmod(0o750)
    (root / "mine").hardlink_to(shared)
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "new").mkdir()
    subprocess.run(["git", "init", "-q", root / "new"], check=True)
    log.parent.mkdir()
    log.hardlink_to(hook)
    (root / "new/.git/COMMIT_EDITMSG").hardlink_to(root / "new/.git/config")
    subprocess.run(["git", "-C", root, "add", "mine"], check=True)
    (root / ".git/MERGE_MSG").hardlink_to(root / ".git/index")
    assert files.end() == (".git/hooks/post-checkout", ".git/index", "new/.git/config")
    assert not (root / ".git/MERGE_MSG").samefile(root / ".git/index")
    log.write_text("evil")
    (root / "new/.git/COMMIT_EDITMSG").write_text("evil")
    assert (hook.read_text(), hook.stat().st_mode & 0o777) == ("exit\n", 0o750)
    assert (root / "new/.git/config").read_text() == (root / ".git/config").read_text()
    assert (root / "mine").samefile(shared)


def test_no_link_takes_the_place_of_what_is_closed_and_not_there_yet(root: Path) -> None:
    put(root / "real/key", "x")
    (root / "theirs").symlink_to("real")
    files = ProtectedFiles(root, None, closed=[str(root / "later"), str(root / "a/b"), str(root / "theirs")])
    files.begin()
    (root / "later").symlink_to("real")
    (root / "a").symlink_to("real")
    assert files.end() == ("a", "later")
    files.begin()
    put(root / "later/key", "x")
    put(root / "a/b", "x")
    assert files.end() == ()
    assert (root / "theirs").readlink() == Path("real")


@pytest.mark.parametrize(
    "settings", [b"#" * 4_300_000, b"[core]\nworktree = ../../../sub\0x\n"], ids=["large", "zero byte"]
)
def test_settings_that_cannot_be_judged_keep_nothing_else_from_being_undone(root: Path, settings: bytes) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    data = root / ".git/modules/sub"
    put(data / "HEAD", "ref: refs/heads/main\n")
    (data / "config").write_bytes(settings)
    (data / "objects").mkdir()
    (data / "refs").mkdir()
    put(root / "sub/.git", "gitdir: ../.git/modules/sub\n")
    put(root / ".envrc", "evil")
    assert ".envrc" in files.end()
    assert not (root / ".envrc").exists()


def test_a_fault_in_judging_a_change_undoes_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / ".envrc", "evil")
    monkeypatch.setattr(HarmfulChanges, "has", lambda *_: 1 // 0)
    assert ".envrc" in files.end()


def test_what_could_not_be_looked_at_is_undone_before_the_next_command(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / ".envrc", "evil")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProtectedWalk, "look", lambda *_, **__: 1 // 0)
        with pytest.raises(SafetyViolationError):
            files.end()
        with pytest.raises(SafetyViolationError):
            files.begin()
    assert (root / ".envrc").exists()
    files.begin()
    assert not (root / ".envrc").exists()
    assert files.end() == ()


def test_a_look_that_fails_keeps_the_others_from_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / ".envrc", "evil")
    monkeypatch.setattr(IndexFiles, "look", lambda *_: 1 // 0)
    with pytest.raises(SafetyViolationError):
        files.end()
    assert not (root / ".envrc").exists()


@pytest.mark.parametrize("length", [4_086, 4_092])
def test_a_repository_whose_path_is_too_long_is_taken_away(root: Path, length: int) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / ".envrc", "evil")
    subprocess.run([sys.executable, "-c", _DEEP, str(root), str(length)], check=True)
    try:
        envrc, deep = files.end()
        assert (envrc, (root / deep).exists(), (root / deep).parent.is_dir()) == (".envrc", False, True)
        files.begin()
        assert files.end() == ()
    finally:
        subprocess.run(["rm", "-r", root / ("d" * 200)], check=True)


_DEEP = """
import os, sys
os.chdir(sys.argv[1])
left = int(sys.argv[2]) - len(sys.argv[1])
while left > 0:
    size = min(200, left - 1 if left != 202 else 100)
    os.mkdir("d" * size)
    os.chdir("d" * size)
    left -= size + 1
os.makedirs(".git/refs")
os.makedirs(".git/objects")
open(".git/HEAD", "w").write("ref: refs/heads/main")
"""


_AS_NOBODY = """
import os, subprocess, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles

root = Path(sys.argv[1])
if os.geteuid() == 0:
    root.parent.chmod(0o755)
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
os.chdir(root)
files = ProtectedFiles(root, None)
files.begin()
subprocess.run(["sh", "-c", sys.argv[2]], check=True)
print(*files.end())
files.begin()
print(*files.end())
"""


@pytest.mark.parametrize(
    ("command", "undone"),
    [
        ("mkdir -p n/.git/refs n/.git/objects; echo 'ref: x' > n/.git/HEAD; echo x > .envrc; chmod 444 n", ".envrc"),
        (
            "mkdir .git/logs; ln .git/hooks/pre-push .git/logs/HEAD; chmod 555 .git/hooks; echo x > .envrc",
            ".envrc .git/hooks/pre-push",
        ),
    ],
    ids=["a folder that can be listed but not entered", "a second name, and a folder closed to writing"],
)
def test_what_an_ordinary_user_cannot_enter_or_write_is_opened(command: str, undone: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as above:
        root = Path(above, "project").resolve()
        subprocess.run(["git", "init", "-q", root], check=True)
        put(root / ".git/hooks/pre-push", "exit")
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, root, command], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == (f"{undone}\n\n", "")
        assert not (root / ".envrc").exists()
        assert (root / ".git/hooks/pre-push").stat().st_nlink == 1


def test_names_that_some_file_systems_take_for_protected_ones_are_taken_away(root: Path) -> None:
    """Folders of ext4 that ignore case pass over invisible characters in names, and so does HFS+."""
    put(root / "caf\u00e9/a\u200db.txt", "mine")
    files = ProtectedFiles(root, None)
    files.begin()
    names = [".vs\u00adcode/tasks.json", ".envr\u00adc", "sub/.g\u200cit/hooks/pre-commit", "localllm.to\u00adml"]
    for name in names:
        put(root / name, "evil")
    put(root / "caf\u00e9/c\u200dd.txt", "theirs")
    files.end()
    assert [name for name in names if (root / name).exists()] == []
    assert sorted(path.name for path in (root / "caf\u00e9").iterdir()) == ["a\u200db.txt", "c\u200dd.txt"]


def test_while_commands_are_stopped_all_is_put_back_and_else_what_is_near_first(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "_MOST_AT_ONCE", 3)
    files = ProtectedFiles(root, None)
    files.begin()
    flood = [f"!/deep/{number}/.envrc" for number in range(10)]
    for path in (*flood, ".vscode/tasks.json"):
        (root / path).parent.mkdir(parents=True)
        (root / path).touch()
    assert files.check() == ("!/deep/0/.envrc", "!/deep/1/.envrc", ".vscode/tasks.json")
    assert sorted(files.check_stopped()) == flood[2:]
    files.end()
