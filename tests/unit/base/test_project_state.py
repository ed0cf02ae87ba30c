"""Files with something for each project: several programs change them, and none takes another's change away."""

import stat
import threading
from functools import partial
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.project_state import change_file, name_of, newest


class Store(msgspec.Struct):
    projects: dict[str, int] = {}


def test_changes_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "state" / "seen.json"

    def read() -> Store:
        return msgspec.json.decode(file.read_bytes(), type=Store) if file.exists() else Store()

    def put(name: str, store: Store) -> None:
        store.projects[name] = 1

    def work(name: str) -> None:
        for number in range(5):
            change_file(file, read, partial(put, f"{name}{number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read().projects) == 15
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    with pytest.raises(ConfigurationError) as refused:
        change_file(tmp_path / "state" / "seen.json", Store, lambda _: None)
    assert refused.value.key == "config_unwritable"


def test_any_path_is_a_name_that_json_can_hold() -> None:
    assert name_of(Path("/a/日本")) == "/a/日本"
    assert msgspec.json.encode(name_of(Path("/a/\udcff"))) == b'"/a/\\\\xff"'


def test_the_oldest_entries_go_first() -> None:
    assert newest({"a": 1, "b": 2, "c": 3}, 2) == {"b": 2, "c": 3}
