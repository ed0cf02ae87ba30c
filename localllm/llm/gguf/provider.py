"""The provider that runs a .gguf file in a process of its own."""

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
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.environment import base_interpreter
from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import Phrase, _
from localllm.base.own_modules import source_of
from localllm.config.schema import KEY_VARIABLES, GgufSettings, LLMSettings
from localllm.llm.gguf import child
from localllm.llm.gguf.model_file import Header, fault_of, lacks_avx2, open_model_file, physical_cores
from localllm.llm.messages import CompletionRequest
from localllm.llm.overflow import short_reason
from localllm.llm.providers.base import Chunk, ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible

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


_KEPT_LINES = 60
_MOMENT = 0.5
_SECONDS_TO_DIE = 5.0


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
        [base_interpreter(), "-S", "-P", "-c", source_of(child.__name__).decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(child.__file__).parent,
        env={**kept, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )


USUAL_WINDOW = 16_384
"""Tokens of context where nothing is set: room for real work, in about 2 GB of memory beside a model of 8 billion."""

WORTH_TELLING = 500_000_000
"""Bytes from which on a person is told that the file has to be loaded: below it takes a second or less."""

_PATIENCE = 2.0
"""Seconds after the start during which a question about the model waits for llama.cpp's own answer."""

_TIMEOUT = 30.0
_IDLE_TIMEOUT = 300.0

_MAY_BE_DEATH = frozenset({"llm_cut", "llm_refused", "llm_idle", "llm_malformed"})


class Gguf:
    """The model in `file`, whose header is `header`. `window`: tokens of context, 0 for the usual.

    The child process is started by the first question about the model or by the first request, and shared by all that
    follow; one that has died is started anew. While a large file is loading, questions are answered out of its header.
    """

    name = "gguf"
    constrains = True

    def __init__(
        self, file: Path, header: Header, *, window: int, settings: GgufSettings, environ: Mapping[str, str]
    ) -> None:
        self.address = str(file)
        self.model = file.name
        self._file = file
        self._header = header
        self._settings = settings
        self._environ = environ
        self._window = min(window or USUAL_WINDOW, header.context_length or window or USUAL_WINDOW)
        self._process: ModelProcess | None = None
        self._server: OpenAICompatible | None = None

    @property
    def pid(self) -> int | None:
        """The child process, where there is one."""
        return self._process and self._process.pid

    @property
    def preparing(self) -> str:
        """What a person should know while the first answer has to wait: a large file is not loaded yet."""
        size = self._file.stat().st_size if self._file.exists() else 0
        if size < WORTH_TELLING or (self._process is not None and self._process.is_ready):
            return ""
        return _(
            "Loading {file} ({size}); the first answer waits for that.", file=self.model, size=f"{size / 1e9:.1f} GB"
        )

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """The answer as it arrives, once the model is loaded, however long that takes; see Provider."""
        process = self._started()
        server = await self._connected(process)
        begun = False
        try:
            async with aclosing(server.stream(request)) as chunks:
                async for chunk in chunks:
                    begun = True
                    yield chunk
        except LLMConnectionError as error:
            raise await self._explained(error, process, begun=begun) from error

    async def list_models(self) -> list[ModelInfo]:
        """The one model there is. Raises LLMConnectionError where it turns out at once that it cannot be loaded."""
        return [await self.describe(self.model)]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """What llama.cpp tells of the model, or while it is still loading, its header; see Provider."""
        process = self._started()
        patience = None if process.is_ready else max(0.0, process.began + _PATIENCE - time.monotonic())
        try:
            async with asyncio.timeout(patience):
                server = await self._connected(process)
        except TimeoutError:
            return self._as_its_header_says(model)
        info = await server.describe(model)
        return ModelInfo(
            model,
            context_window=info.context_window,
            max_context_window=self._header.context_length,
            loaded=True,
            abilities=info.abilities,
            parameters=self._header.size_label or info.parameters,
            quantization=info.quantization,
        )

    async def free_slot(self) -> int | None:
        """See Slots."""
        return await self._server.free_slot() if self._server else None

    async def aclose(self) -> None:
        """End the child process."""
        process, self._process = self._process, None
        if process is not None:
            await process.aclose()
        await self._leave()

    def _as_its_header_says(self, model: str) -> ModelInfo:
        return ModelInfo(
            model,
            context_window=self._window,
            max_context_window=self._header.context_length,
            loaded=False,
            parameters=self._header.size_label,
        )

    def _started(self) -> ModelProcess:
        """The child process, which may still be loading the model."""
        if self._process is not None and not self._process.is_running:
            self._process.release()
            self._process = None
        self._process = self._process or ModelProcess(self._order(), self._environ)
        return self._process

    def _order(self) -> Order:
        settings = self._settings
        return Order(
            file=self.address,
            name=self.model,
            window=self._window,
            parallel=settings.parallel,
            threads=settings.threads or physical_cores(),
            gpu_layers=settings.gpu_layers,
        )

    async def _connected(self, process: ModelProcess) -> OpenAICompatible:
        """The way to the server of `process`, once it is there. Raises LLMConnectionError where it dies instead."""
        address = await process.address()
        if self._server is None or not self._server.address.startswith(address):
            await self._leave()
            self._server = OpenAICompatible(
                self.name, address, timeout=_TIMEOUT, idle_timeout=_IDLE_TIMEOUT, api_key=process.api_key
            )
        return self._server

    async def _leave(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()

    async def _explained(self, error: LLMConnectionError, process: ModelProcess, *, begun: bool) -> LLMConnectionError:
        """The error, of the file instead of a port nobody has heard of; where the child has died, its last words."""
        if error.key in _MAY_BE_DEATH and await process.has_died():
            death = await process.death("gguf_died")
            if not begun or death.key != "gguf_died":
                return death
            return LLMConnectionError("llm_cut", url=self.address, reason=death.params["reason"])
        params = {**error.params, "url": self.address}
        return LLMConnectionError(error.key, retryable=error.retryable, retry_after=error.retry_after, **params)


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Gguf:
    """Make it for the file the settings name. Raises ConfigurationError."""
    file, header = open_model_file(settings.gguf.file, root)
    return Gguf(file, header, window=settings.context_window, settings=settings.gguf, environ=environ)
