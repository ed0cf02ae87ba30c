"""Azure OpenAI: chat completions under the address of a deployment, or under the v1 address."""

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
"""The newest dated version that is no preview; after it came the undated v1, for all to use since August 2025 (Azure
OpenAI API lifecycle). It is taken for an address with a deployment in it, where nothing names a version."""

_UNDATED = frozenset({"v1", "preview", "latest"})
"""Versions of the v1 interface, which has no deployments in its addresses."""

_OPENAI_PATH = re.compile(r"(?P<prefix>.*?)/openai(?:/(?P<rest>.*))?")
_AZURE_HOST = re.compile(r"\.(azure\.(com|us|cn)|api\.cognitive\.microsoft\.com)$", re.IGNORECASE)


class AzurePlace(msgspec.Struct, frozen=True):
    """Where a resource is: `root` ends with /openai. `deployment` is the one its address names, or empty.

    `version` is a date such as 2024-10-21 for the addresses with a deployment in them, else v1, preview or latest.
    """

    root: str
    deployment: str
    version: str

    @property
    def is_undated(self) -> bool:
        """Whether it is asked through the v1 interface."""
        return self.version in _UNDATED

    @property
    def base_url(self) -> str:
        """What the addresses of all its endpoints begin with."""
        return f"{self.root}/v1" if self.is_undated else self.root

    def chat_url(self, deployment: str) -> str:
        """Where an answer of `deployment` is asked for."""
        return self._url(deployment, "chat/completions")

    def embeddings_url(self, deployment: str) -> str:
        """Where vectors of `deployment` are asked for."""
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
    """The place `endpoint` tells of; `version`, where it is not empty, wins over the one in the address. Where neither
    says anything, it is v1, or NEWEST_DATED where a deployment is in the address.

    Accepts a host, with any path of the resource behind it: /openai, /openai/v1, a whole deployment's address with its
    api-version, a project's address. What a gateway has before /openai is kept.
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
    """What stands before /openai and what behind it. Azure's own hosts have nothing of ours elsewhere: /models,
    /api/projects/NAME are other interfaces of the same resource."""
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
    """Makes LLMConnectionErrors of the failures of one Azure resource; `undated`: it is asked through v1."""

    def __init__(self, provider: str, url: str, key_variable: str, *, undated: bool) -> None:
        super().__init__(provider, url, key_variable)
        self._undated = undated

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> LLMConnectionError:
        """As ever; but who does not know the v1 address may know the dated ones."""
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
        """As ever; but whatever does not answer as a model server is not the resource that was meant."""
        if key == "llm_malformed":
            key, params = "llm_azure_address", {"reason": sentence(str(params["reason"]))}
        return super()._make(key, retryable=retryable, retry_after=retry_after, **params)


KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - the variable's name


class Azure(OpenAICompatible):
    """The resource at `endpoint`; see azure_place for the forms it may have. A model's name is its deployment's.

    `deployment` is used where no model is named. `api_version` is a date, for the addresses with a deployment in them,
    or v1; empty takes what the endpoint says, else v1. `ad_token`, a token of Microsoft Entra ID, wins over `api_key`.

    Raises ConfigurationError where the endpoint cannot be used, or there is neither key nor token.
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
        self._errors = AzureErrors("azure", self.address, variable, undated=self._place.is_undated)

    async def list_models(self) -> list[ModelInfo]:
        """The deployment of the settings, unasked: Azure lists the models of a region, but no deployments."""
        if not self._deployment:
            raise LLMConnectionError("llm_which_deployment", url=self.address)
        return [ModelInfo(self._deployment)]

    async def list_embedding_models(self) -> list[str]:
        """The deployment of the settings where its name tells that it is one; see `list_models`."""
        return [self._deployment] if makes_vectors(self._deployment) else []

    async def _described(self, model: str, listed: Sequence[ModelInfo]) -> ModelInfo:
        """The name alone: a deployment tells neither its window nor its abilities."""
        return ModelInfo(model)

    def _chat_url(self, model: str) -> str:
        return self._place.chat_url(model)

    def _embeddings_url(self, model: str) -> str:
        return self._place.embeddings_url(model)


def _check_endpoint(endpoint: str) -> None:
    """Raises ConfigurationError for one no request can be sent to."""
    setting, example = "llm.azure.endpoint", "https://NAME.openai.azure.com"
    if not endpoint.strip():
        raise ConfigurationError("llm_setting_missing", provider="azure", setting=setting, example=example)
    if fault := address_fault(endpoint):
        raise ConfigurationError(
            "llm_endpoint_unusable", endpoint=endpoint, reason=fault, setting=setting, example=example
        )


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Azure:
    """Make it as the settings say, with the key of `environ`. Raises ConfigurationError."""
    del root  # a server is in no project
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
