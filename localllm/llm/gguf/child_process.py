"""The child process that serves a model file: start it, hear when it is ready, explain its death."""

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.environment import base_interpreter
from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import Phrase
from localllm.base.own_modules import source_of
from localllm.config.schema import KEY_VARIABLES
from localllm.llm.gguf import child_program
from localllm.llm.gguf.model_file import fault_of, lacks_avx2
from localllm.llm.overflow import short_reason

_ERROR = re.compile(r"^[\d.]+ E (?:[a-z]+ +)?(?P<said>.+)")
"""A line of llama.cpp's log that tells of an error: the time, the level, sometimes a part of the program."""

_TELLING = re.compile(
    r"error loading model: (?P<cause>.+)|(?P<memory>(insufficient memory|failed to allocate|out of memory).*)"
    r"|(?P<python>(?-i:\w*(Error|Exception)): .+)",
    re.IGNORECASE,
)
_ILLEGAL_INSTRUCTION = (-getattr(signal, "SIGILL", 4), 0xC000001D)
"""How a process ends that met an instruction its processor does not have: on POSIX, on Windows."""

_KILLED = -getattr(signal, "SIGKILL", 9)

_KEPT_LINES = 60
_MOMENT = 0.5
_SECONDS_TO_DIE = 5.0


def died(key: str, file: str, status: int, lines: Sequence[str]) -> LLMConnectionError:
    """The error `key` for a child that ended with `status` after it had said `lines`."""
    if status in _ILLEGAL_INSTRUCTION:
        return LLMConnectionError("gguf_no_avx2")
    reason = cause(lines)
    if status == _KILLED and not reason:
        return LLMConnectionError(
            key,
            file=file,
            reason=Phrase("The system ended it, most likely because memory ran out"),
            advice=Phrase(
                "Set llm.context_window smaller, or take a smaller file of the model (Q4_K_M instead of Q8_0)."
            ),
        )
    said = reason or _last_error(lines) or Phrase("It ended with status {status} and said nothing", status=status)
    return LLMConnectionError(key, file=file, reason=said, advice=_advice(reason))


def cause(lines: Sequence[str]) -> str:
    """What was wrong, as the first line puts it that names a cause; empty where none does."""
    for line in lines:
        if found := _TELLING.search(line):
            return short_reason(next(filter(None, found.group("cause", "memory", "python"))))
    return ""


def _last_error(lines: Sequence[str]) -> str:
    """The last error llama.cpp told of, but not that it leaves on its account."""
    said = [found["said"] for line in lines if (found := _ERROR.match(line)) and "exiting" not in line]
    return short_reason(said[-1]) if said else ""


