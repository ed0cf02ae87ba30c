"""Nothing outside the project is read or written, whatever a path looks like and whoever moves things meanwhile."""

import os
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.file_lock import FileLock
from localllm.safety import paths
from localllm.safety.path_names import some_of
from localllm.safety.paths import ProjectRoot
from tests.support.tools import put


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project").mkdir()
    put(tmp_path / "outside" / "f.txt", "outside")
    return ProjectRoot(tmp_path / "project")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def key_of(error: type[LocalLLMError], action: object, *arguments: object) -> str:
    assert callable(action)
    with pytest.raises(error) as caught:
        action(*arguments)
    assert str(caught.value)
    return caught.value.key


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("a.py", "a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../a.py", "a.py"),
        ("../project/a.py", "a.py"),
        (".", "."),
        ("./", "."),
        ("new/folder/a.py", "new/folder/a.py"),
        ("日本 語.txt", "日本 語.txt"),
        ("backup~", "backup~"),
        ("...", "..."),
    ],
)
def test_a_path_has_one_canonical_form(root: ProjectRoot, given: str, canonical: str) -> None:
    assert root.relative(given) == canonical


def test_an_absolute_path_inside_is_fine_also_through_a_link_to_the_root(root: ProjectRoot, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root.path)
    assert root.relative(f"{root.path}/src/a.py") == "src/a.py"
    assert root.relative(str(root.path)) == "."
    assert ProjectRoot(tmp_path / "alias").relative(f"{tmp_path}/alias/a.py") == "a.py"
    assert root.relative(f"{tmp_path}/alias/a.py") == "a.py"


def test_the_top_of_the_file_system_may_be_a_project() -> None:
    top = ProjectRoot(Path("/"))
    assert [top.relative(path) for path in (".", "/", "tmp/..", "tmp")] == [".", ".", ".", "tmp"]


def test_a_folder_whose_name_begins_like_the_roots_is_outside(root: ProjectRoot) -> None:
    assert key_of(SafetyViolationError, root.relative, f"{root.path}-other/a") == "path_outside"


@pytest.mark.parametrize(
    "path", ["..", "../outside/f.txt", "/etc/passwd", "a/../../outside/f.txt", "/proc/self/environ"]
)
def test_outside_is_refused(root: ProjectRoot, path: str) -> None:
    assert key_of(SafetyViolationError, root.relative, path) == "path_outside"


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/", "."),
        ("/workspace", "."),
        ("/src/a.py", "src/a.py"),
        ("/repo/src/a.py", "src/a.py"),
        ("/repo/x/src", "src"),
        ("/mnt/project/a b.md", "a b.md"),
    ],
)
def test_a_root_that_is_made_up_is_told_from_the_path_below_it(root: ProjectRoot, path: str, near: str) -> None:
    (root.path / "src").mkdir(exist_ok=True)
    (root.path / "src" / "a.py").write_text("a")
    (root.path / "a b.md").write_text("b")
    with pytest.raises(SafetyViolationError) as error:
        root.relative(path)
    assert f"Did you mean {near}?" in str(error.value)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a\0b",
        "a\nb",
        "a\x1bb",
        "a\u202eb",
        "a\u200bb",
        "~/.ssh/id_rsa",
        "~root",
        "file:///etc/passwd",
        "d/" * 64 + "f",
    ],
)
def test_what_is_no_path_of_a_project_is_invalid(root: ProjectRoot, path: str) -> None:
    assert key_of(SafetyViolationError, root.relative, path) == "path_invalid"


def test_the_deepest_path_still_works(root: ProjectRoot) -> None:
    path = "d/" * 63 + "f"
    root.write_bytes(path, b"x")
    assert root.read_bytes(path, 10) == b"x"


def test_links_are_followed_inside_and_refused_outside(root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "real" / "a.txt", "a")
    (root.path / "inside").symlink_to("real")
    (root.path / "out").symlink_to(tmp_path / "outside")
    (root.path / "leaf").symlink_to("../outside/f.txt")
    (root.path / "new").symlink_to("../outside/new.txt")
    (root.path / "circle").symlink_to("circle")
    assert root.relative("inside/a.txt") == "real/a.txt"
    for path in ("out/f.txt", "out/new.txt", "leaf", "new"):
        assert key_of(SafetyViolationError, root.write_bytes, path, b"x") == "path_outside"
        assert key_of(SafetyViolationError, root.read_bytes, path, 100) == "path_outside"
    assert key_of(SafetyViolationError, root.read_bytes, "circle", 100) == "path_invalid"
    assert (tmp_path / "outside" / "f.txt").read_text() == "outside"
    assert not (tmp_path / "outside" / "new.txt").exists()


def test_only_regular_files_are_opened(root: ProjectRoot) -> None:
    os.mkfifo(root.path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root.path / "socket"))
    for name in ("pipe", "socket"):
        assert key_of(SafetyViolationError, root.read_bytes, name, 1) == "path_not_regular"
        assert key_of(SafetyViolationError, root.write_bytes, name, b"") == "path_not_regular"
        assert key_of(SafetyViolationError, root.delete, name) == "path_not_regular"


def test_a_folder_is_not_read_or_replaced(root: ProjectRoot) -> None:
    (root.path / "d").mkdir()
    for path in ("d", "."):
        assert key_of(ToolExecutionError, root.read_bytes, path, 1) == "file_is_directory"
        assert key_of(ToolExecutionError, root.write_bytes, path, b"") == "file_is_directory"
    assert stat.S_ISDIR(root.stat("d").st_mode)


def test_a_file_is_read_up_to_the_limit(root: ProjectRoot) -> None:
    put(root.path / "a", "12345")
    assert root.read_bytes("a", 5) == b"12345"
    assert key_of(ToolExecutionError, root.read_bytes, "a", 4) == "file_too_large"


def test_a_missing_file_names_those_that_may_be_meant(root: ProjectRoot) -> None:
    put(root.path / "src" / "settings.py")
    put(root.path / "src" / "other.md")
    assert root.near("settings.py") == ["src/settings.py"]
    assert root.near("src/setting.py") == ["src/settings.py"]
    (root.path / "カ\u3099イト\u3099 フ\u3099ック.md").touch()  # as a Mac decomposes it
    assert root.near("ガイドブック.md") == ["カ\u3099イト\u3099 フ\u3099ック.md"]
    with pytest.raises(ToolExecutionError, match=r"Did you mean: src/settings\.py") as caught:
        root.read_bytes("app/Settings.py", 1)
    assert caught.value.key == "file_missing"
    assert key_of(ToolExecutionError, root.stat, "src/settings.py/x") == "file_missing"
    assert not root.exists("src/x")
    assert root.exists("src")


def test_writing_makes_folders_and_replaces_whole(root: ProjectRoot) -> None:
    root.write_bytes("new/deep/a.txt", b"one")
    root.write_bytes("new/deep/a.txt", b"2")
    assert (root.path / "new" / "deep" / "a.txt").read_bytes() == b"2"
    assert names(root.path / "new" / "deep") == ["a.txt"]


