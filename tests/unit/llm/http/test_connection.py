"""How the bytes of an answer are read, whatever pieces they arrive in."""

import asyncio

import pytest

from localllm.llm.http.connection import Connection
from localllm.llm.http.messages import CutError, NotHttpError
from tests.support.each import each

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
FIVE = b"Content-Length: 5\r\n\r\nhello"


class Wire(asyncio.Transport):
    """The server's end: what was written, and what was asked of the connection."""

    def __init__(self, *, unsent: int = 0) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = self.is_paused = False
        self._unsent = unsent

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_aborted

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return self._unsent


def made(wire: Wire) -> Connection:
    connection = Connection(("host", 80), lambda _: None)
    connection.connection_made(wire)
    return connection


async def read(answer: bytes, step: int, *, unsent: int = 0) -> tuple[int, bytes, bool]:
    """Status, body, and whether another request may follow, of an answer that arrives in steps of so many bytes and
    after which the server closes, if that is needed to end it."""
    connection = made(Wire(unsent=unsent))
    asked = asyncio.ensure_future(connection.exchange(b"request"))
    await asyncio.sleep(0)
    for start in range(0, len(answer), step):
        connection.data_received(answer[start : start + step])
    if not (connection.is_reusable() or connection.headers.get("content-length")):
        connection.eof_received()
    await asked
    body = b""
    while (piece := await connection.body_piece()) is not None:
        body += piece
    return connection.status, body, connection.is_reusable()


ANSWERS = {
    "a length": (OK + FIVE, True),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", True),
    "chunks with extensions": (CHUNKED + b'3;a="b;c"\r\nhel\r\n2;x\r\nlo\r\n0\r\n\r\n', True),
    "padded chunk sizes": (CHUNKED + b"0005 \r\nhello\r\n000\r\n\r\n", True),
    "what follows the last chunk": (CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\nContent-Length: 9\r\n\r\n", True),
    "until it closes": (OK + b"\r\nhello", False),
    "until it closes, 1.0": (b"HTTP/1.0 200 OK\r\n\r\nhello", False),
    "1.0 with a length": (b"HTTP/1.0 200 OK\r\n" + FIVE, False),
    "after 100": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + FIVE, True),
    "after 103, twice": (b"HTTP/1.1 103 Hints\r\nLink: </x>; a=b\r\n\r\n" * 2 + OK + FIVE, True),
    "no reason": (b"HTTP/1.1 200\r\n" + FIVE, True),
    "a reason beyond ASCII": ("HTTP/1.1 200 よし\r\n".encode() + FIVE, True),
    "lines that end with LF": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", True),
    "tabs and no spaces": (OK + b"X:\ta\t\r\nContent-Length:\t5\r\n\r\nhello", True),
    "a length beside chunks": (
        OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        False,
    ),
    "closed by the server": (OK + b"Connection: close\r\n" + FIVE, False),
    "more than the answer": (OK + FIVE + b"HTTP/1.1 200 OK\r\n", False),
    "more, and closed": (OK + b"Connection: close\r\n" + FIVE + b"x", False),
}


@each("answer, reusable", ANSWERS.values(), list(ANSWERS))
async def test_an_answer_in_any_pieces(answer: bytes, *, reusable: bool) -> None:
    for step in (1, 2, 7, len(answer)):
        assert await read(answer, step) == (200, b"hello", reusable)


async def test_answers_without_a_body() -> None:
    assert await read(b"HTTP/1.1 204 No Content\r\n\r\n", 1) == (204, b"", True)
    assert await read(b"HTTP/1.1 304 Not Modified\r\n\r\n", 1) == (304, b"", True)


NO_ANSWERS = {
    "nothing": b"",
    "half a head": OK + b"Content-Le",
    "no last chunk": CHUNKED + b"5\r\nhello\r\n",
    "a bad chunk": CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "an endless number": CHUNKED + b"f" * 30 + b"\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n",
    "two lengths": OK + b"Content-Length: 6\r\n" + FIVE,
    "a length with a sign": OK + b"Content-Length: +5\r\n\r\nhello",
    "a negative length": OK + b"Content-Length: -5\r\n\r\nhello",
    "a space before the colon": OK + b"Content-Length : 5\r\n\r\nhello",
    "a name with a space": OK + b"a b: c\r\n" + FIVE,
    "a line without a colon": OK + b"abc\r\n" + FIVE,
    "a zero byte": OK + b"X: a\0b\r\n" + FIVE,
    "a lone CR": b"HTTP/1.1 200 OK\rContent-Length: 5\r\rhello",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n" + FIVE,
    "a status below 100": b"HTTP/1.1 099 OK\r\n" + FIVE,
    "another version": b"HTTP/3.0 200 OK\r\n" + FIVE,
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello",
    "another coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "a coding without an end": OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
    "an endless head": OK + b"X: " + b"y" * 70_000 + b"\r\n" + FIVE,
    "a head of endless lines": OK + b"X: y\r\n" * 20_000 + FIVE,
    "endless informational answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000 + OK + FIVE,
    "an endless extension": CHUNKED + b"5;" + b"x" * 200_000 + b"\r\nhello\r\n0\r\n\r\n",
    "endless lines after the last chunk": CHUNKED + b"5\r\nhello\r\n0\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
}


@each("answer", NO_ANSWERS.values(), list(NO_ANSWERS))
async def test_what_is_no_answer_is_an_error_in_any_pieces(answer: bytes) -> None:
    for step in (11, 65_536) if len(answer) > 1_000 else (1, 7, 1_000):
        with pytest.raises(CutError):
            await read(answer, step)


async def test_what_is_no_http_is_quoted() -> None:
    connection = made(Wire())
    asked = asyncio.ensure_future(connection.exchange(b"request"))
    await asyncio.sleep(0)
    connection.data_received(b"220 mail.example ESMTP\r\n")
    with pytest.raises(NotHttpError, match=r"220 mail\.example"):
        await asked


async def test_a_failure_comes_after_what_had_arrived_before_it() -> None:
    connection = made(Wire())
    asked = asyncio.ensure_future(connection.exchange(b"request"))
    await asyncio.sleep(0)
    connection.data_received(CHUNKED + b"5\r\nhel")
    connection.data_received(b"lo\r\nzz\r\n")
    await asked
    assert await connection.body_piece() == b"hello"
    with pytest.raises(CutError):
        await connection.body_piece()


async def test_the_server_waits_while_nobody_reads() -> None:
    wire = Wire()
    connection = made(wire)
    asked = asyncio.ensure_future(connection.exchange(b"request"))
    await asyncio.sleep(0)
    connection.data_received(OK + b"\r\n" + b"x" * 200_000)
    await asked
    assert not wire.is_paused
    connection.data_received(b"x" * 200_000)
    assert wire.is_paused
    assert len(await connection.body_piece() or b"") == 400_000
    assert not wire.is_paused


async def test_a_connection_that_has_not_sent_its_request_takes_no_other() -> None:
    assert await read(OK + FIVE, 100, unsent=1) == (200, b"hello", False)


async def test_what_is_said_unasked_ends_the_connection() -> None:
    wire = Wire()
    connection = made(wire)
    connection.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert wire.is_aborted
    assert not connection.is_open
