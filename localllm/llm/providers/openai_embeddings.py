"""Embeddings as OpenAI's interface writes them."""

from collections.abc import Sequence

import msgspec

from localllm.base.jsontext import encode_json
from localllm.llm.providers.base import Embeddings


class _Vector(msgspec.Struct):
    embedding: tuple[float, ...]
    index: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    total_tokens: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Vector]
    usage: msgspec.Raw = msgspec.Raw(b"null")


def embedding_body(texts: Sequence[str], model: str) -> bytes:
    """The body of a request for the vectors of `texts`."""
    return encode_json({"model": model, "encoding_format": "float", "input": list(texts)})


def parse_embeddings(body: bytes) -> Embeddings:
    """The vectors in the order of their texts, which is that of their indexes. Raises ValueError,
    msgspec.DecodeError."""
    answer = msgspec.json.decode(body, type=_Answer)
    vectors = tuple(item.embedding for item in _in_order(answer.data))
    return Embeddings(vectors, _tokens(answer.usage))


def _in_order(items: list[_Vector]) -> list[_Vector]:
    """Where no item has an index, the order is that in which they came."""
    indexes = [item.index for item in items if item.index is not None]
    if not indexes:
        return items
    if sorted(indexes) != list(range(len(items))):
        raise ValueError(f"the vectors of {len(items)} texts are numbered {', '.join(map(str, indexes[:8]))}")
    return sorted(items, key=lambda item: item.index or 0)


def _tokens(usage: msgspec.Raw) -> int:
    """The tokens read, 0 where that cannot be read: the vectors are worth more than their bill."""
    try:
        told = msgspec.json.decode(usage, type=_Usage | None) or _Usage()
    except msgspec.DecodeError:
        return 0
    return told.prompt_tokens or told.total_tokens or 0
