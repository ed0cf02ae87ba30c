"""Logs that are moved out of a project survive other programs, kills and folders that cannot be written to."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from tests.support.read_only import read_only
from tests.support.session_logs import Holder
from tests.unit.sessions.test_relocation import in_project, kept_before, of_project, without_mark

WORKER = """
import sys
from pathlib import Path
from tests.unit.sessions.test_relocation import of_project
{before}
of_project(Path(sys.argv[1])).adopt_sealed()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path / "project"
    root.mkdir()
    return root


def test_what_another_program_has_open_stays_till_the_next_time(root: Path) -> None:
    first, second = kept_before(root, "one", "two")
    store = of_project(root)
    with Holder(root / ".localllm" / "sessions", first):
        store.adopt_sealed()
        assert [store.file_of(name).parent == store.folder for name in (first, second)] == [False, True]
        with pytest.raises(ConfigurationError) as caught:
            store.open_log(first, patience=0.0)
        assert caught.value.key == "session_open"
    store.adopt_sealed()
    assert store.file_of(first).parent == store.folder


@pytest.mark.parametrize(
    "killed_in", ["relocation.write_own", "relocation.os.utime", "relocation._sync", "Path.unlink", "Path.rmdir"]
)
def test_a_kill_in_the_middle(root: Path, killed_in: str) -> None:
    names = kept_before(root, "one", "two")
    before = {name: in_project(root).file_of(name).read_bytes() for name in names}
    kill = "os.kill(os.getpid(), 9)"
    patch = f"import os\nfrom localllm.sessions import relocation\n{killed_in} = lambda *_, **__: {kill}"
    script = WORKER.format(before=patch)
    done = subprocess.run([sys.executable, "-c", script, str(root)], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    store = of_project(root)
    assert {one.first for one in store.all()} == {"one", "two"}
    store.adopt_sealed()
    assert not (root / ".localllm" / "sessions").exists()
    assert {name: without_mark(store.file_of(name)) for name in names} == before


def test_programs_that_start_at_once(root: Path) -> None:
    names = kept_before(root, *map(str, range(10)))
    before = {name: in_project(root).file_of(name).read_bytes() for name in names}
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=lambda: of_project(root).adopt_sealed()) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    store = of_project(root)
    store.adopt_sealed()
    assert {name: without_mark(store.file_of(name)) for name in names} == before
    assert not (root / ".localllm" / "sessions").exists()


def test_in_a_project_that_cannot_be_written_to_they_stay_as_well(root: Path) -> None:
    (name,) = kept_before(root, "one")
    original = in_project(root).file_of(name).read_bytes()
    done = read_only(root, [sys.executable, "-c", WORKER.format(before=""), str(root)])
    assert done.returncode == 0, done.stderr
    assert in_project(root).file_of(name).read_bytes() == original
    store = of_project(root)
    assert [one.first for one in store.all()] == ["one"]
    assert without_mark(store.file_of(name)) == original
