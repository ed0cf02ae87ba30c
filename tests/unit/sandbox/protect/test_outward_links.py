"""A link that a command leaves and that leads to where it sees nothing is taken away; all others stay."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from localllm.sandbox.protect import outward_links
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.fixture(params=[0, 600], ids=["small", "watched"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "home" / "project"
    for folder in ("node_modules", "src/deep", "../Documents", "../data", *(f"many/{n}" for n in range(request.param))):
        (root / folder).mkdir(parents=True)
    (root / "data").symlink_to(root.parent / "data")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    home = str(root.parent)
    files = ProtectedFiles(root, tmp_path / "quarantine", is_hidden=lambda path: f"{path}/".startswith(f"{home}/"))
    files.look_ahead()
    return files


def after(files: ProtectedFiles, *links: tuple[Path, str | Path]) -> Sequence[str]:
    files.begin()
    for place, target in links:
        place.parent.mkdir(exist_ok=True, parents=True)
        place.symlink_to(target)
    return files.end()


def test_a_link_in_the_place_of_a_folder_is_taken_away(root: Path, files: ProtectedFiles, tmp_path: Path) -> None:
    files.begin()
    (root / "node_modules").rename(root / "old")
    (root / "node_modules").symlink_to(root.parent / "Documents")
    assert files.end() == ("node_modules",)
    assert not os.path.lexists(root / "node_modules")
    assert [path.name for path in (tmp_path / "quarantine").rglob("node_modules")] == ["node_modules"]


def test_links_that_lead_to_a_hidden_place_are_found_however_they_are_written(
    root: Path, files: ProtectedFiles
) -> None:
    made = after(
        files,
        (root / "dist", "../Documents/../Documents"),
        (root / "new/folder/out", root.parent),
        (root / "src/deep/up", "../../.."),
        (root / "src/later", "../../not-there-yet"),
        (root / "chain", "dist"),
        (root / "now", "/proc/self/cwd/.."),
        (root / "usr", "/usr"),
        (root / "through", f"usr/..{root.parent}/Documents"),
    )
    assert made == ("dist", "new/folder/out", "now", "src/deep/up", "src/later", "through")
    assert os.path.lexists(root / "chain")


def test_links_into_the_data_of_a_repository_outside_are_taken_away(root: Path, tmp_path: Path) -> None:
    files = ProtectedFiles(root, None)
    for name in ("hooks", "annex/objects"):
        (root.parent / ".git" / name).mkdir(parents=True)
    (root.parent / ".git/annex/objects/key").touch()
    (root / "inside/.git/hooks").mkdir(parents=True)
    made = after(
        files,
        (root / "dist", "../.git/hooks"),
        (root / "target", "../.git"),
        (root / "build", "inside/.git"),
        (root / "elsewhere", tmp_path / "other/.GIT/hooks"),
        (root / "large", "../.git/annex/objects/key"),
        (root / "plain", "../data"),
    )
    assert made == ("build", "dist", "elsewhere", "target")


def test_links_by_way_of_a_link_that_stays_are_found(root: Path, files: ProtectedFiles) -> None:
    made = after(
        files,
        (root / "node_modules/.x", root.parent / "Documents"),
        (root / "node_modules/pkg/cli", "../.x/cli"),
        (root / "dist", "node_modules/.x"),
        (root / "by-dist", "dist"),
        (root / "src/lib", "../node_modules/pkg/../.x"),
        (root / "thesis", "data/thesis"),
        (root / "src/data", "./../data/./thesis/"),
        (root / "pkg", "node_modules/pkg"),
        (root / "same", "data"),
    )
    assert made == ("by-dist", "dist", "src/data", "src/lib", "thesis")


def test_a_chain_goes_where_a_link_of_the_user_is_put_back(root: Path, files: ProtectedFiles) -> None:
    (root / "mine").symlink_to(root.parent / "Documents/mine")
    files.begin()
    (root / "mine").unlink()
    (root / "mine").symlink_to(root.parent / "Documents")
    (root / "dist").symlink_to("mine")
    assert files.end() == ("dist", "mine")
    assert (root / "mine").readlink() == root.parent / "Documents/mine"


def test_links_that_lead_elsewhere_stay(root: Path, files: ProtectedFiles, tmp_path: Path) -> None:
    links = (
        (root / "in", "src/deep"),
        (root / "src/deep/back", "../.."),
        (root / "whole", root / "src"),
        (root / "around", "src/deep/../deep"),
        (root / "nothing", "no/such/file"),
        (root / "system", "/usr/bin/env"),
        (root / "lock", "user@host.1234:5678"),
        (root / "elsewhere", tmp_path / "elsewhere"),
        (root / "node_modules/.store/x/node_modules/lib", root.parent / "lib"),
    )
    assert after(files, *links) == ()
    assert all(os.path.lexists(place) for place, _ in links)


def test_what_was_there_before_may_be_moved_and_copied_and_is_put_back(root: Path, files: ProtectedFiles) -> None:
    (root / "mine").symlink_to(root.parent / "Documents/mine")  # a moment before
    files.begin()
    (root / "data").rename(root / "src/data")
    shutil.copy(root / "mine", root / "copy", follow_symlinks=False)
    assert files.end() == ()
    files.begin()
    (root / "mine").unlink()
    (root / "mine").symlink_to(root.parent / "Documents")
    assert files.end() == ("mine",)
    assert (root / "mine").readlink() == root.parent / "Documents/mine"


def test_a_folder_that_is_moved_takes_its_links_along(root: Path, files: ProtectedFiles) -> None:
    assert after(files, (root / "a/b/c/link", "../../../Documents")) == ()
    time.sleep(0.01)
    files.begin()
    (root / "a/b/c").rename(root / "a/d")
    (root / "a/d").rename(root / "d")
    (root / "src/e").mkdir()
    (root / "d").rename(root / "src/e/d")
    assert files.end() == ()
    files.begin()
    (root / "src/e/d").rename(root / "src/d")
    (root / "src/d").rename(root / "src/deep/d")
    (root / "src/deep/d").rename(root / "a/d")
    assert files.end() == ("a/d/link",)


def test_it_is_seen_at_the_end_also_if_a_look_has_seen_it_before(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    (root / "dist").symlink_to(root.parent / "Documents")
    assert files.check() == ()
    assert files.end() == ("dist",)


def test_many_links_do_not_hide_one(root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outward_links, "_MOST", 20)
    files.begin()
    for number in range(30):
        (root / f"src/{number}").symlink_to("/usr/share")
    (root / "src/deep/out").symlink_to(root.parent / "Documents")
    assert files.end() == ("src/deep/out",)
    assert not files.is_overlooked


def test_more_links_than_are_judged_are_said(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outward_links, "_MOST_NEW", 20)
    files.begin()
    for number in range(30):
        (root / f"src/{number}").symlink_to("/usr/share")
    files.end()
    assert files.is_overlooked


@pytest.mark.parametrize("is_ahead", [True, False])
def test_a_link_of_another_program_s_command_is_not_from_before(root: Path, tmp_path: Path, is_ahead: bool) -> None:
    home = f"{root.parent}/"
    theirs, ours = (
        ProtectedFiles(root, tmp_path / "state/quarantine", 0, is_hidden=lambda path: f"{path}/".startswith(home))
        for _ in range(2)
    )
    (root / "mine").symlink_to(root.parent / "Documents/mine")
    time.sleep(0.01)
    theirs.begin()
    (root / "theirs").symlink_to(root.parent / "Documents")
    if is_ahead:
        ours.look_ahead()
        ours.named()
    ours.begin()
    assert theirs.end() == ("theirs",)
    (root / "ours").symlink_to(root.parent / "Documents")
    (root / "copy").symlink_to(root.parent / "Documents/mine")
    assert ours.end() == ("ours",)
    assert os.path.lexists(root / "mine")


def test_a_project_in_a_package_folder_has_its_links_seen(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    root = home / "node_modules/project"
    (root / "src").mkdir(parents=True)
    files = ProtectedFiles(root, tmp_path / "quarantine", is_hidden=lambda path: f"{path}/".startswith(f"{home}/"))
    files.look_ahead()
    assert after(files, (root / "dist", home), (root / "src/out", home), (root / "Node_Modules/out", home)) == (
        "dist",
        "src/out",
    )


def test_links_that_turn_back_and_forth_for_ever_are_taken_away_in_bounded_time(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    readlink = os.readlink
    monkeypatch.setattr(outward_links, "_MOST_NAMES", 5_000)
    monkeypatch.setattr(os, "readlink", lambda path, **more: looked.append(path) or readlink(path, **more))
    turning = "src/../" * 500
    links = [(root / f"src/{n}", f"../{turning}{f'src/{n - 1}' if n else 'src/deep'}") for n in range(40)]
    hook = root / ".git/hooks/pre-commit"
    (root / ".git").mkdir()
    files.end()
    files.begin()
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n", "utf-8")
    for place, target in links:
        place.symlink_to(target)
    (root / "src/deep/out").symlink_to(root.parent / "Documents")
    made = files.end()
    assert "src/deep/out" in made
    assert ".git/hooks/pre-commit" in made
    assert len(looked) < 6_000
    assert not (root / "src/39").is_symlink()


def test_links_from_before_that_turn_back_and_forth_stay(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outward_links, "_MOST_NAMES", 5_000)
    turning = "src/../" * 500
    for number in range(40):
        (root / f"src/{number}").symlink_to(f"../{turning}{f'src/{number - 1}' if number else 'src/deep'}")
    files = ProtectedFiles(root, tmp_path / "quarantine", is_hidden=lambda _path: True)
    files.look_ahead()
    assert after(files, (root / "src/new", "deep")) == ()
    assert (root / "src/39").is_symlink()


def test_a_link_by_way_of_a_package_folder_is_judged_again(root: Path, files: ProtectedFiles) -> None:
    """Of the links in there, those that make it lead out are taken away."""
    (root / "old").symlink_to("node_modules/x/y")
    (root / "bin").symlink_to("node_modules/.bin")
    (root / "later").write_text("")
    assert after(files, (root / "src/dist", "../node_modules/.cache/d/assets")) == ()
    files.begin()
    (root / "later").unlink()
    (root / "later").symlink_to("node_modules/l")
    assert files.end() == ()
    made = after(
        files,
        (root / "node_modules/.cache/d/assets", root.parent / "Documents"),
        (root / "node_modules/x/y", root.parent / "Documents"),
        (root / "node_modules/l", root.parent / "Documents/later"),
        (root / "node_modules/pkg", root.parent / "pkg"),
        (root / "node_modules/.bin/tool", root.parent / "tool"),
    )
    assert made == ("node_modules/.cache/d/assets", "node_modules/l", "node_modules/x/y")
    kept = ("old", "later", "src/dist", "bin", "node_modules/pkg", "node_modules/.bin/tool")
    assert all(os.path.lexists(root / name) for name in kept)
    files.begin()
    assert files.end() == ()


def test_where_a_link_leads_through_packages_since_before_a_command_it_goes_on_leading(
    root: Path, files: ProtectedFiles
) -> None:
    (root / "dist").symlink_to("node_modules/x/y")
    files.begin()
    assert files.end() == ()
    (root / "node_modules/x").mkdir()
    (root / "node_modules/x/y").symlink_to(root.parent / "Documents")  # the user's
    assert after(files, (root / "node_modules/x/z", root.parent / "data/z")) == ()
    assert os.path.lexists(root / "node_modules/x/y")


def test_more_links_through_packages_than_are_remembered_do_not_stay(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outward_links, "_MOST", 5)
    made = after(files, *((root / f"src/{number}", f"../node_modules/{number}") for number in range(7)))
    assert len(made) == 2
