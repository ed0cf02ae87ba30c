"""Offline mode: the model servers that remain reachable, and the refusal of the others."""

from collections.abc import Iterator, Mapping
from functools import reduce

from localllm.base import offline
from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import _
from localllm.config.loader import LOOKED_AT, Loaded
from localllm.config.trust import runs_elsewhere
from localllm.llm.addresses import api_root, ollama_address

_ADDRESSES = ("base_url", "endpoint")
"""Names of the settings that hold the address of a model server or a trace receiver."""

_TRACE_RECEIVERS = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
"""Environment variables with the address of a Langfuse, which is used only if tracing is enabled."""


def go_offline(loaded: Loaded, environ: Mapping[str, str]) -> None:
    """Switch offline mode on if the settings say so: only this machine and the model servers in the user's own network
    that the user has named stay reachable. Servers named by a project's file never count, trusted or not."""
    if loaded.settings.offline:
        offline.switch_on(map(api_root, _named_by_user(loaded, environ)))


def reachable_offline() -> str:
    """Describe in the user's language what is reachable offline."""
    if places := ", ".join(offline.named_places()):
        return _("Offline: only this machine is contacted, and in your own network {places}.", places=places)
    return _("Offline: only this machine is contacted.")


def refuse_model_elsewhere(model: str, url: str, *, is_remote: bool = False, is_named: bool = True) -> None:
    """Raise LLMConnectionError if the local server would run `model` remotely, and the program is offline, or the user
    has not named the model (not `is_named`, or the own network alone is used). `is_remote`: the server says so."""
    if not (is_remote or runs_elsewhere(model)):
        return
    if offline.is_on():
        raise LLMConnectionError("llm_offline_model", model=model, url=url)
    if offline.is_direct() or not is_named:
        raise LLMConnectionError("llm_model_elsewhere", model=model, url=url)


def _named_by_user(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[str]:
    for key, origin in loaded.origins.items():
        if key.rpartition(".")[2] in _ADDRESSES and origin.layer != "project":
            yield reduce(getattr, key.split("."), loaded.settings)
    if host := environ.get("OLLAMA_HOST", "").strip(" \t\"'"):
        yield ollama_address(host)
    yield from filter(None, (environ.get(name, "").strip() for name in _TRACE_RECEIVERS))
    yield from environ.get(LOOKED_AT, "").replace(",", " ").split()
