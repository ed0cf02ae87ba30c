"""Who may use the server: token, host names, origins. Over real HTTP, with the heads browsers send."""

import asyncio
import socket

import httpx
import pytest

from localllm.ensemble.server.access_guard import HostNames
from localllm.ensemble.server.options import ServerOptions
from tests.support.each import each
from tests.support.ensemble_server import ScriptedEnsemble, scripted

TOKEN = "a-token-of-some-length"
ASKED = {"prompt": "q"}


@each(
    "bound, host, is_ours",
    [
        ("127.0.0.1", "127.0.0.1:8000", True),
        ("127.0.0.1", "localhost:9999", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("127.0.0.1", "localhost.:8000", True),
        ("127.0.0.1", "[::1]:8000", True),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "attacker.example", False),
        ("127.0.0.1", "localhost.attacker.example", False),
        ("127.0.0.1", "attacker.example@localhost", False),
        ("127.0.0.1", "localhost:8000/x", False),
        ("127.0.0.1", "localhost:80:80", False),
        ("127.0.0.1", "192.168.1.5", False),
        ("127.0.0.1", "0.0.0.0:8000", False),
        ("127.0.0.1", "2130706433", False),
        ("127.0.0.1", "named.example:8000", True),
        ("0.0.0.0", "192.168.1.5:8000", True),
        ("0.0.0.0", "[fd00::5]:8000", True),
        ("0.0.0.0", "localhost", True),
        ("0.0.0.0", f"{socket.gethostname()}:8000", True),
        ("0.0.0.0", "attacker.example", False),
        ("0.0.0.0", "192.168.1.5.attacker.example", False),
        ("192.168.1.5", "192.168.1.5", True),
        ("ensemble.lan", "ensemble.lan:8000", True),
        ("ensemble.lan", "attacker.example", False),
        ("::1", "[::1]:8000", True),
        ("::1", "attacker.example", False),
    ],
)
def test_the_host_names_a_server_goes_by(bound: str, host: str, is_ours: bool) -> None:
    names = HostNames(ServerOptions(host=bound, allowed_hosts=("Named.example",)))
    assert names.has(host) is is_ours


def test_a_name_that_was_made_to_lead_here_is_refused() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        for path, method in [("/generate", "POST"), ("/agents", "GET"), ("/health", "GET"), ("/v1/models", "GET")]:
            response = server.client.request(method, path, json=ASKED, headers={"host": "attacker.example"})
            assert response.status_code == 403, path
            assert "attacker.example" in response.text
            assert "user" not in response.text
    assert ensemble.questions == []


