"""What is said of a change that was taken back."""

import time
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots
from localllm.snapshots.undo import Told, Undone
from tests.support.each import each
from tests.support.tools import put


@each(
    ("undone", "said"),
    [
        (Undone(path="a"), "a: the version from before is back."),
        (Undone(path="a", deleted=True), "a: removed, as it was not there before."),
        (Undone(path="a", is_gone=True), "a: the change had made it, and it has been deleted since."),
        (Undone(path="a", merged=True), "a: the change is taken out again; what was changed in the file since stays."),
        (
            Undone(path="a", aside="a.aside1"),
            "a: the version from before is back. What stood in its place is a.aside1 now.",
        ),
        (Undone(path="a/", files=1), "a/: what was lost of the repository is back (1 file)."),
        (Undone(path="a/", files=2), "a/: what was lost of the repository is back (2 files)."),
        (Undone(path="a", told=Told(("- b", "- c"), ("- d",))), "a: the version from before is back. Back: - b · - c"),
        (Undone(path="a", told=Told((), ("- d",))), "a: the version from before is back. Gone: - d"),
        (Undone(path="a\nb", told=Told(("- b\x1b",))), "a␊b: the version from before is back. Back: - b␛"),
    ],
)
def test_what_became_of_a_file(undone: Undone, said: str) -> None:
    assert str(undone) == said


def test_when_it_was_changed_is_said_of_what_is_older_and_why_it_was_left() -> None:
    then = time.mktime((2026, 11, 22, 14, 5, 0, 0, 0, -1))
    assert str(Undone(path="a", earlier=then)).endswith("in another session, on 2026-11-22 14:05.)")
    error = ToolExecutionError("undo_not_kept", path="a")
    assert str(Undone(path="a", error=error, earlier=then)) == str(error)
    long = str(Undone(path="a", told=Told(("- " + "b" * 200,))))
    assert "…" in long
    assert len(long) < 160


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project").mkdir()
    return ProjectRoot(tmp_path / "project")


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        ("L.md", "- a\n- b\n", "- a\n* c\n  + d\n", Told(("- b",), ("* c", "+ d"))),
        ("L.md", "- a\ntext\n", "- a\nother\n", Told()),
        ("L.md", "", "- a\n- b\n- c\n", Told((), ("- a", "- b", "- c"))),
        ("L.md", "", "- a\n- b\n- c\n- d\n", Told()),
        ("L.txt", "- a\n", "- b\n", Told()),
        ("L.md", "x" * 500_001 + "\n- a\n", "- b\n", Told((), ("- b",))),
    ],
)
def test_the_lines_of_a_list_that_come_back_or_go_are_told(
    root: ProjectRoot, tmp_path: Path, name: str, before: str, after: str, told: Told
) -> None:
    store = Snapshots(tmp_path / "state")
    if before:
        put(root.path / name, before)
    with store.around(root, [name], tool="edit_file"):
        root.write_bytes(name, after.encode())
    (undone,) = store.undo(root)
    assert undone.told == told
    assert undone.tool == "edit_file"
