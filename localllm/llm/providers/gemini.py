"""Google's Gemini API: generateContent, streamed as server-sent events; models, embeddings, errors."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import chain
from pathlib import Path
from urllib.parse import quote, urlsplit
from uuid import uuid4

import msgspec

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.base.jsontext import decode_json, encode_json
from localllm.config.schema import SECRET_VARIABLES, LLMSettings
from localllm.llm.addresses import is_loopback
from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Ability, Chunk, Embeddings, ModelInfo, ToolCallChunk
from localllm.llm.providers.embedding import EmbeddingProvider, check_vectors
from localllm.llm.providers.gemini_format import (
    NO_SIGNATURES,
    GeminiErrors,
    GeminiParser,
    Signatures,
    SignedCallChunk,
    request_json,
)
from localllm.llm.providers.http_provider import AnswerParser, EventParser, check_address, key_from
from localllm.llm.providers.vision import Sight

_MOST_TEXTS = 100
"""Maximum texts per request: the API refuses more."""


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split `texts` into request-sized batches."""
    return (texts[start : start + _MOST_TEXTS] for start in range(0, len(texts), _MOST_TEXTS))


def embedding_body(texts: Sequence[str], resource: str) -> bytes:
    """Return the request body for the embeddings of `texts` by the model at path `resource`."""
    return encode_json({"requests": [{"model": resource, "content": {"parts": [{"text": text}]}} for text in texts]})


def parse_embeddings(body: bytes) -> Embeddings:
    """Parse the embeddings, in the order of the texts. Raises msgspec.DecodeError."""
    answer = decode_json(body, _Answer)
    usage = answer.usage_metadata or _Usage()
    return Embeddings(tuple(embedding.values for embedding in answer.embeddings), usage.prompt_token_count or 0)


def joined(parts: Sequence[Embeddings]) -> Embeddings:
    """Concatenate the embeddings of all batches."""
    vectors = tuple(chain.from_iterable(part.vectors for part in parts))
    return Embeddings(vectors, sum(part.tokens for part in parts))


# The server's JSON, reduced to the fields used.


class _Embedding(msgspec.Struct):
    values: tuple[float, ...] = ()


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None


class _Answer(msgspec.Struct, rename="camel"):
    embeddings: list[_Embedding]
    usage_metadata: _Usage | None = None


_VERSION = re.compile(r"(.*?/v1[a-z0-9]*)(/.*)?", re.DOTALL)
_NO_TEXT = ("-tts", "-image", "embedding")
"""Parts of names of models that generate content, but speech or images."""


class GeminiModel(msgspec.Struct, rename="camel"):
    """A model as the API lists it."""

    name: str
    input_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None
    thinking: bool | None = None

    @property
    def chats(self) -> bool:
        """Whether it answers in text."""
        return "generateContent" in (self.supported_generation_methods or ()) and not any(
            part in self.name for part in _NO_TEXT
        )

    @property
    def embeds(self) -> bool:
        """Whether it computes embeddings. The list names either or both of its two methods."""
        return not {"embedContent", "batchEmbedContents"}.isdisjoint(self.supported_generation_methods or ())

    @property
    def info(self) -> ModelInfo:
        """The model as ModelInfo. The window is the input limit; an answer has a limit of its own."""
        return ModelInfo(
            self.name.removeprefix("models/"), context_window=self.input_token_limit or 0, abilities=self._abilities
        )

    @property
    def _abilities(self) -> frozenset[Ability] | None:
        """Its abilities: all Gemini models support tools and vision, which the API omits; for others unknown."""
        if not self.name.startswith("models/gemini-"):
            return None
        told: dict[Ability, bool | None] = {"tools": True, "vision": True, "thinking": self.thinking}
        return frozenset(ability for ability, has in told.items() if has)


class ModelsPage(msgspec.Struct, rename="camel"):
    """A page of the model list; `next_page_token` is empty on the last one."""

    models: list[GeminiModel] | None = None
    next_page_token: str | None = None


def parse_page(body: bytes) -> ModelsPage:
    """Parse a page of the model list. Raises msgspec.DecodeError."""
    return decode_json(body, ModelsPage)


def parse_model(body: bytes) -> GeminiModel:
    """Parse a model. Raises msgspec.DecodeError."""
    return decode_json(body, GeminiModel)


def resource_name(model: str) -> str:
    """Return a model's path under the API root: models/NAME, or unchanged if it contains a collection."""
    name = model.strip("/")
    return quote(name if "/" in name else f"models/{name}", safe="/")


def gemini_root(base_url: str) -> str:
    """Return the API root with version, …/v1beta unless `base_url` names another, without the rest of the path."""
    text = base_url.strip()
    if "://" not in text:
        text = f"{'http' if is_loopback(text) else 'https'}://{text}"
    parts = urlsplit(text)
    path = parts.path.rstrip("/")
    found = _VERSION.fullmatch(path)
    return f"{parts.scheme}://{parts.netloc}{found[1] if found else f'{path}/v1beta'}"


BASE_URL = "https://generativelanguage.googleapis.com"
KEY_VARIABLE = "GEMINI_API_KEY"
OTHER_KEY_VARIABLE = "GOOGLE_API_KEY"

_PAGE_SIZE = 1000
_MOST_PAGES = 10


