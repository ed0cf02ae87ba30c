"""A walk that is told by the kernel what was touched finds what one that looks everywhere finds."""

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localllm.base import file_watch
from localllm.sandbox.protect import protected_walk
from localllm.sandbox.protect.protected_paths import Reach
from localllm.sandbox.protect.protected_walk import ProtectedWalk, look

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux tells")


def watched(root: Path) -> ProtectedWalk:
    walk = ProtectedWalk(root, watched_from=1)
    walk.look()
    return walk


def found(look: Callable[..., object]) -> dict[str, object]:
    """What a look finds, in every way that it tells."""
    tops: list[str] = []
    reach = Reach(skipped=True)
    entries = look(tops=tops, reach=reach)
    told = {name: getattr(reach, name) for name in ("visited", "repositories", "bare", "others", "last", "is_complete")}
    return {"entries": entries, "tops": sorted(tops), **told}


def is_asked(walk: ProtectedWalk, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The folders the walk asks for their times or entries."""
    asked: set[str] = set()
    of = walk._listings.of  # pyright: ignore[reportPrivateUsage]

    def note(path: str, *rest: Callable[[str], object]) -> list[os.DirEntry[str]]:
        asked.add(path)
        return of(path, *rest)

    monkeypatch.setattr(walk._listings, "of", note)  # pyright: ignore[reportPrivateUsage]
    walk.look()
    monkeypatch.undo()
    return asked


def test_only_what_was_touched_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path.resolve()
    for name in ("a/b", "c/d", "e"):
        (root / name).mkdir(parents=True)
    walk = watched(root)
    walk.look()
    assert is_asked(walk, monkeypatch) == set()
    (root / "c/d/new").mkdir()
    assert is_asked(walk, monkeypatch) == {f"{root}/c/d", f"{root}/c/d/new"}
    (root / "e/.envrc").touch()
    assert set(walk.look()) == {"e/.envrc"}
    assert is_asked(walk, monkeypatch) == {f"{root}/e"}


def test_where_it_was_too_much_to_be_told_all_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path.resolve()
    (root / "a").mkdir()
    walk = watched(root)
    walk.look()

    def overflow(self: file_watch.Watcher) -> None:
        del self

    monkeypatch.setattr(file_watch.Watcher, "touched", overflow)
    (root / "a/.envrc").touch()
    assert set(walk.look()) == {"a/.envrc"}
    monkeypatch.undo()
    (root / "a/.vscode").mkdir()
    (root / "a/.vscode/tasks.json").touch()
    assert set(walk.look()) == {"a/.envrc", "a/.vscode/tasks.json"}


def test_where_not_all_can_be_watched_all_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path.resolve()
    (root / "a/.vscode").mkdir(parents=True)
    (root / "a/.vscode/tasks.json").touch()

    def full(self: file_watch.Watcher, path: str, folder: str) -> None:
        raise OSError("too many folders")

    monkeypatch.setattr(file_watch.Watcher, "add", full)
    walk = watched(root)
    assert set(walk.look()) == {"a/.vscode/tasks.json"}


@pytest.mark.parametrize("watched_from", [1, 1_000])
def test_folders_with_very_long_paths_are_fewer(tmp_path: Path, watched_from: int) -> None:
    walk = ProtectedWalk(tmp_path, watched_from, most_bytes=1_000)
    walk.look()
    top = tmp_path / ("x" * 200)
    for number in range(9):
        (top / str(number) / "deep").mkdir(parents=True)
    reach = Reach()
    walk.look(reach=reach)
    assert not reach.is_complete
    assert len(reach.visited) < 9


def test_what_there_was_no_time_for_is_looked_at_the_next_time(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/.envrc").touch()
    walk = watched(root)
    reach = Reach(seconds=-1)
    assert walk.look(reach=reach) == {}
    assert not reach.is_complete
    assert set(walk.look()) == {"a/b/.envrc"}


NAMES = ("a", "b", ".git", ".github", "workflows", "hooks", ".envrc", "HEAD", "objects", "refs", "node_modules", ".hg")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
CHANGES = st.tuples(st.sampled_from(["folder", "file", "link", "remove", "move", "exchange"]), PATHS, PATHS)


def change(root: Path, kind: str, first: str, second: str) -> None:
    """Change something, where that is possible."""
    path, other = root / first, root / second
    with suppress(OSError):
        match kind:
            case "folder":
                path.mkdir(parents=True)
            case "file":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            case "link":
                path.symlink_to(other)
            case "remove":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case "move":
                path.rename(other)
            case _:
                spare = root / "spare"
                path.rename(spare)
                other.rename(path)
                spare.rename(other)


@given(st.lists(CHANGES, max_size=12), st.lists(st.lists(CHANGES, max_size=4), min_size=1, max_size=5))
@settings(deadline=None)
def test_it_finds_the_same(first: list[tuple[str, str, str]], rounds: list[list[tuple[str, str, str]]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for one in first:
            change(root, *one)
        walk = watched(root)
        for changes in rounds:
            for one in changes:
                change(root, *one)
            assert found(walk.look) == found(partial(look, root))


def test_a_protected_folder_is_looked_into_as_far_as_names_in_it_mean_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ".vscode" / "/".join("d" * 49)
    (deep / "in").mkdir(parents=True)
    (deep / "in/task").touch()
    (deep / "in/too/far").mkdir(parents=True)
    (deep / "in/too/far/task").touch()
    reach = Reach()
    assert sorted(path.rpartition("/d/")[2] for path in look(tmp_path, reach=reach)) == ["in/task", "in/too"]
    assert reach.is_complete
    monkeypatch.setattr(protected_walk, "_MOST_WHOLE", 10)
    look(tmp_path, reach=reach)
    assert not reach.is_complete
