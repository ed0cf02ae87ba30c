"""Base of HTTP providers: read an answer under the idle timeout, and interpret failures."""

import asyncio
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol, Self, TypeVar
from urllib.parse import quote, urlsplit

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.llm.addresses import address_fault, apart_from_password
from localllm.llm.http.idle_watch import IdleWatch
from localllm.llm.http.messages import Body
from localllm.llm.http.sse import ServerSentEvent, SSEDecoder, check_length
from localllm.llm.http.transport import HttpFailure, HttpRequest, HttpTransport
from localllm.llm.messages import CompletionRequest
from localllm.llm.overflow import is_never_granted
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk, ToolCallChunk
from localllm.llm.providers.openai_errors import BLANK, ErrorReader

DONE = FinishChunk("")
"""Emitted by a parser when the answer is over: nothing that follows is part of it."""

_RELEASE_SECONDS = 0.25

_MOST_BYTES = 256 * 1024 * 1024
"""Of any answer: a million pieces of a stream. It also ends one of pieces without text, or of comments."""

_TOO_LONG, _TOO_OFTEN = 413, 429
_KEY_WANTED = (401, 403)

_ANOTHER_MODEL_FIXES = frozenset({"llm_model_not_found", "llm_no_tools", "llm_no_deployment"})

_HARMLESS_AFTER_THE_FINISH = frozenset({"llm_cut", "llm_idle", "llm_malformed", "llm_azure_address"})
"""Errors ignored after the finish reason has arrived: only the token counts are lost."""


class FilteredChunk(FinishChunk, frozen=True):
    """The content filter ended the answer.
    `why` is its finding in the server's words, if any. If no text preceded it, an error is raised instead."""

    why: str = ""


class AnswerParser(Protocol):
    """Parses the bytes of one answer into chunks. Raises LLMConnectionError for an error or invalid data in them."""

    @property
    def collects(self) -> bool:
        """Whether the answer comes whole, so that its chunks are emitted at its end."""
        ...

    def feed(self, data: bytes) -> Iterable[Chunk]:
        """Return the chunks that `data` completes. The first data start with a non-blank byte."""
        ...

    def close(self) -> Iterable[Chunk]:
        """Return the last chunks."""
        ...


