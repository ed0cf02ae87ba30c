"""One HTTP/1.1 connection: send a request, stream its response.

llhttp (httptools) parses the bytes. Handled here: the size limit of a head, bodies that end with the connection, and
whether the connection is reusable.
"""

import asyncio
from collections.abc import Callable
from typing import NoReturn, cast

from localllm.llm.addresses import hosts_to_try
from localllm.llm.http.messages import ConnectError, CutError, NotHttpError

Place = tuple[str, int]
"""A host and a port."""

_LONGEST_HEAD = 65_536
_OF_A_LINE = 4  # bytes of a header line besides name and value: ": " and its end
_MOST_UNREAD = 262_144
"""Bytes of unread body after which reading from the socket pauses."""

_HTTP = b"HTTP/"
_WORDS = 80
"""Bytes quoted of a response that is not HTTP."""

_INFORMATIONAL, _SWITCHING_PROTOCOLS, _FINAL = 100, 101, 200


class Connection(asyncio.Protocol):
    """A connection to `place`. `on_lost` is called when either side has closed it.

    What arrived before the connection broke is returned before the failure is raised: asyncio's own streams would
    discard it, and with it the end of an answer whose server resets the connection at once.
    """

    status = 0
    _transport: asyncio.Transport

    def __init__(self, place: Place, on_lost: "Callable[[Connection], None]") -> None:
        import httptools

        self.place = place
        self.headers: dict[str, str] = {}
        self._errors = (httptools.HttpParserError, httptools.HttpParserUpgrade)
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
            lenient_chunked_length=True,  # gateways copy the length of what they chunk; see is_reusable
        )
        self._waiter: asyncio.Future[None] | None = None
        self._is_lost = self._is_asked = False
        self._begin()

    def _begin(self) -> None:
        self._is_begun = self._has_head = self._is_complete = self._is_kept_alive = self._is_informational = False
        self._failure: Exception | None = None
        self._pieces: list[bytes] = []
        self._unread = self._idle_bytes = self._head_size = 0

    # Interface for PlainHttp

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it. Unsolicited data from the server closes it."""
        return not (self._is_lost or self._transport.is_closing())

    @property
    def has_arrived(self) -> bool:
        """Whether the response has arrived completely, read or not."""
        return self._is_complete

    async def exchange(self, request: bytes) -> None:
        """Send `request` and wait for the response head, then in `status` and `headers` (names in lower case). Raises
        CutError.

        Does not wait for the request to be sent: a server may refuse it before it has read everything.
        """
        self._begin()
        self.headers = {}
        self._is_asked = True
        self._transport.write(request)
        while not self._has_head:
            await self._news()

    async def body_piece(self) -> bytes | None:
        """Return all of the body that has arrived, waiting for the first byte; None at the end. Raises CutError."""
        while not self._pieces:
            if self._is_complete:
                return None
            await self._news()
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._unread = 0
        if self.is_open:
            self._transport.resume_reading()
        return piece

    def is_reusable(self) -> bool:
        """Return whether another request may be sent on this connection."""
        has_two_lengths = "content-length" in self.headers and "transfer-encoding" in self.headers
        is_sent = not self._transport.get_write_buffer_size()
        return self._is_complete and self._is_kept_alive and self.is_open and is_sent and not has_two_lengths

    async def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()
        await asyncio.sleep(0)  # the socket closes in the loop's next iteration

    async def _news(self) -> None:
        """Wait until data has arrived; raise the failure if there was one."""
        if self._failure is not None:
            raise self._failure
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        """Fail the exchange and abort the connection."""
        if self._is_asked and not self._is_complete and self._failure is None:
            self._failure = error
        self._transport.abort()

    def _refuse(self, reason: str) -> NoReturn:
        """Fail from within a parser callback; the exception stops the parser."""
        self._fail(CutError(reason))
        raise ValueError(reason)

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is one, but is not declared so

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if not self._is_asked or self._is_complete:  # e.g. 408 on an idle connection
            self._transport.abort()
        elif self._failure is not None:
            return
        elif not self._is_begun and not _HTTP.startswith(data[: len(_HTTP)]):
            self._fail(NotHttpError(data[:_WORDS].decode("utf-8", errors="replace")))
        else:
            self._read(data)
        self._wake()

    def eof_received(self) -> None:
        """See asyncio.Protocol."""
        ends_here = self._has_head and not {"content-length", "transfer-encoding"} & self.headers.keys()
        if ends_here and self._failure is None:
            self._is_complete = True
        self._fail(CutError(_closed(self._is_begun)))
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._is_lost = True
        reason = getattr(exc, "strerror", None) or str(exc or "") or _closed(self._is_begun)
        self._fail(CutError(reason))
        self._wake()
        self._on_lost(self)

    def _read(self, data: bytes) -> None:
        self._is_begun = True
        self._idle_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except self._errors as error:
            self._fail(CutError(str(error)))
        if self._idle_bytes > _LONGEST_HEAD and not self._is_complete:
            self._fail(CutError("the server sends more and more that is no answer"))

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """Start a response. Raises ValueError if it was not requested."""
        if self._is_complete:
            self._refuse("the server went on after the end of its answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are discarded."""
        self._head_size += len(name) + len(value) + _OF_A_LINE
        if self._head_size > _LONGEST_HEAD:
            self._refuse("the head of the answer is too long")
        if not self._has_head:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Finish the response head. Raises ValueError for a status invalid in HTTP/1.1."""
        status = self._parser.get_status_code()
        if status == _SWITCHING_PROTOCOLS or status < _INFORMATIONAL:
            self._refuse(f"the server answers with status {status}")
        self._is_informational = status < _FINAL
        if self._is_informational:
            self.headers = {}
            return
        coding = self.headers.get("transfer-encoding", "chunked")
        if coding.strip().lower() != "chunked":
            self._refuse(f"the server sends in a way not asked for: {coding}")
        self.status = status
        self._has_head = True
        self._idle_bytes = 0

    def on_body(self, data: bytes) -> None:
        """Buffer a piece of the body."""
        self._pieces.append(data)
        self._unread += len(data)
        self._idle_bytes = 0
        if self._unread > _MOST_UNREAD:
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """Finish the response, unless it is informational and the real one follows."""
        if not self._is_informational:
            self._is_complete = True
            self._is_kept_alive = self._parser.should_keep_alive()


def _closed(begun: bool) -> str:
    where = "in the middle of its answer" if begun else "without an answer"
    return f"the server closed the connection {where}"


async def connect(place: Place, seconds: float | None, on_lost: Callable[[Connection], None]) -> Connection:
    """Open a connection to `place` within `seconds`. Raises ConnectError."""
    try:
        async with asyncio.timeout(seconds):
            return await _connect(place, on_lost)
    except TimeoutError as error:
        raise ConnectError(f"no connection within {seconds:g} s") from error
    except (OSError, UnicodeError) as error:
        raise ConnectError(getattr(error, "strerror", None) or str(error)) from error


async def _connect(place: Place, on_lost: Callable[[Connection], None]) -> Connection:
    loop, (name, port) = asyncio.get_running_loop(), place
    refusal: OSError | None = None
    for host in hosts_to_try(name):
        try:
            return (await loop.create_connection(lambda: Connection(place, on_lost), host, port))[1]
        except OSError as error:
            refusal = refusal or error  # the first says more: the second address may not exist here
            if not isinstance(error, ConnectionRefusedError):
                break
    raise refusal or OSError(name)
