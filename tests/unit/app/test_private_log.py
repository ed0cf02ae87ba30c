"""Nothing personal gets into the log of the program."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.app.private_log import start_log
from localllm.base import logs
from localllm.config.schema import LoggingSettings


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's data folder, in a program that keeps no log yet."""
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(tmp_path / "data"))
    root = logging.getLogger("localllm")
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "propagate", True)
    monkeypatch.setattr(root, "level", root.level)
    (tmp_path / "data").mkdir()
    yield tmp_path / "data"
    for handler in root.handlers:
        handler.close()


def test_a_link_the_user_made_in_the_data_folder_is_followed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    (data / "log").symlink_to(tmp_path / "large")
    start_log(LoggingSettings(), data)
    logs.of("WEB").info("kept")
    (written,) = (tmp_path / "large").iterdir()
    assert "kept" in written.read_text()


def test_elsewhere_no_link_is_followed(data: Path, tmp_path: Path) -> None:
    work = data.with_name("work")
    work.mkdir()
    (tmp_path / "large").mkdir()
    (work / "log").symlink_to(tmp_path / "large")
    start_log(LoggingSettings(), work)
    logs.of("WEB").info("not kept")
    assert not list((tmp_path / "large").iterdir())


def test_what_is_searched_for_is_masked(data: Path) -> None:
    start_log(LoggingSettings())
    logs.of("WEB").info("search: taro@example.com 090-1234-5678 version 10.0.0.1")
    written = Path(logs.file()).read_text()
    assert "[INFO] [WEB] search: [EMAIL] [PHONE] version 10.0.0.1" in written
    assert "taro" not in written
