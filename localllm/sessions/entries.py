"""What a session's log holds: the events of its runs, and between them what a resumed session is rebuilt from.

The entries made here are for the log alone; nobody is shown them. `Kept`, `Noted`, `Rewritten` and `Withdrawn` are the
changes of the conversation, in their order: done again they give the messages exactly as the model was sent them.
"""

from collections.abc import Callable
from functools import cache

import msgspec

from localllm.base.events import AgentEvent, Compacted, Delegated, Json, ToolFinished
from localllm.base.jsontext import encode_json
from localllm.llm.messages import Image, Message

_LONGEST_PAYLOAD = 1_000
_LONGEST_DIFF = 50_000
"""Bytes of a field of a tool's answer, and of its difference: what is longer was read by the model, and stands in the
message it got, or in the call."""


class Record(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """The base of what is no event. Times are seconds since the epoch."""


class Began(Record, frozen=True):
    """The first line. `seal` tells that this user's program has made the log; `forked_from` is the session that this
    one has its beginning from."""

    session_id: str
    time: float
    version: str
    seal: str = ""
    forked_from: str = ""


class Adopted(Record, frozen=True):
    """The log lay in the project until here, where a command could have changed it: an earlier version kept it there,
    or it came with the project. What it holds is a stranger's text."""


class Forked(Record, frozen=True):
    """What stands before this was said in the session this one has its beginning from."""

    time: float


class Profiled(Record, frozen=True):
    """How much the model is told and offered, by the profile's name."""

    name: str


class Kept(Record, frozen=True):
    """The conversation has a message more; a system message takes the place of the first. `words` of it are the
    person's own; `typed` is what he typed of these, where an alias of the project's gave the rest."""

    message: Message
    words: str = ""
    typed: str | None = None


class Noted(Record, frozen=True):
    """The newest message has grown by a paragraph and its pictures; `words` of it are the person's own."""

    text: str
    images: tuple[Image, ...] = ()
    words: str = ""


class Worded(msgspec.Struct, frozen=True, array_like=True):
    """What the person said, verbatim, and the number of the message it is in; 0 where it was put aside into a file."""

    text: str
    message: int


class Rewritten(Record, frozen=True):
    """The conversation consists of these messages now: the next generation of it."""

    messages: tuple[Message, ...]
    words: tuple[Worded, ...] = ()


class Withdrawn(Record, frozen=True):
    """The newest message of the person was taken back."""


class Pointed(Record, frozen=True):
    """A point to go back to: so many messages of that generation, so many `Changed` before it, and the `plan`."""

    number: int
    name: str
    by_hand: bool
    time: float
    messages: int
    generation: int
    position: int
    plan: str = ""


class Changed(Record, frozen=True):
    """A file was changed in the session, from one state to another, as the snapshots name them."""

    path: str
    before: str
    after: str


class Planned(Record, frozen=True):
    """What the model means to do by now: its TODO list, as Markdown."""

    text: str


class Tainted(Record, frozen=True):
    """Text of strangers has come into the conversation."""


class Titled(Record, frozen=True):
    """What the person calls the session; "" for nothing any more."""

    title: str


class Resumed(Record, frozen=True):
    """The session goes on, in another program."""

    time: float


class Ended(Record, frozen=True):
    """The session was closed, and what was to be remembered of it is. A log without this at its end was killed."""

    time: float


LogRecord = (
    Began
    | Adopted
    | Forked
    | Profiled
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
    | Ended
)
Entry = AgentEvent | LogRecord

Keep = Callable[[Entry], None]
"""Where what is to be in the log is put."""


def encode(entry: Entry) -> bytes:
    """The entry as one line of JSON, without the newline, and without what the log holds elsewhere."""
    return encode_json(_lean(entry))


def decode(line: bytes) -> Entry:
    """The entry in a line; msgspec.DecodeError (or its ValidationError) where it is none."""
    try:
        return _decoder().decode(line)
    except (UnicodeError, RecursionError) as error:  # no text; nested without end
        raise msgspec.DecodeError(str(error)) from error


@cache
def _decoder() -> msgspec.json.Decoder[Entry]:
    return msgspec.json.Decoder(Entry)  # making it takes longer than reading many lines


def starts(kind: type[msgspec.Struct]) -> bytes:
    """How a line of this kind of entry begins."""
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
