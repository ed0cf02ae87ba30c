"""What a way of calling tools is, and which one each model was found to speak."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.base import logs
from localllm.base.files import atomic_write
from localllm.base.jsontext import encode_json
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk

DialectName = Literal["native", "structured", "text"]
"""native: the server's own tool calls. structured: every step is one JSON object, held to a schema by the server.
text: Thought, Action, Action Input and Final Answer as plain text."""


class Reader(Protocol):
    """Reads one answer: chunks as the server sends them go in, chunks for the agent come out.

    However the answer is cut into chunks, what comes out is the same when joined. Nothing that is markup of a call
    comes out as text, not even for a moment: what may yet become markup is held back.
    """

    @property
    def thinking_was_open(self) -> bool:
        """Whether the answer began in the middle of its thinking."""
        ...

    @property
    def strayed(self) -> bool | None:
        """Whether the answer has not the form its server was told to hold it to; None where there is no such form."""
        ...

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What can be told of the answer with this chunk."""
        ...

    def close(self) -> list[Chunk]:
        """What was held back, at the end of the answer. A call that is not whole is given as it is, its arguments
        left as the model wrote them, so that the tools can say what is wrong with it."""
        ...


class Dialect(Protocol):
    """One way to speak of tools. Pure: what is sent depends on nothing but the request."""

    @property
    def name(self) -> DialectName: ...

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request as it is sent. The messages of a longer conversation begin with those of a shorter one."""
        ...

    def reader(self, request: CompletionRequest) -> Reader:
        """A reader for the answer to `request` (as it was before `encode`)."""
        ...


_DAYS = 7
"""How long it is believed: servers, templates and models are replaced, and then know better."""

_SECONDS = _DAYS * 24 * 60 * 60


class _Entry(msgspec.Struct, frozen=True):
    ruled_out: tuple[DialectName, ...]
    at: float


class DialectMemory:
    """A file of dialects that were ruled out, by server and model. Losing it does no harm: they are found out again."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def recall(self, key: str) -> frozenset[DialectName]:
        """What was ruled out for `key` within the last days."""
        entry = self._read().get(key)
        return frozenset(entry.ruled_out) if entry else frozenset()

    def remember(self, key: str, ruled_out: Iterable[DialectName]) -> None:
        """Keep what is ruled out for `key` from now on."""
        entries = self._read() | {key: _Entry(tuple(sorted(ruled_out)), self._clock())}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._file, encode_json(entries))
        except OSError as error:
            logs.of("LLM").warning("%s cannot be written: %s", self._file, error)

    def _read(self) -> dict[str, _Entry]:
        """What still counts."""
        with suppress(OSError, msgspec.DecodeError):
            entries = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Entry])
            now = self._clock()
            return {key: entry for key, entry in entries.items() if 0 <= now - entry.at < _SECONDS}
        return {}
