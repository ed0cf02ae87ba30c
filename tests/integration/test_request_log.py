"""The log of requests beside other programs: killed in the middle, two at once, a full disk, a read-only folder."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from localllm.ensemble.log_database import read_runs
from localllm.ensemble.request_log import RequestLog
from tests.support.ensemble_runs import QUESTION, result
from tests.support.read_only import read_only

ROOT = Path(__file__).parents[2]
WRITER = (sys.executable, "-m", "tests.support.log_writer")


def start(file: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([*WRITER, str(file), *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def soon(holds: Callable[[], object]) -> None:
    """Return once it holds; the time limit of the test is for what never does."""
    while not holds():
        time.sleep(0.01)


def count(file: Path) -> int:
    with closing(sqlite3.connect(file, timeout=10)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'runs'").fetchone()[0]:
            return 0
        return db.execute("SELECT count(*) FROM runs").fetchone()[0]


def test_kill_9_in_the_middle_of_writing(tmp_path: Path) -> None:
    file = tmp_path / "requests.sqlite"
    before = 0
    for turn in range(5):
        with start(file, f"w{turn}", "0", "3000") as writer:
            try:
                soon(lambda: file.exists() and count(file) > before + 20)  # noqa: B023 - waited for here
            finally:
                os.kill(writer.pid, signal.SIGKILL)
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            parts = "SELECT run, count(*), min(length(text)) FROM answers GROUP BY run"
            assert {row[1:] for row in db.execute(parts)} == {(3, 3000)}
            whole = db.execute("SELECT count(*) FROM runs WHERE id NOT IN (SELECT run FROM answers)").fetchone()
            assert whole == (0,)
        before = count(file)
    log = RequestLog(file)
    log.add(QUESTION, result("afterwards"))
    log.close()
    assert read_runs(file, 1)[0].run_id == "afterwards"


def test_two_servers_at_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "requests.sqlite"
    with start(file, "one", "300") as one, start(file, "two", "300") as two:
        assert [one.communicate()[0], two.communicate()[0]] == ["done\n", "done\n"]
    names = [run.run_id for run in read_runs(file, 1_000)]
    assert len(names) == len(set(names)) == 600


def test_two_servers_put_a_damaged_file_aside_once(tmp_path: Path) -> None:
    file = tmp_path / "requests.sqlite"
    file.write_bytes(b"no database" * 2_000)
    with start(file, "one", "50") as one, start(file, "two", "50") as two:
        said = [*one.communicate()[0].split(), *two.communicate()[0].split()]
    assert sorted(said) == ["done", "done", "request_log_put_aside"]
    assert len(read_runs(file, 1_000)) == 100
    assert (tmp_path / "requests.damaged.sqlite").read_bytes().startswith(b"no database")


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    ended = read_only(tmp_path, [*WRITER, "requests.sqlite", "w", "50"])
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "request_log_unusable\ndone\n", "")


def test_a_log_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    with start(tmp_path / "requests.sqlite", "w", "50") as writer:
        assert writer.communicate()[0] == "done\n"
    code = "import sys; from pathlib import Path; from localllm.ensemble.log_database import read_runs"
    ended = read_only(tmp_path, [sys.executable, "-c", f"{code}; print(len(read_runs(Path('requests.sqlite'), 100)))"])
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "50\n", "")


@pytest.mark.parametrize(("room", "whole"), [("16k", ""), ("600k", "ok")])
def test_a_full_disk_is_said_once(tmp_path: Path, room: str, whole: str) -> None:
    """What was written before stays whole; where not even the file can be made, there is nothing to look at."""
    check = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check').fetchone())"
    script = f'mount -t tmpfs -o size={room} none "$0" && "$@"; echo $?; '
    script += f'{sys.executable} -c "{check}" "$0/requests.sqlite"' if whole else ""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, tmp_path]
    ended = subprocess.run(
        [*command, *WRITER, tmp_path / "requests.sqlite", "w", "100", "10000"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.stdout.split() == ["request_log_unusable", "done", "0", *whole.split()]
