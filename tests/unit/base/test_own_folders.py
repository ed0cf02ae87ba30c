"""What a command has closed of the program's own is open again; nothing else is touched."""

import os
import stat
import sys
from pathlib import Path

import pytest

from localllm.base.own_folders import Reopener, closed_folder, reopen, reopen_at_start, reopen_file
from tests.support.tools import put

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no sandbox lets commands change modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_denies_access_is_opened_from_above_and_the_rest_stays(tmp_path: Path) -> None:
    state = tmp_path / "home" / ".local" / "state"
    journal, deep, link = put(state / "journal.jsonl", "x"), put(state / "a" / "b", "x"), state / "link"
    link.symlink_to(put(tmp_path / "other", "x"))
    listed = put(state / "snapshots" / "n" / "objects" / "00" / "content", "x")
    for path, closed in {listed: 0o000, deep: 0o040, journal: 0o400, tmp_path / "other": 0o000}.items():
        path.chmod(closed)
    for folder in (listed.parent, deep.parent, state, state.parent):
        folder.chmod(0o000)
    shallow = [str(path) for path in (state.parent, state, deep.parent, journal)]
    assert sorted(reopen([state])) == sorted(shallow)
    assert reopen([state]) == []
    assert sorted(reopen([state], deep=True)) == sorted([str(deep), str(listed.parent)])
    assert [mode(path) for path in (state.parent, state, deep.parent, journal, deep, listed)] == [
        *(0o700, 0o700, 0o700, 0o600, 0o640, 0o000)
    ]
    assert (reopen_file(listed), reopen_file(listed), mode(listed), mode(tmp_path / "other")) == (True, False, 0o600, 0)


def test_a_folder_above_that_can_be_entered_stays_as_the_user_has_it(tmp_path: Path) -> None:
    (tmp_path / "above" / "state").mkdir(parents=True)
    (tmp_path / "above").chmod(0o500)
    put(tmp_path / "settings", "x").chmod(0o400)
    assert reopen([tmp_path / "above" / "state", tmp_path / "missing"]) == []
    assert reopen([tmp_path], files=stat.S_IRUSR) == [str(tmp_path / "above")]
    assert mode(tmp_path / "settings") == 0o400


def test_at_the_start_the_rest_is_looked_at_only_if_something_was_closed(tmp_path: Path) -> None:
    environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state"), "LOCALLLM_CONFIG_DIR": str(tmp_path / "config")}
    deep, record = put(tmp_path / "state" / "a" / "b" / "c", "x"), put(tmp_path / "state" / "commands" / "1", "x")
    deep.chmod(0o000)
    assert reopen_at_start(tmp_path, environ) == []
    record.chmod(0o000)
    assert reopen_at_start(tmp_path, environ) == [str(record), str(deep)]


def test_at_the_start_what_the_user_has_closed_stays_if_no_command_can_have_done_it(tmp_path: Path) -> None:
    environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state"), "LOCALLLM_CONFIG_DIR": str(tmp_path / "config")}
    (tmp_path / "state" / "commands").mkdir(parents=True)
    theirs = put(tmp_path / "config" / "old.toml", "x")
    theirs.chmod(0o000)
    assert reopen_at_start(tmp_path, environ) == []
    put(tmp_path / "state" / "commands" / "1", "x")
    assert reopen_at_start(tmp_path, environ) == [str(theirs)]


def test_what_a_command_closes_of_collections_is_opened_again(tmp_path: Path) -> None:
    state, data = tmp_path / "state", tmp_path / "data"
    shard, report = put(data / "collections/docs/shard/wal", "x"), put(data / "history/1/report", "x")
    theirs = put(data / "collections/old/files.sqlite", "x")
    theirs.chmod(0o000)
    reopener = Reopener(state, (state, data))
    with reopener.during_command():
        reopener.reopen()
        for closed in (shard, shard.parents[1], report):
            closed.chmod(0o000)
        assert reopener.reopen() == [str(shard.parents[1]), str(shard)]
        assert (mode(shard), mode(theirs), mode(report)) == (0o600, 0o000, 0o000)


def test_what_was_closed_before_the_commands_stays_closed(tmp_path: Path) -> None:
    state, data = tmp_path / "state", tmp_path / "data"
    theirs, reports, journal = data / "private", put(data / "reports" / "1", "x").parent, put(state / "journal", "x")
    theirs.mkdir()
    for closed in (theirs, journal):
        closed.chmod(0o000)
    reopener = Reopener(state, (state, data))
    with reopener.during_command():
        assert reopener.reopen() == [str(journal)]
        reports.chmod(0o000)
        with reopener.during_command():
            assert reopener.reopen() == [str(reports)], "the first command may have closed it"
            data.chmod(0o000)
        assert reopener.reopen() == [str(data)]
        theirs.chmod(0o700)
        assert reopener.reopen() == []
        theirs.chmod(0o000)
        assert reopener.reopen() == [str(theirs)], "it was open meanwhile"
    theirs.chmod(0o000)
    reports.chmod(0o500)
    with reopener.during_command():
        assert reopener.reopen() == []
    assert [mode(path) for path in (theirs, reports)] == [0o000, 0o500]


def test_the_error_names_what_of_our_own_cannot_be_used(tmp_path: Path) -> None:
    environ = {"LOCALLLM_STATE_DIR": str(tmp_path)}
    error = closed_folder(PermissionError(13, os.strerror(13), str(tmp_path / "trust.json")), environ)
    assert error
    assert (error.code, str(tmp_path / "trust.json") in error.what) == ("E1086", True)
    assert closed_folder(PermissionError(13, os.strerror(13), "/etc/shadow"), environ) is None
    assert closed_folder(ValueError(), environ) is None