class AnswerBody:
    """The body of an answer that is being streamed, read within its context.
    `idle_timeout`: seconds of silence allowed once the answer has begun; `most`: maximum bytes, 0 for the general
    limit."""

    def __init__(self, body: Body, errors: ErrorReader, idle_timeout: float, most: int = 0) -> None:
        self.errors = errors
        self._body = body
        self._idle_timeout = idle_timeout
        self._watch = IdleWatch(idle_timeout)
        self._most = most or _MOST_BYTES
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()

    async def head(self) -> bytes:
        """Read the first piece, stripped of leading blanks. Refuses a web page."""
        head = b""
        while not head and (piece := await self.next(awake=False)) is not None:
            head = piece.lstrip(BLANK)
        self.errors.refuse_html(head)
        return head

    async def next(self, *, awake: bool) -> bytes | None:
        """Return the next piece of the body, None at its end. The idle timeout applies only if `awake`, once the answer
        has begun: a server that sends keep-alive comments or an empty first delta is still processing the prompt."""
        try:
            piece = await (self._watch.wait(self._body.read) if awake else self._body.read())
        except TimeoutError as error:
            raise self.errors.idle(self._idle_timeout) from error
        if piece:
            self._size += len(piece)
            if self._size > self._most:
                raise self.errors.endless(self._most)
        return piece

    async def rest(self) -> bytes:
        """Return the rest of the body."""
        rest = bytearray()
        while (piece := await self.next(awake=True)) is not None:
            rest += piece
            self.errors.guard(partial(check_length, len(rest)))
        return bytes(rest)

    async def release(self) -> None:
        """Read to the body's end, which usually follows at once, so that the connection is reusable.
        The answer is complete, so errors here are ignored."""
        if self._body.has_arrived:
            return
        with suppress(TimeoutError, LLMConnectionError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                while await self._body.read() is not None:
                    pass


class EventParser:
    """Parses a body that is one JSON text with `parse_whole`, or server-sent events with `parse`.
    The first byte decides, as servers and gateways mislabel it. Invalid data raise llm_malformed."""

    def __init__(
        self,
        parse: Callable[[ServerSentEvent], Iterable[Chunk]],
        parse_whole: Callable[[bytes], Iterable[Chunk]],
        errors: ErrorReader,
    ) -> None:
        self._parse = parse
        self._parse_whole = parse_whole
        self._errors = errors
        self._decoder = SSEDecoder()
        self._whole: bytearray | None = None
        self._has_begun = False

    @property
    def collects(self) -> bool:
        """See AnswerParser."""
        return self._whole is not None

    def feed(self, data: bytes) -> Iterable[Chunk]:
        """See AnswerParser."""
        if not self._has_begun and data.startswith((b"{", b"[")):
            self._whole = bytearray()
        self._has_begun = True
        if self._whole is None:
            return self._chunks(self._decoder.feed(data))
        self._whole += data
        check_length(len(self._whole))
        return ()

    def close(self) -> Iterable[Chunk]:
        """See AnswerParser."""
        if (whole := self._whole) is not None:
            return self._errors.guard(lambda: self._parse_whole(bytes(whole)), at_end=True)
        return self._chunks(self._decoder.close(), at_end=True)

    def _chunks(self, events: list[ServerSentEvent], *, at_end: bool = False) -> Iterator[Chunk]:
        for event in events:
            yield from self._errors.guard(lambda event=event: self._parse(event), at_end=at_end)


class _Progress:
    """The progress of an answer: `begun` with its first chunk, `finished` with its finish reason, `ended` with any sign
    of its end, `is_done` if nothing that follows is part of it."""

    def __init__(self, errors: ErrorReader) -> None:
        self._errors = errors
        self._has_said = False
        self.begun = self.finished = self.ended = self.is_done = False

    def note(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Pass on the chunks up to the last. Raises LLMConnectionError if the whole answer was filtered."""
        for chunk in chunks:
            if isinstance(chunk, FilteredChunk) and not self._has_said:
                raise self._errors.filtered(chunk.why)
            if isinstance(chunk, FinishChunk):
                self.ended, self.finished = True, self.finished or bool(chunk.reason)
            self._has_said = self._has_said or isinstance(chunk, TextChunk | ToolCallChunk)
            self.begun, self.is_done = True, chunk == DONE
            yield chunk
            if self.is_done:
                return

    def meaning(self, failure: LLMConnectionError) -> LLMConnectionError:
        """Interpret a failure at this point: once an answer has begun, the server is known to be a model server."""
        return self._errors.garbled(failure) if self.begun and failure.key == "llm_malformed" else failure


_SHORTEST_SECRET = 8
"""Characters; what is shorter is no key but a placeholder, such as "ollama"."""

Errors = TypeVar("Errors", bound=ErrorReader)


def _secrets(api_key: str, password: str) -> tuple[str, ...]:
    """Return all that a server may repeat of the key and of `name:password`, the longest first."""
    plain = {api_key, password, password.partition(":")[2], b64encode(password.encode()).decode()}
    forms = {form for text in plain for form in (text, quote(text, safe=""))}
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST_SECRET), key=len, reverse=True))


class HttpProvider(ABC):
    """A provider called `name` whose server is at `address`. The key is sent in the header `key_header`, after the word
    Bearer if that is authorization; `key_variable` is its environment variable, for errors. Credentials in the address
    are sent in that header instead and removed from `self.address`."""

    constrains: bool = False

    def __init__(
        self,
        name: str,
        address: str,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
        key_variable: str = "",
        key_header: str = "authorization",
    ) -> None:
        address, secret = apart_from_password(address)
        self.name = name
        self.address = address
        self._idle_timeout = idle_timeout
        self._headers = {"content-type": "application/json"}
        self._kept_back: dict[str, str] = {}
        if api_key:
            self._headers[key_header] = f"Bearer {api_key}" if key_header == "authorization" else api_key
        self._key_header = "" if secret else key_header
        if secret:
            self._headers["authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        self._secrets = _secrets(api_key, secret)
        self._transport = HttpTransport(name, address, timeout, self._secrets)
        self._errors = self._hiding(ErrorReader(name, address, key_variable))

    @abstractmethod
    async def list_models(self) -> list[ModelInfo]:
        """Return the chat models the server offers; see Provider."""

    def _hiding(self, errors: Errors) -> Errors:
        """Keep the key out of what `errors` makes, which is returned."""
        errors.secrets = self._secrets
        return errors

    @abstractmethod
    def _parser(self) -> AnswerParser:
        """Create a parser for one answer of status 200."""

    def keep_key_back(self) -> None:
        """Send the key only to a server that has asked for one, if it would go in clear: to another machine, or to
        whatever program listens at a port of this one. It may be a cloud's, as most tools take theirs from the same
        variable."""
        if urlsplit(self.address).scheme != "https" and self._key_header in self._headers:
            headers = dict(self._headers)
            self._kept_back = {self._key_header: headers.pop(self._key_header)}
            self._headers = headers

    def send_key(self) -> None:
        """Send the key from now on."""
        if self._kept_back:
            self._headers, self._kept_back = self._headers | self._kept_back, {}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _answer(
        self, prepare: Callable[[], HttpRequest], model: str, learn: Callable[[LLMConnectionError], bool]
    ) -> AsyncGenerator[Chunk]:
        """Stream the answer of `model` to the request of `prepare`.
        If it fails before its first chunk and `learn` has learned from that, or another request has meanwhile, so
        that `prepare` returns a different request, it is retried at once. Raises LLMConnectionError."""
        while True:
            prepared, progress = prepare(), _Progress(self._errors)
            try:
                async with self._transport.stream(prepared) as arriving:
                    parser = self._parser()
                    with AnswerBody(arriving, self._errors, self._idle_timeout, prepared.most) as body:
                        piece = await body.head() or None
                        while piece is not None and not progress.is_done:
                            for chunk in progress.note(self._errors.guard(partial(parser.feed, piece))):
                                yield chunk
                            if progress.is_done:
                                await body.release()
                            else:
                                piece = await body.next(awake=progress.begun or parser.collects)
                    if not progress.is_done:
                        for chunk in progress.note(self._errors.guard(parser.close)):
                            yield chunk
                if progress.ended:
                    return
                error = self._errors.cut()
            except HttpFailure as failure:
                self._asks_for_key(failure, prepared)  # then the request is another one
                error = self._meaning(failure)
                error.__cause__ = failure
            except LLMConnectionError as failure:
                if progress.finished and failure.key in _HARMLESS_AFTER_THE_FINISH:
                    return
                error = progress.meaning(failure)
            named = await self._naming_models(error, model)
            if progress.begun or not (learn(named) or prepare() != prepared):
                raise named from (error.__cause__ if named is error else error)

    def _sent(self, request: CompletionRequest, url: str, body: bytes) -> HttpRequest:
        """Return the HTTP request to `url` with `body` and the headers of `request`."""
        headers = self._headers | dict(request.headers) if request.headers else self._headers
        return HttpRequest("POST", url, headers, body, request.most_bytes)

    async def _fetch(self, url: str, body: bytes = b"") -> bytes:
        """Return the body of a short response; a non-empty `body` is sent as POST. Raises LLMConnectionError."""
        request = HttpRequest("POST" if body else "GET", url, self._headers, body)
        try:
            answer = await self._transport.fetch(request)
        except HttpFailure as failure:
            if not self._asks_for_key(failure, request):
                raise self._meaning(failure) from failure
            return await self._fetch(url, body)
        self._errors.refuse_html(answer)
        return answer

    def _asks_for_key(self, failure: HttpFailure, request: HttpRequest) -> bool:
        """Return whether the server has asked for a key that the request had not; from now on it is sent."""
        if failure.status not in _KEY_WANTED:
            return False
        self.send_key()
        return not self._headers.items() <= dict(request.headers).items()

    def _meaning(self, failure: HttpFailure) -> LLMConnectionError:
        never = failure.status == _TOO_OFTEN and is_never_granted(failure.body.decode("utf-8", errors="replace"))
        return self._errors.of_status(_TOO_LONG if never else failure.status, failure.headers, failure.body)

    async def _naming_models(self, error: LLMConnectionError, model: str) -> LLMConnectionError:
        """Return the error; if another model would fix it, with the names of those available."""
        if error.key not in _ANOTHER_MODEL_FIXES:
            return error
        try:
            models = await self.list_models()
        except LLMConnectionError:
            models = []
        if error.key == "llm_no_tools":
            models = [info for info in models if info.abilities and "tools" in info.abilities]
        return self._errors.naming(error, model, [info.id for info in models])


def check_address(provider: str, base_url: str) -> None:
    """Raise ConfigurationError for an invalid address in the settings."""
    if fault := address_fault(base_url):
        raise ConfigurationError("llm_address_unusable", provider=provider, address=base_url, reason=fault)


def key_from(variable: str, environ: Mapping[str, str]) -> str:
    """Return the key in `variable`. A key no HTTP header can carry is refused here, naming only the variable: a library
    further down would quote its value in an error."""
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("llm_key_unusable", variable=variable)
    return key
