"""LM Studio: OpenAI's chat completions, and its own model list, which reports the window each is loaded with."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.config.schema import SECRET_VARIABLES, LLMSettings
from localllm.llm.addresses import api_root, server_root
from localllm.llm.providers.base import Ability, ModelInfo
from localllm.llm.providers.http_provider import check_address, key_from
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.openai_models import find_model, is_embedding_name

_NOT_THERE = frozenset({"llm_malformed", "llm_bad_request", "llm_model_not_found"})
"""Errors of a server that lacks an endpoint: 404 or 405, or LM Studio's "Unexpected endpoint" with status 200."""


_EMBEDDING_TYPES = frozenset({"embedding", "embeddings"})


class LMStudio(OpenAICompatible):
    """LM Studio's server at `base_url`.

    It has two lists of its own: /api/v0/models since 0.3.6, and /api/v1/models since 0.4.0. The first is used, as every
    version in use has it; the second only if the first is gone or omits a window. If there is neither, /v1/models has
    the names. That is usually one request, at most three.
    """

    constrains: bool = True

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
    ) -> None:
        self._root = server_root(base_url)
        its_own_interface = api_root(base_url).startswith(f"{self._root}/api/")
        super().__init__(
            "lmstudio",
            self._root if its_own_interface else base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=api_key,
            key_variable="LMSTUDIO_API_KEY",
        )

    async def list_models(self) -> list[ModelInfo]:
        """Return the chat models, loaded ones first; see Provider."""
        if (models := await self._native_if_there("v0")) is None:
            models = await self._native_if_there("v1")
            return await super().list_models() if models is None else models
        if all(info.context_window for info in models if info.loaded):
            return models
        try:
            return fill_windows(models, await self._native("v1"))
        except LLMConnectionError:
            return models

    async def list_embedding_models(self) -> list[str]:
        """Return the models of type embedding, loaded ones first; see Embedding."""
        for version in ("v0", "v1"):
            try:
                body = await self._native_list(version)
                return self._errors.guard(lambda body=body: parse_native_embedders(body))
            except LLMConnectionError as error:
                if error.key not in _NOT_THERE:
                    raise
        return await super().list_embedding_models()

    async def _described(self, model: str, listed: Sequence[ModelInfo]) -> ModelInfo:
        return find_model(model, listed or await self.list_models())

    async def _native_if_there(self, version: str) -> list[ModelInfo] | None:
        """Return the list, or None if this version of the server lacks it."""
        try:
            return await self._native(version)
        except LLMConnectionError as error:
            if error.key not in _NOT_THERE:
                raise
            return None

    async def _native(self, version: str) -> list[ModelInfo]:
        body = await self._native_list(version)
        return self._errors.guard(lambda: parse_native_models(body))

    async def _native_list(self, version: str) -> bytes:
        return await self._fetch(f"{self._root}/api/{version}/models")


def parse_native_models(body: bytes) -> list[ModelInfo]:
    """Parse the chat models in a response of /api/v0/models or /api/v1/models, loaded ones first. Raises ValueError."""
    return _loaded_first(entry.info for entry in _entries(body) if entry.answers)


def parse_native_embedders(body: bytes) -> list[str]:
    """Parse the names of the embedding models in such a response, loaded ones first. Raises ValueError."""
    return [info.id for info in _loaded_first(entry.info for entry in _entries(body) if entry.embeds)]


def _loaded_first(models: Iterable[ModelInfo]) -> list[ModelInfo]:
    return sorted(models, key=lambda info: info.loaded is False)


def _entries(body: bytes) -> Sequence["_V0Model | _V1Model"]:
    answer = decode_json(body, _Answer)
    if answer.error:
        raise ValueError(str(answer.error))
    entries = answer.data if answer.models is None else answer.models
    if entries is None:
        raise ValueError("it lists no models")
    return entries


def fill_windows(models: Sequence[ModelInfo], others: Sequence[ModelInfo]) -> list[ModelInfo]:
    """Return `models` with missing windows taken from `others`."""
    windows = {other.id: other.context_window for other in others}
    return [
        msgspec.structs.replace(info, context_window=info.context_window or windows.get(info.id, 0)) for info in models
    ]


# The server's JSON, reduced to the fields used.


class _V0Model(msgspec.Struct):
    id: str
    type: str | None = None
    state: str | None = None
    quantization: str | None = None
    loaded_context_length: int | None = None
    max_context_length: int | None = None
    capabilities: list[str] | None = None

    @property
    def answers(self) -> bool:
        return self.type not in _EMBEDDING_TYPES and not is_embedding_name(self.id)

    @property
    def embeds(self) -> bool:
        """Whether it is of that type: LM Studio computes embeddings with no others, whatever their names."""
        return self.type in _EMBEDDING_TYPES

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            self.id,
            context_window=self.loaded_context_length or 0,
            max_context_window=self.max_context_length or 0,
            loaded=self.state == "loaded" if self.state else None,
            abilities=self._abilities,
            quantization=self.quantization or "",
        )

    @property
    def _abilities(self) -> frozenset[Ability] | None:
        """Its abilities; None without the list, which is also missing for models that support tools."""
        if self.capabilities is None:
            return None
        told: dict[Ability, bool] = {"tools": "tool_use" in self.capabilities, "vision": self.type == "vlm"}
        return frozenset(ability for ability, has in told.items() if has)


class _Quantization(msgspec.Struct):
    name: str | None = None


class _LoadConfig(msgspec.Struct):
    context_length: int | None = None


class _Instance(msgspec.Struct):
    config: _LoadConfig | None = None


class _V1Abilities(msgspec.Struct):
    vision: bool | None = None
    trained_for_tool_use: bool | None = None
    reasoning: Json = None


class _V1Model(msgspec.Struct):
    key: str
    type: str | None = None
    quantization: _Quantization | None = None
    params_string: str | None = None
    loaded_instances: list[_Instance] | None = None
    max_context_length: int | None = None
    capabilities: _V1Abilities | None = None

    @property
    def answers(self) -> bool:
        return self.type not in _EMBEDDING_TYPES and not is_embedding_name(self.key)

    @property
    def embeds(self) -> bool:
        """See `_V0Model`."""
        return self.type in _EMBEDDING_TYPES

    @property
    def info(self) -> ModelInfo:
        configs = [instance.config or _LoadConfig() for instance in self.loaded_instances or ()]
        return ModelInfo(
            self.key,
            context_window=min((config.context_length for config in configs if config.context_length), default=0),
            max_context_window=self.max_context_length or 0,
            loaded=bool(configs),
            abilities=self._abilities,
            parameters=self.params_string or "",
            quantization=(self.quantization and self.quantization.name) or "",
        )

    @property
    def _abilities(self) -> frozenset[Ability] | None:
        if self.capabilities is None:
            return None
        told: dict[Ability, bool | None] = {
            "tools": self.capabilities.trained_for_tool_use,
            "thinking": bool(self.capabilities.reasoning),
            "vision": self.capabilities.vision,
        }
        return frozenset(ability for ability, has in told.items() if has)


class _Answer(msgspec.Struct):
    data: list[_V0Model] | None = None
    models: list[_V1Model] | None = None
    error: Json = None


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> LMStudio:
    """Create the provider from the settings, with the key in `environ`. Raises ConfigurationError."""
    del root
    server = settings.lmstudio
    check_address("lmstudio", server.base_url)
    variable = SECRET_VARIABLES["llm.lmstudio.api_key"]
    return LMStudio(
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=key_from(variable, environ),
    )
