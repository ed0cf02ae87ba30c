"""Select server and model: as configured or discovered; switch them during a chat."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.config.schema import LLMSettings, ProviderName
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server, all_elsewhere, choose, nearest_models, same_place
from localllm.llm.factory import make_provider, provider_for
from localllm.llm.providers.base import ModelInfo, Provider, may_be_taken

PATIENCE_SECONDS = 3.0
"""Seconds a server may take to list its models before the user is told that it is silent."""

SECONDS_FOR_NAMED = 15.0
"""The same for a server whose address the user has set, before the embedded engine answers in its place."""

RECENT_SECONDS = 1.0
"""Seconds for which the result of a discovery is reused."""

_NAMED = 8


class Look(Protocol):
    """Discovers servers; a prompt may wait for it. `within`: timeout in seconds for servers on this machine, if the
    user asked for the list."""

    async def __call__(
        self, settings: LLMSettings, environ: Mapping[str, str], *, within: float = ...
    ) -> Sequence[Server]: ...


async def _discover(
    settings: LLMSettings, environ: Mapping[str, str], *, within: float | None = None
) -> Sequence[Server]:
    from localllm.llm.discovery.scan import SECONDS, SECONDS_FAR, discover  # not needed if the settings name the server

    within = within or SECONDS
    return await discover(settings, environ, within=within, within_far=max(within, SECONDS_FAR))


class Selection:
    """Connects `client` to the right server. With provider "auto" that is the first one discovered, or the embedded
    engine if there is none: then every request repeats the discovery, so that a server started meanwhile is used.

    `servers`: the result of the last discovery. `automatic`: any server will do. `failure`: why the configured server
    cannot be used, as far as known.
    """

    def __init__(
        self,
        client: LLMClient,
        settings: LLMSettings,
        root: Path,
        environ: Mapping[str, str],
        *,
        look: Look = _discover,
        recent: float = RECENT_SECONDS,
    ) -> None:
        self.servers: list[Server] = []
        self.failure: LocalLLMError | None = None
        self._client = client
        self._settings = settings
        self._root = root
        self._environ = environ
        self._look = look
        self._recent = recent
        self.automatic = settings.provider == "auto"
        self._found = not self.automatic
        self._search: asyncio.Task[None] | None = None
        self._ended = 0.0
        self._has_waited = False
        self._changing = asyncio.Lock()

    @property
    def searching(self) -> bool:
        """Whether a discovery or check is still running."""
        return self._search is not None and not self._search.done()

    def begin(self) -> None:
        """Start discovery, or the check of the configured server, in the background."""
        if not self.searching:
            self._search = asyncio.create_task(self._check() if self._found else self._find())

    async def settled(self) -> None:
        """Wait for the running discovery or check, started if needed.
        Raises nothing: errors are stored in `failure`."""
        if self._search is None and not self._found:
            self.begin()
        if self._search is not None:
            await asyncio.wait({self._search})
        async with self._changing:
            pass  # wait for a switch by the user, which overrides the discovery

    async def ready(self) -> None:
        """Ensure that a server is selected. Raises LLMConnectionError llm_model_nowhere if no server has the configured
        model, ConfigurationError if the settings of the discovered server are unusable."""
        if self._found:
            return
        if not self._is_recent():
            self.begin()
        await self.settled()
        if self.failure is not None and not self._found:
            raise self.failure

    async def look(self) -> list[Server]:
        """Probe every address again and return the servers."""
        self.servers = list(await self._look(self._settings, self._environ))
        return self.servers

    async def look_patiently(self, seconds: float = PATIENCE_SECONDS) -> list[Server]:
        """Look at every address again, and give one that is busy `seconds` to answer."""
        self.servers = list(await self._look(self._settings, self._environ, within=seconds))
        return self.servers

    def in_use(self, server: Server) -> bool:
        """Return whether it is the server in use."""
        provider = self._client.provider
        return server.provider == provider.name and same_place(server.base_url) == same_place(provider.address)

    async def use_model(self, name: str) -> None:
        """Switch to model `name`, of the server in use if it offers it, else of any other.
        An unambiguous part of a name suffices. Raises LLMConnectionError, and changes nothing."""
        async with self._changing:
            await self.aclose()
            here = await self._offered_here()
            if name in _names(here):
                await self._client.use(self._client.provider, name)
            else:
                await self._use_nearest(name, here)
            self._client.is_model_chosen = self._found = True
            await self._learn()

    async def use_provider(self, name: ProviderName) -> None:
        """Switch to the provider `name`; "auto" discovers one. Raises LLMConnectionError, and changes nothing, if it is
        unreachable, ConfigurationError if its settings are unusable."""
        async with self._changing:
            await self.aclose()
            if name == "auto":
                await self._use_any()
            else:
                await self._use_named(name)
            self.automatic = name == "auto"
            self._client.is_model_chosen = bool(self._settings.model)

    async def use_address(self, url: str) -> None:
        """Switch to the OpenAI-compatible server at `url`, with the configured model if offered, else its first. Raises
        like `use_provider`, and changes nothing."""
        async with self._changing:
            await self.aclose()
            openai = msgspec.structs.replace(self._settings.openai, base_url=url)
            settings = msgspec.structs.replace(self._settings, provider="openai", openai=openai)
            provider = make_provider(settings, self._root, self._environ)
            await self._client.use(provider, await _first_model(provider, self._settings.model))
            self._settings, self.automatic, self._found = settings, False, True
            self._client.is_model_chosen = bool(settings.model)
            await self._learn()

    async def aclose(self) -> None:
        """Cancel the running discovery or check."""
        if self._search is not None:
            self._search.cancel()
            await asyncio.gather(self._search, return_exceptions=True)
            self._search = None

    def _is_recent(self) -> bool:
        return self._ended > 0 and asyncio.get_running_loop().time() - self._ended < self._recent

    async def _use_any(self) -> None:
        """Use the first discovered server, or the embedded engine if there is none."""
        self._found = False
        await self._find()
        if not self._found:
            auto = msgspec.structs.replace(self._settings, provider="auto")
            await self._client.use(make_provider(auto, self._root, self._environ), self._settings.model)

    async def _use_named(self, name: ProviderName) -> None:
        found = [server for server in await self.look() if server.provider == name]
        chosen = choose(found, self._settings.model) or choose(found)
        if chosen:
            await self._take(*chosen)
        else:
            provider = make_provider(msgspec.structs.replace(self._settings, provider=name), self._root, self._environ)
            await self._client.use(provider, await _first_model(provider))
        self._found = True
        await self._learn()

    async def _use_nearest(self, name: str, here: list[ModelInfo]) -> None:
        """Switch to the unique match for `name`, preferably of the server in use."""
        own = Server(base_url=self._client.provider.address, provider="openai", state="ready", models=tuple(here))
        chosen = choose(await self.look(), name) or choose([own], name)
        if chosen is None:
            raise self._not_one(name, here)
        server, model = chosen
        if model in _names(here):
            await self._client.use(self._client.provider, model)
        else:
            await self._take(server, model)

    async def _look_for_any(self) -> list[Server]:
        """Look at every address. Where nobody can be used and somebody takes connections and does not answer, as on a
        machine that is busy, that one is given more time, once: else the embedded engine would answer beside it."""
        servers = await self.look()
        silent = [server for server in servers if server.state == "silent"]
        if self._has_waited or choose(servers) or not silent:
            return servers
        self._has_waited = True
        named = any(server.set_by_user for server in silent)
        return await self.look_patiently(SECONDS_FOR_NAMED if named else PATIENCE_SECONDS)

    async def _find(self) -> None:
        self.failure = None
        try:
            if chosen := choose(await self._look_for_any(), self._settings.model):
                await self._take(*chosen)
                self._found = True
                await self._learn()
            elif self._settings.model:
                self.failure = self._nowhere(self._settings.model, [])
            elif elsewhere := all_elsewhere(self.servers):
                self.failure = elsewhere
            else:
                await self._learn()
        except LocalLLMError as error:  # an unusable key or address
            self.failure = error
        self._ended = asyncio.get_running_loop().time()

    async def _take(self, server: Server, model: str) -> None:
        await self._client.use(provider_for(server, self._settings, self._environ), model)

    async def _check(self) -> None:
        """Check the configured server and model; store what is wrong in `failure`."""
        self.failure = None
        url = self._client.provider.address
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                if wanted := self._client.model:
                    self._compare(wanted, await self._client.list_models())
            await self._describe()
        except TimeoutError:
            self.failure = LLMConnectionError("llm_silent", url=url, seconds=PATIENCE_SECONDS)
        except LLMConnectionError as error:
            self.failure = error

    async def _describe(self) -> None:
        """Resolve the model's name and window. Raises LLMConnectionError, TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._client.resolve_model()

    async def _learn(self) -> None:
        """Describe the newly selected model. A server that has since disappeared is noticed by the next request."""
        self.failure = None
        with suppress(LLMConnectionError, TimeoutError):
            await self._describe()

    def _compare(self, wanted: str, offered: list[ModelInfo]) -> None:
        """Record a failure if the model is unlisted. It may work all the same: some servers accept any name."""
        names = _names(offered)
        if offered and wanted not in names and f"{wanted}:latest" not in names:
            available, url = ", ".join(names[:_NAMED]), self._client.provider.address
            self.failure = LLMConnectionError("llm_model_unlisted", url=url, model=wanted, available=available)

    async def _offered_here(self) -> list[ModelInfo]:
        with suppress(LLMConnectionError, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._client.list_models()
        return []

    def _not_one(self, name: str, here: list[ModelInfo]) -> LLMConnectionError:
        """Return the error for `name`: ambiguous, or unknown."""
        several = [near for near in self._all(name, here) if name.casefold() in near.casefold()]
        if len(several) > 1:
            return LLMConnectionError("llm_model_ambiguous", model=name, available=", ".join(several[:_NAMED]))
        return self._nowhere(name, here)

    def _nowhere(self, name: str, here: list[ModelInfo]) -> LLMConnectionError:
        return model_nowhere(name, self._all(name, here), self._root)

    def _all(self, name: str, here: list[ModelInfo]) -> list[str]:
        return list(dict.fromkeys([*nearest_models(self.servers, name), *_names(here)]))


def model_nowhere(name: str, offered: Sequence[str], root: Path) -> LLMConnectionError:
    """Return the error for a model no server has, which may mean a file. `offered` are theirs, most similar first."""
    available = ", ".join(offered[:_NAMED]) or "—"
    from localllm.llm.gguf.model_file import SUFFIX, near

    if name.lower().endswith(SUFFIX):
        return LLMConnectionError("gguf_nowhere", model=name, available=available, near=near(Path.cwd(), root))
    return LLMConnectionError("llm_model_nowhere", model=name, available=available)


def _names(models: list[ModelInfo]) -> list[str]:
    return [model.id for model in models]


async def _first_model(provider: Provider, wanted: str = "") -> str:
    """Return the `wanted` model if offered, else the first one.
    On LLMConnectionError the provider is closed and the error raised."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            models = await provider.list_models()
    except TimeoutError as error:
        await provider.aclose()
        raise LLMConnectionError("llm_silent", url=provider.address, seconds=PATIENCE_SECONDS) from error
    except LLMConnectionError:
        await provider.aclose()
        raise
    return wanted if wanted in _names(models) else next(iter(_names(may_be_taken(models))), "")
