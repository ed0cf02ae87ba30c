"""The work folder is made, made only once, and moved aside whole."""

import stat
from pathlib import Path

import pytest

from localllm.app.work_layout import FOLDERS, make_work_folder, present_folders
from localllm.base.errors import ConfigurationError


def test_it_is_made_private_and_only_once(tmp_path: Path) -> None:
    work = tmp_path / "a" / "work"
    assert present_folders(work) == []
    assert {step.done for step in make_work_folder(work)} == {"made"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in work.iterdir()} == {0o700}
    assert {path.name for path in work.iterdir()} == {"cache", "task", "log", "debug_log", "history"}
    assert {step.done for step in make_work_folder(work)} == {"kept"}


def test_what_is_there_is_moved_aside(tmp_path: Path) -> None:
    make_work_folder(tmp_path)
    (tmp_path / "task" / "2026-0001.yaml").write_text("mine")
    for _ in range(2):
        steps = make_work_folder(tmp_path, stamp="now")
        assert [step.done for step in steps] == ["moved"] * len(FOLDERS) + ["made"] * len(FOLDERS)
    assert (tmp_path / "task.old-now" / "2026-0001.yaml").read_text() == "mine"
    assert (tmp_path / "task.old-now-2").is_dir()
    assert list((tmp_path / "task").iterdir()) == []


def test_what_is_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file")
    with pytest.raises(ConfigurationError, match="in the way"):
        make_work_folder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="work folder"):
        make_work_folder(tmp_path / "file" / "below")
