"""Messages between agent, model and tools; one-line texts for tool calls; delimited texts in requests."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from localllm.base.events import Json, ToolCall, Usage
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.text.model_orders import without_template_marks


class SystemMessage(msgspec.Struct, frozen=True, tag="system", tag_field="role"):
    """The assistant's role and rules. Always the first message, unchanged throughout a session."""

    text: str


class Image(msgspec.Struct, frozen=True):
    """An image file's content; `media_type` is image/png, image/jpeg, image/webp or image/gif."""

    media_type: str
    data: bytes


class UserMessage(msgspec.Struct, frozen=True, tag="user", tag_field="role", omit_defaults=True):
    """The user's message, with the files it names."""

    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", tag_field="role"):
    """One complete answer of the model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


class ToolMessage(msgspec.Struct, frozen=True, tag="tool", tag_field="role", omit_defaults=True):
    """The result of the call `call_id`, as text for the model, with any images."""

    call_id: str
    name: str
    text: str
    images: tuple[Image, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool's declaration for the model. `parameters` is a flat JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Json]


ToolChoice = Literal["auto", "none", "required"]


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for an answer. `max_tokens` 0 leaves the limit to the server.

    `schema`: the answer must be a JSON object of this schema, as far as the server enforces it; combined with `tools`,
    which may still be called, it does not change the prompt. `stop`: the answer ends before any of these strings.
    `thinking` False: disable thinking where the server supports it. `slot`: the server's cache slot for the prompt (see
    Slots), None for any.

    `whole`: the answer need not be streamed, which costs less; a provider that cannot request that streams it.
    `most_bytes`: a longer response body is aborted (llm_endless); 0 for the general limit. `headers` are added to the
    HTTP request.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = 0
    temperature: float | None = None
    schema: dict[str, Json] | None = None
    stop: tuple[str, ...] = ()
    thinking: bool = True
    slot: int | None = None
    whole: bool = False
    most_bytes: int = 0
    headers: tuple[tuple[str, str], ...] = ()


class Completion(msgspec.Struct, frozen=True):
    """An assembled answer: the message, why it ended, and its token usage."""

    message: AssistantMessage
    finish_reason: str
    usage: Usage


PATH_ARGUMENTS = ("file_path", "path", "file", "filename")
_TELLING = ("file_path", "path", "command", "pattern", "query", "url")
_TEXTS = ("content", "old_string", "new_string")

_LONGEST_BRIEF = 80
_LONGEST_SMALL = 24
_LONGEST_STATED = 160
_LONGEST_ARGUMENT = 80
"""Maximum characters: of a short call text, of a small argument in it, of all arguments in a line, and of each."""


def arguments_in(written: str) -> dict[str, Json]:
    """Parse a call's arguments; empty if they are not a JSON object."""
    try:
        return decode_json(written or "{}", dict[str, Json])
    except msgspec.DecodeError:
        return {}


