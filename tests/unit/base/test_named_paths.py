"""Where a named path leads, and whether a project has put a link there that leads out of it."""

import os
from pathlib import Path

import pytest

from localllm.base.named_paths import follow
from localllm.base.paths import SETTINGS_FILE, project_name, state_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a private folder, and a project `outer` with another one in it, `inner`."""
    home = tmp_path.resolve() / "home"
    for folder in ("private", "plain", "outer/.git", "outer/docs", "outer/inner"):
        (home / folder).mkdir(parents=True)
    (home / "outer/inner" / SETTINGS_FILE).touch()
    monkeypatch.setenv("HOME", str(home))
    return home


def test_without_links_it_leads_where_it_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home / "outer/inner")
    for path, real in (("../docs", "outer/docs"), (".", "outer/inner"), ("../../new/x", "new/x"), ("/", None)):
        assert follow(Path(path), home / "outer") == (home / real if real else Path("/"), False)


@pytest.mark.parametrize("target", ["../private", "../outer/../private", "{home}/private", "docs/out"])
def test_a_link_of_the_project_leads_out_of_it(home: Path, target: str) -> None:
    (home / "outer/docs/out").symlink_to("../../private")
    (home / "outer/link").symlink_to(target.format(home=home))
    assert follow(home / "outer/link", home / "outer") == (home / "private", True)
    assert follow(home / "outer/link/deep", home / "outer") == (home / "private/deep", True)


def test_it_does_not_matter_where_one_stands(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "outer/link").symlink_to("../private")
    (home / "mine").symlink_to("outer/link")
    monkeypatch.chdir(home / "outer/inner")
    for path, root in (
        (Path("../link"), home / "outer/inner"),
        (home / "outer/link", home),
        (home / "outer/link", home / "plain"),
        (home / "mine", home / "plain"),
    ):
        assert follow(path, root) == (home / "private", True)


def test_links_within_a_project_and_those_of_the_user_are_followed(home: Path) -> None:
    (home / "outer/inner/link").symlink_to("../docs")
    (home / "mine").symlink_to("private")
    (home / "outer/way").symlink_to("../outer")
    (home / "outer/link").symlink_to("docs")
    assert follow(home / "outer/link", home / "outer") == (home / "outer/docs", False)
    assert follow(home / "outer/link", home / "plain") == (home / "outer/docs", False)
    for root in ("outer", "plain", "outer/inner"):
        assert follow(home / "outer/inner/link", home / root).leads_out, "commands may run in the inner project alone"
    assert follow(home / "mine", home / "plain") == (home / "private", False)
    assert follow(home / "mine", home) == (home / "private", False)
    assert follow(home / "outer/way/docs", home / "outer") == (home / "outer/docs", False)


def test_a_clone_that_manages_toolchains_is_no_project(home: Path) -> None:
    for name in (".pyenv", ".other"):
        (home / name / ".git").mkdir(parents=True)
        (home / name / "versions").symlink_to("../private")
    assert follow(home / ".pyenv/versions", home / "plain") == (home / "private", False)
    assert follow(home / ".pyenv/versions", home / ".pyenv") == (home / "private", True)
    assert follow(home / ".other/versions", home / "plain") == (home / "private", True)


def test_links_in_circles_are_an_error(home: Path) -> None:
    (home / "outer/a").symlink_to("b")
    (home / "outer/b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        follow(home / "outer/a", home / "outer")


def test_what_is_exchanged_after_it_was_looked_at_does_not_count(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, folder = home / "outer/link", home / "outer/folder"
    link.symlink_to("../private")
    folder.mkdir()
    read = os.readlink

    def read_and_exchange(path: str | Path) -> str:
        target = read(path)
        if Path(path) == link:
            link.rename(home / "outer/gone")
            folder.rename(link)
        return target

    monkeypatch.setattr(os, "readlink", read_and_exchange)
    assert follow(link, home / "outer") == (home / "private", True)


def test_a_folder_in_which_there_was_a_chat_is_a_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    (home / "plain/docs").symlink_to("../private")
    assert not follow(home / "plain/docs", home).leads_out
    (state_folder() / "sessions" / project_name(home / "plain")).mkdir(parents=True)
    assert follow(home / "plain/docs", home).leads_out
