"""Azure OpenAI: chat completions at a deployment's address, or at the v1 address."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.config.schema import LLMSettings
from localllm.llm.addresses import address_fault, is_loopback
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.http_provider import key_from
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.openai_errors import ErrorReader, ServerError, sentence
from localllm.llm.providers.openai_models import makes_vectors

NEWEST_DATED = "2024-10-21"
"""The newest dated API version that is no preview. Its successor is the undated v1, generally available since August
2025 (Azure OpenAI API lifecycle). Used for an address that contains a deployment but no version."""

_UNDATED = frozenset({"v1", "preview", "latest"})
"""Versions of the v1 API, whose addresses contain no deployment."""

_OPENAI_PATH = re.compile(r"(?P<prefix>.*?)/openai(?:/(?P<rest>.*))?", re.DOTALL)
_AZURE_HOST = re.compile(r"\.(azure\.(com|us|cn)|api\.cognitive\.microsoft\.com)$", re.IGNORECASE)


class AzurePlace(msgspec.Struct, frozen=True):
    """A resource's address: `root` ends with /openai. `deployment` is the one in the address, or empty.

    `version` is a date such as 2024-10-21 for addresses that contain a deployment, else v1, preview or latest.
    """

    root: str
    deployment: str
    version: str

    @property
    def is_undated(self) -> bool:
        """Whether the v1 API is used."""
        return self.version in _UNDATED

    @property
    def base_url(self) -> str:
        """The common prefix of all its endpoints."""
        return f"{self.root}/v1" if self.is_undated else self.root

    def chat_url(self, deployment: str) -> str:
        """Return the chat completions URL of `deployment`."""
        return self._url(deployment, "chat/completions")

    def embeddings_url(self, deployment: str) -> str:
        """Return the embeddings URL of `deployment`."""
        return self._url(deployment, "embeddings")

    def _url(self, deployment: str, what: str) -> str:
        match self.version:
            case "v1":
                return f"{self.base_url}/{what}"
            case "preview" | "latest":
                return f"{self.base_url}/{what}?api-version={self.version}"
            case _:
                path = f"deployments/{quote(deployment, safe='')}/{what}"
                return f"{self.root}/{path}?api-version={quote(self.version, safe='')}"


def azure_place(endpoint: str, version: str = "") -> AzurePlace:
    """Parse `endpoint`; a non-empty `version` overrides the one in the address.
    The default is v1, or NEWEST_DATED if the address contains a deployment.

    Accepts a host followed by any path of the resource: /openai, /openai/v1, a full deployment URL with its
    api-version, a project's address. A gateway's prefix before /openai is kept.
    """
    text = endpoint.strip()
    if "://" not in text:
        text = f"{'http' if is_loopback(text) else 'https'}://{text}"
    parts = urlsplit(text)
    prefix, rest = _split(parts.path.rstrip("/"), azure=bool(_AZURE_HOST.search(parts.hostname or "")))
    in_address = _version_in(rest, parts.query)
    named = re.match(r"deployments/([^/]+)", rest)
    return AzurePlace(
        f"{parts.scheme}://{parts.netloc}{prefix}/openai",
        unquote(named[1]) if named else "",
        version.strip() or in_address or (NEWEST_DATED if rest.startswith("deployments") else "v1"),
    )


def _split(path: str, *, azure: bool) -> tuple[str, str]:
    """Split a path into what precedes and follows /openai. On Azure's own hosts other paths are dropped: /models and
    /api/projects/NAME are other APIs of the same resource."""
    if found := _OPENAI_PATH.fullmatch(path):
        return found["prefix"], found["rest"] or ""
    return ("" if azure else path), ""


def _version_in(rest: str, query: str) -> str:
    told = parse_qs(query).get("api-version", [""])[0]
    if rest == "v1" or rest.startswith("v1/"):
        return told if told in _UNDATED else "v1"
    return told if rest else ""


_VERSION = re.compile(r"only for api versions|api.?version.{0,40}not (supported|valid|available)", re.IGNORECASE)


_NOT_THERE = 404


class AzureErrors(ErrorReader):
    """Creates LLMConnectionErrors from failures of an Azure resource; `undated`: it is used through v1."""

    def __init__(self, provider: str, url: str, key_variable: str, *, undated: bool) -> None:
        super().__init__(provider, url, key_variable)
        self._undated = undated

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> LLMConnectionError:
        """See ErrorReader; a resource that does not know the v1 address may know the dated ones."""
        error = super().of_status(status, headers, body)
        if self._undated and status == _NOT_THERE and error.key in ("llm_azure_address", "llm_bad_request"):
            return self._make("llm_azure_no_v1", reason=error.params["reason"], version=NEWEST_DATED)
        return error

    def _of_words(self, error: ServerError) -> LLMConnectionError | None:
        reason = sentence(error.message)
        if "DeploymentNotFound" in error.code:
            return self._make("llm_no_deployment", model="", reason=reason)
        if _VERSION.search(error.message):
            return self._make("llm_azure_version", reason=reason)
        if error.message.strip(" .").lower() == "resource not found":
            return self._make("llm_azure_address", reason=reason)
        return super()._of_words(error)

    def _make(
        self, key: str, *, retryable: bool = False, retry_after: float | None = None, **params: object
    ) -> LLMConnectionError:
        """See ErrorReader; an endpoint that does not answer like a model server is not the intended resource."""
        if key == "llm_malformed":
            key, params = "llm_azure_address", {"reason": sentence(str(params["reason"]))}
        return super()._make(key, retryable=retryable, retry_after=retry_after, **params)


KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - the variable's name


class Azure(OpenAICompatible):
    """The resource at `endpoint`; see azure_place for the accepted forms. A model's name is its deployment's.

    `deployment` is the default model. `api_version` is a date, for addresses that contain a deployment, or v1; empty
    uses the endpoint's, else v1. `ad_token`, a token of Microsoft Entra ID, overrides `api_key`.

    Raises ConfigurationError if the endpoint is unusable, or there is neither key nor token.
    """

    constrains: bool = True

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float,
        idle_timeout: float,
        deployment: str = "",
        api_version: str = "",
        api_key: str = "",
        ad_token: str = "",
    ) -> None:
        _check_endpoint(endpoint)
        if not (api_key or ad_token):
            raise ConfigurationError("llm_key_missing", provider="azure", variable=KEY_VARIABLE, other=TOKEN_VARIABLE)
        self._place = azure_place(endpoint, api_version)
        self._deployment = deployment.strip() or self._place.deployment
        variable = TOKEN_VARIABLE if ad_token else KEY_VARIABLE
        super().__init__(
            "azure",
            self._place.base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=ad_token or api_key,
            key_variable=variable,
            key_header="authorization" if ad_token else "api-key",
        )
        self._errors = self._hiding(
            AzureErrors("azure", self.address, variable, undated=self._place.is_undated),
        )

    async def list_models(self) -> list[ModelInfo]:
        """Return the configured deployment without a request: Azure lists a region's models, but no deployments."""
        if not self._deployment:
            raise LLMConnectionError("llm_which_deployment", url=self.address)
        return [ModelInfo(self._deployment)]

    async def list_embedding_models(self) -> list[str]:
        """Return the deployment of the settings if its name indicates an embedding model; see `list_models`."""
        return [self._deployment] if makes_vectors(self._deployment) else []

    async def _described(self, model: str, listed: Sequence[ModelInfo]) -> ModelInfo:
        """Return the name alone: a deployment reports neither its window nor its abilities."""
        return ModelInfo(model)

    def _chat_url(self, model: str) -> str:
        return self._place.chat_url(model)

    def _embeddings_url(self, model: str) -> str:
        return self._place.embeddings_url(model)


def _check_endpoint(endpoint: str) -> None:
    """Raise ConfigurationError for an endpoint no request can be sent to."""
    setting, example = "llm.azure.endpoint", "https://NAME.openai.azure.com"
    if not endpoint.strip():
        raise ConfigurationError("llm_setting_missing", provider="azure", setting=setting, example=example)
    if fault := address_fault(endpoint):
        raise ConfigurationError(
            "llm_endpoint_unusable", endpoint=endpoint, reason=fault, setting=setting, example=example
        )


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Azure:
    """Create the provider from the settings, with the key in `environ`. Raises ConfigurationError."""
    del root  # not used: a server belongs to no project
    azure = settings.azure
    return Azure(
        azure.endpoint,
        deployment=azure.deployment_name or settings.model,
        api_version=azure.api_version,
        api_key=key_from(KEY_VARIABLE, environ),
        ad_token=key_from(TOKEN_VARIABLE, environ),
        timeout=azure.timeout,
        idle_timeout=azure.idle_timeout,
    )
