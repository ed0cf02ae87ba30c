"""Of a line, the `rm` commands of which it is certain what they remove, and that all of it comes back."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from localllm.safety.departures import departures
from localllm.safety.paths import ProjectRoot
from localllm.safety.recoverable_removals import recoverable_removals
from localllm.safety.rules import line_of


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("rm -rf build", ["build"]),
        ("rm -r -f -- build dist/x", ["build", "dist/x"]),
        ("rm --recursive --force build && mkdir build", ["build"]),
        ("cd sub && rm -rf build", ["sub/build"]),
        ("rm -rf a; rm -rf b", ["a", "b"]),
        ("mkdir -p x; echo y; rm -rf x", ["x"]),
        ("rm -rf build && python build.py", ["build"]),
        # what another command may have put there before is not what was seen
        ("python make.py && rm -rf build", []),
        ("mv .git build; rm -rf build", []),
        ("rm -rf build; mv .git build; rm -rf build", []),
        ("ln -s .git build; rm -rf build", []),
        ("git checkout x && rm -rf build", []),
        ("rm -rf build & mv .git build", []),
        ("for x in 1 2; do rm -rf build; mv .git build; done", []),
        ("cd sub; rm -rf build", []),
        ("cd .. && cd x && rm -rf build", []),
        ("cd - && rm -rf build", []),
        ("cd /x && rm -rf build", []),
        ("rm -rf build/*", []),
        ("rm -rf $X", []),
        ("rm -rf --no-preserve-root build", []),
        ("sudo rm -rf build", []),
        ("rm -rf build > log", []),
    ],
)
def test_what_is_removed(line: str, paths: list[str], tmp_path: Path) -> None:
    asked: list[str] = []

    def would_bring_back(_root: ProjectRoot, removed: Iterable[str]) -> bool:
        asked.extend(removed)
        return True

    found = recoverable_removals(line, "", ProjectRoot(tmp_path), would_bring_back)
    assert asked == paths
    assert bool(found) == bool(paths)


def test_only_commands_all_of_whose_paths_come_back_are_found(tmp_path: Path) -> None:
    root = ProjectRoot(tmp_path)
    line = f"rm a; rm a x; rm -f {root.path}/b"
    found = recoverable_removals(line, "", root, lambda _root, paths: set(paths) <= {"a", "b"})
    assert found == {("rm", "a"), ("rm", "-f", f"{root.path}/b")}


def test_an_absolute_path_is_where_it_says_wherever_the_line_runs(tmp_path: Path) -> None:
    root = ProjectRoot(tmp_path)
    line = f"rm a {root.path}/b"
    assert recoverable_removals(line, "sub", root, lambda _root, paths: list(paths) == ["sub/a", "b"])


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("mv a b /tmp/x", ["a", "b"]),
        ("mv -f -t /tmp a && rm -r b", ["a", "b"]),
        ("mkdir -p /tmp/x && mv -v -- a /tmp/x", ["a"]),
        ("mv a ~/x", []),
        ("cd sub && mv a /tmp", ["sub/a"]),
        ("mv a* /tmp", []),
        ("mv --backup a /tmp", []),
        ("mv a /tmp & rm -r b", []),
        ("mv a b; mv b /tmp", []),
    ],
)
def test_what_is_moved_away_is_removed(line: str, paths: list[str], tmp_path: Path) -> None:
    asked: list[str] = []

    def would_bring_back(_root: ProjectRoot, removed: Iterable[str]) -> bool:
        asked.extend(removed)
        return True

    (tmp_path / "project").mkdir()
    root = ProjectRoot(tmp_path / "project")
    leaving = {one.words for one in departures(line_of(line), ".", str(root.path)) if one.target}
    found = recoverable_removals(line, "", root, would_bring_back, leaving)
    assert (asked, bool(found)) == (paths, bool(paths))
