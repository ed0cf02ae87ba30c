"""Answers of models from tests/fixtures/salvage, and what a reader makes of them."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.events import Json
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolSpec
from localllm.llm.providers.base import Chunk, FinishChunk, MessageAssembler, TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.tool_calling.dialect import Reader
from localllm.llm.tool_calling.router import NativeDialect
from localllm.tools.builtin import TOOLS

FOLDER = Path(__file__).parents[1] / "fixtures" / "salvage"
TOOLS: dict[str, ToolSpec] = {tool.name: tool.spec for tool in TOOLS}
OFFERED = (
    "read_file",
    "write_file",
    "edit_file",
    "run_command",
    "search_files",
    "list_files",
    "git_log",
    "git_status",
    "git_commit",
)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and what must come of it; see the README beside the files."""

    id: str
    family: str
    note: str
    offered: tuple[str, ...] = OFFERED
    text: str = ""
    thinking: str = ""
    native: tuple[ToolCallChunk, ...] = ()
    finish: str = "stop"
    open: bool = False
    calls: tuple[dict[str, Any], ...] = ()
    said: str | None = ""
    thought: str | None = None
    fault: str = "none"

    def request(self) -> CompletionRequest:
        """The request it answers."""
        return CompletionRequest(model="m", messages=(), tools=tuple(TOOLS[name] for name in self.offered))


def cases() -> Iterator[Case]:
    """All of them, by file."""
    for path in sorted(FOLDER.glob("*.toml")):
        for number, entry in enumerate(tomllib.loads(path.read_text())["case"]):
            yield msgspec.convert({"id": f"{path.stem}-{number}", **entry}, Case)
    for line in (FOLDER / "outside.jsonl").read_text().splitlines():
        yield _from_outside(msgspec.json.decode(line))


def _from_outside(entry: dict[str, Json]) -> Case:
    expect = entry.pop("expect")
    entry |= {
        "calls": expect["calls"],
        "said": expect["text"],
        "thought": expect.get("thinking"),
        "fault": expect["fault"],
    }
    return msgspec.convert(entry, Case)


def reader_for(case: Case) -> Reader:
    """A fresh reader."""
    return NativeDialect(thinking_is_open=case.open).reader(case.request())


def chunks_of(case: Case, size: int) -> Iterator[Chunk]:
    """The answer as a server sends it, `size` characters at a time."""
    for start in range(0, len(case.thinking), size):
        yield ThinkingChunk(case.thinking[start : start + size])
    for start in range(0, len(case.text), size):
        yield TextChunk(case.text[start : start + size])
    yield from case.native
    yield FinishChunk(case.finish)


def read(reader: Reader, chunks: Iterable[Chunk]) -> AssistantMessage:
    """The message that comes of `chunks`."""
    assembler = MessageAssembler()
    for chunk in chunks:
        for part in reader.feed(chunk):
            assembler.add(part)
    for part in reader.close():
        assembler.add(part)
    return assembler.message()
