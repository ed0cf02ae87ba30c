"""Files of a project that are the settings in a home."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from localllm.sandbox.protect import home_links
from localllm.sandbox.protect.home_links import HomeLinks


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dotfiles/nvim").mkdir(parents=True)
    for folder in (
        ".config/systemd/user",
        ".ssh",
        ".cache",
        ".local/bin",
        ".local/share/systemd/mine",
        ".local/share/Anki2",
        "notes",
    ):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def targets(home: Path, **environment: str) -> set[str]:
    return set(HomeLinks(home / "dotfiles", {"HOME": str(home), **environment}).targets())


@pytest.mark.parametrize(
    ("link", "target", "found"),
    [
        (".bashrc", "dotfiles/bashrc", {"bashrc"}),
        (".ssh/config", "../dotfiles/ssh_config", {"ssh_config"}),
        (".config/nvim", "../dotfiles/nvim", {"nvim"}),
        (".config/systemd/user/mine.service", "../../../dotfiles/mine.service", {"mine.service"}),
        (".config/systemd/user/deeper", "/elsewhere", set[str]()),
        (".local/bin/tool", "../../dotfiles/tool", set[str]()),  # a program, which its user starts himself
        (".local/share/systemd/user", "../../../dotfiles/units", {"units"}),
        (".local/share/systemd/mine/x.service", "../../../../dotfiles/x.service", {"x.service"}),
        (".local/share/applications", "../../dotfiles/apps", {"apps"}),
        (".local/share/Anki2/addons21", "../../../dotfiles/src", set[str]()),  # what its author works on
        (".local/share/games", "../../dotfiles/games", set[str]()),
        (".cache/build", "../dotfiles/build", set[str]()),
        ("notes/draft", "../dotfiles/draft", set[str]()),
        ("link", "dotfiles/link", set[str]()),
        (".dotfiles", "dotfiles", set[str]()),  # the whole project
        (".above", ".", set[str]()),
    ],
)
def test_links_that_lead_into_the_project(home: Path, link: str, target: str, found: set[str]) -> None:
    (home / link).symlink_to(target)
    assert targets(home) == found


def test_the_folder_of_data_may_be_elsewhere(home: Path) -> None:
    (home / "data/systemd").mkdir(parents=True)
    (home / "data/systemd/user").symlink_to("../../dotfiles/units")
    assert targets(home, XDG_DATA_HOME=f"{home}/data/") == {"units"}
    assert targets(home) == set()


def test_every_link_on_the_way(home: Path) -> None:
    (home / "dotfiles/current").symlink_to("nvim")
    (home / ".vimrc").symlink_to("dotfiles/current/vimrc")
    assert targets(home) == {"current", "nvim/vimrc"}


def test_links_within_a_project_in_the_home_are_its_own(home: Path) -> None:
    project = home / ".dotfiles"
    project.mkdir()
    (project / "current").symlink_to("nvim")
    (home / ".venv").mkdir()
    (home / ".venv/lib64").symlink_to("lib")
    (home / ".config/app").mkdir()
    (home / ".config/app/link").symlink_to("../../notes")
    (home / ".bashrc").symlink_to("dotfiles/bashrc")
    for root in (project, home / "notes"):
        assert not HomeLinks(root, {"HOME": str(home), "XDG_CONFIG_HOME": f"{home}/.config"}).targets()


def test_an_environment_is_no_setting(home: Path) -> None:
    (home / ".virtualenvs").mkdir()
    (home / ".virtualenvs/mine").symlink_to("../dotfiles/.venv")
    assert targets(home) == {".venv"}
    (home / "dotfiles/.venv").mkdir()
    (home / "dotfiles/.venv/pyvenv.cfg").touch()
    assert targets(home) == set()


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_a_command_makes_no_environment_of_a_folder_of_settings(
    home: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_links, "_SHARE", 0)
    (home / ".config/nvim").symlink_to("../dotfiles/nvim")
    links = HomeLinks(home / "dotfiles", {"HOME": str(home)})
    (home / "dotfiles/nvim/conda-meta").mkdir()
    assert links.targets() == {"nvim"}, "an empty folder is not put back, and makes none either"
    (home / "dotfiles/nvim" / mark).touch()
    assert links.targets() == {"nvim"}


def test_settings_elsewhere(home: Path) -> None:
    (home / "settings/git").mkdir(parents=True)
    (home / "settings/git/config").symlink_to("../../dotfiles/gitconfig")
    assert targets(home, XDG_CONFIG_HOME=str(home / "settings")) == {"gitconfig"}
    assert targets(home, GIT_CONFIG_GLOBAL=str(home / "dotfiles/git")) == {"git"}
    assert targets(home, BASH_ENV="./env") == targets(home, BASH_ENV="~/dotfiles/env") == {"env"}
    assert targets(home, BASH_ENV="$HOME/dotfiles/env") == targets(home, ENV="${HOME}/dotfiles/env") == {"env"}
    assert targets(home, ENV="production") == set()
    assert targets(home, ZDOTDIR=str(home / "dotfiles/zsh"), INPUTRC="/dev/null") == {"zsh"}
    assert targets(home, ZDOTDIR=str(home / "dotfiles")) == set()


def test_settings_that_lie_in_the_project_themselves(home: Path) -> None:
    (home / "dotfiles/xdg").mkdir()
    for variable in ("dotfiles/xdg", "link/xdg"):
        found = targets(home, XDG_CONFIG_HOME=str(home / variable))
        assert found >= {"xdg/git", "xdg/systemd/user", "xdg/fish"}
        assert "xdg/nvim" not in found
        (home / "link").unlink(missing_ok=True)
        (home / "link").symlink_to("dotfiles")
    found = set(HomeLinks(home / ".config", {"HOME": str(home)}).targets())
    assert found >= {"git", "environment.d", "localllm"}


def test_no_home() -> None:
    assert not HomeLinks(Path("/project"), {}).targets()
    assert not HomeLinks(Path("/project"), {"HOME": "relative"}).targets()


@pytest.mark.parametrize("place", ["fish/conf.d/x.fish", "systemd/user/x.service"])
def test_what_is_run_is_searched_before_many_other_folders(home: Path, place: str) -> None:
    for app in range(45):
        for number in range(120):
            (home / f".config/app{app}/{number}").mkdir(parents=True)
    link = home / ".config" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(home / "dotfiles/mine")
    assert targets(home) == {"mine"}


def test_a_link_made_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # each search takes a second
    monkeypatch.setattr(home_links, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    links = HomeLinks(home / "dotfiles", {"HOME": str(home)})
    assert not links.targets()
    (home / ".bashrc").symlink_to("dotfiles/bashrc")
    assert not links.targets()
    clock = itertools.count(100)
    assert links.targets() == {"bashrc"}
