"""Folders are listed anew when, and only when, something in them has changed."""

import os
import time
from pathlib import Path

import pytest

from localllm.sandbox.protect.folder_listings import FolderListings

SETTLED = 50_000_000


class Counting:
    """Takes every entry, and counts how many it was asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, entry: os.DirEntry[str]) -> bool:
        self.asked += 1
        return not entry.name.startswith("no")


def names(listings: FolderListings, folder: Path) -> list[str]:
    return sorted(entry.name for entry in listings.of(str(folder)))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders that have not been changed for a while."""
    folder = tmp_path_factory.mktemp("old")
    for name in ("a", "b", "c", "d"):
        (folder / name / "inner").mkdir(parents=True)
        (folder / name / "file").touch()
        (folder / name / "not this").touch()
    while time.time_ns() - (folder / "d").stat().st_ctime_ns < 2 * SETTLED:
        time.sleep(0.01)
    return folder


def test_an_unchanged_folder_is_not_read_again(old: Path) -> None:
    counting = Counting()
    listings = FolderListings(counting, SETTLED)
    for _ in range(3):
        assert names(listings, old / "a") == ["file", "inner"]
    assert counting.asked == 3


def test_what_comes_and_goes_is_seen(old: Path) -> None:
    listings = FolderListings(Counting(), SETTLED)
    assert names(listings, old / "b") == ["file", "inner"]
    (old / "b" / "new").touch()
    assert names(listings, old / "b") == ["file", "inner", "new"]
    (old / "b" / "file").unlink()
    assert names(listings, old / "b") == ["inner", "new"]


def test_times_that_are_set_back_hide_nothing(old: Path) -> None:
    listings = FolderListings(Counting(), SETTLED)
    about = (old / "c").stat()
    assert names(listings, old / "c") == ["file", "inner"]
    (old / "c" / "hidden").touch()
    os.utime(old / "c", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert names(listings, old / "c") == ["file", "hidden", "inner"]


def test_a_folder_that_only_looks_old_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    os.utime(tmp_path / "made", (0, 0))
    listings = FolderListings(Counting(), settled=60_000_000_000)
    assert names(listings, tmp_path / "made") == []
    assert not listings.knows(str(tmp_path / "made"))


def test_another_folder_in_its_place_is_seen(old: Path) -> None:
    listings = FolderListings(Counting(), SETTLED)
    assert names(listings, old / "d") == ["file", "inner"]
    (old / "d").rename(old / "e")
    (old / "d").mkdir()
    assert names(listings, old / "d") == []
    (old / "d").rmdir()
    (old / "d").symlink_to(old / "e")
    assert names(listings, old / "d") == []
    (old / "d").unlink()
    assert names(listings, old / "d") == []


def test_a_folder_that_was_just_changed_is_read_again(tmp_path: Path) -> None:
    counting = Counting()
    listings = FolderListings(counting)
    (tmp_path / "file").touch()
    names(listings, tmp_path)
    names(listings, tmp_path)
    assert counting.asked == 2


def test_a_tree_is_searched_anew_only_where_it_changed(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d"):
        (tmp_path / name).mkdir(parents=True)
    listings = FolderListings(lambda entry: True, settled=-1)
    asked: list[str] = []

    def wanted(entry: os.DirEntry[str]) -> bool:
        asked.append(entry.name)
        return entry.name == "wanted"

    def search() -> tuple[list[str], bool]:
        asked.clear()
        return listings.search(str(tmp_path), wanted, time.monotonic() + 9)

    assert search() == ([], True)
    assert search() == ([], True)
    assert not asked
    (tmp_path / "a/b/new/deep").mkdir(parents=True)
    (tmp_path / "a/b/new/deep/wanted").touch()
    assert search() == ([f"{tmp_path}/a/b/new/deep"], True)
    (tmp_path / "a/b/new").rename(tmp_path / "a/b/newer")
    assert search() == ([f"{tmp_path}/a/b/newer/deep"], True)


def test_a_search_without_time_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/wanted").touch()
    listings = FolderListings(lambda entry: True)
    assert listings.search(str(tmp_path), lambda entry: entry.name == "wanted", 0) == ([], False)
    found = listings.search(str(tmp_path), lambda entry: entry.name == "wanted", time.monotonic() + 9)
    assert found == ([f"{tmp_path}/a"], True)


def test_a_search_that_ran_out_of_time_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "wanted").touch()
    listings = FolderListings(lambda entry: True, settled=-1)
    deadline = time.monotonic() + 0.02

    def wanted(entry: os.DirEntry[str]) -> bool:
        while time.monotonic() < deadline:  # it takes that long in the first folder
            pass
        return entry.name == "wanted"

    assert listings.search(str(tmp_path), wanted, deadline) == ([], False)
    found, is_complete = listings.search(str(tmp_path), wanted, time.monotonic() + 9)
    assert sorted(found) == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert is_complete


def test_a_search_of_too_many_folders_says_so_every_time(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / str(number)).mkdir()
    listings = FolderListings(Counting(), SETTLED)
    for _ in range(2):
        _, is_complete = listings.search(str(tmp_path), lambda _: True, time.monotonic() + 10, most=5)
        assert not is_complete
        assert listings.size_of(str(tmp_path)) == 5


def test_folders_with_very_long_paths_are_fewer(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}{'x' * 100}").mkdir()
    listings = FolderListings(Counting(), SETTLED, most_bytes=500)
    for _ in range(2):
        _, is_complete = listings.search(str(tmp_path), lambda _: True, time.monotonic() + 10)
        assert not is_complete
        assert listings.size_of(str(tmp_path)) < 6
