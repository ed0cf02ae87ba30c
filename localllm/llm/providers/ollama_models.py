"""Ollama's model descriptions (/api/tags, /api/ps, /api/show), and the choice of the window."""

from collections.abc import Mapping

import msgspec

from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.llm.providers.base import Ability, ModelInfo
from localllm.llm.providers.openai_models import is_embedding_name

DEFAULT_WINDOW = 16_384
"""Default window in tokens.
Ollama's own default, 4,096 on most machines, does not hold the files an agent reads; 16,384 cost an 8B model with
grouped attention about 2 GB beside its weights (16-bit cache: 128 kB a token), which an 8 GB GPU still has."""

SMALLEST_KEPT_WINDOW = 8_192
"""Tokens: a window the model is loaded with, or that its Modelfile sets, is adopted from this size on."""


class Details(msgspec.Struct, frozen=True):
    """A model's build."""

    family: str | None = None
    parameter_size: str | None = None
    quantization_level: str | None = None
    context_length: int | None = None


class TagEntry(msgspec.Struct, frozen=True):
    """A model in a response of /api/tags."""

    name: str
    details: Details | None = None
    capabilities: list[str] | None = None
    remote_model: str | None = None
    remote_host: str | None = None

    @property
    def answers(self) -> bool:
        """Whether it is a chat model, not only an embedding model."""
        if self.capabilities is not None:
            return "completion" in self.capabilities
        family = (self.details and self.details.family) or ""
        return "bert" not in family.lower() and not is_embedding_name(self.name)

    @property
    def embeds(self) -> bool:
        """Whether it computes embeddings. For older versions, which do not report it: whether it is no chat model."""
        if self.capabilities is not None:
            return "embedding" in self.capabilities
        return not self.answers and "rerank" not in self.name.lower()


class Shown(msgspec.Struct, frozen=True):
    """A response of /api/show; empty if that failed."""

    parameters: str | None = None
    details: Details | None = None
    model_info: dict[str, Json] | None = None
    capabilities: list[str] | None = None
    remote_model: str | None = None
    remote_host: str | None = None

    @property
    def maximum(self) -> int:
        """The maximum window of the model, in tokens; 0 if unknown."""
        told = self.model_info or {}
        length = told.get(f"{told.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else 0

    @property
    def set_window(self) -> int:
        """The num_ctx of its Modelfile; 0 if not set."""
        for line in (self.parameters or "").splitlines():
            match line.split():
                case ["num_ctx", number] if number.isdecimal():
                    return int(number)
                case _:
                    pass
        return 0


class _Tags(msgspec.Struct):
    models: list[TagEntry] | None


class _RunningEntry(msgspec.Struct):
    name: str
    context_length: int | None = None


class _Running(msgspec.Struct):
    models: list[_RunningEntry] | None


def parse_tags(body: bytes) -> list[TagEntry]:
    """Parse the models in a response of /api/tags. Raises msgspec.DecodeError for anything else."""
    return decode_json(body, _Tags).models or []


def parse_running(body: bytes) -> dict[str, int]:
    """Parse the models in a response of /api/ps: full name to window, 0 if not reported."""
    answer = decode_json(body, _Running)
    return {full_name(entry.name): entry.context_length or 0 for entry in answer.models or ()}


def parse_shown(body: bytes) -> Shown:
    """Parse a response of /api/show. Raises msgspec.DecodeError for anything else."""
    return decode_json(body, Shown)


def full_name(model: str) -> str:
    """Return the name with its tag: `qwen3` is `qwen3:latest`."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def choose_window(wanted: int, shown: Shown, served: int) -> int:
    """Choose the num_ctx of all requests to a model, in tokens: `wanted` unless 0, else the one it is `served` with
    now, else its Modelfile's, else DEFAULT_WINDOW; never more than the model's maximum."""
    kept = (window for window in (served, shown.set_window) if window >= SMALLEST_KEPT_WINDOW)
    return _bounded(wanted or next(kept, DEFAULT_WINDOW), shown.maximum)


def shown_info(model: str, shown: Shown, window: int, running: Mapping[str, int] | None) -> ModelInfo:
    """Return a model as described by /api/show, with a window of `window` tokens.
    `running`: the loaded models, None if unknown."""
    details = shown.details or Details()
    return ModelInfo(
        model,
        context_window=window,
        max_context_window=shown.maximum,
        loaded=None if running is None else full_name(model) in running,
        abilities=_abilities(shown.capabilities),
        parameters=details.parameter_size or "",
        quantization=details.quantization_level or "",
        is_remote=bool(shown.remote_model or shown.remote_host),
    )


def list_info(entry: TagEntry, running: Mapping[str, int] | None, chosen: int, wanted: int) -> ModelInfo:
    """Return a model as described by the lists. `running`: as above; `chosen`: the window of its earlier requests,
    `wanted`: the one later ones would set; 0 for none."""
    details = entry.details or Details()
    maximum = details.context_length or 0
    expected = chosen or (_bounded(wanted or DEFAULT_WINDOW, maximum) if maximum else 0)
    name = full_name(entry.name)
    return ModelInfo(
        entry.name,
        context_window=(running or {}).get(name, 0) or expected,
        max_context_window=maximum,
        loaded=None if running is None else name in running,
        abilities=_abilities(entry.capabilities),
        parameters=details.parameter_size or "",
        quantization=details.quantization_level or "",
        is_remote=bool(entry.remote_model or entry.remote_host),
    )


def _bounded(window: int, maximum: int) -> int:
    return min(window, maximum) if maximum else window


def _abilities(capabilities: list[str] | None) -> frozenset[Ability] | None:
    if capabilities is None:
        return None
    known: tuple[Ability, ...] = ("tools", "thinking", "vision")
    return frozenset(ability for ability in known if ability in capabilities)
