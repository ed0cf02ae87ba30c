"""What answers at an address: a server is known by what it says, not by its port."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec

from localllm.base.config.schema import ProviderName
from localllm.base.i18n import tr
from localllm.llm.discovery.asking import Answer
from localllm.llm.discovery.servers import ENSEMBLE_OWNER, State
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.lmstudio import parse_native_models
from localllm.llm.providers.ollama_models import list_info, parse_running, parse_tags
from localllm.llm.providers.openai_errors import BLANK, error_in
from localllm.llm.providers.openai_models import ModelEntry, parse_entries, told_by_props
from localllm.llm.reasons import short_reason
from localllm.text.cleaning import clean

Ask = Callable[[str], Awaitable[Answer]]
"""Gives the answer to GET of a path below the server's root: /v1/models, /api/tags, …"""

T = TypeVar("T")

_BEST_FIRST: tuple[State, ...] = ("ready", "empty", "locked", "silent", "foreign")
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_LONGEST_TITLE = 60


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What answers. `provider` is None where nobody was recognised; the rest is as in Server. For a locked one, the
    detail is left to those who know of the keys."""

    state: State
    provider: ProviderName | None = None
    software: str = ""
    models: tuple[ModelInfo, ...] = ()
    detail: str = ""


LOCKED = Found(state="locked")


async def recognise(ask: Ask, expected: ProviderName, *, window: int = 0) -> Found:
    """Who answers `ask`. The question `expected` understands comes first, and the others where that was not enough:
    Ollama and LM Studio also list their models as OpenAI does. `window`: the tokens Ollama would be asked for."""
    readers: dict[ProviderName, Callable[[Ask], Awaitable[Found | None]]] = {
        "ollama": partial(_as_ollama, window=window),
        "openai": _as_openai,
        "lmstudio": _as_lmstudio,
    }
    seen: list[Found] = []
    for name in sorted(readers, key=lambda name: name != expected):
        found = await readers[name](ask)
        if found and found.software:
            return found
        seen += [found] if found else []
    return min(seen, key=lambda found: _BEST_FIRST.index(found.state))


async def _as_ollama(ask: Ask, window: int) -> Found | None:
    """Ollama tells its version and has its own list of models; many a web application has one of the two."""
    version = await ask("/api/version")
    if _wants_key(version):
        return LOCKED
    if not _decoded(version, lambda body: msgspec.json.decode(body, type=_Version)):
        return None
    tags = await ask("/api/tags")
    if _wants_key(tags):
        return LOCKED
    if (offered := _decoded(tags, parse_tags)) is None:
        return None
    running = _decoded(await ask("/api/ps"), parse_running) or {}
    models = [list_info(entry, running, 0, window) for entry in offered if entry.answers]
    return _model_server("ollama", "Ollama", sorted(models, key=lambda info: not info.loaded))


async def _as_lmstudio(ask: Ask) -> Found | None:
    """LM Studio's own lists say of each model of what type it is and whether it is loaded. The oldest versions have
    none, but a way of their own to say so."""
    own = await ask("/api/v0/models")
    if _wants_key(own):
        return LOCKED
    marks = _decoded(own, lambda body: msgspec.json.decode(body, type=_NativeList))
    models = _decoded(own, parse_native_models)
    if marks and models is not None and (marks.data or marks.object == "list"):
        return _model_server("lmstudio", "LM Studio", models)
    its_words = b"Unexpected endpoint" in own.body
    if its_words or own.status == 404:  # versions that have the newer list alone
        newer = await ask("/api/v1/models")
        models = _decoded(newer, parse_native_models)
        marks = _decoded(newer, lambda body: msgspec.json.decode(body, type=_NewerList))
        if marks and models is not None and (marks.models or its_words):
            return _model_server("lmstudio", "LM Studio", models)
    if not its_words:
        return None
    entries = _listed(await ask("/v1/models"))
    return None if entries is None else _model_server("lmstudio", "LM Studio", [entry.info for entry in entries])


async def _as_openai(ask: Ask) -> Found:
    """Anybody who lists models as OpenAI does; some leave their mark in the list."""
    answer = await ask("/v1/models")
    if _wants_key(answer):
        return LOCKED
    if _is_loading(answer):
        return Found(state="silent", provider="openai", software="llama.cpp", detail=tr("found.loading"))
    entries = _listed(answer)
    if entries is None:
        return Found(state="foreign", detail=_appearance(answer))
    owners = {entry.owned_by for entry in entries}
    models = [entry.info for entry in entries]
    if ENSEMBLE_OWNER in owners:
        return Found(state="foreign", software="localllm", detail=tr("found.ensemble"))
    if "llamacpp" in owners:
        return await _as_llama_cpp(ask, models)
    return _model_server("openai", "vLLM" if "vllm" in owners else "", models)


async def _as_llama_cpp(ask: Ask, models: list[ModelInfo]) -> Found:
    """llama.cpp shows its models to everybody; where it wants a key, it wants it for all the rest."""
    props = await ask("/props")
    if _wants_key(props):
        return LOCKED
    if len(models) == 1:
        models = [_decoded(props, lambda body: told_by_props(body, models[0])) or models[0]]
    return _model_server("openai", "llama.cpp", models)


def _model_server(provider: ProviderName, software: str, models: list[ModelInfo]) -> Found:
    state = "ready" if models else "empty"
    return Found(state=state, provider=provider, software=software, models=tuple(models))


def _wants_key(answer: Answer) -> bool:
    """Whether it is a program that wants a key. A web site that shows people a page is none."""
    return answer.status in (401, 403) and not _is_html(answer)


def _is_loading(answer: Answer) -> bool:
    """llama.cpp listens before its model is there."""
    error = _decoded(answer, lambda body: error_in(msgspec.json.decode(body)), status=503)
    return error is not None and "loading" in error.message.lower()


def _is_html(answer: Answer) -> bool:
    return answer.body.lstrip(BLANK).startswith(b"<")


def _decoded(answer: Answer, parse: Callable[[bytes], T], *, status: int = 200) -> T | None:
    """What `parse` makes of the answer, None where it is something else."""
    if answer.status != status or not answer.whole:
        return None
    try:
        return parse(answer.body)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None


def _listed(answer: Answer) -> list[ModelEntry] | None:
    """The chat models of an answer to /v1/models, None where it is no such answer: an empty list must say that it is
    one, since other programs have something under "data" as well."""
    marks = _decoded(answer, lambda body: msgspec.json.decode(body, type=_List))
    return _decoded(answer, parse_entries) if marks and (marks.data or marks.object == "list") else None


def _appearance(answer: Answer) -> str:
    """What an answer looks like, for people."""
    if not answer.whole:
        return tr("found.endless")
    if 300 <= answer.status < 400:
        return tr("found.redirect", place=_ink(answer.headers.get("location", "?")), status=answer.status)
    if not _is_html(answer):
        return tr("found.other", status=answer.status)
    title = _TITLE.search(answer.body)
    name = _ink(title[1].decode("utf-8", errors="replace")) if title else ""
    return tr("found.web_page", status=answer.status, title=f"“{name}”" if name else "").rstrip()


def _ink(text: str) -> str:
    return clean(short_reason(text)[:_LONGEST_TITLE], keep_newlines=False)


# The servers' JSON, as far as it marks them.


class _Version(msgspec.Struct):
    version: str


class _Entry(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Entry] | None = None
    object: str | None = None


class _NativeEntry(msgspec.Struct):
    type: str
    state: str


class _NativeList(msgspec.Struct):
    data: list[_NativeEntry]
    object: str | None = None


class _NewerEntry(msgspec.Struct):
    type: str
    key: str
    loaded_instances: list[object]


class _NewerList(msgspec.Struct):
    models: list[_NewerEntry]
