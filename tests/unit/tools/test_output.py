"""Long output: what the model sees of it, and where the rest is."""

import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.safety.paths import ProjectRoot
from localllm.tools.files import read_file
from localllm.tools.results import cap, keep_same
from localllm.tools.search import search_files
from tests.support.tools import make_context, use


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


ASAN = """==71==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x55d0 bp 0x7ffd sp 0x7ffc
READ of size 8 at 0x602000000018 thread T0
    #0 0x7f2a4c0a1111 in __interceptor_memcpy ../../../../src/libsanitizer/sanitizer_common/interceptors.inc:827
{frames}
    #4 0x7f2a4c0b2222 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58
0x602000000018 is located 0 bytes to the right of 8-byte region [0x602000000010,0x602000000018)
{allocated}
SUMMARY: AddressSanitizer: heap-buffer-overflow src/table.c:12 in table_add
Shadow bytes around the buggy address:
{shadow}
Shadow byte legend (one shadow byte represents 8 application bytes):
  Addressable:           00
  Partially addressable: 01 02 03 04 05 06 07
  Heap left redzone:       fa
  Right alloca redzone:    cb
==71==ABORTING
make: *** [Makefile:9: asan] Error 1"""
FRAMES = "    #1 0x55d0aaaa in table_add src/table.c:12\n    #2 0x55d0bbbb in main tests/test_count.c:14"
SHADOW = "\n".join(
    f"  0x0c047fff7f{number:02x}: 00 00 fa fa fa fa fa fa fa fa fa fa fa fa fa fa" for number in range(60)
)


def test_of_a_sanitizers_report_the_frames_are_kept_before_its_bytes(tmp_path: Path) -> None:
    libraries = [
        f"    #{number} 0x7f2a in dispatch_{number} /usr/src/lib/dispatch.c:{number}" for number in range(9, 40)
    ]
    report = ASAN.format(frames=FRAMES, allocated="", shadow=SHADOW)
    capped = cap(report, make_context(tmp_path, output_limit=2_400), "run_command", faults=True)
    assert report.partition("Shadow bytes")[0] in capped
    assert "==71==ABORTING\nmake: *** [Makefile:9: asan] Error 1" in capped
    assert "0x0c047fff7f" not in capped
    report = ASAN.format(
        frames="\n".join([*libraries[:9], FRAMES, *libraries]), allocated="\n".join(libraries), shadow=SHADOW
    )
    capped = cap(report, make_context(tmp_path, output_limit=2_400), "run_command", faults=True)
    assert FRAMES in capped
    found = re.search(r"from line ([\d,]+) on\. [^\n]*\n([^\n]*)", capped)
    assert found
    assert report.splitlines()[int(found[1].replace(",", "")) - 1] == found[2]


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


@pytest.mark.parametrize("planted", [".localllm", ".localllm/tool-output"])
def test_a_link_in_a_project_leads_nowhere(tmp_path: Path, planted: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "project" / planted
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    assert "could not be kept" in cap("x" * 50, make_context(tmp_path / "project", output_limit=10), "tool")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.anyio
async def test_what_is_kept_outside_of_the_project_is_read_and_searched_as_if_it_were_in_it(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    outputs = tmp_path / "state" / "tool-output"
    context = make_context(tmp_path / "project", output_limit=400)
    context = msgspec.structs.replace(context, root=ProjectRoot(tmp_path / "project", outputs), overflow_folder=outputs)
    capped = cap("\n".join(f"line {number}" for number in range(1000)), context, "run_command")
    (path,) = re.findall(r"\.localllm/tool-output/run_command-\w+\.txt", capped)
    assert "line 500" in (await use(read_file, context, file_path=path, start_line=501)).for_model
    assert f"{path}:778: line 777" in (await use(search_files, context, pattern="777", path=path)).for_model
    with pytest.raises(SafetyViolationError, match="rotected"):
        context.root.write_bytes(path, b"")
    (outputs / "key.txt").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("secret")
    for name in ("key.txt", "../key.txt", "missing.txt"):
        with pytest.raises(LocalLLMError):
            context.root.open_file(f".localllm/tool-output/{name}")
    for name in (".", "..", ""):
        assert not context.root.is_kept_outside(f".localllm/tool-output/{name}")


def test_the_same_text_is_kept_once_and_what_only_looks_like_it_is_no_answer(tmp_path: Path) -> None:
    context = make_context(tmp_path, output_limit=10)
    path = keep_same("words", context, "words")
    assert keep_same("words", context, "words") == path
    (tmp_path / path).write_text("wor")  # the disk was full, or the program was killed
    another = keep_same("words", context, "words")
    assert (tmp_path / another).read_text() == "words"
