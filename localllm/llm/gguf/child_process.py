"""The child process that serves a model file: start it, wait until it is ready, explain a crash."""

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
"""An error line of llama.cpp's log: time, level, optional component, message."""

_TELLING = re.compile(
    r"error loading model: (?P<cause>.+)|(?P<memory>(insufficient memory|failed to allocate|out of memory).*)"
    r"|(?P<python>(?-i:\w*(Error|Exception)): .+)",
    re.IGNORECASE,
)
_ILLEGAL_INSTRUCTION = (-getattr(signal, "SIGILL", 4), 0xC000001D)
"""Exit statuses of a process that executed an unsupported instruction, on POSIX and on Windows."""

_KILLED = -getattr(signal, "SIGKILL", 9)

_KEPT_LINES = 60
_MOMENT = 0.5
_SECONDS_TO_DIE = 5.0


def died(key: str, file: str, status: int, lines: Sequence[str]) -> LLMConnectionError:
    """Return the error `key` for a child that exited with `status` after logging `lines`."""
    if status in _ILLEGAL_INSTRUCTION:
        return LLMConnectionError("gguf_no_avx2")
    reason = cause(lines)
    if status == _KILLED and not reason:
        return LLMConnectionError(
            key,
            file=file,
            reason=Phrase("The system ended it, most likely because memory ran out"),
            advice=Phrase("Lower llm.context_window, or use a smaller file of the model (Q4_K_M instead of Q8_0)."),
        )
    said = reason or _last_error(lines) or Phrase("It ended with status {status}, without a message", status=status)
    return LLMConnectionError(key, file=file, reason=said, advice=_advice(reason))


def cause(lines: Sequence[str]) -> str:
    """Return the first line that names a cause of the failure; empty if none does."""
    for line in lines:
        if found := _TELLING.search(line):
            return short_reason(next(filter(None, found.group("cause", "memory", "python"))))
    return ""


def _last_error(lines: Sequence[str]) -> str:
    """Return the last error llama.cpp logged, apart from the notice that it is exiting."""
    said = [found["said"] for line in lines if (found := _ERROR.match(line)) and "exiting" not in line]
    return short_reason(said[-1]) if said else ""


def _advice(reason: str) -> Phrase:
    match reason.lower():
        case text if "memory" in text or "allocate" in text:
            return Phrase("Lower llm.context_window, or use a smaller file of the model (Q4_K_M instead of Q8_0).")
        case text if "unknown model architecture" in text or "unknown pre-tokenizer" in text:
            return Phrase(
                "The installed llama.cpp does not support this kind of model: pip install --upgrade xllamacpp."
            )
        case text if "corrupted" in text or "file bounds" in text or "split" in text:
            return Phrase(
                "The file is incomplete: copy or download it again; for a model in several parts, name the first."
            )
        case _:
            return Phrase("If this keeps happening, try another file, or pip install --upgrade xllamacpp.")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to serve. `window`: tokens of one conversation, of which `parallel` are held at a time.
    `gpu_layers`: -1 for as many as fit."""

    file: str
    name: str
    window: int
    parallel: int = 1
    threads: int = 1
    gpu_layers: int = -1


class _Written(Order, frozen=True, kw_only=True):
    """The child's input: the order, and what must not appear on a command line."""

    api_key: str
    parent: int


class _Ready(msgspec.Struct):
    address: str


class ModelProcess:
    """llama.cpp's server for `order.file`, started on construction, for clients on this machine with `api_key`.

    It belongs to no event loop, but to the thread that creates it: Linux ends it together with that thread. Raises
    LLMConnectionError if it cannot be started.
    """

    def __init__(self, order: Order, environ: Mapping[str, str]) -> None:
        if not _is_installed():
            raise LLMConnectionError("gguf_not_installed")
        if lacks_avx2():
            raise LLMConnectionError("gguf_no_avx2")
        if fault := fault_of(Path(order.file)):
            advice = Phrase(
                "The file is incomplete: copy or download it again; for a model in several parts, name the first."
            )
            raise LLMConnectionError("gguf_unloadable", file=order.file, reason=fault, advice=advice)
        self.api_key = os.urandom(24).hex()
        self.began = time.monotonic()
        self._file = order.file
        self._last_words: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ready: Future[bytes] = Future()
        self._ready.set_running_or_notify_cancel()  # a cancelled waiter must not cancel it for the others
        self._process = _spawn(environ)
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_answer, self._read_log)]
        for reader in self._readers:
            reader.start()
        self._say(_Written(**msgspec.structs.asdict(order), api_key=self.api_key, parent=os.getpid()))

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not exited."""
        return self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._ready.done() and bool(self._ready.result()) and self.is_running

    async def address(self) -> str:
        """Return the server's address once the model is loaded, without a timeout.
        Raises LLMConnectionError if the process dies."""
        line = await asyncio.wrap_future(self._ready)
        if not line:
            raise await self.death("gguf_unloadable")
        return msgspec.json.decode(line, type=_Ready).address

    async def has_died(self) -> bool:
        """Return whether it has exited or exits shortly: its connections break before the process is gone."""
        try:
            await asyncio.to_thread(self._process.wait, _MOMENT)
        except subprocess.TimeoutExpired:
            return False
        return True

    async def death(self, key: str) -> LLMConnectionError:
        """Wait for the process to exit and return the error `key` with the reason."""
        status = await asyncio.to_thread(self._join)
        return died(key, self._file, status, list(self._last_words))

    async def aclose(self) -> None:
        """Kill the process; it has no state to save."""
        self._process.kill()
        await asyncio.to_thread(self._join)

    def release(self) -> None:
        """Close the pipe of an exited process."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()

    def _say(self, order: _Written) -> None:
        """Send the order. The pipe stays open: its end signals to the child that the parent is gone."""
        assert self._process.stdin  # noqa: S101 - set in _spawn
        with suppress(OSError):  # it has died; whoever awaits `address` gets the error
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._process.stdin.flush()

    def _read_answer(self) -> None:
        assert self._process.stdout  # noqa: S101 - set in _spawn
        with self._process.stdout as stdout:
            self._ready.set_result(stdout.readline())

    def _read_log(self) -> None:
        log = logs.of("GGUF")
        assert self._process.stderr  # noqa: S101 - set in _spawn
        with self._process.stderr as stderr:
            for line in stderr:
                text = line.decode("utf-8", errors="replace").rstrip()
                self._last_words.append(text)
                log.debug("%s", text)

    def _join(self) -> int:
        """Wait for the process to exit and return its status."""
        status = self._process.wait()
        for reader in self._readers:
            reader.join(_SECONDS_TO_DIE)
        self.release()
        return status


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("xllamacpp") is not None
    except ModuleNotFoundError:  # xllamacpp's source is in the project, but it is not installed
        return False


def _spawn(environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the child in its own session, so that Ctrl+C does not reach it.
    Its environment holds none of our keys, and it imports no modules (nor libraries) from the current directory."""
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
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the Windows equivalent
    )