def test_writing_keeps_the_mode_and_breaks_hard_links(root: ProjectRoot, tmp_path: Path) -> None:
    script = put(root.path / "run.sh", "old")
    script.chmod(0o755)
    os.link(script, tmp_path / "outside" / "twin")
    root.write_bytes("run.sh", b"new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert (tmp_path / "outside" / "twin").read_text() == "old"
    root.write_bytes("run.sh", b"new", mode=0o600)
    assert stat.S_IMODE(script.stat().st_mode) == 0o600


def test_writing_through_an_inner_link_changes_its_target(root: ProjectRoot) -> None:
    put(root.path / "real.txt", "old")
    (root.path / "link.txt").symlink_to("real.txt")
    root.write_bytes("link.txt", b"new")
    assert (root.path / "link.txt").is_symlink()
    assert (root.path / "real.txt").read_text() == "new"


def test_a_read_only_file_is_left_alone(root: ProjectRoot) -> None:
    put(root.path / "a", "old").chmod(0o444)
    assert key_of(ToolExecutionError, root.write_bytes, "a", b"new") == "file_unwritable"
    assert (root.path / "a").read_text() == "old"


def test_creating_refuses_what_is_there(root: ProjectRoot) -> None:
    root.write_bytes("a", b"1", create_only=True)
    with pytest.raises(ToolExecutionError) as caught:
        root.write_bytes("a", b"2", create_only=True)
    assert caught.value.key == "file_exists"
    assert (root.path / "a").read_bytes() == b"1"


def test_a_file_is_no_folder(root: ProjectRoot) -> None:
    put(root.path / "a")
    assert key_of(ToolExecutionError, root.write_bytes, "a/b", b"") == "file_unwritable"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".GIT/Hooks/x",
        "localllm.toml",
        ".localllm/sessions/x",
        "sub/../.git/config",
        "a/.jj/repo",
    ],
)
def test_protected_names_can_be_read_but_not_changed(root: ProjectRoot, path: str) -> None:
    put(root.path / root.relative(path), "old")
    assert root.is_protected(path)
    assert root.read_bytes(path, 10) == b"old"
    assert key_of(SafetyViolationError, root.write_bytes, path, b"new") == "path_protected"
    assert key_of(SafetyViolationError, root.delete, path) == "path_protected"


def test_a_link_to_a_protected_folder_is_protected(root: ProjectRoot) -> None:
    (root.path / ".git" / "hooks").mkdir(parents=True)
    (root.path / "innocent").symlink_to(".git/hooks")
    assert key_of(SafetyViolationError, root.write_bytes, "innocent/pre-commit", b"x") == "path_protected"


def test_deleting(root: ProjectRoot) -> None:
    put(root.path / "a")
    (root.path / "d").mkdir()
    root.delete("a")
    assert not root.exists("a")
    assert key_of(ToolExecutionError, root.delete, "a") == "file_missing"
    assert key_of(ToolExecutionError, root.delete, "d") == "file_is_directory"


def test_it_stays_the_same_folder_when_its_name_leads_elsewhere(root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "f.txt", "inside")
    root.path.rename(tmp_path / "moved")
    root.path.symlink_to(tmp_path / "outside")
    with suppress(LocalLLMError):
        assert root.read_bytes("f.txt", 100) == b"inside"
    with suppress(LocalLLMError):
        root.write_bytes("f.txt", b"new")
    assert (tmp_path / "outside" / "f.txt").read_text() == "outside"


def test_the_environment_this_program_runs_in_is_closed() -> None:
    environment = Path(sys.prefix).resolve()
    root = ProjectRoot(environment.parent)
    for name in (environment.name, f"{environment.name}/lib/made_up.py", f"{environment.name.upper()}/made_up.pth"):
        assert root.is_protected(name), name
    assert key_of(SafetyViolationError, root.write_bytes, f"{environment.name}/made_up.py", b"") == "path_protected"
    assert not root.is_protected(f"{environment.name}-made-up/lib.py")


def test_what_this_program_looks_for_modules_in_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / ".local" / "site-packages"
    site.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    root = ProjectRoot(tmp_path)
    assert root.is_protected(".local/site-packages/made_up.py")
    assert not root.is_protected(".local/made_up.py")


@pytest.mark.parametrize("above", ["", "user/"])
def test_what_is_hidden_in_the_home_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: str) -> None:
    (tmp_path / above).mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(tmp_path / above))
    root = ProjectRoot(tmp_path)
    for name in (".ssh/rc", ".config/made_up/init.lua", ".made_up"):
        assert key_of(SafetyViolationError, root.write_bytes, above + name, b"") == "path_protected"
    root.write_bytes(f"{above}work/.hidden", b"")
    root.write_bytes(f"{above}plain", b"")


def test_what_is_hidden_in_a_project_below_the_home_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".dots").mkdir()
    assert not ProjectRoot(tmp_path / ".dots").is_protected(".made_up/rc")


