"""Entries of a session's log: events of its runs, and records from which the session is resumed.

The records are for the log alone and never shown. `Kept`, `Noted`, `Rewritten` and `Withdrawn` are the changes of the
conversation, in order: replayed, they give exactly the messages that the model was sent.
"""

from collections.abc import Callable
from functools import cache

import msgspec

from localllm.base.events import AgentEvent, Compacted, Delegated, Json, ToolFinished
from localllm.base.jsontext import encode_json
from localllm.llm.messages import Image, Message

_LONGEST_PAYLOAD = 1_000
_LONGEST_DIFF = 50_000
"""Maximum bytes of a field and of the diff of a tool's answer.
Longer ones are in the message to the model, or in the call."""


class Record(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """The base class of entries that are not events. Times are seconds since the epoch."""


class Began(Record, frozen=True):
    """The first line. `seal` proves that this user's program created the log; `forked_from` is the original session."""

    session_id: str
    time: float
    version: str
    seal: str = ""
    forked_from: str = ""


class Adopted(Record, frozen=True):
    """The log was in the project so far, where a command could have changed it, or has no seal of this user's when it
    is continued: its content is untrusted. An earlier version stored it there, or it came with the project."""


class Forked(Record, frozen=True):
    """The entries before this were copied from the original session."""

    time: float


class Profiled(Record, frozen=True):
    """The name of the profile, which sets the amount of instructions and tools."""

    name: str


class Kept(Record, frozen=True):
    """A message was added; a system message replaces the first one.
    `words` of it are the user's own; `typed` is what was typed of these, if the rest was pasted or is of a
    project's alias."""

    message: Message
    words: str = ""
    typed: str | None = None


class Noted(Record, frozen=True):
    """The newest message was extended by a paragraph and images; `words` of it are the user's own. `typed`: see
    Kept."""

    text: str
    images: tuple[Image, ...] = ()
    words: str = ""
    typed: str | None = None


class Worded(msgspec.Struct, frozen=True, array_like=True):
    """The user's words, verbatim, and the number of their message; 0 if they were moved to a file."""

    text: str
    message: int


class Rewritten(Record, frozen=True):
    """The messages that replace the conversation: its next generation."""

    messages: tuple[Message, ...]
    words: tuple[Worded, ...] = ()


class Withdrawn(Record, frozen=True):
    """The user's newest message was withdrawn."""


class Pointed(Record, frozen=True):
    """A checkpoint: number of messages of that generation, number of `Changed` before it, and the `plan`."""

    number: int
    name: str
    by_hand: bool
    time: float
    messages: int
    generation: int
    position: int
    plan: str = ""


class Changed(Record, frozen=True):
    """A file changed in the session, from one state to another, as named by the snapshots.
    `taken_back`: by the user, with /undo, /redo or /rewind, and not together with the conversation."""

    path: str
    before: str
    after: str
    taken_back: bool = False


class Planned(Record, frozen=True):
    """The model's current TODO list, as Markdown."""

    text: str


class Tainted(Record, frozen=True):
    """Untrusted text was added to the conversation; `by_command`: by a command that reached other machines."""

    by_command: bool = False


class Titled(Record, frozen=True):
    """The session's title; empty if it was removed."""

    title: str


class Chosen(Record, frozen=True):
    """The user switched to this model; empty if to whatever another provider or address offers."""

    model: str


class Resumed(Record, frozen=True):
    """The session was resumed, in another process."""

    time: float


class OneShot(Record, frozen=True):
    """The session was begun by a single request outside of a chat (-p). Sessions of which nothing but this is known,
    without a `Resumed` after it, are deleted before others."""


class Ended(Record, frozen=True):
    """The session was closed and its record stored. A log that does not end with this was killed."""

    time: float


LogRecord = (
    Began
    | Adopted
    | Forked
    | Profiled
    | Chosen
    | Kept
    | Noted
    | Rewritten
    | Withdrawn
    | Pointed
    | Changed
    | Planned
    | Tainted
    | Titled
    | Resumed
    | OneShot
    | Ended
)
Entry = AgentEvent | LogRecord

Keep = Callable[[Entry], None]
"""Callback that stores an entry in the log."""


def encode(entry: Entry) -> bytes:
    """Encode the entry as one line of JSON, without the newline and without what the log has elsewhere."""
    return encode_json(_lean(entry))


def decode(line: bytes) -> Entry:
    """Decode the entry in a line; msgspec.DecodeError (or its ValidationError) if it is none."""
    try:
        return _decoder().decode(line)
    except (UnicodeError, RecursionError) as error:  # not UTF-8; nested too deeply
        raise msgspec.DecodeError(str(error)) from error


@cache
def _decoder() -> msgspec.json.Decoder[Entry]:
    return msgspec.json.Decoder(Entry)  # creating it takes longer than decoding many lines


def starts(kind: type[msgspec.Struct]) -> bytes:
    """Return the beginning of the lines of this kind of entry."""
    return b'{"type":"%s"' % kind.__name__.encode()


def _lean(entry: Entry) -> Entry:
    match entry:
        case ToolFinished(payload=payload):
            return msgspec.structs.replace(entry, payload=_small_parts(payload))
        case Delegated(event=ToolFinished(payload=payload) as finished):
            small = msgspec.structs.replace(finished, payload=_small_parts(payload))
            return msgspec.structs.replace(entry, event=small)
        case Compacted():  # the messages are those of the Rewritten before it
            return msgspec.structs.replace(entry, messages=())
        case _:
            return entry


def _small_parts(payload: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in payload.items() if _is_small(name, value)}


def _is_small(name: str, value: Json) -> bool:
    return len(encode_json(value)) <= (_LONGEST_DIFF if name == "diff" else _LONGEST_PAYLOAD)
