"""The IPO log: blocks to read, and the same as JSON lines."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, ToolMessage, UserMessage
from localllm.sessions.ipo_log import IpoLog

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_turn_is_written_as_it_went(tmp_path: Path) -> None:
    log = IpoLog(tmp_path / "turn.log", now=lambda: NOW)
    log.message(UserMessage("保証は何年ですか"))
    log.message(AssistantMessage("", (ToolCall("1", "search", '{"query": "保証", "k": 3}'),), "think of it"))
    log.message(ToolMessage("1", "search", "two years\x1b[2J"))
    log.failure("the server is gone")
    text = (tmp_path / "turn.log").read_text("utf-8")
    heads = [line for line in text.splitlines() if line.startswith("=" * 20 + " [")]
    assert [head.strip("= ") for head in heads] == [
        "[IPO: INITIAL INPUT]",
        "[IPO: LLM OUTPUT]",
        "[IPO: TOOL RESULT INPUT]",
        "[IPO: TURN FAILED]",
    ]
    assert '[Thinking]: think of it\n[Function Call]: search(query="保証", k=3)\n' in text
    assert "\x1b" not in text
    lines = [msgspec.json.decode(line) for line in (tmp_path / "turn.jsonl").read_bytes().splitlines()]
    assert [line["kind"] for line in lines] == ["input", "output", "tool_result", "failure"]
    assert lines[2]["text"] == "two years\x1b[2J"
    assert lines[0]["time"] == NOW.isoformat()


def test_arguments_that_are_no_json_stand_as_they_are(tmp_path: Path) -> None:
    IpoLog(tmp_path / "a.log").message(AssistantMessage("", (ToolCall("1", "search", '{"query": '),)))
    assert '[Function Call]: search({"query": )' in (tmp_path / "a.log").read_text("utf-8")


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    IpoLog(tmp_path / "a.jsonl").message(UserMessage("x"))
    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
        "a.jsonl": 0o600,
        "a.jsonl.jsonl": 0o600,
    }


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseUsageError, match=r"a\.log"):
        IpoLog(tmp_path / "none" / "a.log").message(UserMessage("x"))
