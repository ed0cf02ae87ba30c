"""Answers put through a dialect's reader, cut into pieces of every size."""

import msgspec

from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolSpec, UserMessage
from localllm.llm.providers.base import Chunk, FinishChunk, MessageAssembler, TextChunk, ThinkingChunk
from localllm.llm.tool_calling.dialect import Dialect, Reader

READ_FILE = ToolSpec(
    "read_file",
    "Read a text file, whole or in part.",
    {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "path in the project"},
            "max_lines": {"type": "integer", "description": "how many lines"},
        },
        "required": ["file_path"],
    },
)
WRITE_FILE = ToolSpec(
    "write_file",
    "Write a whole file.",
    {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
    },
)
GIT_STATUS = ToolSpec("git_status", "Show the branch.", {"type": "object", "properties": {}, "required": []})
RUN_COMMAND = ToolSpec(
    "run_command",
    "Run a command.",
    {
        "type": "object",
        "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
        "required": ["command"],
    },
)
TOOLS = (GIT_STATUS, READ_FILE, RUN_COMMAND, WRITE_FILE)
REQUEST = CompletionRequest(model="m", messages=(UserMessage("Go"),), tools=TOOLS)


class Answer(msgspec.Struct, frozen=True):
    """What came of an answer. A call is its name and its arguments."""

    text: str
    thinking: str
    calls: tuple[tuple[str, str], ...]


def read(reader: Reader, answer: str, size: int, finish: str = "stop") -> tuple[AssistantMessage, list[Chunk]]:
    """The message, and every chunk, of an answer that comes in pieces of `size` characters."""
    chunks: list[Chunk] = []
    for start in range(0, len(answer), size):
        chunks += reader.feed(TextChunk(answer[start : start + size]))
    chunks += [*reader.feed(FinishChunk(finish)), *reader.feed(FinishChunk(""))]
    chunks += reader.close()
    assembler = MessageAssembler()
    for chunk in chunks:
        assembler.add(chunk)
    assert assembler.finish_reason == finish
    return assembler.message(), chunks


def answered(dialect: Dialect, answer: str, finish: str = "stop", request: CompletionRequest = REQUEST) -> Answer:
    """What comes of an answer, the same for all sizes of its pieces. What is shown on the way is its beginning."""
    told: set[Answer] = set()
    for size in {*range(1, 9), 13, 64, max(1, len(answer))}:
        message, chunks = read(dialect.reader(request), answer, size, finish)
        calls = tuple((call.name, call.arguments) for call in message.tool_calls)
        told.add(Answer(message.text, message.thinking, calls))
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == message.text
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == message.thinking
    assert len(told) == 1, told
    return told.pop()
