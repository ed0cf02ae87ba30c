"""Long output: what the model sees of it, and where the rest is."""

import os
import re
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from localllm.tools.output import cap
from tests.support.tools import make_context


def test_short_text_is_given_as_it_is(tmp_path: Path) -> None:
    text = "x" * 100
    assert cap(text, make_context(tmp_path, output_limit=100), "tool") is text
    assert not (tmp_path / ".localllm").exists()


def test_long_text_keeps_its_head_and_its_tail_and_is_kept_whole(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(1, 1001))
    capped = cap(text, make_context(tmp_path, output_limit=500), "run_command")
    head, note, tail = re.split(r"\n(\[…[^\n]*\])\n", capped)
    assert text.startswith(head + "\n")
    assert text.endswith("\n" + tail)
    assert len(head) < len(tail) <= 400
    assert len(head) + len(tail) <= 500
    (path,) = re.findall(r"\.localllm/tool-output/run_command-\w+\.txt", note)
    assert (tmp_path / path).read_text(encoding="utf-8") == text
    (line,) = re.findall(r"from line (\d+) on", note)
    assert tail.startswith(f"line {line}\n")


def test_two_outputs_are_kept_apart_and_private(tmp_path: Path) -> None:
    context = make_context(tmp_path, output_limit=10)
    for letter in "ab":
        cap(letter * 50, context, "tool")
    kept = sorted(context.overflow_folder.iterdir(), key=lambda path: path.read_text())
    assert [path.read_text() for path in kept] == ["a" * 50, "b" * 50]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    context = msgspec.structs.replace(make_context(tmp_path, output_limit=10), overflow_folder=tmp_path / "file")
    capped = cap("x" * 50, context, "tool")
    assert "could not be kept" in capped
    assert os.strerror(17) in capped or os.strerror(20) in capped


def test_a_folder_outside_the_project_is_named_whole(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    context = make_context(tmp_path / "project", output_limit=10)
    context = msgspec.structs.replace(context, overflow_folder=tmp_path / "elsewhere")
    assert str(tmp_path / "elsewhere") in cap("x" * 50, context, "tool")


def test_text_that_is_not_unicode_is_kept_all_the_same(tmp_path: Path) -> None:
    context = make_context(tmp_path, output_limit=10)
    cap("\udcff" * 50, context, "tool")
    (kept,) = context.overflow_folder.iterdir()
    assert kept.read_text() == "?" * 50


@given(st.text(alphabet="ab\n", min_size=21, max_size=300))
def test_what_is_shown_is_never_more_than_the_limit(text: str) -> None:
    context = make_context(Path("/tmp"), output_limit=20)
    context = msgspec.structs.replace(context, overflow_folder=Path("/dev/null"))
    head, _, tail = re.split(r"(\[…[^\n]*\]\n)", cap(text, context, "tool"))
    assert len(head.removesuffix("\n")) + len(tail) <= 20
    assert text.startswith(head.removesuffix("\n"))
    assert text.endswith(tail)
