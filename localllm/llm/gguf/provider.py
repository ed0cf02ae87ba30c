"""The provider that serves a .gguf file from its own process."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import _
from localllm.config.schema import GgufSettings, LLMSettings
from localllm.llm.gguf.child_process import ModelProcess, Order
from localllm.llm.gguf.model_file import Header, open_model_file, physical_cores
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk, ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible

USUAL_WINDOW = 16_384
"""Default context window in tokens: room for real work, about 2 GB of memory beside an 8B model."""

WORTH_TELLING = 500_000_000
"""Bytes from which the user is told that the file is loading; smaller files take a second or less."""

_PATIENCE = 2.0
"""Seconds after the start for which a request for the model's description waits for llama.cpp."""

_TIMEOUT = 30.0
_IDLE_TIMEOUT = 300.0

_MAY_BE_DEATH = frozenset({"llm_cut", "llm_refused", "llm_idle", "llm_malformed"})


class Gguf:
    """The model in `file` with `header`. `window`: tokens of context, 0 for the default.

    The child process is started by the first `describe` or request and shared by all that follow; a dead one is
    restarted. While a large file is loading, the description comes from its header.
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
        """The process id of the child, if there is one."""
        return self._process and self._process.pid

    @property
    def preparing(self) -> str:
        """A notice for the user while a large file is still loading, else empty."""
        size = self._file.stat().st_size if self._file.exists() else 0
        if size < WORTH_TELLING or (self._process is not None and self._process.is_ready):
            return ""
        return _(
            "Loading {file} ({size}); the first answer has to wait for it.",
            file=self.model,
            size=f"{size / 1e9:.1f} GB",
        )

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Stream the answer once the model is loaded, however long that takes; see Provider."""
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
        """Return the only model. Raises LLMConnectionError if loading fails at once."""
        return [await self.describe(self.model)]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return llama.cpp's description of the model, or the header's while it is still loading. See Provider."""
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
        """Return the child process, started if necessary; it may still be loading the model."""
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
        """Return the provider for the server of `process` once that is ready. Raises LLMConnectionError if it dies."""
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
        """Return the error with the file in place of the internal address; if the child died, with the reason."""
        if error.key in _MAY_BE_DEATH and await process.has_died():
            death = await process.death("gguf_died")
            if not begun or death.key != "gguf_died":
                return death
            return LLMConnectionError("llm_cut", url=self.address, reason=death.params["reason"])
        params = {**error.params, "url": self.address}
        return LLMConnectionError(error.key, retryable=error.retryable, retry_after=error.retry_after, **params)


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Gguf:
    """Create the provider for the file in the settings. Raises ConfigurationError."""
    file, header = open_model_file(settings.gguf.file, root)
    return Gguf(file, header, window=settings.context_window, settings=settings.gguf, environ=environ)
