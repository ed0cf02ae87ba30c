"""Whether the last session was broken off, told from the end of its log."""

from pathlib import Path

from localllm.llm.messages import UserMessage
from localllm.sessions.entries import Ended, Kept, Resumed
from localllm.sessions.store import Sessions
from tests.support.session_logs import Holder, keep, sessions, turn
from tests.unit.sessions.test_store import age

WORK = turn("Fix the discount", "Fixed.")
BROKEN = WORK[:-2]


def told(store: Sessions) -> str:
    return store.broken_off()


def test_in_the_middle_of_a_request(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    assert told(store) == ""
    keep(store, [*WORK, *turn("And the docs", "x")[:-2]], ended=False)
    assert told(store) == "And the docs"


def test_closed_meanwhile_and_far_behind(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    long = Kept(message=UserMessage("x" * 2_000_000))
    keep(store, [*BROKEN, long, Ended(time=1.0)])
    assert told(store) == "Fix the discount"


def test_not_one_that_came_to_its_end_or_was_looked_at_since(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    age(store, keep(store, BROKEN), 2)
    age(store, keep(store, WORK), 1)
    assert told(store) == ""
    keep(store, [*BROKEN, Resumed(time=2.0)])
    assert told(store) == ""


def test_not_one_that_is_open_or_a_strangers(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    name = keep(store, BROKEN, ended=False)
    with Holder(store.folder, name):
        assert told(store) == ""
    assert told(store) == "Fix the discount"
    (tmp_path / "state" / "session.key").write_bytes(b"another user's")
    assert told(sessions(tmp_path)) == ""


def test_a_log_that_is_none(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    store.folder.mkdir()
    (store.folder / "20260101-000000-abcd.jsonl").write_bytes(b'{"type":"RunStarted"')
    (store.folder / "20260101-000000-abce.jsonl").symlink_to("/etc/passwd")
    assert told(store) == ""
