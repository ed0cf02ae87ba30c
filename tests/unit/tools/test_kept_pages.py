"""Text of a kept page is noticed in what a command prints."""

import os
from pathlib import Path

import pytest

from localllm.base.kept_outputs import keep_output
from localllm.sandbox.protect.own_folder import OwnFolder
from localllm.tools.kept_pages import KeptPages

TEXT = "\n".join(f"The page at the docs has a line on topic number {number}, as all pages do." for number in range(300))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".localllm/tool-output"
    keep_output(folder, "fetch_page", TEXT)
    keep_output(folder, "run_command", "What a command printed once is nobody's page, however long its lines are.")
    return folder


@pytest.mark.parametrize(
    ("printed", "is_page"),
    [
        (TEXT, True),
        (TEXT.splitlines()[150], True),
        ("x.txt:7:" + "  ".join(TEXT.splitlines()[7].upper().split()), True),
        ("What a command printed once is nobody's page, however long its lines are.", False),
        ("The page at the docs", False),
        ("", False),
    ],
)
def test_a_passage_is_known(folder: Path, printed: str, is_page: bool) -> None:
    assert KeptPages(folder).are_in(printed) == is_page


def test_one_that_came_later_is_known_as_well(folder: Path) -> None:
    pages = KeptPages(folder)
    other = "A second page, which nobody had kept when the first command of this session was run, says this."
    assert not pages.are_in(other)
    keep_output(folder, "web_search", other)
    assert pages.are_in(other)


def test_the_newest_are_looked_at_first(folder: Path) -> None:
    page = next(folder.glob("fetch_page-*"))
    os.utime(page, (1, 1))
    keep_output(folder, "fetch_page", "y" * 15_999_000)
    assert not KeptPages(folder).are_in(TEXT), "there is room for so many alone"


def test_what_the_sandbox_shows_to_a_command_is_looked_at(folder: Path) -> None:
    page = next(folder.glob("fetch_page-*"))
    os.utime(page, (1, 1))
    keep_output(folder, "fetch_page", "y" * 1_999_000)
    for number in range(95):
        keep_output(folder, "web_search", str(number))
    copy = OwnFolder(folder.parents[1]).take()
    assert copy
    shown = (copy.folder / "tool-output" / page.name).read_text()
    copy.remove()
    assert KeptPages(folder).are_in(shown)


def test_no_folder_and_no_regular_file_are_no_pages(tmp_path: Path) -> None:
    assert not KeptPages(tmp_path / "none").are_in(TEXT)
    os.mkfifo(tmp_path / "fetch_page-0123456789abcdef.txt")
    assert not KeptPages(tmp_path).are_in(TEXT)
