"""A short request over HTTP: what is said of a server that lets it wait."""

import socket
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.offline import own_network_only
from localllm.llm.http.transport import HttpRequest, HttpTransport
from tests.support.each import each
from tests.support.loopback import silent_port
from tests.support.wire_server import Reply, WireServer

pytestmark = pytest.mark.anyio


async def test_a_connection_that_nobody_takes_is_no_answer_that_does_not_come() -> None:
    """Whoever is told that nobody is there need not ask for more."""
    with silent_port() as port:
        assert await failure(f"http://127.0.0.1:{port}") == "llm_refused"
    with WireServer([Reply((), hold_head=True)]) as server:
        assert await failure(server.url) == "llm_idle"


@each("scheme", ["http", "https"])
@each("host", ["169.254.169.254", "gpu"])
async def test_who_is_outside_the_own_network_is_told_how_to_be_asked(
    scheme: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: Any, **__: Any) -> list[Any]:
        far = [(socket.AF_INET, ("203.0.113.9", 9)), (socket.AF_INET6, ("2001:db8::1", 9, 0, 0))]
        return [(family, socket.SOCK_STREAM, 6, "", place) for family, place in far]

    if host == "gpu":
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with own_network_only():
        error = await error_of(f"{scheme}://{host}:9", patience=20)
    assert error.code == "E2044"
    assert any(place in error.why for place in ("169.254.169.254:9", "203.0.113.9:9", "[2001:db8::1]:9"))
    assert "--config" in error.fix


async def failure(url: str) -> str:
    return (await error_of(url)).key


async def error_of(url: str, patience: float = 0.3) -> LLMConnectionError:
    transport = HttpTransport("ollama", url, patience)
    with pytest.raises(LLMConnectionError) as raised:
        await transport.fetch(HttpRequest("POST", f"{url}/v1/chat/completions", {}, b"{}"))
    await transport.aclose()
    return raised.value
