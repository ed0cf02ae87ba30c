"""What a command sees: worked out for a made-up user."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.sandbox.environment import secrets_named_by, survey, variables
from localllm.sandbox.launcher.mount_table import MountTable


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh", ".cargo/bin", ".config/git", "dotfiles", "venvs/a/bin", "tools"):
        (home / name).mkdir(parents=True)
    (home / "dotfiles/gitconfig").touch()
    (home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (home / "venvs/a/pyvenv.cfg").touch()
    return home.resolve()


def test_the_home_is_hidden_and_its_toolchains_are_shown(home: Path) -> None:
    seen = survey({"HOME": str(home)})
    assert home in seen.homes
    assert home in seen.hidden
    assert home / ".cargo/bin" in seen.shown
    assert not {home / ".cargo", home / ".config/git", home / "dotfiles/gitconfig"} & set(seen.shown)
    assert not any(path.is_relative_to(home / ".ssh") for path in seen.shown)
    assert home / ".cargo/credentials.toml" in seen.hidden
    assert seen.toolchains[".cargo/bin"] == home / ".cargo/bin"


def test_settings_with_a_secret_are_hidden(home: Path) -> None:
    (home / ".cargo/config.toml").write_text('[registry]\ntoken = "x"\n')
    (home / "venvs/a/pip.conf").write_text("[global]\nindex-url = https://me:x@example.org\n")
    seen = survey({"HOME": str(home), "PATH": f"{home}/venvs/a/bin"})
    assert {home / ".cargo/config.toml", home / "venvs/a/pip.conf"} <= set(seen.hidden)


def test_programs_in_the_home_are_shown_with_their_environment(home: Path) -> None:
    seen = survey({"HOME": str(home), "PATH": f"{home}/venvs/a/bin:{home}/tools:relative:{home}/missing:/usr/bin"})
    assert {home / "venvs/a", home / "venvs/a/bin", home / "tools"} <= set(seen.shown)
    assert home / "missing" not in seen.shown
    assert Path("/usr/bin") not in seen.shown  # seen anyway


def test_a_project_does_not_choose_what_is_shown_of_the_home(home: Path) -> None:
    """A command, or whoever wrote the project, could lay open any folder by a symlink there."""
    project = home / "project"
    (project / "own").mkdir(parents=True)
    (project / "bin").symlink_to("../.ssh")
    (project / "tools").symlink_to("own")
    (project / ".venv").symlink_to("../venvs/a")
    (home / ".local").mkdir()
    (home / ".local/bin").symlink_to("../project/bin")
    environment = {"HOME": str(home), "PATH": f"{project}/bin:{project}/tools:{project}/.venv/bin"}
    seen = survey(environment, project=project)
    assert home / ".ssh" not in (*seen.shown, *seen.links.values(), *seen.toolchains.values())
    assert {home / "venvs/a", home / "venvs/a/bin", project / "own"} <= set(seen.shown)
    elsewhere = survey(environment, project=home / "tools")
    assert home / ".ssh" in elsewhere.shown
    (project / ".git").mkdir()
    elsewhere = survey(environment, project=home / "tools")
    assert home / ".ssh" not in (*elsewhere.shown, *elsewhere.links.values()), "commands may have run in that project"


def test_a_folder_that_is_exchanged_for_a_link_once_it_was_judged_shows_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a command of another session can, while this one begins."""
    tools = home / "project/bin"
    tools.mkdir(parents=True)

    def read_and_exchange(path: str | Path, read: Callable[[str | Path], str] = os.readlink) -> str:
        try:
            return read(path)
        finally:
            if str(path) == str(tools) and not tools.is_symlink():
                tools.rmdir()
                tools.symlink_to("../.ssh")

    monkeypatch.setattr(os, "readlink", read_and_exchange)
    seen = survey({"HOME": str(home), "PATH": str(tools)}, project=tools.parent)
    assert tools.is_symlink()
    assert home / ".ssh" not in (*seen.shown, *seen.links.values())


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "KUBECONFIG", "XDG_RUNTIME_DIR"])
def test_what_a_variable_says_is_secret_is_hidden(tmp_path: Path, name: str) -> None:
    assert (tmp_path / "x").resolve() in survey({name: str(tmp_path / "x")}).hidden


def test_a_state_folder_is_hidden(tmp_path: Path) -> None:
    assert tmp_path.resolve() in survey({}, [tmp_path]).hidden


@pytest.mark.parametrize("odd", ["/", "/usr/sbin", "/nonexistent", "", "relative"])
def test_a_place_of_the_system_is_no_home(odd: str) -> None:
    seen = survey({"HOME": odd})
    assert Path(odd) not in seen.homes
    assert not {Path("/"), Path("/usr/sbin")} & set(seen.hidden)


