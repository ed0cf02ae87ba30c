"""The log: private, in its own form, a file a day, and never on the screen."""

import io
import logging
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import logs

DAY = 86_400.0


@pytest.fixture(autouse=True)
def no_log_before() -> Iterator[None]:
    root = logging.getLogger("localllm")
    kept, level, propagates = root.handlers[:], root.level, root.propagate
    root.handlers.clear()
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = kept
    root.setLevel(level)
    root.propagate = propagates


def names(folder: Path) -> list[str]:
    return [file.name for file in logs.files(folder)]


def test_lines_have_time_level_and_category(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO", clock=lambda: 0.0)
    logs.of("tool").info("did %s", "this")
    logs.of("LLM").debug("not this")
    file = tmp_path / "log" / "localllm.1970-01-01.log"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[INFO\] \[TOOL\] did this\n", file.read_text())
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert logs.file() == str(file)
    assert not (tmp_path / "debug_log").exists()


def test_the_debug_log_has_everything_and_the_place_that_says_it(tmp_path: Path) -> None:
    logs.start(tmp_path, "WARNING", debug=True, clock=lambda: 0.0)
    logs.of("LLM").debug("only there")
    assert not (tmp_path / "log" / "localllm.1970-01-01.log").exists()
    written = (tmp_path / "debug_log" / "debug.1970-01-01.log").read_text()
    assert re.search(r" \[DEBUG\] \[test_logs:test_the_debug_log\w+:\d+\] only there\n$", written)


def test_a_second_start_does_not_write_twice(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO")
    logs.start(tmp_path, "INFO")
    logs.of("TOOL").warning("once")
    assert Path(logs.file()).read_text().count("once") == 1


def test_where_it_cannot_be_written_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("a file where the folder should be")
    logs.start(tmp_path, "INFO")
    logs.of("TOOL").error("nobody sees this")
    assert capsys.readouterr().err == ""
    assert logs.file() == "—"


def test_a_new_day_begins_a_new_file_and_old_ones_are_deleted(tmp_path: Path) -> None:
    now = 100 * DAY
    log = tmp_path / "log"
    log.mkdir()
    for name in (
        "localllm.1970-01-01.log",
        "localllm.1970-03-12.log",
        "localllm.1970-03-10.2.log",
        "notes.1970-01-01.log",
    ):
        (log / name).write_text("")
    logs.start(tmp_path, "INFO", keep_days=30, clock=lambda: now)
    logs.of("TOOL").info("today")
    now += DAY
    logs.of("TOOL").info("tomorrow")
    assert names(log) == ["localllm.1970-04-11.log", "localllm.1970-04-12.log"]
    assert (log / "notes.1970-01-01.log").exists()
    assert (log / "localllm.1970-04-12.log").read_text().count("tomorrow") == 1


@pytest.mark.parametrize(("days", "kept"), [(7, 2), (1, 5)])
def test_a_file_is_for_so_many_days(tmp_path: Path, days: int, kept: int) -> None:
    now = 4 * DAY
    logs.start(tmp_path, "INFO", rotate_days=days, keep_days=0, clock=lambda: now)
    for _ in range(5):
        logs.of("TOOL").info("a line")
        now += DAY
    assert len(names(tmp_path / "log")) == kept


def test_a_file_that_is_full_makes_room_and_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_MAX_BYTES", 1_000)
    logs.start(tmp_path, "INFO", clock=lambda: 0.0)
    for number in range(8):
        logs.of("TOOL").info("%d %s", number, "x" * 1_000)
    logs.of("TOOL").info("the newest")
    kept = [file.read_text().split()[3] for file in logs.files(tmp_path / "log")]
    assert kept == ["3", "4", "5", "6", "7", "the"]


def test_each_line_goes_through_the_mask_also_what_a_traceback_quotes(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO", lambda text: text.replace("taro", "***"), debug=True)
    logs.of("WEB").info("searched for %s", "taro")
    try:
        int("taro")
    except ValueError:
        logs.of("WEB").exception("failed")
    for folder in ("log", "debug_log"):
        written = next(logs.files(tmp_path / folder)).read_text()
        assert "searched for ***" in written
        assert "invalid literal for int() with base 10: '***'" in written
        assert "taro" not in written


def test_records_are_shown_as_well_where_that_is_asked_for(tmp_path: Path) -> None:
    logs.start(tmp_path, "ERROR", clock=lambda: 0.0)
    screen = io.StringIO()
    logs.show(screen, "INFO", lambda line: line.replace("secret", "…"), without={"CONFIG"})
    logs.of("SERVER").info("a secret")
    logs.of("SERVER").debug("not this")
    logs.of("CONFIG").warning("nor this")
    logs.of("SERVER").error("it failed", exc_info=ValueError("inner"))
    first, second = screen.getvalue().splitlines()
    assert re.fullmatch(r"\S+Z \[INFO\] \[SERVER\] a …", first)
    assert second.endswith("[ERROR] [SERVER] it failed")
    kept = (tmp_path / "log" / "localllm.1970-01-01.log").read_text()
    assert "ValueError: inner" in kept
    assert "secret" not in kept


def test_a_screen_that_has_gone_is_no_fault() -> None:
    screen = io.StringIO()
    logs.show(screen, "INFO")
    screen.close()
    logs.of("SERVER").info("nobody reads this")


def test_what_a_library_logs_stands_under_a_category_of_ours() -> None:
    screen = io.StringIO()
    logs.show(screen, "INFO")
    logs.forward("a_library", "SERVER")
    logs.forward("a_library", "SERVER")
    logging.getLogger("a_library.part").warning("hm: %s", "this")
    logging.getLogger("a_library.part").info("not this")
    assert [line.partition(" ")[2] for line in screen.getvalue().splitlines()] == ["[WARNING] [SERVER] hm: this"]


@pytest.mark.parametrize("made", ["symlink_to", "hardlink_to"])
def test_no_line_goes_through_a_link(made: str, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "bashrc").write_text("mine")
    getattr(tmp_path / "log" / "localllm.1970-01-01.log", made)(tmp_path / "bashrc")
    logs.start(tmp_path, "INFO", clock=lambda: 0.0)
    logs.of("TOOL").info("x\ntouch PWNED")
    assert (tmp_path / "bashrc").read_text() == "mine"


def test_no_line_goes_through_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "log").symlink_to("outside")
    logs.start(tmp_path, "INFO", clock=lambda: 0.0)
    logs.of("TOOL").info("said")
    assert list((tmp_path / "outside").iterdir()) == []


def test_what_a_model_writes_forges_no_record_and_steers_no_terminal(tmp_path: Path) -> None:
    logs.start(tmp_path, "INFO")
    logs.of("TOOL").info("%s: ok", "bad\x1b[31m\r\n2026-11-29T00:00:00.000000Z [ERROR] [RUN] forged")
    logs.of("RUN").error("failed", exc_info=ValueError("one\n2026-11-29T00:00:00.000000Z [ERROR] [RUN] forged"))
    logs.of("RUN").error("failed", exc_info=ValueError("two\nlines\x07"))
    first, *others = Path(logs.file()).read_text().splitlines()
    assert first.endswith(r"bad\x1b[31m\x0d\n2026-11-29T00:00:00.000000Z [ERROR] [RUN] forged: ok")
    assert others[-2:] == ["ValueError: two", r"lines\x07"]
    assert " 2026-11-29T00:00:00.000000Z [ERROR] [RUN] forged" in others
