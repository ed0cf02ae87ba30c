"""The connected model: discovery, selection, switching."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Notice
from localllm.base.i18n import _, sentences
from localllm.config.schema import LLMSettings, ProviderName
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server, found_keys
from localllm.llm.factory import make_client
from localllm.llm.providers.base import ModelInfo, Preparing, Provider
from localllm.llm.selection import Selection
from localllm.llm.server_summary import Introduction, describe, introduce, warn

_UNLISTED = "llm_model_unlisted"
_NAMED = 8


class Answerer:
    """The program's part that knows the model. Making it raises ConfigurationError where the settings cannot be
    followed; `environ` holds the keys of model servers."""

    def __init__(self, root: Path, settings: LLMSettings, environ: Mapping[str, str]) -> None:
        self.llm_client: LLMClient = make_client(settings, root, environ)
        self._selection = Selection(self.llm_client, settings, root, environ)
        self._introduced: Provider | None = None
        self._told_unlisted = ""
        self._keys = environ

    def begin_connecting(self) -> None:
        """Look for the model server while other things go on; every request waits for it."""
        self._selection.begin()

    async def settled(self) -> None:
        """Wait until it is known who answers, or that nobody does. Raises nothing."""
        await self._selection.settled()

    def introduction(self) -> Introduction:
        """Who answers, as far as known; from now on the person is told when that changes by itself."""
        self._introduced = self.llm_client.provider
        return introduce(
            self.llm_client,
            self.servers,
            self.server,
            self._selection.failure,
            sought=self._selection.automatic,
            keys=found_keys(self._keys),
        )

    def warnings(self) -> Sequence[str]:
        """Those of the introduction, for whoever is not told the rest of it."""
        self._introduced = self.llm_client.provider
        if self._selection.failure is not None:  # the request will tell
            return ()
        return warn(self.llm_client, self.servers, sought=self._selection.automatic, keys=found_keys(self._keys))

    async def ready(self) -> None:
        """Wait until it is known whom to ask. Raises LLMConnectionError where that is not to be had."""
        await self._selection.ready()

    @property
    def connecting(self) -> bool:
        """Whether it is still being found out who answers."""
        return self._selection.searching

    @property
    def provider_name(self) -> str:
        """The provider's name in the settings."""
        return self.llm_client.provider.name

    @property
    def provider_address(self) -> str:
        """Where the model is."""
        return self.llm_client.provider.address

    @property
    def model(self) -> str:
        """The model's name, empty until the server was first asked for it."""
        return self.llm_client.model

    @property
    def model_info(self) -> ModelInfo:
        """What its server tells of the model, as far as it was asked."""
        return self.llm_client.info

    @property
    def context_window(self) -> int:
        """Tokens the model can read."""
        return self.llm_client.context_window

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a guess: neither the settings nor the server tell."""
        return self.llm_client.assumes_window

    def news(self) -> list[Notice]:
        """That another answers than the person was told of, and what the answer has to wait for, if so."""
        provider = self.llm_client.provider
        news: list[Notice] = []
        if self._introduced not in (None, provider):
            self._introduced = provider
            news.append(Notice(text=_("Answering from now on: {who}", who=describe(self.llm_client, self.server))))
        if unlisted := self._unlisted():
            news.append(Notice(text=unlisted, level="warning"))
        if isinstance(provider, Preparing) and provider.preparing:
            news.append(Notice(text=provider.preparing))
        return news

    def _unlisted(self) -> str:
        """That the server does not list the model it is about to be asked for, once, unless that was said."""
        info, failure = self.llm_client.info, self._selection.failure
        if not info.instead_of_it or info.id == self._told_unlisted:
            return ""
        self._told_unlisted = info.id
        if failure is not None and failure.key == _UNLISTED:
            return ""
        available = ", ".join(info.instead_of_it[:_NAMED])
        error = LLMConnectionError(_UNLISTED, url=self.provider_address, model=info.id, available=available)
        return sentences(error.what, error.fix)

    @property
    def servers(self) -> Sequence[Server]:
        """What was found when last looked for."""
        return self._selection.servers

    async def look_for_servers(self) -> Sequence[Server]:
        """Every address a model server may be at, and what is there now; one that is busy has time to answer."""
        return await self._selection.look_patiently()

    @property
    def server(self) -> Server | None:
        """The one in use, as it was found; None where it was not looked for."""
        return next(filter(self._selection.in_use, self.servers), None)

    async def use_model(self, name: str) -> None:
        """Ask `name` from now on, of whatever server offers it. LLMConnectionError where none does."""
        await self._selection.use_model(name)
        self._introduced = self.llm_client.provider

    async def use_provider(self, name: ProviderName) -> None:
        """Ask this provider from now on. LLMConnectionError where it cannot be reached, and nothing is changed."""
        await self._selection.use_provider(name)
        self._introduced = self.llm_client.provider

    async def use_address(self, url: str) -> None:
        """Ask the OpenAI-compatible server at this address from now on; as `use_provider`."""
        await self._selection.use_address(url)
        self._introduced = self.llm_client.provider

    async def aclose(self) -> None:
        """End a search that is going on, and close the connections."""
        await self._selection.aclose()
        await self.llm_client.aclose()