def test_variables_are_an_allow_list() -> None:
    given = {
        "PATH": "/x",
        "LC_TIME": "C.UTF-8",
        "LC_TOKEN": "s",
        "LC_NAME": "sk-123456",
        "CARGO_HOME": "https://me:s@x",
        "OPENAI_API_KEY": "s",
        "LD_PRELOAD": "e",
        "GIT_DIR": "e",
        "BASH_ENV": "e",
    }
    seen = variables(given, HOME="/h")
    assert seen["PATH"] == "/x"
    assert seen["LC_TIME"] == "C.UTF-8"
    assert seen["HOME"] == "/h"
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "GIT_DIR", "BASH_ENV", "LC_TOKEN", "LC_NAME", "CARGO_HOME"} & set(seen)


def test_there_is_always_a_path_and_a_language() -> None:
    assert variables({})["PATH"]
    assert variables({})["LANG"] == "C.UTF-8"


def test_a_locale_the_machine_lacks_is_not_handed_on() -> None:
    """Each bash would warn of it, and fill the output of every command."""
    seen = variables({"LANG": "aa_QQ.UTF-8", "LC_ALL": "aa_QQ.UTF-8", "LANGUAGE": "aa", "LC_CTYPE": "C"})
    assert seen["LANG"] == "C.UTF-8"
    assert "LC_ALL" not in seen
    assert (seen["LANGUAGE"], seen["LC_CTYPE"]) == ("aa", "C")


def test_the_interpreter_in_use_can_be_read() -> None:
    seen = survey(os.environ)
    base = Path(os.path.realpath(sys.base_prefix))
    hidden = any(folder in base.parents for folder in seen.hidden)
    assert not hidden or any(base.is_relative_to(path) for path in seen.shown)


def test_a_commands_home_is_of_one_piece(home: Path) -> None:
    """The user's other home, by the list of users, has settings that would come before those of this one."""
    (home / ".gitconfig").unlink()
    pwd = pytest.importorskip("pwd")
    other = Path(pwd.getpwuid(os.getuid()).pw_dir)
    seen = survey({"HOME": str(home)})
    assert seen.toolchains
    assert not any(path.is_relative_to(other) for path in seen.toolchains.values()) or home.is_relative_to(other)


@pytest.mark.parametrize("data", ["modules/libs/a", "modules/a/modules/b", "worktrees/x"])
def test_tokens_of_the_repository_around_are_hidden(tmp_path: Path, data: str) -> None:
    top = tmp_path.resolve() / "mono"
    for folder in (top / ".git", top / ".git/modules/a", top / ".git" / data):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "HEAD").touch()
    files = [top / ".git" / data / name for name in ("config", "config.worktree")]
    for file in files:
        file.write_text('[http "https://x"]\n\textraHeader = A\n')
    assert set(files) <= set(survey({}, project=top / "sub").hidden)


