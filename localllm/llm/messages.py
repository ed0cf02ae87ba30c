"""Messages between agent, model and tools; tool calls in a line; framed texts in requests."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from localllm.base.events import Json, ToolCall, Usage
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern


class SystemMessage(msgspec.Struct, frozen=True, tag="system", tag_field="role"):
    """Who the assistant is and how it works. Always the first message, never changed in a session."""

    text: str


class Image(msgspec.Struct, frozen=True):
    """A picture as it lies in its file: `media_type` is image/png, image/jpeg, image/webp or image/gif."""

    media_type: str
    data: bytes


class UserMessage(msgspec.Struct, frozen=True, tag="user", tag_field="role", omit_defaults=True):
    """What the person said, with the files it names."""

    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", tag_field="role"):
    """One whole answer of the model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


class ToolMessage(msgspec.Struct, frozen=True, tag="tool", tag_field="role", omit_defaults=True):
    """The result of the call `call_id`, as text for the model, with the pictures it found."""

    call_id: str
    name: str
    text: str
    images: tuple[Image, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it. `parameters` is a flat JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Json]


ToolChoice = Literal["auto", "none", "required"]


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides an answer. `max_tokens` 0 leaves the limit to the server.

    `schema`: the answer must be a JSON object of this schema, as far as the server holds it to that; beside `tools`, of
    which one may be called all the same, it leaves the prompt as it is. `stop`: the answer ends before any of these.
    `thinking` False: without thinking, where the server knows how. `slot`: the place in the server's memory to read the
    prompt into (see Slots), None for whichever it takes.

    `whole`: nobody watches the answer arrive, so that it may come in one piece, which costs less; a provider that
    cannot ask for that streams it. `most_bytes`: an answer whose body is longer is broken off (llm_endless); 0 for the
    longest there is. `headers` are sent along over HTTP.
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
    """A gathered answer: the message, why it ended, and what it cost."""

    message: AssistantMessage
    finish_reason: str
    usage: Usage


_PATHS = ("file_path", "path", "file", "filename")
_TELLING = ("file_path", "path", "command", "pattern", "query", "url")
_TEXTS = ("content", "old_string", "new_string")

_LONGEST_BRIEF = 80
_LONGEST_SMALL = 24
_LONGEST_STATED = 160
_LONGEST_ARGUMENT = 80
"""Characters: of a call in a few words, of an argument small enough for it, of all arguments in a line, and of each."""


def arguments_in(written: str) -> dict[str, Json]:
    """The arguments by name, from the text of a call; none where that is no JSON object."""
    try:
        return decode_json(written or "{}", dict[str, Json])
    except msgspec.DecodeError:
        return {}


def canonical(written: str) -> str:
    """The text of arguments with sorted keys, the same for equal ones; what is no JSON as it is."""
    try:
        return msgspec.json.encode(decode_json(written or "{}", object), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return written


def path_of(call: ToolCall) -> str:
    """The file or folder a call is about, as it was named; "" where it is about none, or the whole project."""
    arguments = arguments_in(call.arguments)
    found = (arguments.get(name) for name in _PATHS)
    return next((path for path in found if isinstance(path, str) and path not in ("", ".")), "")


def in_few_words(tool: str, written: str) -> str:
    """A call for whoever only has to know which one it was: the tool and the argument that tells most, else the first;
    then the small ones by name, without which calls that differ would look alike. `run_command make`."""
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
    """A call for whoever has to know what was asked for: the tool and every argument, as far as they are short.
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
"""Begins what the program itself has taken down, after the model's summary in a state."""

_STATE = late_pattern(r"<state>\n(.*?)(?:\n</state>|\Z)", re.DOTALL)
_SAID = late_pattern(r"<said>\n(.*?)\n</said>", re.DOTALL)
_SITUATION = late_pattern(r"^\[Project [^\n]*\]$", re.MULTILINE)


def is_summed_up(text: str) -> bool:
    """Whether this is such a message."""
    return text.startswith(BEGINNING)


def state_in(text: str) -> str:
    """The state of the work it tells of."""
    found = _STATE.search(text)
    return found[1] if found else ""


def newest_request(text: str) -> str:
    """What is to be answered, with where and when that is: the new request in it, else what the user said last."""
    before, now, request = text.partition(f"{NOW}\n\n")
    said = _SAID.findall(before)
    asked = request if now else said[-1] if said else ""
    found = _SITUATION.search(before)
    return f"{asked}\n\n{found[0]}" if found else asked


Tag = Literal["project-instructions", "project-notes"]

LINKED = (".md", ".mdc", ".mdx", ".markdown", ".txt")
"""How a file must end for a link in the place of such a text to be followed: what a project one has been given links to
could be its user's secrets, or a program."""

_MARK = late_pattern(r"^<(?P<end>/?)(?P<tag>project-instructions|project-notes)>$", re.MULTILINE)
_CLOSING = late_pattern(r"<\s{0,9}/\s{0,9}(?=project-(?:instructions|notes)\b)", re.IGNORECASE)


def framed(tag: Tag, about: str, text: str) -> str:
    """The text with what is said `about` it before it; nothing in it ends the frame."""
    harmless = _CLOSING.sub("< /", text)
    return f"<{tag}>\n{about}\n{harmless}\n</{tag}>"


def framed_in(text: str) -> str:
    """What of a message is such a text, frames included."""
    return "\n\n".join(text[start:end] for start, end in _frames(text))


def without_framed(text: str) -> str:
    """The message without such texts."""
    edges = [0, *(edge for frame in _frames(text) for edge in frame), len(text)]
    kept = (text[start:end].strip("\n") for start, end in zip(edges[::2], edges[1::2], strict=True))
    return "\n\n".join(filter(None, kept))


def _frames(text: str) -> Iterator[tuple[int, int]]:
    """From where to where such texts stand, each up to the first end of its kind."""
    marks = list(_MARK.finditer(text))
    last = {mark["tag"]: mark.start() for mark in marks if mark["end"]}
    opening: re.Match[str] | None = None
    for mark in marks:
        if opening is None and not mark["end"] and last.get(mark["tag"], -1) > mark.start():
            opening = mark
        elif opening is not None and mark["end"] and mark["tag"] == opening["tag"]:
            yield opening.start(), mark.end()
            opening = None