def _advice(reason: str) -> Phrase:
    match reason.lower():
        case text if "memory" in text or "allocate" in text:
            return Phrase(
                "Set llm.context_window smaller, or take a smaller file of the model (Q4_K_M instead of Q8_0)."
            )
        case text if "unknown model architecture" in text or "unknown pre-tokenizer" in text:
            return Phrase(
                "The llama.cpp that is installed does not know this kind of model: pip install --upgrade xllamacpp."
            )
        case text if "corrupted" in text or "file bounds" in text or "split" in text:
            return Phrase(
                "The file is not whole: copy or download it again; of a model in several parts name the first."
            )
        case _:
            return Phrase("If it stays like this, try another file, or pip install --upgrade xllamacpp.")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be served. `window`: tokens of one conversation, of which `parallel` are held at a time.
    `gpu_layers`: -1 as many as fit."""

    file: str
    name: str
    window: int
    parallel: int = 1
    threads: int = 1
    gpu_layers: int = -1


class _Written(Order, frozen=True, kw_only=True):
    """What the child reads: the order, and what must not be seen on a command line."""

    api_key: str
    parent: int


class _Ready(msgspec.Struct):
    address: str


class ModelProcess:
    """llama.cpp's server for `order.file`, starting from now on, reachable from this machine with `api_key` alone.

    It belongs to no event loop, but to the thread that makes it: Linux ends it together with that one. Raises
    LLMConnectionError where it cannot be started here.
    """

    def __init__(self, order: Order, environ: Mapping[str, str]) -> None:
        if not _is_installed():
            raise LLMConnectionError("gguf_not_installed")
        if lacks_avx2():
            raise LLMConnectionError("gguf_no_avx2")
        if fault := fault_of(Path(order.file)):
            advice = Phrase(
                "The file is not whole: copy or download it again; of a model in several parts name the first."
            )
            raise LLMConnectionError("gguf_unloadable", file=order.file, reason=fault, advice=advice)
        self.api_key = os.urandom(24).hex()
        self.began = time.monotonic()
        self._file = order.file
        self._last_words: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ready: Future[bytes] = Future()
        self._ready.set_running_or_notify_cancel()  # one who stops waiting does not take it away from the others
        self._process = _spawn(environ)
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_answer, self._read_log)]
        for reader in self._readers:
            reader.start()
        self._say(_Written(**msgspec.structs.asdict(order), api_key=self.api_key, parent=os.getpid()))

    @property
    def pid(self) -> int:
        """The child's."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._ready.done() and bool(self._ready.result()) and self.is_running

    async def address(self) -> str:
        """Where it serves, as soon as the model is loaded: there is no limit to the time this may take.
        Raises LLMConnectionError where it dies instead."""
        line = await asyncio.wrap_future(self._ready)
        if not line:
            raise await self.death("gguf_unloadable")
        return msgspec.json.decode(line, type=_Ready).address

    async def has_died(self) -> bool:
        """Whether it has ended, or does so within a moment: its connections break before it is gone."""
        try:
            await asyncio.to_thread(self._process.wait, _MOMENT)
        except subprocess.TimeoutExpired:
            return False
        return True

    async def death(self, key: str) -> LLMConnectionError:
        """Make an end of what is left of it; the error `key` with the reason for its death."""
        status = await asyncio.to_thread(self._join)
        return died(key, self._file, status, list(self._last_words))

    async def aclose(self) -> None:
        """End it. There is nothing it would have to put in order."""
        self._process.kill()
        await asyncio.to_thread(self._join)

    def release(self) -> None:
        """Let go of one that has ended."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()

    def _say(self, order: _Written) -> None:
        """Hand over the order. The pipe stays open: its end is what tells the child that we are gone."""
        assert self._process.stdin  # noqa: S101 - asked for in _spawn
        with suppress(OSError):  # it has died; whoever waits for it is told why
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._process.stdin.flush()

    def _read_answer(self) -> None:
        assert self._process.stdout  # noqa: S101 - asked for in _spawn
        with self._process.stdout as stdout:
            self._ready.set_result(stdout.readline())

    def _read_log(self) -> None:
        log = logs.of("GGUF")
        assert self._process.stderr  # noqa: S101 - asked for in _spawn
        with self._process.stderr as stderr:
            for line in stderr:
                text = line.decode("utf-8", errors="replace").rstrip()
                self._last_words.append(text)
                log.debug("%s", text)

    def _join(self) -> int:
        """Wait for its end, which is near; how it ended."""
        status = self._process.wait()
        for reader in self._readers:
            reader.join(_SECONDS_TO_DIE)
        self.release()
        return status


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("xllamacpp") is not None
    except ModuleNotFoundError:  # it is worked on in the project, and not run here
        return False


def _spawn(environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The child, in a session of its own: Ctrl+C is for us alone. No key of ours is in its environment, and it looks
    for no modules (nor libraries) where we were started."""
    secret = {name for names in KEY_VARIABLES.values() for name in names}
    kept = {name: value for name, value in environ.items() if name not in secret}
    return subprocess.Popen(
        [base_interpreter(), "-S", "-P", "-c", source_of(child_program.__name__).decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(child_program.__file__).parent,
        env={**kept, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )
