"""What Ollama tells of its models (/api/tags, /api/ps, /api/show), and the window that is chosen from it."""

from collections.abc import Mapping

import msgspec

from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.llm.providers.base import Ability, ModelInfo
from localllm.llm.providers.openai_models import is_embedding_name

DEFAULT_WINDOW = 16_384
"""Tokens asked for where nothing says otherwise. Ollama's own default, 4,096 on most machines, does not hold the files
an agent reads; 16,384 cost an 8B model with grouped attention about 2 GB beside its weights (16-bit cache: 128 kB a
token), which an 8 GB GPU still has."""

SMALLEST_KEPT_WINDOW = 8_192
"""Tokens: a window the model is loaded with, or that its Modelfile sets, is taken over from here on."""


class Details(msgspec.Struct, frozen=True):
    """A model's build."""

    family: str | None = None
    parameter_size: str | None = None
    quantization_level: str | None = None
    context_length: int | None = None


class TagEntry(msgspec.Struct, frozen=True):
    """A model in the answer of /api/tags."""

    name: str
    details: Details | None = None
    capabilities: list[str] | None = None

    @property
    def answers(self) -> bool:
        """Whether it answers at all, and does not only make embeddings."""
        if self.capabilities is not None:
            return "completion" in self.capabilities
        family = (self.details and self.details.family) or ""
        return "bert" not in family.lower() and not is_embedding_name(self.name)

    @property
    def embeds(self) -> bool:
        """Whether it makes embeddings. Older versions do not say: then it is one that does not answer."""
        if self.capabilities is not None:
            return "embedding" in self.capabilities
        return not self.answers and "rerank" not in self.name.lower()


class Shown(msgspec.Struct, frozen=True):
    """The answer of /api/show; empty where it told nothing."""

    parameters: str | None = None
    details: Details | None = None
    model_info: dict[str, Json] | None = None
    capabilities: list[str] | None = None

    @property
    def maximum(self) -> int:
        """The longest window the model was made for, in tokens; 0 where unknown."""
        told = self.model_info or {}
        length = told.get(f"{told.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else 0

    @property
    def set_window(self) -> int:
        """The num_ctx of its Modelfile; 0 where it sets none."""
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
    """The models in an answer of /api/tags. Raises msgspec.DecodeError for anything else."""
    return decode_json(body, _Tags).models or []


def parse_running(body: bytes) -> dict[str, int]:
    """The models in an answer of /api/ps, by their full names, and the window each has; 0 where it is not told."""
    answer = decode_json(body, _Running)
    return {full_name(entry.name): entry.context_length or 0 for entry in answer.models or ()}


def parse_shown(body: bytes) -> Shown:
    """An answer of /api/show. Raises msgspec.DecodeError for anything else."""
    return decode_json(body, Shown)


def full_name(model: str) -> str:
    """The name with its tag: `qwen3` is `qwen3:latest`."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def choose_window(wanted: int, shown: Shown, served: int) -> int:
    """The num_ctx for all requests to a model, in tokens: as `wanted` (0 for no wish), else as it is `served` now,
    else as its Modelfile sets it, else DEFAULT_WINDOW; never more than the model was made for."""
    kept = (window for window in (served, shown.set_window) if window >= SMALLEST_KEPT_WINDOW)
    return _bounded(wanted or next(kept, DEFAULT_WINDOW), shown.maximum)


def shown_info(model: str, shown: Shown, window: int, running: Mapping[str, int] | None) -> ModelInfo:
    """A model as /api/show describes it, its requests having `window` tokens. `running`: the models in memory, None
    where that is unknown."""
    details = shown.details or Details()
    return ModelInfo(
        model,
        context_window=window,
        max_context_window=shown.maximum,
        loaded=None if running is None else full_name(model) in running,
        abilities=_abilities(shown.capabilities),
        parameters=details.parameter_size or "",
        quantization=details.quantization_level or "",
    )


def list_info(entry: TagEntry, running: Mapping[str, int] | None, chosen: int, wanted: int) -> ModelInfo:
    """A model as the lists describe it. `running`: as above; `chosen`: the window its requests have already, `wanted`:
    the one they would ask for; 0 for none."""
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
    )


def _bounded(window: int, maximum: int) -> int:
    return min(window, maximum) if maximum else window


def _abilities(capabilities: list[str] | None) -> frozenset[Ability] | None:
    if capabilities is None:
        return None
    known: tuple[Ability, ...] = ("tools", "thinking", "vision")
    return frozenset(ability for ability in known if ability in capabilities)
