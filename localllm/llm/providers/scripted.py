"""A provider that plays a file of turns, without any server: for tests, examples and demos.

The file is TOML, with a `[[turn]]` for every answer, played in order:

    [[turn]]
    thinking = "I should look at the files."
    text = "Let me see."
    calls = [{ name = "list_files", arguments = { path = "." } }]
    delay = 0.02       # seconds before each piece
    finish = "stop"    # the finish reason; tool_calls where there are calls

    [[turn]]
    fail = "server"    # after its text, fail like a server: refused, cut, server, busy, malformed

`arguments` may be a string, sent unchanged, so that malformed JSON can be played.
"""

import asyncio
import errno
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.base.events import Json
from localllm.base.i18n import language
from localllm.base.regular_files import READ, opened
from localllm.config.schema import LLMSettings
from localllm.llm.http.transport import refused
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    ModelInfo,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)

DEMO = Path(__file__).with_name("demo.toml")
DEMO_IN_JAPANESE = Path(__file__).with_name("demo_ja.toml")

_PIECE = re.compile(r"\s*\S+|\s+")
_ARGUMENTS_PIECE = 40
_LONGEST = 10_000_000  # bytes of a script

Failure = Literal["refused", "cut", "server", "busy", "malformed"]


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of a turn."""

    name: str
    arguments: dict[str, Json] | str = ""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay: float = 0.0
    finish: str = ""
    fail: Failure | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script file. `model` is its model's name; `repeat`: restart after the last turn."""

    turn: tuple[Turn, ...]
    model: str = "scripted"
    repeat: bool = False


def load_script(file: Path) -> Script:
    """Load the script in `file`. Raises ConfigurationError (script_invalid, script_unreadable)."""
    try:
        return msgspec.toml.decode(_content(file), type=Script)
    except OSError as error:
        raise ConfigurationError("script_unreadable", file=file, reason=error.strerror or error) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigurationError("script_invalid", file=file, reason=str(error).rstrip(".")) from error


def _content(file: Path) -> bytes:
    """Read the script. Raises OSError, also for a pipe, a device and a file that is too long."""
    with opened(os.open(file, READ)) as stream:
        data = stream.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


class Scripted:
    """Plays `script`. The position is kept: each turn is played once, failures included, unless the script repeats."""

    name = "scripted"
    constrains = False

    def __init__(self, script: Script, address: str = "script") -> None:
        self.address = address
        self._script = script
        self._next = 0

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Yield the chunks of the next turn."""
        del request
        if self._script.repeat and self._script.turn:
            self._next %= len(self._script.turn)
        if self._next >= len(self._script.turn):
            raise LLMConnectionError("llm_script_ended", file=self.address)
        turn = self._script.turn[self._next]
        self._next += 1
        for chunk in _chunks(turn):
            if turn.delay:
                await asyncio.sleep(turn.delay)
            yield chunk
        if turn.fail:
            raise _failure(turn.fail, self.address)
        yield FinishChunk(turn.finish or ("tool_calls" if turn.calls else "stop"))

    async def list_models(self) -> list[ModelInfo]:
        """Return the script's only model."""
        return [ModelInfo(self._script.model)]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return the model's name alone."""
        return ModelInfo(model)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Scripted:
    """Create the provider for the script in the settings, else for the demo in the program's language. Raises
    ConfigurationError."""
    del environ
    demo = DEMO_IN_JAPANESE if language() == "ja" else DEMO
    file = root / settings.scripted.file if settings.scripted.file else demo
    return Scripted(load_script(file), address=file.name)


def _chunks(turn: Turn) -> list[Chunk]:
    chunks: list[Chunk] = [ThinkingChunk(piece) for piece in _PIECE.findall(turn.thinking)]
    chunks += [TextChunk(piece) for piece in _PIECE.findall(turn.text)]
    for index, call in enumerate(turn.calls):
        given = call.arguments
        arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        chunks.append(ToolCallChunk(index, name=call.name))
        chunks += [
            ToolCallChunk(index, arguments=arguments[start : start + _ARGUMENTS_PIECE])
            for start in range(0, len(arguments), _ARGUMENTS_PIECE)
        ]
    return chunks


def _failure(kind: Failure, address: str) -> LLMConnectionError:
    match kind:
        case "refused":
            return refused("scripted", address, "the script says so")
        case "cut":
            return LLMConnectionError("llm_cut", url=address, reason="the script says so", retryable=True)
        case "server":
            return LLMConnectionError("llm_server_failed", url=address, status=500, reason="", retryable=True)
        case "busy":
            return LLMConnectionError(
                "llm_rate_limited", url=address, reason="", seconds=0.0, retryable=True, retry_after=0.0
            )
        case "malformed":
            return LLMConnectionError(
                "llm_malformed", url=address, reason="the script says so", provider="scripted", retryable=True
            )
