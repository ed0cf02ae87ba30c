"""The interface of an embedding model, and its implementation by a model server."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from localllm.base.errors import LLMConnectionError
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.providers.base import Embedding, Embeddings, Provider
from localllm.rag.records import Embedder

Vector = tuple[float, ...]


class TextEmbedder(Protocol):
    """An available embedding model. The methods raise LLMConnectionError or KnowledgeBaseError."""

    @property
    def record(self) -> Embedder:
        """The record a collection keeps of it."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be found."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


_BGE = "Represent this sentence for searching relevant passages: "
_QWEN = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_PREFIXES = (
    (late_pattern(r"(?i)\be5\b|glucose"), "query: ", "passage: "),
    (late_pattern(r"(?i)nomic-embed-text"), "search_query: ", "search_document: "),
    (late_pattern(r"(?i)embedding-?gemma"), "task: search result | query: ", "title: none | text: "),
    (late_pattern(r"(?i)qwen3-embedding"), _QWEN, ""),
    (late_pattern(r"(?i)ruri-v3"), "検索クエリ: ", "検索文書: "),
    (late_pattern(r"(?i)\bruri\b"), "クエリ: ", "文章: "),
    (late_pattern(r"(?i)arctic-embed.*(v2|2\.0)|arctic-embed2"), "query: ", ""),
    (late_pattern(r"(?i)bge-(?:small|base|large)-en|mxbai-embed|arctic-embed"), _BGE, ""),
)
"""Query and passage prefixes from the model cards; the first match applies."""

_BATCH = 32
_SHORTEST = 200
"""Characters below which a text is not truncated further."""
_CUT = 0.7
_WAIT, _LONGEST_WAIT = 0.5, 4.0
"""Seconds before the first retry, doubled each time, and before the last."""


def prefixes(model: str) -> tuple[str, str]:
    """Return the query prefix and the passage prefix of a model."""
    return next(((query, passage) for pattern, query, passage in _PREFIXES if pattern.search(model)), ("", ""))


class ServerEmbedder:
    """An embedding model of a model server. A text that is too long is truncated, a batch that is too large halved;
    both limits are remembered."""

    def __init__(self, provider: Provider, server: Embedding, model: str, record: Embedder) -> None:
        self._provider = provider
        self._server = server
        self._model = model
        self._record = record
        self._batch = _BATCH
        self._longest = 0
        """Characters the model accepts; 0 until a text was too long."""

    @property
    def record(self) -> Embedder:
        """See TextEmbedder."""
        return self._record

    def described_by(self, record: Embedder) -> None:
        """Store the probed abilities of the model."""
        self._record = record

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """See TextEmbedder."""
        return await self._embed([self._record.passage_prefix + text for text in texts], patience=_LONGEST_WAIT)

    async def embed_query(self, text: str) -> Vector:
        """See TextEmbedder. Without retries, since the user waits for it."""
        return (await self._embed([self._record.query_prefix + text], patience=0.0))[0]

    async def aclose(self) -> None:
        """See TextEmbedder."""
        await self._provider.aclose()

    async def _embed(self, texts: Sequence[str], patience: float) -> list[Vector]:
        found: list[Vector] = []
        while len(found) < len(texts):
            batch = list(texts[len(found) : len(found) + self._batch])
            found += await self._fitting(batch, patience)
        return found

    async def _fitting(self, batch: list[str], patience: float) -> list[Vector]:
        """Embed the batch, or only its first part if the server accepts no more at a time."""
        while True:
            cut = [text[: self._longest] if self._longest else text for text in batch]
            try:
                return list((await self._asked(cut, patience)).vectors)
            except LLMConnectionError as error:
                if error.key != "llm_text_too_long":
                    raise
                longest = max(map(len, cut))
                if len(batch) > 1:
                    self._batch = max(1, len(batch) // 2)
                    batch = batch[: self._batch]
                elif longest > _SHORTEST:
                    self._longest = max(_SHORTEST, int(longest * _CUT))
                else:
                    raise

    async def _asked(self, texts: Sequence[str], patience: float) -> Embeddings:
        """Call the server; retry transient errors, the last time after `patience` seconds."""
        wait = _WAIT
        while True:
            try:
                return await self._server.embed(texts, self._model)
            except LLMConnectionError as error:
                if not error.retryable or wait > patience:
                    raise
                await asyncio.sleep(error.retry_after or wait)
                wait *= 2
