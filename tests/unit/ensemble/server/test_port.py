"""The port of a server: free, taken by somebody who is named, or not to be had."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from localllm.base.errors import ConfigurationError
from localllm.ensemble.server.port import PortTakenError, is_private, listen, url_of, who_answers
from tests.ensemble_servers import OllamaServers
from tests.support.each import each


@contextmanager
def answering(body: str, content_type: str = "text/html") -> Iterator[int]:
    """Whoever answers every request the same; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = body.encode()
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def refusal(port: int) -> PortTakenError:
    with pytest.raises(PortTakenError) as caught:
        listen("127.0.0.1", port)
    return asyncio.run(who_answers(caught.value, "127.0.0.1", port, {}))


def test_a_port_that_is_free() -> None:
    with listen("127.0.0.1", 0) as listening:
        url = url_of(listening)
        port = listening.getsockname()[1]
        assert url == f"http://127.0.0.1:{port}"
        with socket.create_connection(("127.0.0.1", port)):
            pass
    with listen("127.0.0.1", port):  # at once again, though a connection has just ended
        pass


def test_whoever_listens_everywhere_is_shown_at_the_loopback() -> None:
    with listen("0.0.0.0", 0) as listening:
        assert url_of(listening).startswith("http://127.0.0.1:")


def test_ollama_is_named() -> None:
    with OllamaServers() as servers:
        error = refusal(int(servers.add().url.rpartition(":")[2]))
    assert error.exit_code == 1
    assert "Ollama" in error.why
    assert int(str(error.params["free"])) > 0


@each(
    ("body", "content_type", "word"),
    [
        ("<html><title>SearXNG</title></html>", "text/html", "SearXNG"),
        (
            '{"object": "list", "data": [{"id": "ensemble", "object": "model", "owned_by": "localllm"}]}',
            "application/json",
            "localllm",
        ),
        (
            '{"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]}',
            "application/json",
            "vLLM",
        ),
    ],
)
def test_others_are_known_by_their_answers(body: str, content_type: str, word: str) -> None:
    with answering(body, content_type) as port:
        assert word in refusal(port).why


def test_one_that_says_nothing_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.ensemble.server.port._SECONDS_TO_ANSWER", 0.1)
    with listen("127.0.0.1", 0) as silent:
        error = refusal(silent.getsockname()[1])
    assert error.what
    assert error.why


@each(("host", "port"), [("192.0.2.1", 8000), ("nowhere.invalid", 8000), ("a" * 300, 8000)])
def test_a_host_that_is_not_of_this_machine(host: str, port: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        listen(host, port)
    assert caught.value.key == "ensemble_bad_host"
    assert caught.value.exit_code == 2


@each(
    ("host", "private"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("gpu.local", False),
        ("", False),
    ],
)
def test_which_hosts_only_this_machine_reaches(host: str, private: bool) -> None:
    assert is_private(host) is private
