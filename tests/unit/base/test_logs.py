"""The log: private, in its own form, and never on the screen."""

import logging
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import logs


@pytest.fixture(autouse=True)
def no_log_before() -> Iterator[None]:
    root = logging.getLogger("localllm")
    kept = list(root.handlers)
    yield
    for handler in [handler for handler in root.handlers if handler not in kept]:
        root.removeHandler(handler)
        handler.close()


def test_lines_have_time_level_and_category(tmp_path: Path) -> None:
    logs.start(tmp_path / "logs", "INFO")
    logs.of("tool").info("did %s", "this")
    logs.of("LLM").debug("not this")
    file = tmp_path / "logs" / "localllm.log"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[INFO\] \[TOOL\] did this\n", file.read_text())
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert logs.file() == str(file)


def test_a_second_start_does_not_write_twice(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO")
    logs.start(tmp_path, "INFO")
    logs.of("TOOL").warning("once")
    assert (tmp_path / "localllm.log").read_text().count("once") == 1


def test_where_it_cannot_be_written_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    logs.start(tmp_path / "logs", "INFO")
    logs.of("TOOL").error("nobody sees this")
    assert capsys.readouterr().err == ""
    assert logs.file() == "—"


def test_a_file_that_is_full_makes_room_and_so_many_are_kept(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO")
    for number in range(8):
        logs.of("TOOL").info("%d %s", number, "x" * 2_000_000)
    logs.of("TOOL").info("the newest")
    assert (tmp_path / "localllm.log").read_text().endswith("the newest\n")
    kept = [(tmp_path / f"localllm.log.{number}").read_text().split()[3] for number in range(1, 6)]
    assert kept == ["7", "6", "5", "4", "3"]
    assert len(list(tmp_path.iterdir())) == 6


def test_each_line_goes_through_the_mask_also_what_a_traceback_quotes(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO", lambda text: text.replace("taro", "***"))
    logs.of("WEB").info("searched for %s", "taro")
    try:
        int("taro")
    except ValueError:
        logs.of("WEB").exception("failed")
    written = (tmp_path / "localllm.log").read_text()
    assert "searched for ***" in written
    assert "invalid literal for int() with base 10: '***'" in written
    assert "taro" not in written
