"""A walk gives the project's own files, in one order, and nothing from outside."""

import os
from pathlib import Path

import pytest

from localllm.base.directory_walk import Entry, ProjectListing, walk
from localllm.base.gitignore import RulesReader
from tests.support.tools import put


def paths(root: Path, *exclude: str, start: str = ".", depth: int = 64) -> list[str]:
    return [entry.path for entry in walk(root, exclude=exclude, start=start, depth=depth)]


def test_each_folder_is_sorted_and_comes_before_what_is_in_it(tmp_path: Path) -> None:
    for name in ("b/z.py", "b/a.py", "a.py", "c/d/e.py", "日本.txt", "B.py"):
        put(tmp_path / name)
    assert paths(tmp_path) == ["B.py", "a.py", "b", "b/a.py", "b/z.py", "c", "c/d", "c/d/e.py", "日本.txt"]


def test_an_entry_tells_folders_sizes_and_links(tmp_path: Path) -> None:
    put(tmp_path / "d" / "f", "12345")
    (tmp_path / "link").symlink_to("d/f")
    assert list(walk(tmp_path, exclude=())) == [
        Entry("d", is_dir=True, size=0),
        Entry("d/f", is_dir=False, size=5),
        Entry("link", is_dir=False, size=0, is_link=True),
    ]


def test_our_own_folder_gits_and_the_excluded_ones_are_never_entered(tmp_path: Path) -> None:
    for name in (".git/config", ".localllm/x", "sub/.git", "node_modules/m.js", "a/node_modules/m.js", "a/k.min.js"):
        put(tmp_path / name)
    put(tmp_path / ".gitignore", "!node_modules")
    assert paths(tmp_path, "node_modules", "*.min.js") == [".gitignore", "a", "sub"]


def test_a_nearer_gitignore_overrides_and_one_above_the_start_counts(tmp_path: Path) -> None:
    put(tmp_path / ".gitignore", "*.log\n")
    put(tmp_path / "a" / "b" / ".gitignore", "\ufeff!keep.log\n")
    for name in ("a/x.log", "a/b/keep.log", "a/b/x.log"):
        put(tmp_path / name)
    expected = ["a/b", "a/b/.gitignore", "a/b/keep.log"]
    assert paths(tmp_path, start="a") == expected
    assert paths(tmp_path) == [".gitignore", "a", *expected]


def test_the_start_itself_is_not_judged(tmp_path: Path) -> None:
    put(tmp_path / ".gitignore", "build/\n")
    put(tmp_path / "build" / "out.txt")
    assert paths(tmp_path, start="build") == ["build/out.txt"]


def test_depth_bounds_how_far_down_it_goes(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b" / "c")
    assert paths(tmp_path, depth=1) == ["a"]
    assert paths(tmp_path, depth=2) == ["a", "a/b"]


def test_links_are_not_followed_and_pipes_not_listed(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "circle").symlink_to(".")
    os.mkfifo(root / "pipe")
    assert paths(root) == ["circle", "out"]


@pytest.mark.parametrize("start", ["missing", "file", "out", "../outside"])
def test_a_start_that_is_no_folder_beneath_the_root_is_an_error(tmp_path: Path, start: str) -> None:
    (tmp_path / "outside").mkdir()
    root = tmp_path / "root"
    put(root / "file")
    (root / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"\[Errno \d+\]"):
        paths(root, start=start)


def test_it_reads_a_folder_only_when_it_comes_to_it(tmp_path: Path) -> None:
    put(tmp_path / "a" / "1")
    (tmp_path / "z").mkdir()
    entries = walk(tmp_path, exclude=())
    assert next(entries).path == "a"
    put(tmp_path / "z" / "new")
    assert [entry.path for entry in entries] == ["a/1", "z", "z/new"]


def test_a_folder_exchanged_for_a_link_on_the_way_is_not_entered(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "secret")
    root = tmp_path / "root"
    put(root / "a" / "1")
    entries = walk(root, exclude=())
    assert next(entries).path == "a"
    (root / "a").rename(root / "moved")
    (root / "a").symlink_to(tmp_path / "outside")
    assert list(entries) == []


def test_a_gitignore_that_is_no_file_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / ".gitignore" / "x")
    put(tmp_path / "a" / "x.log")
    (tmp_path / "a" / ".gitignore").symlink_to("/dev/zero")
    assert paths(tmp_path) == [".gitignore", ".gitignore/x", "a", "a/.gitignore", "a/x.log"]


def test_of_many_ignore_files_only_so_much_counts_that_a_walk_ends(tmp_path: Path) -> None:
    folder = tmp_path
    for depth in range(30):
        (folder / ".gitignore").write_text("".join(f"x{depth}_{n}\n" for n in range(1_500)))
        (folder / "x0_3").touch()
        folder /= "in"
        folder.mkdir()
    for prefix, reader in (("", RulesReader()), ("a/", RulesReader())):
        above = reader.read(b"a\n" * 1_500, prefix)
        assert [rules.length for rules in reader.read(b"b\n" * 1_500, "b/", above)] == [500, 1_500]
        assert sum(rules.length for _ in range(30) for rules in reader.read(b"c\n" * 1_500, "c/")) == 18_000
    listed = [entry.path for entry in walk(tmp_path, exclude=[])]
    assert len(listed) == 60
    assert "x0_3" not in listed


def test_rules_that_take_long_to_understand_do_not_count(tmp_path: Path) -> None:
    reader, line = RulesReader(), b"*a" * 4_000 + b"\n"
    read = [rules.length for _ in range(30) for rules in reader.read(b"b\n" + line * 3, "")]
    assert read[:12] == [4] * 12
    assert set(read[13:]) == {1}


def test_a_listing_is_of_when_it_is_first_read_until_it_is_forgotten(tmp_path: Path) -> None:
    listing = ProjectListing(tmp_path / "project")
    with pytest.raises(FileNotFoundError):
        _ = listing.entries
    put(tmp_path / "project" / "a.py")
    assert [entry.path for entry in listing.entries] == ["a.py"]
    put(tmp_path / "project" / "b.py")
    assert ([entry.path for entry in listing.entries], listing.is_complete) == (["a.py"], True)
    listing.forget()
    for number in range(5_000):
        (tmp_path / "project" / f"{number}.txt").touch()
    assert (len(listing.entries), listing.is_complete) == (5_000, False)
