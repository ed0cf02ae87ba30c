"""Bounds of requests: size, time, number; clients that leave, and a server that stops."""

import asyncio
import threading
from typing import Any

import httpx
import pytest

from localllm.ensemble.server.options import ServerOptions
from tests.support.ensemble_server import ScriptedEnsemble, ServerInThread, scripted, until

STREAMED = ["/generate/stream", "/v1/chat/completions"]
CHAT = {"messages": [{"role": "user", "content": "q"}]}


async def send(server: ServerInThread, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which `data` was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    await writer.drain()
    return reader, writer


def head(path: str, *lines: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: localhost", *lines, "", ""]).encode()


async def status_of(reader: asyncio.StreamReader) -> int:
    return int((await asyncio.wait_for(reader.readline(), 20)).split()[1])


async def closed(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends the connection."""
    try:
        await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return True
    return reader.at_eof()


# size


@pytest.mark.parametrize("path", ["/generate", "/generate/stream", "/v1/chat/completions"])
def test_a_body_that_is_too_large_is_refused(path: str) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble, ServerOptions(max_body=1_000, stop_seconds=0.2)) as server:
        large = server.client.post(path, content=b'{"prompt": "' + b"x" * 1_000 + b'"}')
        chunked = server.client.post(path, content=iter([b'{"prompt": "', b"x" * 600, b"x" * 600, b'"}']))
        after = server.client.get("/health")
    assert (large.status_code, chunked.status_code, after.status_code) == (413, 413, 200)
    assert "1,000" in large.json()["error"]["message"]
    assert ensemble.questions == []


def test_ten_megabytes_are_refused_and_what_just_fits_is_answered() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        too_long = server.client.post("/generate", json={"prompt": "x" * 10_000_000})
        fits = server.client.post("/generate", json={"prompt": "x" * 3_900_000})
    assert (too_long.status_code, fits.status_code) == (413, 200)
    assert [len(question.prompt) for question in ensemble.questions] == [3_900_000]


@pytest.mark.anyio
async def test_a_length_that_is_told_is_refused_before_the_body_comes() -> None:
    with scripted() as server:
        reader, writer = await send(server, head("/generate", "content-length: 99999999999"))
        assert await status_of(reader) == 413
        writer.close()
        await writer.wait_closed()


@pytest.mark.anyio
async def test_the_end_of_a_refused_body_and_the_next_request_may_come_together() -> None:
    with scripted(options=ServerOptions(max_body=100_000, stop_seconds=0.2)) as server:
        reader, writer = await send(server, head("/generate", "content-length: 200000"))
        assert await status_of(reader) == 413
        (connection,) = server.server.server_state.connections
        packet = b"x" * 200_000 + head("/health", method="GET")
        # How bytes are cut into packets is the system's affair, hence not through the socket.
        connection.loop.call_soon_threadsafe(connection.data_received, packet)
        assert await asyncio.wait_for(reader.readuntil(b"HTTP/1.1 200 OK"), 20)
        writer.close()


@pytest.mark.anyio
async def test_an_endless_body_is_read_no_further_than_it_may_be_long() -> None:
    with scripted(options=ServerOptions(max_body=10_000, stop_seconds=0.2)) as server:
        reader, writer = await send(server, head("/generate", "transfer-encoding: chunked"))
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        for _ in range(4):
            writer.write(chunk)
        assert await status_of(reader) == 413
        writer.close()
        await writer.wait_closed()


@pytest.mark.anyio
async def test_an_endless_head_ends_the_connection() -> None:
    with scripted() as server:
        reader, writer = await send(server, b"GET /health HTTP/1.1\r\nhost: localhost\r\n")
        writer.write(b"x-more: " + b"y" * 80_000)
        assert await closed(reader)
        writer.close()
        assert server.client.get("/health").status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("field", [b"a: b\r\n", b"a"])
async def test_what_stands_behind_a_body_is_not_kept_and_has_an_end(field: bytes) -> None:
    """Refused or not: nobody reads it, so that it must not gather anywhere."""
    with scripted(options=ServerOptions(token="t" * 20, stop_seconds=0.2)) as server:
        begun = head("/generate", "transfer-encoding: chunked") + b"0\r\n" + (b"a: " if field == b"a" else b"")
        reader, writer = await send(server, begun)
        assert await status_of(reader) == 401
        writer.write(field * 200_000)
        assert await closed(reader)
        writer.close()
        assert server.client.get("/health").status_code == 200


@pytest.mark.anyio
async def test_a_field_behind_a_body_is_no_header() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble, ServerOptions(token="t" * 20, stop_seconds=0.2)) as server:
        trailer = b"authorization: Bearer " + b"t" * 20 + b"\r\n\r\n"
        begun = head("/generate", "transfer-encoding: chunked", "content-type: application/json")
        reader, writer = await send(server, begun + b'f\r\n{"prompt": "q"}\r\n0\r\n' + trailer)
        assert await status_of(reader) == 401
        writer.close()
    assert ensemble.questions == []


@pytest.mark.anyio
async def test_a_body_in_small_pieces_is_no_head_without_end() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        prompt = "x" * 40_000
        reader, writer = await send(server, head("/generate", "transfer-encoding: chunked"))
        for start in range(0, len(text := f'{{"prompt": "{prompt}"}}'), 1_000):
            writer.write(b"".join(b"1\r\n%c\r\n" % byte for byte in text[start : start + 1_000].encode()))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        assert await status_of(reader) == 200
        writer.close()
    assert [question.prompt for question in ensemble.questions] == [prompt]


# time


@pytest.mark.anyio
async def test_a_body_that_does_not_come_in_time_is_refused() -> None:
    with scripted(options=ServerOptions(body_seconds=0.05, stop_seconds=0.2)) as server:
        reader, writer = await send(server, head("/generate", "content-length: 100") + b'{"prom')
        assert await status_of(reader) == 408
        assert await closed(reader)
        writer.close()
        assert server.app.state.gate.running == 0


@pytest.mark.anyio
async def test_a_head_that_does_not_come_in_time_ends_the_connection() -> None:
    with scripted(options=ServerOptions(head_seconds=0.05, stop_seconds=0.2)) as server:
        for begun in (b"", b"GET /hea", b"GET /health HTTP/1.1\r\nhost: loc"):
            reader, writer = await send(server, begun)
            assert await closed(reader), begun
            writer.close()


@pytest.mark.anyio
async def test_the_head_of_a_later_request_has_to_come_in_time_as_well() -> None:
    with scripted(options=ServerOptions(head_seconds=0.05, stop_seconds=0.2)) as server:
        reader, writer = await send(server, head("/health", method="GET"))
        first = await asyncio.wait_for(reader.readuntil(b"}"), 20)
        assert b" 200 OK" in first
        writer.write(b"GET /hea")
        assert await closed(reader)
        writer.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (head("/generate", "content-length: 3000000"), b"x"),
        (head("/generate", "transfer-encoding: chunked"), b"1\r\n"),
        (head("/health", method="GET"), b"\r\n"),
        (head("/nothing", "content-length: 9", method="GET"), b"x" * 9),
    ],
)
async def test_after_an_answer_no_byte_but_a_request_holds_the_connection(begun: bytes, more: bytes) -> None:
    options = ServerOptions(idle_seconds=0.3, head_seconds=20, token="t" * 20, stop_seconds=0.2)
    with scripted(options=options) as server:
        reader, writer = await send(server, begun)
        assert await status_of(reader) in (200, 401)
        writer.write(more)
        assert await closed(reader)
        writer.close()


@pytest.mark.anyio
async def test_an_idle_connection_is_no_slow_one() -> None:
    """After an answer the next request may take its time to begin."""
    with scripted(options=ServerOptions(head_seconds=0.05, stop_seconds=0.2)) as server:
        reader, writer = await send(server, head("/health", method="GET"))
        assert await status_of(reader) == 200
        await asyncio.sleep(0.15)
        writer.write(head("/health", "connection: close", method="GET"))
        rest = await asyncio.wait_for(reader.read(), 20)
        assert rest.count(b"200 OK") == 1
        writer.close()
        await writer.wait_closed()


@pytest.mark.anyio
async def test_a_client_that_does_not_read_is_cut_off() -> None:
    ensemble = ScriptedEnsemble(answer="x" * 3_000_000, pieces=1_000)
    with scripted(ensemble, ServerOptions(write_seconds=0.05, stop_seconds=0.2)) as server:
        body = b'{"prompt": "q"}'
        _, writer = await send(server, head("/generate/stream", f"content-length: {len(body)}") + body)
        writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        until(lambda: bool(ensemble.questions) and server.app.state.gate.running == 0)
        writer.close()
    assert ensemble.closed == 1


# number


def test_more_requests_than_the_limit_are_asked_to_wait() -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    with scripted(ensemble, ServerOptions(max_runs=2, stop_seconds=0.2)) as server:
        asking = [
            threading.Thread(target=lambda: server.client.post("/generate", json={"prompt": "q"})) for _ in range(2)
        ]
        for thread in asking:
            thread.start()
        until(lambda: ensemble.held == 2)
        for path, body in [("/generate", {"prompt": "q"}), ("/generate/stream", {"prompt": "q"}), (STREAMED[1], CHAT)]:
            refused = server.client.post(path, json=body)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert "2" in refused.json()["error"]["message"]
        assert server.client.get("/health").status_code == 200
        ensemble.is_held = False
        server.app.state.gate.cancel_all()
        for thread in asking:
            thread.join(20)
        assert server.client.post("/generate", json={"prompt": "q"}).status_code == 200
    assert len(ensemble.questions) == 3


def test_what_is_refused_gives_its_place_back() -> None:
    with scripted(options=ServerOptions(max_runs=1, max_body=1_000, stop_seconds=0.2)) as server:
        for content in (b"", b"{}", b"x" * 2_000, b'{"prompt": " "}'):
            for path in ("/generate", "/generate/stream", "/v1/chat/completions"):
                assert server.client.post(path, content=content).status_code in (400, 413, 422)
        assert server.client.post("/generate", json={"prompt": "q"}).status_code == 200


# clients that leave


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {"prompt": "q"}),
        ("/generate/stream", {"prompt": "q"}),
        ("/v1/chat/completions", CHAT),
        ("/v1/chat/completions", CHAT | {"stream": True}),
    ],
)
def test_a_client_that_leaves_ends_its_run(path: str, body: dict[str, object]) -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    with scripted(ensemble) as server:
        leaving = httpx.Client(base_url=server.url, timeout=0.2, verify=False, trust_env=False)
        with leaving, pytest.raises(httpx.ReadTimeout):
            leaving.post(path, json=body)
        until(lambda: ensemble.closed == 1)
        until(lambda: server.app.state.gate.running == 0)
        counted = server.client.get("/metrics").text
    assert f'path="{path}",status="499"' in counted
    assert 'outcome="broken_off"' in counted


@pytest.mark.anyio
async def test_a_second_request_sent_ahead_does_not_hide_that_the_client_leaves() -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    body = b'{"prompt": "q"}'
    asked = head("/generate", f"content-length: {len(body)}") + body
    with scripted(ensemble) as server:
        for at_once in (True, False):
            reader, writer = await send(server, asked * 2 if at_once else asked)
            if not at_once:
                await asyncio.to_thread(until, lambda: ensemble.held == 1)
                writer.write(asked)
            assert await closed(reader)
            await asyncio.to_thread(until, lambda: server.app.state.gate.running == 0)
            writer.close()
    assert ensemble.closed == len(ensemble.questions)


# stopping


def test_a_server_that_stops_lets_a_run_finish_and_takes_no_new_one() -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    answered: list[httpx.Response] = []
    with scripted(ensemble, ServerOptions(stop_seconds=20)) as server:
        asking = threading.Thread(target=lambda: answered.append(server.client.post("/generate", json={"prompt": "q"})))
        asking.start()
        until(lambda: ensemble.held == 1)
        server.server.should_exit = True
        until(lambda: server.app.state.gate.is_stopping)
        with httpx.Client(base_url=server.url, verify=False, trust_env=False) as late:
            refused = [late.post(path, json={"prompt": "q"}) for path in ("/generate", "/generate/stream")]
            refused.append(late.post("/v1/chat/completions", json=CHAT))
            health = late.get("/health")
        ensemble.is_held = False
        asking.join(20)
    assert [response.status_code for response in refused] == [503, 503, 503]
    assert (health.status_code, health.json()["status"]) == (503, "stopping")
    assert [response.status_code for response in answered] == [200]


@pytest.mark.parametrize("path", ["/generate", "/generate/stream", "/v1/chat/completions"])
def test_what_takes_too_long_while_the_server_stops_ends_with_an_error(path: str) -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    answered: list[httpx.Response] = []
    body = {"prompt": "q"} if path.startswith("/generate") else CHAT | {"stream": True}
    with scripted(ensemble, ServerOptions(stop_seconds=0.05)) as server:
        asking = threading.Thread(target=lambda: answered.append(server.client.post(path, json=body)))
        asking.start()
        until(lambda: ensemble.held == 1)
        server.server.should_exit = True
        asking.join(20)
    [response] = answered
    assert ensemble.closed == 1
    assert "E1167" in response.text
    assert response.status_code == (503 if path == "/generate" else 200)
    if path == "/generate/stream":
        assert response.text.rstrip().rpartition("event: ")[2].startswith("error\n")


def test_a_second_signal_ends_at_once_what_is_worked_on() -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    answered: list[httpx.Response] = []
    with scripted(ensemble, ServerOptions(stop_seconds=1_000)) as server:
        asking = threading.Thread(target=lambda: answered.append(server.client.post("/generate", json={"prompt": "q"})))
        asking.start()
        until(lambda: ensemble.held == 1)
        server.server.should_exit = True
        until(lambda: server.app.state.gate.is_stopping)
        server.server.force_exit = True
        asking.join(20)
    assert [response.status_code for response in answered] == [503]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {"prompt": "q"}),
        ("/generate/stream", {"prompt": "q"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "q"}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "q"}], "stream": True}),
    ],
)
def test_a_request_that_takes_too_long_is_ended(path: str, body: dict[str, Any]) -> None:
    """Its run is closed, and its client is told why; it is not to be asked again."""
    ensemble = ScriptedEnsemble(is_held=True)
    with scripted(ensemble, ServerOptions(run_seconds=0.1, stop_seconds=0.2)) as server:
        answered = server.client.post(path, json=body)
        until(lambda: ensemble.closed == 1)
        ensemble.is_held = False
        assert server.client.post(path, json=body).status_code == 200
    is_stream = "stream" in path or "stream" in body
    assert answered.status_code == (200 if is_stream else 504)
    assert "E1171" in answered.text
    if path.startswith("/v1/"):
        assert '"should_retry":false' in answered.text
        assert is_stream or answered.headers["x-should-retry"] == "false"
