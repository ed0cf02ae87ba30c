"""Model metadata of OpenAI-compatible servers: /v1/models in its variants, and llama.cpp's /props and /slots."""

import re
from collections.abc import Sequence

import msgspec

from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.llm.providers.base import Ability, ModelInfo

_EMBEDDING_NAME = r"embed|(?<![a-z0-9])(bge|gte|e5|minilm|labse|sentence-t5|paraphrase)(?![a-z0-9])"
"""Matches embedding models by name: most contain "embed", the others belong to these families."""

# The servers' JSON, reduced to the fields used. Everything but a model's name may be missing or null.


class _Meta(msgspec.Struct):
    n_ctx: int | None = None
    n_ctx_train: int | None = None
    n_params: int | None = None
    ftype: str | None = None


class _Status(msgspec.Struct):
    value: str | None = None


class ModelEntry(msgspec.Struct):
    """A model in a response of /v1/models."""

    id: str
    owned_by: str | None = None
    max_model_len: int | None = None
    meta: _Meta | None = None
    status: _Status | None = None

    @property
    def is_llama_cpp(self) -> bool:
        """Whether llama.cpp's own server offers it."""
        return self.owned_by == "llamacpp"

    @property
    def info(self) -> ModelInfo:
        """The entry as ModelInfo. vLLM and llama.cpp name the window differently."""
        meta = self.meta or _Meta()
        return ModelInfo(
            self.id,
            context_window=max(0, self.max_model_len or meta.n_ctx or 0),
            max_context_window=meta.n_ctx_train or 0,
            loaded=self._loaded,
            parameters=_written(meta.n_params) if meta.n_params else "",
            quantization=meta.ftype or "",
        )

    @property
    def _loaded(self) -> bool | None:
        """Whether it is loaded. llama.cpp's only model is; with several, it reports which."""
        if self.status and self.status.value:
            return self.status.value == "loaded"
        return True if self.is_llama_cpp else None


class _ModelsAnswer(msgspec.Struct):
    data: list[ModelEntry] | msgspec.UnsetType | None = msgspec.UNSET
    error: Json = None


class _SlotSettings(msgspec.Struct):
    n_ctx: int | None = None


class _TemplateAbilities(msgspec.Struct):
    supports_tools: bool | None = None
    supports_tool_calls: bool | None = None


class _Modalities(msgspec.Struct):
    vision: bool | None = None


class _Slot(msgspec.Struct):
    id: int
    id_task: int = -1
    """Id of the latest task it processed, an increasing number. None yet if missing."""
    is_processing: bool = False


class _Props(msgspec.Struct):
    total_slots: int | None = None
    default_generation_settings: _SlotSettings | None = None
    chat_template_caps: _TemplateAbilities | None = None
    modalities: _Modalities | None = None


def parse_entries(body: bytes) -> list[ModelEntry]:
    """Parse the chat models of a /v1/models response, loaded ones first. Raises ValueError for anything else."""
    return [entry for entry in _all_entries(body) if not is_embedding_name(entry.id)]


def parse_embedding_models(body: bytes) -> list[str]:
    """Parse the names of the embedding models in such a response, loaded ones first. Raises like parse_entries."""
    return [entry.id for entry in _all_entries(body) if makes_vectors(entry.id)]


def _all_entries(body: bytes) -> list[ModelEntry]:
    answer = decode_json(body, _ModelsAnswer)
    if answer.error:
        raise ValueError(str(answer.error))
    if answer.data is msgspec.UNSET:
        raise ValueError("it lists no models")
    return sorted(answer.data or (), key=lambda entry: entry.info.loaded is False)


def told_by_props(body: bytes, info: ModelInfo) -> ModelInfo:
    """Return `info` with llama.cpp's /props: the window of one slot, where the model list may have the sum of all, and
    the abilities of the chat template. Raises msgspec.DecodeError."""
    props = decode_json(body, _Props)
    slot = props.default_generation_settings or _SlotSettings()
    told = _abilities(props)
    return msgspec.structs.replace(
        info,
        context_window=max(0, slot.n_ctx or 0) or info.context_window,
        abilities=info.abilities if told is None else told,
    )


def parse_slot_count(body: bytes) -> int:
    """Return the number of llama.cpp's cache slots from /props; 0 if not reported. Raises msgspec.DecodeError."""
    return decode_json(body, _Props).total_slots or 0


def parse_free_slot(body: bytes) -> int | None:
    """Return llama.cpp's least recently used idle slot (/slots), other than the last used one, or None.
    Raises msgspec.DecodeError."""
    slots = sorted(decode_json(body, list[_Slot]), key=lambda slot: slot.id_task)
    return next((slot.id for slot in slots[:-1] if not slot.is_processing), None)


def _abilities(props: _Props) -> frozenset[Ability] | None:
    caps = props.chat_template_caps
    if caps is None:
        return None
    told: dict[Ability, bool | None] = {
        "tools": caps.supports_tools or caps.supports_tool_calls,
        "vision": props.modalities and props.modalities.vision,
    }
    return frozenset(ability for ability, has in told.items() if has)


def _written(count: int) -> str:
    """Format a number of parameters: 8.19B, 596M."""
    return f"{count / 1e9:.3g}B" if count >= 1e9 else f"{count / 1e6:.3g}M"


def find_model(model: str, models: Sequence[ModelInfo]) -> ModelInfo:
    """Return the info of `model`. A server with one model loaded answers with it under any name: an unlisted name gets
    that model's info. Otherwise only the name is known."""
    for info in models:
        if info.id == model:
            return info
    names = tuple(info.id for info in models)
    others = () if f"{model}:latest" in names else names
    match [info for info in models if info.loaded]:
        case [only]:
            return msgspec.structs.replace(only, id=model, instead_of_it=others)
        case _:
            return ModelInfo(model, instead_of_it=others)


def is_embedding_name(name: str) -> bool:
    """Return whether a model of this name computes embeddings or ranks texts by them, and is no chat model."""
    return re.search(_EMBEDDING_NAME, name, re.IGNORECASE) is not None


def makes_vectors(name: str) -> bool:
    """Return whether a model of this name computes embeddings."""
    return is_embedding_name(name) and "rerank" not in name.lower()