@each(
    "headers, status",
    [
        ({}, 200),
        ({"origin": "http://{host}"}, 200),
        ({"origin": "https://{host}"}, 200),
        ({"origin": "https://chat.example.org"}, 200),
        ({"origin": "http://attacker.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://chat.example.org"}, 403),
        ({"origin": "https://chat.example.org.attacker.example"}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
    ],
)
def test_pages_of_other_sites_may_not_ask(headers: dict[str, str], status: int) -> None:
    ensemble = ScriptedEnsemble()
    options = ServerOptions(allowed_origins=("https://chat.example.org/",), stop_seconds=0.2)
    with scripted(ensemble, options) as server:
        sent = {name: value.format(host=f"127.0.0.1:{server.port}") for name, value in headers.items()}
        for path in ("/generate", "/v1/chat/completions"):
            body = ASKED if path == "/generate" else {"messages": [{"role": "user", "content": "q"}]}
            # a form of another site sends text/plain, which needs no leave of ours
            response = server.client.post(path, json=body, headers=sent)
            assert response.status_code == status, response.text
            named = response.headers.get("access-control-allow-origin")
            assert named == ("https://chat.example.org" if sent.get("origin") == "https://chat.example.org" else None)
    assert len(ensemble.questions) == (2 if status == 200 else 0)


@each(
    "path, kind, status",
    [
        ("/health", "empty", 200),
        ("/agents", "document", 200),
        ("/agents", "image", 403),
        ("/agents", "iframe", 403),
        ("/v1/models", "script", 403),
        ("/v1/models", "", 403),
    ],
)
def test_a_link_from_another_site_may_be_followed_and_nothing_else(path: str, kind: str, status: int) -> None:
    with scripted() as server:
        headers = {"sec-fetch-site": "cross-site", **({"sec-fetch-dest": kind} if kind else {})}
        assert server.client.get(path, headers=headers).status_code == status


def test_only_named_sites_are_given_leave() -> None:
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    options = ServerOptions(allowed_origins=("https://chat.example.org",), token=TOKEN, stop_seconds=0.2)
    with scripted(options=options) as server:
        named = server.client.options("/generate", headers={"origin": "https://chat.example.org", **asks})
        other = server.client.options("/generate", headers={"origin": "http://attacker.example", **asks})
        unnamed = server.client.options("/generate", headers=asks)
        failing = server.client.post("/generate", json={}, headers={"origin": "https://chat.example.org"})
    assert named.status_code == 204
    assert named.headers["access-control-allow-origin"] == "https://chat.example.org"
    assert "POST" in named.headers["access-control-allow-methods"]
    assert "authorization" in named.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in named.headers
    assert named.headers["vary"] == "origin"
    assert (other.status_code, unnamed.status_code) == (403, 401)
    assert not {"access-control-allow-origin"} & {*other.headers, *unnamed.headers}
    assert failing.status_code == 401
    assert failing.headers["access-control-allow-origin"] == "https://chat.example.org"  # its page may read why


@each(
    "authorization, status",
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer wrong", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer \u00e9", 401),
    ],
)
def test_the_token_is_asked_for(authorization: str | None, status: int) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble, ServerOptions(token=TOKEN, stop_seconds=0.2)) as server:
        headers = {} if authorization is None else {"authorization": authorization.encode("latin-1")}
        response = server.client.post("/generate", json=ASKED, headers=headers)
        assert response.status_code == status
        if status == 401:
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["code"] == "E1170"
            assert TOKEN not in response.text
    assert len(ensemble.questions) == (1 if status == 200 else 0)


def test_every_path_but_health_wants_the_token() -> None:
    with scripted(options=ServerOptions(token=TOKEN, stop_seconds=0.2)) as server:
        paths = ["/agents", "/metrics", "/openapi.json", "/v1/models", "/nothing", "/"]
        assert {server.client.get(path).status_code for path in paths} == {401}
        assert server.client.head("/agents").status_code == 401
        assert server.client.options("/agents").status_code == 401
        assert server.client.get("/health").status_code == 200
        assert server.client.get("/health/").status_code == 401
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert {server.client.get(path, headers=headers).status_code for path in paths[:4]} == {200}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_pages_that_load_from_elsewhere_are_off(path: str) -> None:
    with scripted() as server:
        assert server.client.get(path).status_code == 404


def test_every_answer_may_neither_be_guessed_at_nor_kept() -> None:
    with scripted() as server:
        for path in ("/health", "/agents", "/nothing", "/metrics", "/openapi.json"):
            headers = server.client.get(path).headers
            assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
            assert "server" not in headers


@pytest.mark.anyio
async def test_a_request_without_a_host_is_refused() -> None:
    with scripted() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /agents HTTP/1.0\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_an_ensemble_that_reaches_itself_is_refused() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        assert server.client.post("/generate", json=ASKED).status_code == 200
        [own] = ensemble.questions[0].hops

        def ask(path: str, hops: str) -> httpx.Response:
            body = ASKED if path == "/generate" else {"messages": [{"role": "user", "content": "q"}]}
            return server.client.post(path, json=body, headers={"x-localllm-hops": hops.encode("latin-1")})

        for path in ("/generate", "/v1/chat/completions"):
            assert ask(path, own).status_code == 508
            assert ask(path, f"other, {own}").status_code == 508
            assert ask(path, ",".join(f"other{number}" for number in range(8))).status_code == 508
        assert ask("/generate", "other").status_code == 200
        assert ask("/generate", ",\u00e9;, <>").status_code == 200
    assert [question.hops for question in ensemble.questions] == [(own,), ("other", own), (own,)]
