"""Session logs: what was written is read back as the same entries, and a log has one writer at a time."""

import errno
import os
import stat
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.events import (
    CommandOutput,
    Compacted,
    Consulting,
    Delegated,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolFinished,
)
from localllm.llm.messages import AssistantMessage, Image, SystemMessage, ToolMessage, UserMessage
from localllm.sessions.entries import Began, Entry, Kept, Noted, Rewritten, Worded
from localllm.sessions.log import SessionLog, new_session_id, read_session
from localllm.sessions.relocation import adopt
from tests.support.session_logs import Holder

BEGAN = Began(session_id="one", time=1.5, version="0")
ENTRIES: list[Entry] = [
    Kept(message=SystemMessage("Be good.")),
    RunStarted(session_id="s", query="直して", provider="scripted", model="m"),
    Kept(message=UserMessage("直して @a.png", (Image("image/png", b"\x89PNG\x00\xff"),)), words="直して @a.png"),
    Noted(text="[plan]"),
    MessageCompleted(text="Let me\nsee", tool_calls=(ToolCall("c", "read_file", '{"a": "😀"}'),)),
    Kept(message=AssistantMessage("Let me\nsee", (ToolCall("c", "read_file", '{"a":  "😀"}'),), "hm")),
    ToolFinished(call_id="c", name="read_file", success=True, summary="1 line", payload={"content": "é\u2028"}),
    Kept(message=ToolMessage("c", "read_file", "é\u2028")),
    Rewritten(messages=(SystemMessage("Be good."), UserMessage("直して")), words=(Worded("直して", 1),)),
    RunFinished(status="done", answer="Done", steps=2),
]


def write(folder: Path, entries: list[Entry]) -> Path:
    log = SessionLog(folder, "one", BEGAN)
    for entry in entries:
        log.append(entry)
    log.close()
    return log.file


def test_a_log_replays_its_entries(tmp_path: Path) -> None:
    read = read_session(write(tmp_path / "sessions", ENTRIES))
    assert list(read.entries) == [BEGAN, *ENTRIES]
    assert (read.torn_lines, read.is_torn) == (0, False)


def test_the_pieces_of_an_answer_and_of_an_output_are_not_kept(tmp_path: Path) -> None:
    entries: list[Entry] = [
        ENTRIES[1],
        ThinkingDelta(text="h"),
        TextDelta(text="Do"),
        TextDelta(text="ne"),
        CommandOutput(lines=("so far",)),
        Consulting(roles=("judge",)),
        ENTRIES[-1],
    ]
    assert read_session(write(tmp_path, entries)).entries == (BEGAN, ENTRIES[1], ENTRIES[-1])


def test_who_says_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    file = write(tmp_path / "sessions", [ENTRIES[0], Notice(text="another model answers")])
    assert not file.parent.exists()


def test_what_the_model_has_read_is_not_kept_twice(tmp_path: Path) -> None:
    payload = {"content": "x" * 5000, "diff": "+" * 5000, "metadata": {"return_code": 1}}
    whole = ToolFinished(call_id="c", name="t", success=True, summary="s", payload=payload)
    (_, kept) = read_session(write(tmp_path, [whole])).entries
    assert isinstance(kept, ToolFinished)
    assert kept.payload == {"diff": "+" * 5000, "metadata": {"return_code": 1}}


def test_the_messages_of_a_compaction_stand_before_it_and_are_not_kept_twice(tmp_path: Path) -> None:
    compacted = Compacted(how="summarised", before=9, after=1, messages=({"role": "user"},))
    finished = ToolFinished(call_id="c", name="t", success=True, summary="s", payload={"content": "x" * 5000, "n": 1})
    delegated = Delegated(agent="a", event=finished)
    (_, _, kept, inner) = read_session(write(tmp_path, [ENTRIES[1], compacted, delegated])).entries
    assert kept == msgspec.structs.replace(compacted, messages=())
    assert isinstance(inner, Delegated)
    assert inner.event == msgspec.structs.replace(finished, payload={"n": 1})


def test_half_a_surrogate_pair_does_not_stop_the_log(tmp_path: Path) -> None:
    (_, kept) = read_session(write(tmp_path, [RunFinished(status="done", answer="name \udcff.txt")])).entries
    assert kept == RunFinished(status="done", answer="name \ufffd.txt")


