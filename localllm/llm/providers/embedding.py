"""Embedding requests and responses in OpenAI's form, and the base class of embedding providers."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from math import isfinite

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.jsontext import decode_json, encode_json
from localllm.llm.http.transport import HttpFailure, HttpRequest
from localllm.llm.providers.base import Embeddings
from localllm.llm.providers.http_provider import AnswerBody, HttpProvider
from localllm.llm.providers.openai_errors import error_in

_NO_EMBEDDINGS = (
    r"does not support embed|embeddings? operation does not work|generate embeddings from this model"
    r"|model is not embedding|not an? (text )?embeddings? model|pooling type .{0,10} is not"
)
"""Messages of llama.cpp without --embeddings or --pooling, Ollama and vLLM, Azure, OpenAI, LM Studio."""

_TOO_LONG = r"too large to process|maximum input length|input length exceeds"
"""Messages of llama.cpp, OpenAI, Ollama; others that mention a context are recognised as overflows."""

_ANOTHER_MODEL_FIXES = frozenset({"llm_no_embeddings", "llm_model_not_found", "llm_no_deployment"})

_PLAIN = frozenset({"llm_bad_request", "llm_server_failed"})
"""Generic errors, whose message is not specific."""

_NOT_OFFERED = frozenset({404, 405, 501})
"""Statuses of a server without embeddings whose message does not say so: vLLM with a chat model."""


class EmbeddingProvider(HttpProvider):
    """An HTTP provider whose server computes embeddings; see Embedding."""

    @abstractmethod
    def prepare_embedding(self, texts: Sequence[str], model: str) -> HttpRequest:
        """Return the HTTP request for the embeddings of `texts`."""

    @abstractmethod
    def parse_embeddings(self, body: bytes) -> Embeddings:
        """Parse the embeddings of a response, in the order of the texts. Raises ValueError, msgspec.DecodeError."""

    @abstractmethod
    async def list_embedding_models(self) -> list[str]:
        """See Embedding."""

    async def embed(self, texts: Sequence[str], model: str) -> Embeddings:
        """See Embedding. All texts are sent in one request, and there is no timeout before the first byte of the
        response."""
        if not texts:
            return Embeddings(())
        request = self.prepare_embedding(texts, model)
        try:
            body = await self._whole(request)
            return self._usable(body, len(texts), model)
        except HttpFailure as failure:
            if self._asks_for_key(failure, request):
                return await self.embed(texts, model)
            raise await self._of_embeddings(self._meaning(failure), model) from failure
        except LLMConnectionError as error:
            if (told := await self._of_embeddings(error, model)) is error:
                raise
            raise told from error

    async def _whole(self, request: HttpRequest) -> bytes:
        async with self._transport.stream(request) as arriving:
            with AnswerBody(arriving, self._errors, self._idle_timeout) as body:
                return await body.head() + await body.rest()

    def _usable(self, body: bytes, wanted: int, model: str) -> Embeddings:
        try:
            told = self.parse_embeddings(body)
            check_vectors(told.vectors, wanted)
        except (msgspec.DecodeError, ValueError) as fault:
            if _is_error(body):
                raise self._errors.of_stream(body) from None
            raise self._errors.bad_vectors(model, str(fault)) from fault
        return told

    async def _of_embeddings(self, error: LLMConnectionError, model: str) -> LLMConnectionError:
        """Interpret `error` as the failure of an embedding request to `model`."""
        reason = str(error.params.get("reason", ""))
        if error.key == "llm_context_overflow" or re.search(_TOO_LONG, reason, re.IGNORECASE):
            return self._errors.text_too_long(reason, model)
        not_offered = error.key in _PLAIN and error.params.get("status") in _NOT_OFFERED
        if not_offered or re.search(_NO_EMBEDDINGS, reason, re.IGNORECASE):
            error = self._errors.no_embeddings(reason)
        if error.key not in _ANOTHER_MODEL_FIXES:
            return error
        try:
            available = await self.list_embedding_models()
        except LLMConnectionError:
            available = []
        return self._errors.naming(error, model, available)


def check_vectors(vectors: Sequence[Sequence[float]], wanted: int) -> None:
    """Raise ValueError, saying why, if vectors are not comparable with each other or not `wanted` many."""
    if len(vectors) != wanted:
        raise ValueError(f"{len(vectors)} vectors came for {wanted} texts")
    lengths = sorted({len(vector) for vector in vectors})
    if 0 in lengths:
        raise ValueError("an empty vector came")
    if len(lengths) > 1:
        raise ValueError(f"vectors of different lengths came: {', '.join(map(str, lengths))}")
    if not all(all(map(isfinite, vector)) for vector in vectors):
        raise ValueError("a vector came with a value that is not a number")
    if lengths and lengths[-1] > _LONGEST_VECTOR:
        raise ValueError(f"vectors of {lengths[-1]:,} numbers came")
    if any(max(map(abs, vector)) > _LARGEST_VALUE for vector in vectors):
        raise ValueError("a vector came with a value too large to be compared")
    if not all(map(any, vectors)):
        raise ValueError("a vector came that is all zeros")


_LONGEST_VECTOR = 65_536
"""Maximum dimensions; existing models have up to 8,192."""
_LARGEST_VALUE = 1e15
"""The sum of thousands of squares of such values still fits into 32-bit floats."""


def _is_error(body: bytes) -> bool:
    try:
        return error_in(decode_json(body)) is not None
    except msgspec.DecodeError:
        return False


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
    """Return the request body for the embeddings of `texts`."""
    return encode_json({"model": model, "encoding_format": "float", "input": list(texts)})


def parse_embeddings(body: bytes) -> Embeddings:
    """Parse the vectors, ordered by their index. Raises ValueError, msgspec.DecodeError."""
    answer = decode_json(body, _Answer)
    vectors = tuple(item.embedding for item in _in_order(answer.data))
    return Embeddings(vectors, _tokens(answer.usage))


def _in_order(items: list[_Vector]) -> list[_Vector]:
    """Sort the items by index, or keep their order if none has an index. Raises ValueError for other indexes."""
    indexes = [item.index for item in items if item.index is not None]
    if not indexes:
        return items
    if sorted(indexes) != list(range(len(items))):
        raise ValueError(f"the vectors of {len(items)} texts are numbered {', '.join(map(str, indexes[:8]))}")
    return sorted(items, key=lambda item: item.index or 0)


def _tokens(usage: msgspec.Raw) -> int:
    """Return the tokens processed, 0 if unreadable: the vectors matter more than the count."""
    try:
        told = decode_json(usage, _Usage | None) or _Usage()
    except msgspec.DecodeError:
        return 0
    return told.prompt_tokens or told.total_tokens or 0
