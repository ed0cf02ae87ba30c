"""Nothing personal gets into the log of the program."""

import logging
from pathlib import Path

import pytest

from localllm.app.private_log import start_log
from localllm.base import logs
from localllm.config.schema import LoggingSettings


def test_what_is_searched_for_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(tmp_path))
    root = logging.getLogger("localllm")
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "propagate", True)
    monkeypatch.setattr(root, "level", root.level)
    start_log(LoggingSettings())
    logs.of("WEB").info("search: taro@example.com 090-1234-5678 version 10.0.0.1")
    written = Path(logs.file()).read_text()
    for handler in root.handlers:
        handler.close()
    assert "[INFO] [WEB] search: [EMAIL] [PHONE] version 10.0.0.1" in written
    assert "taro" not in written
