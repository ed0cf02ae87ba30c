"""What was learned of models, kept for the next sessions: the dialects they do not speak."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.files import atomic_write
from localllm.base.jsontext import encode_json
from localllm.llm.tool_calling.base import DialectName

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
