"""Files named in a request as @path, @path:line or @path:first-last."""

import re

import msgspec

from localllm.agent.steering import unforged
from localllm.base.events import AgentEvent, Emit, Json, Notice, ToolCall
from localllm.base.i18n import tr
from localllm.base.jsontext import encode_json
from localllm.llm.messages import Image
from localllm.tools.tool_system import ToolSystem

_REFERENCE = r"""(?<![^\s(\[{（「『【])@            # an @ that begins a word
    (?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"@()\[\]{}（）「」『』【】、。，：:;,]+?))
    (?::(?P<first>\d+)(?:-(?P<last>\d+))?)?
    (?=[.!?]*(?:[\s()\[\]{}（）「」『』【】、。，：:;,]|$))"""


class FileReference(msgspec.Struct, frozen=True):
    """A file, or some of its lines: `first_line` counts from 1 and is 0 for the whole file."""

    path: str
    first_line: int = 0
    line_count: int = 0


def find_references(text: str) -> list[FileReference]:
    """The references in `text`, each once, in order. An e-mail address is none: an @ begins a word."""
    found: dict[FileReference, None] = {}
    for match in re.finditer(_REFERENCE, text, re.VERBOSE) if "@" in text else ():
        first = int(match["first"] or 0)
        last = int(match["last"] or first)
        found[FileReference(match["quoted"] or match["bare"], first, max(1, last - first + 1) if first else 0)] = None
    return list(found)


async def with_files(query: str, tools: ToolSystem, room: int, emit: Emit) -> tuple[str, tuple[Image, ...]]:
    """The query with the content of every file it names behind it, in `room` characters, and the pictures among these.
    What has no room or cannot be read is told."""
    parts = [query]
    images: list[Image] = []
    for number, reference in enumerate(find_references(query)):
        call = ToolCall(f"@{number}", "read_file", encode_json(_arguments(reference)).decode())
        result = await tools.execute(call, _show_nobody)
        room -= len(result.for_model)
        if result.success and room < 0:
            parts.append(f'<file path="{reference.path}">\n[left out: no room; use read_file]\n</file>')
            emit(Notice(text=tr("context.no_room_for_file", path=reference.path), level="warning"))
        elif result.success:
            parts.append(f'<file path="{reference.path}">\n{unforged(result.for_model)}\n</file>')
            images += result.images
        else:
            emit(Notice(text=f"@{reference.path}: {result.for_model}", level="warning"))
    return "\n\n".join(parts), tuple(images)


def _arguments(reference: FileReference) -> dict[str, Json]:
    arguments: dict[str, Json] = {"file_path": reference.path}
    if reference.first_line:
        arguments |= {"start_line": reference.first_line, "max_lines": reference.line_count}
    return arguments


def _show_nobody(_event: AgentEvent) -> None:
    """Reading a file the person named is no step of the model's."""
