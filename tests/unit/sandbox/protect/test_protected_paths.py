"""Which names are protected, and that they are found."""

import os
import signal
import sys
from pathlib import Path

import pytest

from localllm.sandbox.protect.protected_paths import PROTECTED_NAMES, Reach, is_protected
from localllm.sandbox.protect.protected_walk import look
from tests.support.each import each


@each("name", PROTECTED_NAMES)
def test_every_protected_name_is(name: str) -> None:
    assert is_protected(name)
    assert is_protected(name.upper())
    assert is_protected(f"packages/one/{name}")
    assert is_protected(f"{name}/below")


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git",
        "sub/.GIT",
        ".git./config",
        ".vscode /tasks.json",
        "a/b.code-workspace",
        ".hg/histedit-state",
        ".repo/repo/main.py",
        "x.ipr",
        "netlify.toml",
    ],
)
def test_protected(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    ["src/main.py", ".gitignore", ".github/README.md", "git/config", ".git/HEAD", ".envrc.example", "config", "."],
)
def test_not_protected(path: str) -> None:
    assert not is_protected(path)


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_only_protected_files_are_found(tmp_path: Path) -> None:
    protected = {
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/info/attributes",
        ".git/remotes/origin",
        ".git/modules/lib/config",
        ".git/modules/lib/hooks/post-merge",
        ".github/workflows/ci.yml",
        ".VSCode/tasks.json",
        "localllm.toml",
        "deep/er/.envrc",
        "sub/.git",
        "bare/config",
        "bare/hooks/update",
    }
    other = ("src/a.py", ".git/HEAD", ".git/info/exclude", ".git/hooks/pre-push.sample", ".git/modules/lib/index")
    make(tmp_path, *protected, *other, ".github/README.md", "bare/HEAD", "bare/objects/x", "bare/refs/x", "config")
    assert set(look(tmp_path)) == protected


def test_links_are_seen_and_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "elsewhere/settings.json")
    (tmp_path / ".vscode").symlink_to("elsewhere")
    (tmp_path / "circle").symlink_to(".")
    found = look(tmp_path)
    assert set(found) == {".vscode"}
    assert found[".vscode"].content == b"elsewhere"


def test_a_change_of_content_is_seen_although_its_time_is_forged(tmp_path: Path) -> None:
    make(tmp_path, ".envrc")
    before = look(tmp_path)
    about = (tmp_path / ".envrc").stat()
    (tmp_path / ".envrc").write_text("EVIL!!")
    os.utime(tmp_path / ".envrc", ns=(about.st_atime_ns, about.st_mtime_ns))
    after = look(tmp_path, before)
    assert after[".envrc"].content == b"EVIL!!"
    assert before[".envrc"].content == b".envrc"


@pytest.mark.skipif(sys.platform != "linux", reason="leases are of Linux")
def test_a_file_that_a_lease_closes_is_seen(tmp_path: Path) -> None:
    import fcntl

    make(tmp_path, ".envrc")
    ready, go_on = os.pipe(), os.pipe()
    if not (child := os.fork()):
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.fcntl(os.open(tmp_path / ".envrc", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
        os.write(ready[1], b"1")
        os.read(go_on[0], 1)
        os._exit(0)
    assert os.read(ready[0], 1)
    with pytest.raises(BlockingIOError):
        os.open(tmp_path / ".envrc", os.O_RDONLY | os.O_NONBLOCK)
    found = look(tmp_path)
    os.write(go_on[1], b"1")
    os.waitpid(child, 0)
    assert found[".envrc"].content is None


def test_old_output_is_watched_but_not_held(tmp_path: Path) -> None:
    make(tmp_path, ".localllm/tool-output/run.txt", ".localllm/sessions/a.jsonl")
    found = look(tmp_path)
    assert found[".localllm/tool-output/run.txt"].content is None
    assert found[".localllm/sessions/a.jsonl"].content == b".localllm/sessions/a.jsonl"


def test_a_look_without_time_says_so(tmp_path: Path) -> None:
    make(tmp_path, "sub/.envrc")
    reach = Reach(0)
    assert not look(tmp_path, reach=reach)
    assert not reach.is_complete


def test_folders_of_packages_are_looked_into_where_that_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "node_modules/x/.git/config", "lib/site-packages/.envrc")
    reach = Reach(skipped=True)
    assert not look(tmp_path)
    assert set(look(tmp_path, reach=reach)) == {"node_modules/x/.git/config", "lib/site-packages/.envrc"}
    assert reach.is_complete


def test_repositories_told_by_where_their_settings_are(tmp_path: Path) -> None:
    make(tmp_path, "docs/HEAD", "docs/commondir", "team.code-workspace", "sub/x.Code-Workspace")
    assert set(look(tmp_path)) == {"docs/commondir", "team.code-workspace", "sub/x.Code-Workspace"}


def test_what_installed_packages_ship_for_the_start_of_python_is_left(tmp_path: Path) -> None:
    packages = tmp_path / ".venv" / "lib" / "site-packages"
    shipped = [packages / "tracing" / "sitecustomize.py", packages / "sitecustomize" / "hooks" / "a.py"]
    for file in (*shipped, tmp_path / "src" / "usercustomize.py"):
        file.parent.mkdir(parents=True)
        file.touch()
    assert set(look(tmp_path, reach=Reach(skipped=True))) == {"src/usercustomize.py"}