def canonical(written: str) -> str:
    """Return the arguments' JSON with sorted keys, to compare them; invalid JSON is returned unchanged."""
    try:
        return msgspec.json.encode(decode_json(written or "{}", object), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return written


def path_of(call: ToolCall) -> str:
    """Return the file or folder a call names; "" if it names none, or the whole project."""
    arguments = arguments_in(call.arguments)
    found = (arguments.get(name) for name in PATH_ARGUMENTS)
    return next((path for path in found if isinstance(path, str) and path not in ("", ".")), "")


def in_few_words(tool: str, written: str) -> str:
    """Identify a call briefly: the tool, its main argument (else the first), then small arguments by name, which
    distinguish similar calls. `run_command make`."""
    given = arguments_in(written)
    main = next((name for name in _TELLING if name in given), next(iter(given), ""))
    small = [
        f"{name}={value}"
        for name, value in given.items()
        if name != main and name not in _TEXTS and isinstance(value, str | int | float) and _is_small(str(value))
    ]
    telling = " ".join([str(given.get(main, "")), *small])
    return f"{tool} {' '.join(telling.split())}"[:_LONGEST_BRIEF].strip()


def with_arguments(call: ToolCall) -> str:
    """Describe a call with every argument, truncated.
    `edit_file(file_path=a.py, old_string=x = 1, new_string=x = 2)`."""
    given = arguments_in(call.arguments).items()
    stated = ", ".join(f"{name}={_shortened(str(value), _LONGEST_ARGUMENT)}" for name, value in given)
    return f"{call.name}({_shortened(stated, _LONGEST_STATED)})"


def _is_small(value: str) -> bool:
    return 0 < len(value) <= _LONGEST_SMALL and "\n" not in value


def _shortened(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


BEGINNING = "[Summed up to make room: the conversation until here.]"
NOW = "[Now the user says:]"
STATE_BEGINS, STATE_ENDS = "<state>\n", "\n</state>"
RECORD = "## Record (kept by the program)"
"""Heading of the program's own record, which follows the model's summary in a state."""

_STATE = late_pattern(r"<state>\n(.*?)(?:\n</state>|\Z)", re.DOTALL)
_SAID = late_pattern(r"<said>\n(.*?)\n</said>", re.DOTALL)
_SITUATION = late_pattern(r"^\[Project [^\n]*\]$", re.MULTILINE)


def is_summed_up(text: str) -> bool:
    """Return whether the message is a compaction summary."""
    return text.startswith(BEGINNING)


def state_in(text: str) -> str:
    """Return the state of the work in a compaction summary."""
    found = _STATE.search(text)
    return found[1] if found else ""


def newest_request(text: str) -> str:
    """Return the text to answer and the project line: the new request in a summary, else the user's last one."""
    before, now, request = text.partition(f"{NOW}\n\n")
    said = _SAID.findall(before)
    asked = request if now else said[-1] if said else ""
    found = _SITUATION.search(before)
    return f"{asked}\n\n{found[0]}" if found else asked


Tag = Literal["project-instructions", "project-notes"]

LINKED = (".md", ".mdc", ".mdx", ".markdown", ".txt")
"""File extensions of a link that is followed in place of such a text: anything else a foreign project links to could be
a secret of its user, or a program."""

_MARK = late_pattern(r"^<(?P<end>/?)(?P<tag>project-instructions|project-notes)>$", re.MULTILINE)
_CLOSING = late_pattern(r"<\s{0,9}/\s{0,9}(?=project-(?:instructions|notes)\b)", re.IGNORECASE)


def framed(tag: Tag, about: str, text: str) -> str:
    """Wrap the text in delimiters, with `about` as its first line. Closing delimiters within it, and those of chat
    templates, are defused."""
    harmless = _CLOSING.sub("< /", without_template_marks(text))
    return f"<{tag}>\n{about}\n{harmless}\n</{tag}>"


def framed_in(text: str) -> str:
    """Return the delimited texts of a message, delimiters included."""
    return "\n\n".join(text[start:end] for start, end in _frames(text))


def without_framed(text: str) -> str:
    """Return the message without delimited texts."""
    edges = [0, *(edge for frame in _frames(text) for edge in frame), len(text)]
    kept = (text[start:end].strip("\n") for start, end in zip(edges[::2], edges[1::2], strict=True))
    return "\n\n".join(filter(None, kept))


def _frames(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each delimited text, up to the first end of its kind."""
    marks = list(_MARK.finditer(text))
    last = {mark["tag"]: mark.start() for mark in marks if mark["end"]}
    opening: re.Match[str] | None = None
    for mark in marks:
        if opening is None and not mark["end"] and last.get(mark["tag"], -1) > mark.start():
            opening = mark
        elif opening is not None and mark["end"] and mark["tag"] == opening["tag"]:
            yield opening.start(), mark.end()
            opening = None
