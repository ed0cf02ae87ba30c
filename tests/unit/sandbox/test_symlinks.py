"""Links on the way to a file."""

from pathlib import Path

import pytest

from localllm.sandbox.symlinks import find_plain, follow, resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    (root / "a/b").mkdir(parents=True)
    (root / "l").symlink_to("a")
    (root / "out").symlink_to("..")
    (root / "loop").symlink_to("loop")
    return root


def test_the_links_on_the_way(root: Path) -> None:
    assert follow(f"{root}/a/b") == [f"{root}/a/b"]
    assert follow(f"{root}/l/../l/b") == [f"{root}/l", f"{root}/l", f"{root}/a/b"]
    assert follow(f"{root}/loop")[:2] == [f"{root}/loop", f"{root}/loop"]
    (root / "n0").symlink_to("a")
    for number in range(1, 42):
        (root / f"n{number}").symlink_to(f"n{number - 1}")
    assert follow(f"{root}/n39")[-1] == f"{root}/a"
    assert len(follow(f"{root}/n39")) == 41
    assert follow(f"{root}/n40")[-1] != f"{root}/a"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a/b", "a/b"),
        ("a/./b/../b/", "a/b"),
        ("a/missing", "a/missing"),
        ("l/b", None),
        ("l/../a", None),
        ("..", None),
        ("out/project/a", None),
        ("loop", None),
        ("node_modules/x/.git", None),
        ("a/Site-Packages/x", None),
    ],
)
def test_what_is_reached_through_no_link(root: Path, path: str, found: str | None) -> None:
    assert find_plain(root, root / path) == (root / found if found else None)


def test_a_way_out_of_a_folder(root: Path) -> None:
    (root.parent / "in").symlink_to("project/a")
    (root / "n0").symlink_to("..")
    for number in range(1, 60):
        (root / f"n{number}").symlink_to(f"n{number - 1}")
    ways = ("out", "out/x", "l/../out/x", "n3", "n59")
    assert [way for way in ways if not resolve(f"{root}/{way}", root).leads_out] == []
    ways = ("a", "l/b", "out/project/a", "../in/b", "../elsewhere", "missing/x")
    assert [way for way in ways if resolve(f"{root}/{way}", root).leads_out] == []
