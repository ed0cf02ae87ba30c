"""The heads of messages of gpt-oss, and of Functionary 2.

<|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>
"""

import re

import msgspec

from localllm.llm.dialects.names import tidied
from localllm.llm.dialects.salvage.markers import HARMONY, HARMONY_ENDS
from localllm.llm.dialects.salvage.payloads import Found
from localllm.llm.dialects.salvage.source import Reading, Source

_RECIPIENT = re.compile(r"[\w.\-:/]")
_CHANNELS = ("analysis", "commentary", "final")
_WORDS = ("assistant", *_CHANNELS, "<|constrain|>", "json", "code", "to=", "<|message|>", "<|content|>", *HARMONY)
_MOST_WORDS = 16
"""The longest heads have ten."""
_END = re.compile("|".join(map(re.escape, (*HARMONY_ENDS, *HARMONY))))
_LONGEST = max(map(len, (*HARMONY_ENDS, *HARMONY)))


class Head(msgspec.Struct, frozen=True):
    """What a head says: that a call follows, which is read too, or which channel the text is for."""

    channel: str = ""
    call: Found | None = None


def read_head(source: Source) -> Reading[Head | None]:
    """The head that begins here, whole or with pieces missing; None where it is none."""
    channel = recipient = ""
    seen = False
    for _ in range(_MOST_WORDS):
        place = source.place
        yield from source.blank()
        word = yield from source.accept(*_WORDS)
        if word in ("to=", "<|recipient|>"):
            recipient = yield from source.word(_RECIPIENT)
        elif word in _CHANNELS:
            channel = word
        elif not word:
            source.go(place)
            break
        seen = seen or word not in HARMONY
        if word in ("<|message|>", "<|content|>"):
            break
    if recipient and recipient != "all":
        return Head(channel, (yield from _read_call(source, tidied(recipient))))
    return Head(channel) if seen else None


def _read_call(source: Source, name: str) -> Reading[Found]:
    yield from source.blank()
    start = source.place
    closed = (yield from source.peek()) in ("{", "[") and (yield from source.value())
    if not closed:
        source.go(start)
        written, end = yield from source.until(_END, _LONGEST)
        source.go(source.place - len(end))
        closed = bool(end)
    else:
        written = source.since(start)
    yield from source.blank()
    yield from source.accept(*HARMONY_ENDS)
    return Found(name, written.strip(), closed)