def test_a_lock_that_another_program_keeps_is_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "FOLDER_PATIENCE", 0.01)
    with FileLock(tmp_path):
        assert key_of(ToolExecutionError, ProjectRoot(tmp_path).write_bytes, "new.txt", b"") == "file_unwritable"
    ProjectRoot(tmp_path).write_bytes("new.txt", b"")


def test_of_many_paths_only_some_are_told_and_how_many_more_there_are() -> None:
    assert some_of(["a", "b"]) == "a, b"
    assert some_of([f"f{n}" for n in range(1_020)]).endswith(", f19, … (+1000)")


def test_what_was_judged_by_its_path_is_what_is_opened(root: ProjectRoot) -> None:
    put(root.path / "open" / "f.txt", "open")
    put(root.path / "closed" / "f.txt", "closed")
    (root.path / "link").symlink_to("open")
    call = root.for_one_call()
    assert call.relative("link/f.txt") == "open/f.txt"
    (root.path / "link").unlink()
    (root.path / "link").symlink_to("closed")
    assert call.read_bytes("link/f.txt", 100) == b"open"
    assert call.read_bytes(call.relative("link/f.txt"), 100) == b"open"
    assert root.read_bytes("link/f.txt", 100) == b"closed"
    (root.path / "open").rename(root.path / "was")
    (root.path / "open").symlink_to("closed")
    assert key_of(SafetyViolationError, call.read_bytes, "link/f.txt", 100) == "path_invalid"
    with pytest.raises(OSError, match="symbolic links"):
        root.open_listed("open/f.txt")


@pytest.mark.parametrize(
    ("given", "by_name", "meant"),
    [
        ("src\\a.py", False, "src/a.py"),
        ("src\\new.py", False, "src/new.py"),
        ("none\\a.py", False, ""),
        ("new\\", True, ""),
        ("@src/a.py", True, "src/a.py"),
        ("@src/a.py", False, ""),
        ("@none.py", True, ""),
        ("a.py", True, "src/a.py"),
        ("a.py", False, ""),
        ("twice.py", True, ""),
        ("top.py", True, ""),
        ("none/a.py", True, ""),
        ("src", True, ""),
        ("", True, ""),
        ("~\\a.py", True, ""),
    ],
)
def test_what_a_path_that_is_not_there_plainly_stands_for(
    root: ProjectRoot, given: str, by_name: bool, meant: str
) -> None:
    for file in ("src/a.py", "src/twice.py", "lib/twice.py", "top.py"):
        put(root.path / file, "x")
    assert root.meant(given, by_name=by_name) == meant


def test_of_near_names_five_are_told(root: ProjectRoot) -> None:
    for number in range(7):
        put(root.path / f"{number}" / "Report.py", "x")
    assert len(root.near("src/reports.py")) == 5
    assert root.near("other.txt") == []


