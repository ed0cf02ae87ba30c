"""The connected model: discovery, selection, switching."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.events import Notice
from localllm.base.i18n import _, sentences
from localllm.config.loader import Loaded
from localllm.config.schema import LLMSettings, ProviderName
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server, found_keys
from localllm.llm.factory import make_client
from localllm.llm.providers.base import ModelInfo, Preparing, Provider
from localllm.llm.selection import Selection
from localllm.llm.server_summary import Introduction, StandIn, describe, introduce, warn

_UNLISTED = "llm_model_unlisted"
_NAMED = 8


def names_model(loaded: Loaded) -> bool:
    """Return whether the command line names the model or its server."""
    return any(key.startswith("llm.") and one.layer == "command line" for key, one in loaded.origins.items())


class Answerer:
    """The part of the program that manages the model. Raises ConfigurationError for unusable settings; `environ` has
    the keys of model servers."""

    def __init__(
        self, root: Path, settings: LLMSettings, environ: Mapping[str, str], *, is_named: bool = False
    ) -> None:
        """`is_named`: the command line names the model or its server, which is not to be replaced by a session's."""
        self.chosen_model = ""
        """The model that the user has switched to; "" if none, or if another provider or address came after it."""
        self._is_named = is_named
        self.llm_client: LLMClient = make_client(settings, root, environ)
        self._selection = Selection(self.llm_client, settings, root, environ)
        self._introduced: Provider | None = None
        self._is_another = False
        """Whether the server was restarted with another model or window, which the user is still to be told."""
        self._told_unlisted = ""
        self._keys = environ

    def begin_connecting(self) -> None:
        """Start looking for the model server in the background; every request waits for it."""
        self._selection.begin()

    async def settled(self) -> None:
        """Wait until the model is selected, or the search has failed. Raises nothing."""
        await self._selection.settled()

    def introduction(self) -> Introduction:
        """Return the known facts about the model; from now on, the user is notified of automatic changes."""
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
        """Return the warnings of the introduction, for a display without the rest of it."""
        self._introduced = self.llm_client.provider
        if self._selection.failure is not None:  # the request will report it
            return ()
        return warn(self.llm_client, self.servers, sought=self._selection.automatic, keys=found_keys(self._keys))

    async def ready(self) -> None:
        """Wait until the model is selected, and look whether its server was restarted with another. Raises
        LLMConnectionError if there is none."""
        await self._selection.ready()
        self._is_another = await self.llm_client.look_again() or self._is_another

    @property
    def connecting(self) -> bool:
        """Whether the search for a model is in progress."""
        return self._selection.searching

    @property
    def provider_name(self) -> str:
        """The provider's name in the settings."""
        return self.llm_client.provider.name

    @property
    def provider_address(self) -> str:
        """The model's address."""
        return self.llm_client.provider.address

    @property
    def model(self) -> str:
        """The model's name; empty before the first contact with the server."""
        return self.llm_client.model

    @property
    def stand_in(self) -> StandIn | None:
        """Who gave the last answer instead of the model in use, if that could not be reached."""
        client = self.llm_client.answering
        if client is self.llm_client:
            return None
        return StandIn(client.provider.name, client.provider.address, client.model)

    @property
    def model_info(self) -> ModelInfo:
        """The server's description of the model, as far as requested."""
        return self.llm_client.info

    @property
    def context_window(self) -> int:
        """The model's context window in tokens."""
        return self.llm_client.context_window

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a default, since neither the settings nor the server has it."""
        return self.llm_client.assumes_window

    def news(self) -> list[Notice]:
        """Return notices of a model other than introduced, and of what the answer has to wait for."""
        provider = self.llm_client.provider
        news: list[Notice] = []
        if self._is_another or self._introduced not in (None, provider):
            self._introduced, self._is_another = provider, False
            news.append(Notice(text=_("Answering from now on: {who}", who=describe(self.llm_client, self.server))))
        if unlisted := self._unlisted():
            news.append(Notice(text=unlisted, level="warning"))
        if isinstance(provider, Preparing) and provider.preparing:
            news.append(Notice(text=provider.preparing))
        return news

    def _unlisted(self) -> str:
        """Return a notice, once, that the server does not list the requested model."""
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
        """The servers found by the last search."""
        return self._selection.servers

    async def look_for_servers(self) -> Sequence[Server]:
        """Check every known address for model servers; busy ones get more time to answer."""
        return await self._selection.look_patiently()

    @property
    def server(self) -> Server | None:
        """The server in use, as found; None if it was not searched for."""
        return next(filter(self._selection.in_use, self.servers), None)

    async def use_model(self, name: str) -> None:
        """Switch to the model `name` on any server that has it. Raises LLMConnectionError if none does."""
        await self._selection.use_model(name)
        self._introduced = self.llm_client.provider
        self.chosen_model = self.model

    async def use_again(self, model: str) -> str:
        """Switch back to the model that was chosen in a session; return why it is not used, "" if it is."""
        reason = ""
        try:
            if not self._is_named and model != self.model:
                await self.use_model(model)
        except LocalLLMError as error:
            reason = error.what
        self.chosen_model = model  # of the session, also where it cannot be used now
        if self._is_named or model == self.model:
            return ""
        if not reason:
            return _("This session used {model}, which no server offers any more.", model=model)
        return _("The model of this session is not used: {reason}", reason=reason)

    async def use_provider(self, name: ProviderName) -> None:
        """Switch to this provider. Raises LLMConnectionError if it is unreachable; nothing changes then."""
        await self._selection.use_provider(name)
        self._introduced = self.llm_client.provider
        self.chosen_model = ""

    async def use_address(self, url: str) -> None:
        """Switch to the OpenAI-compatible server at this address; as `use_provider`."""
        await self._selection.use_address(url)
        self._introduced = self.llm_client.provider
        self.chosen_model = ""

    async def aclose(self) -> None:
        """Cancel a running search, and close the connections."""
        await self._selection.aclose()
        await self.llm_client.aclose()
