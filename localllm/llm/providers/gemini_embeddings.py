"""Embeddings of the Gemini API: batchEmbedContents, so many texts at a time."""

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from localllm.base.jsontext import encode_json
from localllm.llm.providers.base import Embeddings

_MOST_TEXTS = 100
"""So many a request may have: the API refuses one more."""


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """`texts` in the portions they are sent in."""
    return (texts[start : start + _MOST_TEXTS] for start in range(0, len(texts), _MOST_TEXTS))


def embedding_body(texts: Sequence[str], resource: str) -> bytes:
    """The body of a request for the vectors of `texts`, by the model at the path `resource`."""
    return encode_json({"requests": [{"model": resource, "content": {"parts": [{"text": text}]}} for text in texts]})


def parse_embeddings(body: bytes) -> Embeddings:
    """The vectors in an answer, in the order of their texts. Raises msgspec.DecodeError."""
    answer = msgspec.json.decode(body, type=_Answer)
    usage = answer.usage_metadata or _Usage()
    return Embeddings(tuple(embedding.values for embedding in answer.embeddings), usage.prompt_token_count or 0)


def joined(parts: Sequence[Embeddings]) -> Embeddings:
    """The answers to all portions as one."""
    vectors = tuple(chain.from_iterable(part.vectors for part in parts))
    return Embeddings(vectors, sum(part.tokens for part in parts))


# The server's JSON, as far as it is read.


class _Embedding(msgspec.Struct):
    values: tuple[float, ...] = ()


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None


class _Answer(msgspec.Struct, rename="camel"):
    embeddings: list[_Embedding]
    usage_metadata: _Usage | None = None