class Gemini(EmbeddingProvider):
    """The Gemini API at `base_url`, or a compatible proxy.

    Gemini 3 refuses a conversation in which one of its own calls lacks its thought signature. Signatures are kept here
    by call id for the lifetime of this provider. A call without a known signature (of a resumed session or another
    model) is sent without one, and if that is refused, with the placeholder.

    Raises ConfigurationError if the API itself is used without a key.
    """

    constrains: bool = True

    def __init__(
        self,
        base_url: str = BASE_URL,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
        key_variable: str = KEY_VARIABLE,
    ) -> None:
        root = gemini_root(base_url)
        if not api_key and root.startswith(BASE_URL):
            raise ConfigurationError(
                "llm_key_missing", provider="gemini", variable=KEY_VARIABLE, other=OTHER_KEY_VARIABLE
            )
        super().__init__(
            "gemini",
            root,
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=api_key,
            key_variable=key_variable,
            key_header="x-goog-api-key",
        )
        self._errors = self._gemini_errors = self._hiding(GeminiErrors("gemini", root, key_variable))
        self._learned: dict[str, _Learned] = {}
        self._sight = Sight()

    def prepare(
        self, request: CompletionRequest, *, signatures: Signatures = NO_SIGNATURES, thoughts: bool = False
    ) -> HttpRequest:
        """Return the HTTP request for `request`; see request_json."""
        url = f"{self.address}/{resource_name(request.model)}:streamGenerateContent?alt=sse"
        return self._sent(request, url, encode_json(request_json(request, signatures, thoughts=thoughts)))

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Stream the answer; see Provider. Every call gets an id, under which its signature is kept."""
        learned = self._of(request.model)

        def prepare() -> HttpRequest:
            seen = self._sight.adapted(request)
            return self.prepare(seen, signatures=learned.signatures, thoughts=bool(learned.thinks))

        def learn(error: LLMConnectionError) -> bool:
            return self._sight.learns(request, error) or learned.learn(error)

        async with aclosing(self._answer(prepare, request.model, learn)) as chunks:
            async for chunk in chunks:
                yield learned.keep(chunk) if isinstance(chunk, ToolCallChunk) else chunk

    async def list_models(self) -> list[ModelInfo]:
        """Return the models that answer in text, with their input limits; see Provider."""
        return [model.info async for model in self._listed() if model.chats]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return the API's description of the model, and request thinking summaries from now on if it thinks."""
        body = await self._fetch(f"{self.address}/{resource_name(model)}")
        told = self._errors.guard(lambda: parse_model(body))
        learned = self._of(model)
        learned.thinks = bool(told.thinking) if learned.thinks is None else learned.thinks
        return self._sight.told(msgspec.structs.replace(told.info, id=model))

    async def embed(self, texts: Sequence[str], model: str) -> Embeddings:
        """Return the embeddings of `texts`; see Embedding. One request per hundred texts."""
        parts: list[Embeddings] = []
        for batch in batches(texts):
            parts.append(await super().embed(batch, model))
        told = joined(parts)
        try:
            check_vectors(told.vectors, len(texts))
        except ValueError as fault:
            raise self._errors.bad_vectors(model, str(fault)) from fault
        return told

    def prepare_embedding(self, texts: Sequence[str], model: str) -> HttpRequest:
        """See EmbeddingProvider."""
        resource = resource_name(model)
        url = f"{self.address}/{resource}:batchEmbedContents"
        return HttpRequest("POST", url, self._headers, embedding_body(texts, resource))

    def parse_embeddings(self, body: bytes) -> Embeddings:
        """See EmbeddingProvider."""
        return parse_embeddings(body)

    async def list_embedding_models(self) -> list[str]:
        """Return the embedding models; see Embedding."""
        return [model.info.id async for model in self._listed() if model.embeds]

    async def _listed(self) -> AsyncIterator[GeminiModel]:
        """Yield all models, from all pages of the list."""
        page = ""
        for _ in range(_MOST_PAGES):
            after = f"&pageToken={quote(page, safe='')}" if page else ""
            body = await self._fetch(f"{self.address}/models?pageSize={_PAGE_SIZE}{after}")
            listed = self._errors.guard(lambda body=body: parse_page(body))
            for model in listed.models or ():
                yield model
            page = listed.next_page_token or ""
            if not page:
                return

    def _parser(self) -> AnswerParser:
        parser = GeminiParser(self._gemini_errors)
        return EventParser(parser.event, parser.whole, self._errors)

    def _of(self, model: str) -> "_Learned":
        return self._learned.setdefault(resource_name(model), _Learned())


class _Learned:
    """What was learned of one model: whether it thinks, its signatures, and whether it requires all of them."""

    def __init__(self) -> None:
        self.thinks: bool | None = None
        self._known: dict[str, str] = {}
        self._fills_gaps = False

    @property
    def signatures(self) -> Signatures:
        return Signatures(self._known, self._fills_gaps)

    def keep(self, call: ToolCallChunk) -> ToolCallChunk:
        """Return the call with an id, under which its signature is stored."""
        if not call.id:
            call = msgspec.structs.replace(call, id=f"call_{uuid4().hex[:12]}")
        if isinstance(call, SignedCallChunk) and call.signature:
            self._known[call.id] = call.signature
        return call

    def learn(self, error: LLMConnectionError) -> bool:
        """Return whether to retry after `error`: without thinking summaries, with the placeholder for missing
        signatures, or, if that fails, with the placeholder for all, since signatures become invalid with their key."""
        match error.key:
            case "llm_no_thinking" if self.thinks:
                self.thinks = False
            case "llm_no_signature" if not self._fills_gaps:
                self._fills_gaps = True
            case "llm_no_signature" if self._known:
                self._known.clear()
            case _:
                return False
        return True


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Gemini:
    """Create the provider from the settings, with the key in `environ`. Raises ConfigurationError."""
    del root  # not used: a server belongs to no project
    server = settings.gemini
    check_address("gemini", server.base_url)
    own = SECRET_VARIABLES["llm.gemini.api_key"]
    variable = own if environ.get(own, "").strip() else OTHER_KEY_VARIABLE
    key = key_from(variable, environ)
    return Gemini(
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=key,
        key_variable=variable if key else own,
    )
