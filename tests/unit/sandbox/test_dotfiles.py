"""What commands get of the user's settings: all that matters for work, and no secret."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.sandbox.dotfiles import git_settings_of_user, is_git_secret, put_into, settings_for
from localllm.sandbox.git_config import parse

GIT = """
[user]
	name = Secretary Token
	email = secretary@example.org
	password = XYZ
	pin = XYZ
[http]
	extraHeader = Authorization: Bearer XYZ
[credential]
	helper = store
[url "https://me:XYZ@example.org/"]
	insteadOf = https://example.org/
[core]
	autocrlf = input
	excludesFile = ~/ignored
	sshCommand = ssh -i XYZ
[status]
	token = XYZ
[alias]
	st = status -s
	leak = !echo XYZ
[filter "lfs"]
	clean = git-lfs clean -- %f
[filter "notebook"]
	clean = nbstripout
[filter "crypt"]
	smudge = openssl enc -d -k XYZ
	clean = git-lfs clean -- %f && openssl enc -k XYZ
[gc]
	recentObjectsHook = list XYZ
[include]
	path = more.gitconfig
[includeIf "gitdir:~/office/"]
	path = work.gitconfig
[includeIf "gitdir:~/play/"]
	path = play.gitconfig
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        ".gitconfig": GIT,
        "more.gitconfig": "[init]\n\tdefaultBranch = trunk\n[http]\n\tproxy = http://me:XYZ@proxy\n",
        "work.gitconfig": "[user]\n\temail = work@example.org\n",
        "play.gitconfig": "[user]\n\temail = play@example.org\n",
        "ignored": "*.orig\n",
        ".config/git/config": "[color]\n\tui = always\n",
        ".cargo/config.toml": '[build]\njobs = 2\n[registries.ours]\nindex = "https://x"\ntoken = "XYZ"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path.resolve()


def test_settings_without_secrets(home: Path) -> None:
    files = settings_for({"HOME": str(home)}, home / "office/project")
    assert b"XYZ" not in b"".join(files.values())
    seen = {".".join(filter(None, one[:3])): one.value for one in parse(files[".gitconfig"])}
    assert seen == {
        "color.ui": "always",
        "user.name": "Secretary Token",
        "user.email": "work@example.org",
        "core.autocrlf": "input",
        "alias.st": "status -s",
        "filter.lfs.clean": "git-lfs clean -- %f",
        "filter.notebook.clean": "nbstripout",
        "filter.crypt.required": "true",
        "init.defaultbranch": "trunk",
    }
    assert files[".config/git/ignore"] == b"*.orig\n"
    assert b"jobs = 2" in files[".cargo/config.toml"]


@pytest.mark.parametrize(
    "value", ['"me:XYZ@host:8080"', "'http://me:XYZ@host'", '"me:XYZ\\u0040host"', '"""\nme:XYZ@host"""']
)
def test_a_password_for_the_proxy_of_cargo_is_left_out(home: Path, value: str) -> None:
    (home / ".cargo/config.toml").write_text(f"[http]\nproxy = {value}\n[build]\njobs = 2\n")
    assert b"XYZ" not in settings_for({"HOME": str(home)}, home)[".cargo/config.toml"]


def test_what_is_no_toml_without_the_secret_is_left_out(home: Path) -> None:
    (home / ".cargo/config.toml").write_text('[registry]\ntoken = """\nXYZ"""\n')
    assert settings_for({"HOME": str(home)}, home)[".cargo/config.toml"] == b""