def test_the_repository_around_a_project_is_shown(home: Path) -> None:
    for folder in (".git/objects", ".git/refs", "one"):
        (home / "mono" / folder).mkdir(parents=True)
    (home / "mono/.git/HEAD").write_text("ref: refs/heads/main\n")
    assert home / "mono" in survey({"HOME": str(home)}, project=home / "mono/one").shown
    (home / ".git").mkdir()
    assert home not in survey({"HOME": str(home)}, project=home / "tools").shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".deno/x/credentials.json", "{}"),
        (".pyenv/versions/3.12.0/pip.conf", "index-url = https://me:x@y/packages"),
        ("miniconda3/envs/x/etc/npmrc", "//r/:_authToken=x"),
        (".asdf/plugins/x/.git/config", '[remote "origin"]\n url = https://x@example.org/y'),
        (".dotnet/keys/A.pfx", "x"),
        (".volta/a/b/site.key", "-----BEGIN RSA PRIVATE KEY-----\n"),
        ("tools/deep/er/.netrc", "machine x"),
        ("miniconda3/envs/x/conda-meta/state", '{"env_vars": {"API_KEY": "x"}}'),
        ("miniconda3/envs/x/etc/conda/activate.d/env_vars.sh", "export SECRET=x"),
        (".rbenv/vars", "X=y"),
        (".pyenv/versions/x/bin/postactivate", "export TOKEN=x"),
    ],
)
def test_secrets_among_toolchains_are_hidden(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text(text)
    (home / name).parent.joinpath("HEAD").touch()
    assert home / name in survey({"HOME": str(home), "PATH": str(home / "tools")}).hidden


@pytest.mark.parametrize(
    ("name", "is_closed"),
    [
        ("venvs/a/src/lib/.git/config", True),
        ("venvs/a/src/lib/.git/modules/x/config", True),
        (".pyenv/versions/3.12.0/envs/x/src/lib/.git/config.worktree", True),
        ("venvs/a/src/plain/.git/config", False),
        ("tools/src/lib/.git/config", False),  # of no environment
    ],
)
def test_addresses_with_a_token_of_packages_that_pip_has_cloned_are_hidden(
    home: Path, name: str, is_closed: bool
) -> None:
    for environment in ("venvs/a", ".pyenv/versions/3.12.0/envs/x"):
        (home / environment / "bin").mkdir(parents=True, exist_ok=True)
        (home / environment / "pyvenv.cfg").touch()
    (home / name).parent.mkdir(parents=True)
    (home / name).with_name("HEAD").touch()
    (home / name.partition("/.git/")[0] / ".git/HEAD").touch()
    token = "" if "plain" in name else "token@"
    (home / name).write_text(f'[remote "origin"]\n\turl = https://{token}example.org/lib\n')
    path = os.pathsep.join(str(home / folder) for folder in ("venvs/a/bin", "tools"))
    assert (home / name in survey({"HOME": str(home), "PATH": path}).hidden) == is_closed


@pytest.mark.parametrize("name", [".pyenv/pip.conf", ".bun/cert.pem", ".cargo/bin/credentials.py"])
def test_other_files_of_toolchains_are_shown(home: Path, name: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text("[global]\nno-cache-dir = true\n-----BEGIN CERTIFICATE-----\n")
    assert home / name not in survey({"HOME": str(home)}).hidden


def test_sources_of_go_are_not_shown(home: Path) -> None:
    for folder in ("go/bin", "go/pkg", "go/src/example.org"):
        (home / folder).mkdir(parents=True)
    shown = survey({"HOME": str(home)}).shown
    assert {home / "go/bin", home / "go/pkg"} <= set(shown)
    assert not {home / "go", home / "go/src"} & set(shown)


def test_there_is_no_terminal_and_package_managers_know_where_there_is_no_network() -> None:
    given = {"TERM": "xterm-256color", "EDITOR": "vim", "GOPROXY": "https://proxy.example.org"}
    online, offline = variables(given), variables(given, offline=True)
    for seen in (online, offline):
        assert (seen["TERM"], seen["EDITOR"], seen["VISUAL"], seen["PAGER"]) == ("dumb", "true", "true", "cat")
    assert {"GOPROXY": "off", "CARGO_NET_OFFLINE": "true", "PIP_RETRIES": "0"}.items() <= offline.items()
    assert "npm_config_fetch_retries" in offline
    assert not {"GOPROXY", "CARGO_NET_OFFLINE", "PIP_RETRIES", "npm_config_fetch_retries"} & online.keys()


def test_a_home_that_is_mounted_twice_is_hidden_at_both_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def aliases(_table: MountTable, path: str, *, parts: bool) -> list[str]:
        return [f"/mnt/wslg/distro{path}"]

    monkeypatch.setattr(MountTable, "aliases", aliases)
    seen = survey({"HOME": str(home)})
    second = Path(f"/mnt/wslg/distro{home}")
    assert {home, second} <= set(seen.hidden)
    assert second in seen.homes_elsewhere
    assert second not in seen.private


def test_where_names_are_hosts_nothing_is_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def automounters(_table: MountTable) -> list[str]:
        return ["/net"]

    monkeypatch.setattr(MountTable, "automounters", automounters)
    assert Path("/net") in survey({"HOME": str(home)}).hidden


def test_a_folder_for_the_files_of_all_programs_is_no_project(tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "t"),
        "XDG_RUNTIME_DIR": str(tmp_path / "r"),
    }
    seen = survey(environment)
    for folder in ("/dev/shm", "/dev", f"/run/user/{os.getuid()}", str(tmp_path / "t"), str(tmp_path / "r")):
        assert seen.is_too_wide(Path(folder)), folder
    assert not seen.is_too_wide(tmp_path / "t" / "project")
    assert not seen.is_too_wide(tmp_path / "project")
    assert not survey({"HOME": str(tmp_path / "home")}).is_too_wide(tmp_path / "t")


def test_a_system_without_user_numbers_has_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor asks it on Windows as well."""
    seen = survey({"HOME": str(tmp_path / "home")})
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "getuid")
    assert not seen.is_too_wide(tmp_path)


def test_files_with_secrets_that_variables_name_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"KUBECONFIG": f"/home/me/.kube/config{os.pathsep}kube/config{os.pathsep}", "AWS_CONFIG_FILE": "./aws"}
    expected = [Path("/home/me/.kube/config"), tmp_path / "kube/config", tmp_path / "aws"]
    assert sorted(secrets_named_by(named)) == sorted(expected)
    assert secrets_named_by({"KUBECONFIG": "", "TMPDIR": "tmp", "XDG_CACHE_HOME": "."}) == []
