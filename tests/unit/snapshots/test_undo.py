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
        (Undone(path="a"), "a: the previous version is restored."),
        (Undone(path="a", deleted=True), "a: removed, as it was not there before."),
        (Undone(path="a", is_gone=True), "a: it was created by the change and has been deleted since."),
        (Undone(path="a", merged=True), "a: the change is undone; later changes to the file stay."),
        (
            Undone(path="a", aside="a.aside1"),
            "a: the previous version is restored. What was in its place is now a.aside1.",
        ),
        (Undone(path="a/", files=1), "a/: what the repository had lost is restored (1 file)."),
        (Undone(path="a/", files=2), "a/: what the repository had lost is restored (2 files)."),
        (
            Undone(path="a", told=Told(("- b", "- c"), ("- d",))),
            "a: the previous version is restored. Back: - b · - c",
        ),
        (Undone(path="a", told=Told((), ("- d",))), "a: the previous version is restored. Gone: - d"),
        (Undone(path="a\nb", told=Told(("- b\x1b",))), "a␊b: the previous version is restored. Back: - b␛"),
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