def test_what_stands_in_the_way_of_a_file_is_removed_or_gets_another_name(root: ProjectRoot, tmp_path: Path) -> None:
    later, earlier = 9e9, 1.0
    for name in ("link", "folder", "full", "young"):
        (root.path / name).mkdir()
    (root.path / "folder" / "deep" / "deeper").mkdir(parents=True)
    put(root.path / "full" / "inner" / "file", "x")
    put(root.path / "file", "x")
    (root.path / "link").rmdir()
    (root.path / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(root.path / "young" / "pipe")
    assert root.make_way("young/pipe", earlier) == "young/pipe.aside1"
    assert names(root.path / "young") == ["pipe.aside1"]
    ways = [root.make_way(path, later) for path in ("young/pipe", "folder", "full", "file", "link/f.txt", "none")]
    assert ways == ["", "", "full.aside1", "", "", ""]
    assert names(root.path) == ["file", "full.aside1", "young"]
    assert names(root.path / "full.aside1") == ["inner"]
    assert names(tmp_path / "outside") == ["f.txt"]
    (root.path / "young" / "pipe").symlink_to(tmp_path / "outside")
    assert root.make_way("young/pipe/x", earlier) == "young/pipe.aside2"
    assert root.make_way("file/x", later) == "file.aside1"
    (root.path / ".git").symlink_to(tmp_path / "outside")
    assert root.make_way(".git/config", later) == ""
    assert (root.path / ".git").is_symlink()


def test_what_was_printed_is_read_by_the_name_it_would_have_in_the_project(tmp_path: Path) -> None:
    project, outputs = tmp_path / "project", tmp_path / "outputs"
    put(outputs / "run.txt", "printed")
    project.mkdir()
    root = ProjectRoot(project, outputs)
    name = root.name_of(outputs / "run.txt")
    assert name == ".localllm/tool-output/run.txt"
    assert root.read_bytes(name, 100) == b"printed"
    assert (root.relative(name), root.is_kept_outside(name), root.exists(name)) == (name, True, True)
    assert root.stat(name).st_size == 7
    for other in (".localllm/tool-output/none.txt", ".localllm/tool-output/..", "run.txt"):
        assert not root.is_kept_outside(other)
    assert root.name_of(project / "src" / "a.py") == "src/a.py"
    assert root.name_of(tmp_path / "a.py") == str(tmp_path / "a.py")


def test_a_file_that_does_not_hold_what_was_written_is_said_not_to(
    root: ProjectRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root.path / "a", "old")
    with pytest.raises(ToolExecutionError) as caught:
        root.write_bytes("a", b"new", over=b"other")
    assert caught.value.key == "file_changed_since"
    root.write_bytes("a", b"new", over=b"old")
    monkeypatch.setattr(paths, "atomic_write_at", lambda *_args, **_options: None)
    assert key_of(ToolExecutionError, root.write_bytes, "a", b"newer") == "file_not_kept"
    assert key_of(ToolExecutionError, root.write_bytes, "a", b"ne") == "file_not_kept"


def test_a_path_whose_links_never_rest_is_given_up_on(root: ProjectRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    def moving(path: Path) -> str:
        tries.append(path)
        raise OSError

    tries: list[Path] = []
    monkeypatch.setattr(paths, "real_path", moving)
    assert key_of(SafetyViolationError, root.exists, "a") == "path_invalid"
    assert len(tries) == 100


def test_names_that_were_found_may_be_odd(root: ProjectRoot) -> None:
    put(root.path / "a\nb", "x")
    assert key_of(SafetyViolationError, root.exists, "a\nb") == "path_invalid"
    assert root.for_any_name().exists("a\nb")
    assert key_of(SafetyViolationError, root.for_any_name().exists, "../outside/f.txt") == "path_outside"


def test_what_undo_brings_back_may_replace_a_read_only_file(root: ProjectRoot) -> None:
    put(root.path / "a", "old").chmod(0o444)
    assert key_of(ToolExecutionError, root.write_bytes, "a", b"new") == "file_unwritable"
    os.link(root.path / "a", root.path / "other")
    restoring = root.for_restoring()
    restoring.write_bytes("a", b"new", mode=0o444)
    assert (root.path / "other").stat().st_mode & 0o777 == 0o444
    restoring.write_bytes("b", b"made")
    assert (root.read_bytes("a", 9), root.read_bytes("b", 9)) == (b"new", b"made")


@pytest.mark.parametrize(("writable", "key"), [(True, "file_unwritable"), (False, "project_read_only")])
def test_a_project_that_takes_nothing_is_said_to(
    root: ProjectRoot, monkeypatch: pytest.MonkeyPatch, writable: bool, key: str
) -> None:
    put(root.path / "a", "x").chmod(0o444)
    monkeypatch.setattr(os, "access", lambda _path, _mode: writable)
    assert key_of(ToolExecutionError, root.write_bytes, "a", b"new") == key


def test_what_a_killed_program_left_beside_a_file_goes(root: ProjectRoot) -> None:
    put(root.path / "src" / "a", "x")
    put(root.path / "src" / ".localllm-0a.tmp", "half")
    put(root.path / ".localllm-0b.tmp", "of another folder")
    root.remove_leftovers("src/a")
    assert names(root.path / "src") == ["a"]
    assert names(root.path) == [".localllm-0b.tmp", "src"]
