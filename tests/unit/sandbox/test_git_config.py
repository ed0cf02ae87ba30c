"""Reading settings files as git does."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.git_config import expanded, parse, write

ODD = r"""[core]
 pager = less ; a remark
	a-b = "q;\"x" y  # another
	editor
[alias]
	st = status \
   -s
[url "https://x/"] insteadOf = gh:
[include "a\"b"]
path=~/x
[diff.Foo]
 textconv = x\ty
"""


def as_git_says(file: Path) -> list[str]:
    done = subprocess.run(["git", "config", "--file", file, "--list", "-z"], capture_output=True, text=True, check=True)
    return [line if "\n" in line else f"{line}\ntrue" for line in done.stdout.split("\0")[:-1]]


def as_we_say(content: bytes) -> list[str]:
    return [".".join(filter(None, one[:3])) + f"\n{one.value}" for one in parse(content)]


def test_settings_are_what_git_takes_them_for(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(ODD)
    assert as_we_say(ODD.encode()) == as_git_says(tmp_path / "config")


def test_what_is_written_is_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(write(parse(ODD.encode())))
    assert as_git_says(tmp_path / "config") == as_we_say(ODD.encode())


@pytest.mark.parametrize("content", [b"", b"[", b"=", b"[a\nb", b'[a "', b"\xff", b"x = \\", b'[a]\nb = "', b"[a]b"])
def test_nothing_written_upsets_it(content: bytes) -> None:
    assert len(list(parse(content))) <= 1


def test_the_home_of_a_user_by_name() -> None:
    pwd = pytest.importorskip("pwd")  # not on Windows
    me = pwd.getpwuid(os.getuid())
    for path in ("~/x", f"~{me.pw_name}/x", ":(optional)~/x"):
        assert expanded(path, me.pw_dir) == f"{me.pw_dir}/x"
    for path in ("x/~/y", "~nobody-of-this-name/x", "/x"):
        assert expanded(path, me.pw_dir) == path
