"""Generate a configuration from discovered models: the largest one reviews, the others work."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import N_, Phrase, sentences
from localllm.config.schema import LLMSettings
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.llm.discovery.scan import discover
from localllm.llm.discovery.servers import Server, without_another_s
from localllm.llm.model_profiles import parameters
from localllm.llm.providers.base import ModelInfo, may_be_taken
from localllm.llm.providers.openai_models import is_embedding_name
from localllm.llm.server_summary import obstacle

MOST_WORKERS = 4
"""More models would slow down every question; users who want more can name them."""

WORKER_SECONDS, REVIEWER_SECONDS = 180.0, 300.0
"""One machine loads its models one after the other and runs them slowly: the paper's 60 s assume a machine per
model."""

_LONGEST_ID = 150
"""Longest name of a model that takes part: agents are named after it, and a file's names are short."""

Look = Callable[[LLMSettings, Mapping[str, str]], Awaitable[Sequence[Server]]]
"""A server discovery function; `discover` is the real one."""


class AutoConfig(msgspec.Struct, frozen=True):
    """A generated configuration, with remarks on it."""

    config: EnsembleConfig
    remarks: tuple[Phrase, ...] = ()


class _Model(msgspec.Struct, frozen=True):
    server: Server
    info: ModelInfo

    @property
    def size(self) -> tuple[float, int]:
        """The sort key: parameters, then the context window."""
        return parameters(self.info), self.info.context_window or self.info.max_context_window

    @property
    def waits_to_be_loaded(self) -> bool:
        return self.info.loaded is False


async def make_config(settings: LLMSettings, environ: Mapping[str, str], look: Look = discover) -> AutoConfig:
    """Generate a configuration with the models `look` finds: all chat models of ready servers, without embedding and
    cloud models, those whose name is no plain short line, other ensembles, and another person's servers beside others.

    Raises LLMConnectionError if there is none.
    """
    found = await look(settings, environ)
    servers = without_another_s(found)
    models = [
        _Model(server, info)
        for server in servers
        if server.state == "ready"
        for info in may_be_taken(server.models)
        if not is_embedding_name(info.id) and info.id.isprintable() and len(info.id) <= _LONGEST_ID
    ]
    if not models:
        addresses = ", ".join(server.base_url for server in servers) or "—"
        reasons = sentences(*map(obstacle, servers))
        raise LLMConnectionError("ensemble_no_models", addresses=addresses, reasons=reasons)
    made = _configured(models)
    others = ", ".join(server.base_url for server in found if server not in servers)
    remark = Phrase("Left out as another person's program: {addresses}.", addresses=others)
    return msgspec.structs.replace(made, remarks=(*made.remarks, remark)) if others else made


def _configured(models: Sequence[_Model]) -> AutoConfig:
    reviewer = max(models, key=lambda model: model.size)
    if len(models) == 1:
        return _sampled(reviewer)
    others = [model for model in models if model is not reviewer]
    others.sort(key=lambda model: (model.waits_to_be_loaded, *(-measure for measure in model.size)))
    chosen, left_out = others[:MOST_WORKERS], others[MOST_WORKERS:]
    remarks: list[Phrase] = []
    if len(chosen) == 1:
        chosen.append(reviewer)
        remarks.append(Phrase("There are two models: {name} answers as well as reviews.", name=reviewer.info.id))
    if left_out:
        text = N_(
            "One more model was found and left out: {names}.", "{count} more models were found and left out: {names}."
        )
        names = ", ".join(model.info.id for model in left_out)
        remarks.append(Phrase(text, count=len(left_out), names=names))
    names = Counter(model.info.id for model in models)
    workers = tuple(_agent(model, is_ambiguous=names[model.info.id] > 1) for model in chosen)
    return AutoConfig(_whole(reviewer, workers, SystemSettings(default_timeout=WORKER_SECONDS)), tuple(remarks))


def _sampled(model: _Model) -> AutoConfig:
    """Configure a single model that is sampled several times."""
    system = SystemSettings(default_timeout=WORKER_SECONDS, strategy="self")
    remark = Phrase(
        "There is one model, {name}: it is asked {times} times, and reviews its own answers.",
        name=model.info.id,
        times=system.samples,
    )
    return AutoConfig(_whole(model, (_agent(model),), system), (remark,))


def _whole(reviewer: _Model, workers: tuple[AgentConfig, ...], system: SystemSettings) -> EnsembleConfig:
    return EnsembleConfig(
        reviewer_agent=msgspec.structs.replace(
            _agent(reviewer), name=f"Reviewer ({reviewer.info.id})", timeout=REVIEWER_SECONDS
        ),
        worker_agents=workers,
        system_settings=system,
    )


def _agent(model: _Model, *, is_ambiguous: bool = False) -> AgentConfig:
    """Configure the model as an agent named by its id; with the server's address if the id is ambiguous."""
    name = model.info.id
    return AgentConfig(
        name=f"{name} ({urlsplit(model.server.base_url).netloc})" if is_ambiguous else name,
        api_url=model.server.base_url,
        model=model.info.id,
        provider=model.server.provider,
        api_key_env=model.server.key_variable,
    )
