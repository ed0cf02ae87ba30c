"""localllm init --clear asks whoever sits at the terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import i18n
from localllm.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    i18n.set_language("en")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("answer", "code", "moved"), [("y", 0, 3), ("n", 1, 0), ("", 1, 0)])
def test_clear_asks_at_a_terminal(folder: Path, answer: str, code: int, moved: int) -> None:
    run(["init"])
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "localllm", "init", "--clear"], stdin=theirs, stderr=subprocess.PIPE, text=True
        )
        os.write(ours, f"{answer}\n".encode())
        _, told = process.communicate(timeout=30)
    finally:
        os.close(ours)
        os.close(theirs)
    assert "nothing is deleted" in told
    assert process.returncode == code
    assert sum(".old-" in name for name in names(folder)) == moved
