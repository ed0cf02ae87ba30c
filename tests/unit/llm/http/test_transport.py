"""A short request over HTTP: what is said of a server that lets it wait."""

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.http.transport import HttpRequest, HttpTransport
from tests.support.loopback import silent_port
from tests.support.wire_server import Reply, WireServer

pytestmark = pytest.mark.anyio


async def test_a_connection_that_nobody_takes_is_no_answer_that_does_not_come() -> None:
    """Whoever is told that nobody is there need not ask for more."""
    with silent_port() as port:
        assert await failure(f"http://127.0.0.1:{port}") == "llm_refused"
    with WireServer([Reply((), hold_head=True)]) as server:
        assert await failure(server.url) == "llm_idle"


async def failure(url: str) -> str:
    transport = HttpTransport("ollama", url, 0.3)
    with pytest.raises(LLMConnectionError) as raised:
        await transport.fetch(HttpRequest("POST", f"{url}/v1/chat/completions", {}, b"{}"))
    await transport.aclose()
    return raised.value.key