def test_a_log_is_made_with_the_first_event_and_held_from_then_on(tmp_path: Path) -> None:
    made: list[bool] = []
    log = SessionLog(tmp_path / "sessions", "one", BEGAN, lambda: made.append(log.is_open))
    log.append(ENTRIES[0])
    assert (made, log.is_open, log.file.parent.exists()) == ([], False, False)
    for entry in ENTRIES[1:4]:
        log.append(entry)
    assert (made, log.is_open) == ([True], True)
    assert stat.S_IMODE(log.file.parent.stat().st_mode) == 0o700
    with pytest.raises(ConfigurationError):
        SessionLog.resume(log.file.parent, "one", patience=0.0)
    log.close()
    log.close()
    assert not log.is_open
    again = SessionLog.resume(log.file.parent, "one", patience=0.0)
    assert (again.is_open, again.failure) == (True, None)
    again.close()
    assert isinstance(SessionLog.resume(tmp_path, "none").failure, FileNotFoundError)


def test_each_entry_is_on_disk_before_the_next(tmp_path: Path) -> None:
    log = SessionLog(tmp_path, "one", BEGAN)
    log.append(ENTRIES[0])
    log.append(ENTRIES[1])
    assert read_session(log.file).entries == (BEGAN, ENTRIES[0], ENTRIES[1])
    log.close()


def test_a_torn_last_line_is_told_and_the_next_is_one_of_its_own(tmp_path: Path) -> None:
    file = write(tmp_path, ENTRIES)
    file.write_bytes(file.read_bytes()[:-20])
    read = read_session(file)
    assert (read.torn_lines, read.is_torn) == (1, True)
    assert list(read.entries) == [BEGAN, *ENTRIES[:-1]]
    log = SessionLog.resume(tmp_path, "one")
    log.append(ENTRIES[-1])
    log.close()
    read = read_session(file)
    assert (read.torn_lines, read.is_torn) == (1, False)
    assert list(read.entries) == [BEGAN, *ENTRIES]


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(write(tmp_path, ENTRIES).stat().st_mode) == 0o600


def test_a_log_that_cannot_be_made_does_not_stop_the_work(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file where the folder should be")
    log = SessionLog(tmp_path / "sessions", "one", BEGAN)
    for entry in ENTRIES:
        log.append(entry)
    log.close()
    assert isinstance(log.failure, OSError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_does_not_stop_the_work(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").symlink_to("/dev/full")
    log = SessionLog.resume(tmp_path, "one")
    assert isinstance(log.failure, OSError), "a link is not followed"
    log = SessionLog(tmp_path, "two", BEGAN)
    log.append(ENTRIES[1])
    full = os.open("/dev/full", os.O_WRONLY)
    made = next(fd for fd in range(3, 256) if is_open_as(fd, log.file))
    os.dup2(full, made)  # as if the disk under the open file were full
    os.close(full)
    log.append(ENTRIES[-1])
    log.append(ENTRIES[-1])
    assert isinstance(log.failure, OSError)
    assert log.failure.strerror == "No space left on device"
    log.close()


def is_open_as(fd: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), file.stat())
    except OSError:
        return False


def test_two_programs_do_not_write_into_one_conversation(tmp_path: Path) -> None:
    write(tmp_path, ENTRIES)
    with Holder(tmp_path, "one") as other:
        with pytest.raises(ConfigurationError) as caught:
            SessionLog.resume(tmp_path, "one", patience=0.0)
        assert caught.value.key == "session_open"
        other.kill()
        log = SessionLog.resume(tmp_path, "one")
        assert log.is_open, "a kill gives the lock back"
        log.close()


def test_session_ids_sort_by_time_and_differ() -> None:
    first, second = new_session_id(), new_session_id()
    assert first[:15] <= second[:15]
    assert len({new_session_id() for _ in range(500)}) == 500


def test_a_log_that_is_larger_than_any_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.jsonl"
    file.touch()
    os.truncate(file, 1 << 42)
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        read_session(file)
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        adopt(file, tmp_path / "kept")