def test_the_folder_of_settings_may_be_elsewhere(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/git").mkdir(parents=True)
    (tmp_path / "elsewhere/git/ignore").write_text("*.tmp\n")
    (home / ".gitconfig").write_text("")
    files = settings_for({"HOME": str(home), "XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}, home)
    assert files[".config/git/ignore"] == b"*.tmp\n"
    assert ".gitconfig" not in files


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    for name in ("real", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/.cargo").symlink_to(tmp_path / "real")
    (tmp_path / "home/x").symlink_to(tmp_path / "real/x")
    put_into(tmp_path / "home", {".cargo/config.toml": b"a", "x": b"a", "y/z": b"a"})
    assert not list((tmp_path / "real").iterdir())
    assert (tmp_path / "home/y/z").read_bytes() == b"a"
    (tmp_path / "other").symlink_to("real")
    put_into(tmp_path / "other", {"x": b"a", "y/z": b"a"})
    assert not list((tmp_path / "real").iterdir())


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('[remote "o"]\nurl = https://tok@host/x', True),
        ('[url "http://a:b@c/"]\ninsteadOf = x', True),
        ('[http "https://x"]\nextraHeader = A', True),
        ('[remote "o"]\nurl = ssh://git@host/x', False),
        ("[credential]\nhelper = store", False),
        ("[credential]\nhelper = !echo password=x", True),
    ],
)
def test_settings_of_a_repository(tmp_path: Path, text: str, secret: bool) -> None:
    (tmp_path / "config").write_text(text)
    assert is_git_secret(tmp_path / "config") == secret


def test_lists_that_a_settings_file_in_the_project_names_are_not_read(tmp_path: Path) -> None:
    """A command could write any name there."""
    (tmp_path / "project").mkdir()
    (tmp_path / "diary").write_text("private\n")
    for settings in (tmp_path / "project/gitconfig", tmp_path / "mine"):
        settings.write_text("[core]\n\texcludesFile = ~/diary\n[user]\n\tname = Me\n")
    (tmp_path / ".gitconfig").symlink_to("project/gitconfig")
    environment = {"HOME": str(tmp_path)}
    files = settings_for(environment, tmp_path / "project")
    assert ".config/git/ignore" not in files
    assert b"Me" in files[".gitconfig"]
    (tmp_path / "project/gitconfig").write_text("[core]\n\texcludesFile = ~/.gitignore_global\n")
    (tmp_path / "project/list").write_text("*.swp\n")
    (tmp_path / ".gitignore_global").symlink_to("project/list")
    assert settings_for(environment, tmp_path / "project")[".config/git/ignore"] == b"*.swp\n"
    environment["GIT_CONFIG_GLOBAL"] = str(tmp_path / "mine")
    assert settings_for(environment, tmp_path / "project")[".config/git/ignore"] == b"private\n"


@pytest.mark.parametrize("name", [".config/git/ignore", ".gitconfig", ".cargo/config.toml"])
def test_a_link_of_the_project_leads_to_no_other_file_of_the_home(tmp_path: Path, name: str) -> None:
    home, project = tmp_path, tmp_path / "project"
    project.mkdir()
    (home / "own").write_text("[user]\nname = 'me'\n")
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).symlink_to(project / "settings")
    (project / "settings").symlink_to("real")
    (project / "real").write_text("[user]\nname = 'me'\n")
    assert name in settings_for({"HOME": str(home)}, project)
    (project / "real").unlink()
    (project / "real").symlink_to("../own")
    assert name not in settings_for({"HOME": str(home)}, project)
    assert name in settings_for({"HOME": str(home)}, tmp_path / "other")
    (project / ".git").mkdir()
    assert name not in settings_for({"HOME": str(home)}, tmp_path / "other"), "a command may have run there"


def test_a_file_that_is_exchanged_for_a_link_once_it_was_judged_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a command in the background can, at any moment."""
    listed = tmp_path / "project/list"
    listed.parent.mkdir()
    (tmp_path / "key").write_text("private")
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/project/list\n")

    def read_and_exchange(path: str | Path, read: Callable[[str | Path], str] = os.readlink) -> str:
        try:
            return read(path)
        finally:
            if str(path) == str(listed) and not listed.is_symlink():
                listed.unlink()
                listed.symlink_to("../key")

    listed.write_text("*.swp")
    assert settings_for({"HOME": str(tmp_path)}, listed.parent)[".config/git/ignore"] == b"*.swp"
    monkeypatch.setattr(os, "readlink", read_and_exchange)
    assert ".config/git/ignore" not in settings_for({"HOME": str(tmp_path)}, listed.parent)
    assert listed.is_symlink()


def test_an_included_file_lies_beside_the_one_that_names_it(tmp_path: Path) -> None:
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/config").write_text("[include]\n\tpath = ../../project/more\n[include]\n\tpath = ~/own\n")
    (tmp_path / "own").write_text('[includeIf "onbranch:x"]\n\tpath = :(optional)near\n')
    found = [os.path.normpath(one.value) for one in git_settings_of_user({"HOME": str(tmp_path)}) if one.name == "path"]
    assert found == [str(tmp_path / name) for name in ("project/more", "own", "near")]


@pytest.mark.parametrize("place", ["project", "linked", "project/below"])
def test_what_is_included_for_a_branch_or_a_remote_counts_as_for_git(tmp_path: Path, place: str) -> None:
    home, root = tmp_path.resolve() / "home", tmp_path.resolve() / "project"
    for folder in (home, root / "below"):
        folder.mkdir(parents=True)
    (home / "work").write_text("[user]\n\temail = me@work\n")
    for words in (
        ("init", "-q", "-b", "team/x-1" if place != "linked" else "main"),
        ("remote", "add", "origin", "https://work.example/group/a.git"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"),
        *([("worktree", "add", "-q", "-b", "team/x-1", "../linked")] if place == "linked" else []),
    ):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    for condition, is_met in {
        "hasconfig:remote.*.url:https://work.example/**": True,
        "hasconfig:remote.*.url:https://*.example/*/a.git": True,
        "hasconfig:remote.*.url:https://work.example/*": False,
        "hasconfig:remote.*.url:https://play.example/**": False,
        "onbranch:team/x-1": True,
        "onbranch:team/": True,
        "onbranch:**/x-?": True,
        "onbranch:*": False,
        "onbranch:main": False,
    }.items():
        (home / ".gitconfig").write_text(f'[user]\n\temail = me@home\n[includeIf "{condition}"]\n\tpath = work\n')
        by_git = subprocess.run(
            ["git", "-C", str(tmp_path / place), "config", "user.email"],
            env=os.environ | {"HOME": str(home)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        assert (by_git == "me@work\n") == is_met, condition
        settings = settings_for({"HOME": str(home)}, tmp_path.resolve() / place)[".gitconfig"].decode()
        assert ("me@work" in settings) == is_met, condition
