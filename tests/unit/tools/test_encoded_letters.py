"""A question names the letters whose bytes a shell reads as code, where the file is not in UTF-8."""

import subprocess
from pathlib import Path

import pytest

from localllm.tools.edit import edit_file
from localllm.tools.encoded_letters import with_letters_named
from localllm.tools.files import write_file
from tests.support.each import each
from tests.support.tools import make_context, preview

JAPANESE = "#!/bin/sh\n# ビルドを開始します。設定を読み込みます。\necho start\n"
HIDDEN = (b"\x1b$B" + b"a;id>PWN;#" + b"\x1b(B").decode("iso2022_jp")


@pytest.mark.parametrize(
    ("encoding", "line", "named"),
    [
        ("iso2022_jp", f"echo {HIDDEN}", HIDDEN),
        ("cp932", "echo 時刻～id>PWN～", "～"),
        ("cp932", "echo 時刻", ""),
        ("euc_jp", "echo ポ表", ""),
        ("utf-8", f"echo {HIDDEN}～", ""),
    ],
)
def test_what_is_asked_names_them(tmp_path: Path, encoding: str, line: str, named: str) -> None:
    (tmp_path / "a.sh").write_bytes(JAPANESE.encode(encoding))
    context = make_context(tmp_path)
    new = JAPANESE.replace("echo start", line)
    shown = [
        preview(edit_file, context, file_path="a.sh", old_string="echo start", new_string=line),
        preview(write_file, context, file_path="a.sh", content=new),
    ]
    for one in shown:
        assert one is not None
        letters = one.summary.rpartition("part of ")[2].removesuffix(" as code)") if "(" in one.summary else ""
        assert set(letters) <= set(named)
        assert bool(letters) is bool(named)


def test_what_is_named_is_what_a_shell_would_run(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(f"echo {HIDDEN}\n".encode("iso2022_jp"))
    subprocess.run(["sh", "a.sh"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "PWN").exists()


@each(
    ("before", "after", "is_named"),
    [("表\n", "表\nx\n", False), ("表\n", "x\n表示\n", True), ("x\n", "x\ny\n", False), ("", "時", False)],
)
def test_only_new_lines_count(before: str, after: str, is_named: bool) -> None:
    assert (with_letters_named("Edit a", before, after, "cp932") != "Edit a") is is_named
