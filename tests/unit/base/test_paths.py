"""The user's folders are where platformdirs says; the project is found upwards, but never as high as the home."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

from localllm.base import paths
from localllm.base.errors import ConfigurationError
from localllm.base.paths import (
    cache_folder,
    config_file,
    ensure_project_folder,
    find_project,
    find_storage,
    open_storage,
    project_folder,
    state_folder,
)
from localllm.base.project_state import tidy_caches

VARIABLES = ("LOCALLLM_CONFIG_DIR", "LOCALLLM_STATE_DIR", "LOCALLLM_CACHE_DIR")


@pytest.mark.parametrize("home", ["/home/somebody", "/", "relative", ""])
@pytest.mark.parametrize("xdg", [None, "/xdg/folder", "/xdg/folder/", "relative", "", "  "])
def test_the_users_folders_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, home: str, xdg: str | None
) -> None:
    monkeypatch.setenv("HOME", home)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", *VARIABLES):
        monkeypatch.delenv(variable, raising=False)
    if xdg is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", xdg)
        monkeypatch.setenv("XDG_STATE_HOME", xdg)
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert config_file().parent == platformdirs.user_config_path("localllm", appauthor=False)
    assert config_file().name == "localllm.toml"
    assert cache_folder() == platformdirs.user_cache_path("localllm", appauthor=False)
    assert state_folder() == platformdirs.user_state_path("localllm", appauthor=False)


def test_variables_of_ours_win() -> None:
    environ = {
        "LOCALLLM_CONFIG_DIR": "/a",
        "LOCALLLM_STATE_DIR": "~/b",
        "XDG_CONFIG_HOME": "/c",
        "XDG_STATE_HOME": "/c",
    }
    assert config_file(environ) == Path("/a/localllm.toml")
    assert state_folder(environ) == Path("~/b").expanduser()
    assert cache_folder(environ) == Path("~/b/cache").expanduser()
    assert cache_folder(environ | {"LOCALLLM_CACHE_DIR": "/d"}) == Path("/d")


class TestFindProject:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        return home

    @pytest.mark.parametrize("marker", ["localllm.toml", ".git"])
    def test_the_nearest_folder_with_a_marker(self, home: Path, marker: str) -> None:
        deep = home / "outer" / "inner" / "src" / "deep"
        deep.mkdir(parents=True)
        (home / "outer" / ".git").mkdir()
        (home / "outer" / "inner" / marker).touch()
        assert find_project(deep) == home / "outer" / "inner"
        assert find_project(home / "outer" / "inner") == home / "outer" / "inner"
        assert find_project(home / "outer") == home / "outer"

    def test_without_a_marker_it_is_the_start(self, home: Path) -> None:
        (home / "a" / "b").mkdir(parents=True)
        assert find_project(home / "a" / "b") == home / "a" / "b"

    def test_neither_the_home_nor_what_is_above(self, home: Path, tmp_path: Path) -> None:
        (home / "work").mkdir()
        (home / "localllm.toml").touch()
        (tmp_path / ".git").mkdir()
        assert find_project(home / "work") == home / "work"
        assert find_project(home) == home

    def test_above_a_home_there_are_projects_for_those_who_start_elsewhere(self, tmp_path: Path) -> None:
        other = tmp_path / "other" / "src"
        other.mkdir(parents=True)
        (tmp_path / "other" / ".git").mkdir()
        assert find_project(other) == tmp_path / "other"
        (tmp_path / ".git").mkdir()  # above the home: not a project for anyone
        (tmp_path / "third").mkdir()
        assert find_project(tmp_path / "third") == tmp_path / "third"

    @pytest.mark.parametrize("marker", ["localllm.toml", ".git"])
    def test_not_a_folder_above_that_another_user_has_marked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
    ) -> None:
        shared = tmp_path / "shared"
        mine = shared / "mine"
        (mine / "src").mkdir(parents=True)
        mark = shared / marker
        mark.touch()
        assert find_project(mine) == shared
        of_others = {mark: os.getuid() + 1}
        monkeypatch.setattr(paths, "_owner", lambda path: of_others.get(path, os.getuid() if path.exists() else None))
        assert find_project(mine) == mine
        assert find_project(shared) == shared  # the user's own choice
        (mine / ".git").mkdir()
        assert find_project(mine / "src") == mine
        of_others[mark] = 0
        assert find_project(shared / "other") == shared

    def test_the_root_of_all_only_when_started_there(self) -> None:
        assert find_project(Path("/")) == Path("/")

    def test_links_are_resolved_first(self, home: Path) -> None:
        (home / "project" / "src").mkdir(parents=True)
        (home / "project" / ".git").mkdir()
        (home / "link").symlink_to("project/src")
        assert find_project(home / "link") == home / "project"


class TestProjectFolder:
    def test_it_is_made_and_git_ignores_it(self, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        folder = ensure_project_folder(tmp_path)
        assert folder == project_folder(tmp_path) == tmp_path / ".localllm"
        (folder / "session").touch()
        status = subprocess.run(
            ["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True
        )
        assert status.stdout == ""

    def test_an_ignore_file_of_the_users_own_stays(self, tmp_path: Path) -> None:
        ensure_project_folder(tmp_path)
        (tmp_path / ".localllm" / ".gitignore").write_text("*\n!commands/\n")
        ensure_project_folder(tmp_path)
        assert (tmp_path / ".localllm" / ".gitignore").read_text() == "*\n!commands/\n"

    def test_a_link_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / ".localllm").symlink_to("elsewhere")
        with pytest.raises(ConfigurationError) as raised:
            ensure_project_folder(tmp_path)
        assert raised.value.code == "E1007"
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_a_file_in_its_place_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        (tmp_path / ".localllm").touch()
        with pytest.raises(ConfigurationError, match=r"Cannot use .*\.localllm\. Not a directory\."):
            ensure_project_folder(tmp_path)


class TestStorage:
    def test_in_the_project(self, tmp_path: Path) -> None:
        environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state")}
        (tmp_path / "p").mkdir()
        assert find_storage(tmp_path / "p", environ).place == "project"
        assert list((tmp_path / "p").iterdir()) == []
        found = open_storage(tmp_path / "p", environ)
        assert (found.folder, found.place) == (tmp_path / "p" / ".localllm", "project")
        assert (found.folder / ".gitignore").exists()
        assert found.sessions.is_relative_to(tmp_path / "state")
        assert not (tmp_path / "state").exists()
        kept = found.cache_file("a")
        assert kept.parent.stat().st_mode & 0o777 == 0o700
        assert kept.is_relative_to(tmp_path / "state" / "cache")

    @pytest.mark.parametrize("inside", ["", "deep/er"])
    def test_caches_are_ours_alone_where_their_folder_lies_in_the_project(self, tmp_path: Path, inside: str) -> None:
        (tmp_path / "p").mkdir()
        environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state"), "LOCALLLM_CACHE_DIR": str(tmp_path / "p" / inside)}
        assert find_storage(tmp_path / "p", environ).caches == tmp_path / "p" / ".localllm"

    def test_old_caches_are_removed_from_the_project_and_those_nobody_needs_any_more(self, tmp_path: Path) -> None:
        environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state")}
        others = [tmp_path / name for name in ("left", "used")]
        for folder in (tmp_path / "p", *others):
            folder.mkdir()
            open_storage(folder, environ).cache_file("lookup.sqlite").touch()
        found = open_storage(tmp_path / "p", environ)
        (found.folder / "lookup.sqlite").touch()
        (found.folder / "commands").mkdir()
        kept = [open_storage(folder, environ).caches for folder in others]
        day = time.time() - 91 * 24 * 3600
        for path in (*kept[0].iterdir(), kept[0], kept[1]):
            os.utime(path, (day, day))
        tidy_caches(found)
        assert sorted(path.name for path in found.folder.iterdir()) == [".gitignore", "commands"]
        assert [path.exists() for path in (*kept, found.caches)] == [False, True, True]

    @pytest.mark.parametrize("make", [lambda path: path.symlink_to("/tmp"), lambda path: path.touch()])
    def test_beside_it_where_something_is_in_the_way(self, tmp_path: Path, make: Callable[[Path], None]) -> None:
        environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state")}
        (tmp_path / "p").mkdir()
        make(tmp_path / "p" / ".localllm")
        found = open_storage(tmp_path / "p", environ)
        assert found.place == "state"
        assert found.folder.is_dir()
        assert found.folder.is_relative_to(tmp_path / "state")
        assert found.folder.stat().st_mode & 0o777 == 0o700
        assert found.sessions == find_storage(tmp_path / "p", environ).sessions
        assert found.sessions.is_relative_to(tmp_path / "state")
        assert str(found.reason) in ("It is a symbolic link", os.strerror(errno.ENOTDIR))
        assert (len(found.outputs_anywhere) == 1) is (tmp_path / "p" / ".localllm").is_symlink()

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/sys is of Linux")
    def test_where_it_only_turns_out_that_nothing_can_be_made(self, tmp_path: Path) -> None:
        found = open_storage(Path("/sys"), {"LOCALLLM_STATE_DIR": str(tmp_path / "state")})
        assert (found.place, found.folder.is_dir()) == ("state", True)
        assert found.reason
        assert open_storage(Path("/sys"), {"LOCALLLM_STATE_DIR": "/sys/state"}).place == "nowhere"

    def test_each_project_has_its_own(self, tmp_path: Path) -> None:
        environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state")}
        assert find_storage(tmp_path / "a", environ).other != find_storage(tmp_path / "b", environ).other
        assert find_storage(tmp_path / "a", environ).sessions != find_storage(tmp_path / "b", environ).sessions


def test_the_folders_are_not_made_by_asking(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    config_file(environ)
    state_folder(environ)
    assert list(tmp_path.iterdir()) == []
