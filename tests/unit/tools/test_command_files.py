"""What the files that a command names tell of its result."""

import re
from pathlib import Path

import pytest

from localllm.safety.path_names import shown
from localllm.sandbox.runner import CommandResult
from localllm.tools.command_files import missing_files, not_executable, other_encoding

NOTHING = CommandResult(return_code=1, stdout="", stderr="", execution_time=0.0)


@pytest.mark.parametrize(
    "command",
    [
        f"grep {'日本' * 100} a.txt",
        "grep 日本 loop",
        f"grep 日本 {'x' * 300}",
        pytest.param(f"grep 日本 {'y/' * 2_100}*", id="deep"),
    ],
)
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


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("mv: cannot stat 'docs/見積書(最終).txt': No such file or directory", "docs/見積書（最終）.txt"),
        ("cat: 'docs/議事録 3月.md': No such file or directory", "docs/議事録\u30003月.md"),
        ("cat: docs/readme.md: No such file or directory", "docs/README.md"),
        ("cat: docs/カ\u3099イト\u3099.md: No such file or directory", "docs/ガイド.md"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'docs/README.txt'", ""),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'docs/readme.md'", "docs/README.md"),
        ("cat: docs/other.md: No such file or directory", ""),
        ("cat: docs/見積書（最終）.txt: No such file or directory", ""),
        ("cat: ../x/readme.md: No such file or directory", ""),
        ("cat: " + "x" * 5_000 + ": No such file or directory", ""),
    ],
)
def test_a_name_in_other_forms_of_its_characters_is_told(tmp_path: Path, said: str, there: str) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("見積書（最終）.txt", "議事録\u30003月.md", "README.md", "ガイド.md"):
        (tmp_path / "docs" / name).touch()
    result = CommandResult(return_code=1, stdout="", stderr=f"{said}\n", execution_time=0.0)
    told = list(missing_files("x", tmp_path, tmp_path, result))
    assert told == ([f"[There is {shown(there)}: take the name from here.]"] if there else [])
