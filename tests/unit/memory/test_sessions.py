"""Session logs: what was written is read back as the same events."""

import stat
from pathlib import Path

from localllm.base.events import (
    AgentEvent,
    MessageCompleted,
    RunFinished,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolFinished,
    join_deltas,
)
from localllm.memory.sessions import SessionLog, new_session_id, read_session

EVENTS: list[AgentEvent] = [
    RunStarted(session_id="s", query="直して", provider="scripted", model="m"),
    ThinkingDelta(text="hm"),
    ThinkingDelta(text=" hm"),
    TextDelta(text="Let "),
    TextDelta(text="me\nsee"),
    MessageCompleted(text="Let me\nsee", tool_calls=(ToolCall("c", "read_file", '{"a": "😀"}'),)),
    ToolFinished(call_id="c", name="read_file", success=True, summary="1 line", payload={"content": "é\u2028"}),
    TextDelta(text="Done"),
    RunFinished(status="done", answer="Done", steps=2),
]


def write(folder: Path, events: list[AgentEvent]) -> Path:
    log = SessionLog(folder, "one")
    for event in events:
        log.append(event)
    log.close()
    return log.file


def test_a_log_replays_the_events_with_pieces_joined(tmp_path: Path) -> None:
    read = read_session(write(tmp_path / "sessions", EVENTS))
    assert list(read.events) == list(join_deltas(EVENTS))
    assert read.torn_lines == 0
    assert len(read.events) == len(EVENTS) - 2


def test_half_a_surrogate_pair_does_not_stop_the_log(tmp_path: Path) -> None:
    read = read_session(write(tmp_path, [TextDelta(text="name \udcff.txt")]))
    assert read.events == (TextDelta(text="name \ufffd.txt"),)


def test_each_event_is_on_disk_before_the_next(tmp_path: Path) -> None:
    log = SessionLog(tmp_path, "one")
    log.append(EVENTS[0])
    assert read_session(log.file).events == (EVENTS[0],)
    log.close()


def test_a_torn_last_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, EVENTS)
    file.write_bytes(file.read_bytes()[:-20])
    read = read_session(file)
    assert read.torn_lines == 1
    assert list(read.events) == list(join_deltas(EVENTS))[:-1]


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(write(tmp_path, EVENTS).stat().st_mode) == 0o600


def test_a_log_that_cannot_be_written_does_not_stop_the_work(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file where the folder should be")
    log = SessionLog(tmp_path / "sessions", "one")
    log.append(EVENTS[0])
    log.append(EVENTS[-1])
    log.close()
    assert isinstance(log.failure, OSError)


def test_session_ids_sort_by_time_and_differ() -> None:
    first, second = new_session_id(), new_session_id()
    assert first != second
    assert first[:15] <= second[:15]
