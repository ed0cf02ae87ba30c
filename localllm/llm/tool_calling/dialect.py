"""Tool-calling dialects: their interface, and a cache of those ruled out per model."""

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
"""native: the server's own tool calls. structured: every step is one JSON object that matches a schema enforced by the
server. text: Thought, Action, Action Input and Final Answer as plain text."""


class Reader(Protocol):
    """Reads one answer: takes the server's chunks, returns chunks for the agent.

    The joined output does not depend on how the answer is cut into chunks. Call markup is never emitted as text: text
    that may become markup is buffered.
    """

    @property
    def thinking_was_open(self) -> bool:
        """Whether the answer began in the middle of its thinking."""
        ...

    @property
    def strayed(self) -> bool | None:
        """Whether the answer violates the form its server was to enforce; None if there is no such form."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the model writes on where its answer has ended: the rest can be left unread."""
        ...

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks that can be emitted now."""
        ...

    def close(self) -> list[Chunk]:
        """Return what was buffered, at the end of the answer.
        An incomplete call is returned with its arguments unchanged, so that the tool reports what is wrong."""
        ...


class Dialect(Protocol):
    """A way to express tool calls. Pure: what is sent depends only on the request."""

    @property
    def name(self) -> DialectName: ...

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request as sent. A longer conversation's messages have a shorter one's as prefix."""
        ...

    def reader(self, request: CompletionRequest) -> Reader:
        """Return a reader for the answer to `request` (as before `encode`)."""
        ...


_DAYS = 7
"""Validity of an entry: servers, templates and models are replaced, and may improve."""

_SECONDS = _DAYS * 24 * 60 * 60


class _Entry(msgspec.Struct, frozen=True):
    ruled_out: tuple[DialectName, ...]
    at: float


class DialectMemory:
    """A cache file of ruled-out dialects by server and model. Losing it only costs learning them again."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def recall(self, key: str) -> frozenset[DialectName]:
        """Return the valid entry for `key`."""
        entry = self._read().get(key)
        return frozenset(entry.ruled_out) if entry else frozenset()

    def remember(self, key: str, ruled_out: Iterable[DialectName]) -> None:
        """Store the dialects ruled out for `key`."""
        entries = self._read() | {key: _Entry(tuple(sorted(ruled_out)), self._clock())}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._file, encode_json(entries))
        except OSError as error:
            logs.of("LLM").warning("%s cannot be written: %s", self._file, error)

    def _read(self) -> dict[str, _Entry]:
        """Return the valid entries."""
        with suppress(OSError, msgspec.DecodeError):
            entries = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Entry])
            now = self._clock()
            return {key: entry for key, entry in entries.items() if 0 <= now - entry.at < _SECONDS}
        return {}
