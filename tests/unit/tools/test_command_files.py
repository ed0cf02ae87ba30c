"""What the files that a command names tell of its result."""

import re
from pathlib import Path

import pytest

from localllm.sandbox.runner import CommandResult
from localllm.tools.command_files import not_executable, other_encoding

NOTHING = CommandResult(return_code=1, stdout="", stderr="", execution_time=0.0)


@pytest.mark.parametrize("command", [f"grep {'日本' * 100} a.txt", "grep 日本 loop", f"grep 日本 {'x' * 300}"])
def test_what_cannot_be_a_file_tells_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert list(other_encoding(command, tmp_path, tmp_path, NOTHING)) == []


def test_a_file_that_is_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("これは日本語の文章です。\n".encode("shift_jis"))
    remarks = list(other_encoding(f"grep {'日本' * 100} a.txt", tmp_path, tmp_path, NOTHING))
    assert len(remarks) == 1
    assert remarks[0].startswith("[a.txt is in ")


def test_a_loop_of_links_is_no_script(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert not not_executable(
        re.compile(r"(loop)"),
        tmp_path,
        tmp_path,
        CommandResult(return_code=1, stdout="", stderr="loop", execution_time=0.0),
    )
