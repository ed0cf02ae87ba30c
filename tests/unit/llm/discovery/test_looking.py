"""Who is there: every kind of model server, whatever port it is on, and everything else that may answer there."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings
from localllm.llm.discovery import scan
from localllm.llm.discovery.scan import discover
from localllm.llm.discovery.servers import ENSEMBLE_OWNER, Server, found_keys
from tests.support import peers
from tests.support.peers import Peer, Site, answer, closed_ports, serving

pytestmark = pytest.mark.anyio

LONG = 20.0
"""Seconds no test needs: where it is given, time plays no part."""

SHORT = 0.2


@pytest.fixture
def nobody() -> Iterator[LLMSettings]:
    """Settings whose addresses are all closed: nothing a developer has running is asked."""
    with closed_ports(3) as (one, two, three):
        yield LLMSettings(
            lmstudio=LMStudioSettings(base_url=one),
            ollama=OllamaSettings(base_url=two),
            openai=OpenAISettings(base_url=three),
        )


async def look_at(peer: Peer, settings: LLMSettings, *, within: float = LONG) -> Server:
    """What is found of a peer at an address nobody has set."""
    async with serving(peer) as url:
        servers = await discover(settings, {}, also=[url], within=within)
        assert [server.state for server in servers[:-1]] == ["absent"] * 3
        return servers[-1]


async def test_nothing_runs(nobody: LLMSettings) -> None:
    servers = await discover(nobody, {}, also=(), within=LONG)
    assert [(server.provider, server.state, server.detail) for server in servers] == [
        ("lmstudio", "absent", "nothing is running there"),
        ("ollama", "absent", "nothing is running there"),
        ("openai", "absent", "nothing is running there"),
    ]
    assert servers[0].base_url == nobody.lmstudio.base_url


def test_where_nothing_runs_no_http_library_is_loaded() -> None:
    program = """
import asyncio, sys
from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings
from localllm.llm.discovery import scan
from localllm.llm.discovery.scan import discover
one, two, three = sys.argv[1:]
settings = LLMSettings(
    lmstudio=LMStudioSettings(base_url=one),
    ollama=OllamaSettings(base_url=two),
    openai=OpenAISettings(base_url=three),
)
print([server.state for server in asyncio.run(discover(settings, {}, also=()))])
print(sorted({"httpx", "httpcore", "anyio", "httptools"} & set(sys.modules)))
"""
    with closed_ports(3) as urls:
        done = subprocess.run([sys.executable, "-c", program, *urls], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["['absent', 'absent', 'absent']", "[]", ""]


# --- each kind is known by its answers, at an address where it is not expected


async def test_ollama_is_not_taken_for_an_openai_server(nobody: LLMSettings) -> None:
    server = await look_at(peers.ollama(), nobody)
    assert (server.provider, server.state, server.software) == ("ollama", "ready", "Ollama")
    [model] = server.models
    assert (model.id, model.loaded, model.context_window) == ("qwen3:8b", True, 4096)
    assert model.abilities == {"tools", "thinking"}


async def test_lm_studio_and_its_loaded_model_first(nobody: LLMSettings) -> None:
    server = await look_at(peers.lm_studio(), nobody)
    assert (server.provider, server.state, server.software) == ("lmstudio", "ready", "LM Studio")
    assert [(model.id, model.loaded) for model in server.models] == [("qwen/qwen3-8b", True), ("phi-4", False)]


async def test_an_older_lm_studio_without_a_list_of_its_own(nobody: LLMSettings) -> None:
    site = peers.lm_studio()
    site.pages = {"/v1/models": site.pages["/v1/models"]}
    server = await look_at(site, nobody)
    assert (server.provider, server.software) == ("lmstudio", "LM Studio")
    assert "phi-4" in [model.id for model in server.models]


@pytest.mark.parametrize("gone", [None, 404])
async def test_a_newer_lm_studio_that_has_only_its_newer_list(nobody: LLMSettings, gone: int | None) -> None:
    site = peers.lm_studio()
    entry = {"type": "llm", "key": "qwen/qwen3-8b", "loaded_instances": [{"config": {"context_length": 4096}}]}
    site.pages = {"/api/v1/models": peers.answer({"models": [entry]}), "/v1/models": site.pages["/v1/models"]}
    if gone:
        site.pages["/api/v0/models"] = peers.answer({"error": "no such page"}, gone)
    server = await look_at(site, nobody)
    assert (server.provider, server.software) == ("lmstudio", "LM Studio")
    assert [(model.id, model.context_window) for model in server.models] == [("qwen/qwen3-8b", 4096)]


async def test_llama_cpp_with_the_window_of_one_slot(nobody: LLMSettings) -> None:
    server = await look_at(peers.llama_cpp(), nobody)
    assert (server.provider, server.state, server.software) == ("openai", "ready", "llama.cpp")
    [model] = server.models
    assert (model.id, model.loaded, model.context_window, model.abilities) == ("tiny", True, 4096, {"tools"})


async def test_vllm(nobody: LLMSettings) -> None:
    site = peers.vllm()
    server = await look_at(site, nobody)
    assert (server.provider, server.state, server.software) == ("openai", "ready", "vLLM")
    assert server.models[0].context_window == 40960
    assert site.asked == ["/v1/models"], "its mark is in the first answer"


async def test_another_openai_server_has_no_name(nobody: LLMSettings) -> None:
    server = await look_at(peers.listing({"id": "a", "owned_by": "me"}, {"id": "text-embedding-3"}), nobody)
    assert (server.provider, server.state, server.software) == ("openai", "ready", "")
    assert [model.id for model in server.models] == ["a"]


async def test_a_server_is_asked_first_for_what_its_place_lets_expect(nobody: LLMSettings) -> None:
    site = peers.ollama()
    async with serving(site) as url:
        settings = LLMSettings(lmstudio=nobody.lmstudio, openai=nobody.openai, ollama=OllamaSettings(base_url=url))
        _, server, _ = await discover(settings, {}, also=(), within=LONG)
    assert server.software == "Ollama"
    assert site.asked == ["/api/version", "/api/tags", "/api/ps"]


@pytest.mark.parametrize("base", ["{}/v1", "{}/v1/chat/completions", "{}/api/v0"])
async def test_an_address_may_be_written_with_its_path(nobody: LLMSettings, base: str) -> None:
    async with serving(peers.lm_studio()) as url:
        server = (await discover(nobody, {}, also=[base.format(url)], within=LONG))[-1]
    assert (server.provider, server.base_url) == ("lmstudio", url)


async def test_a_gateway_keeps_its_prefix(nobody: LLMSettings) -> None:
    site = Site({"/llm/v1/models": answer({"object": "list", "data": [{"id": "a", "object": "model"}]})})
    async with serving(site) as url:
        server = (await discover(nobody, {}, also=[f"{url}/llm/v1"], within=LONG))[-1]
    assert (server.state, server.base_url) == ("ready", f"{url}/llm/v1")


async def test_localhost_is_also_looked_for_at_the_newer_loopback(nobody: LLMSettings) -> None:
    async with serving(peers.llama_cpp(), "::1") as url:
        port = url.rpartition(":")[2]
        server = (await discover(nobody, {}, also=[f"http://localhost:{port}/v1"], within=LONG))[-1]
    assert (server.state, server.base_url) == ("ready", f"http://[::1]:{port}/v1")


async def test_a_body_in_chunks_is_put_together(nobody: LLMSettings) -> None:
    body = json.dumps({"object": "list", "data": [{"id": "a", "object": "model", "owned_by": "vllm"}]}).encode()
    pieces = b"".join(b"%X;note=1\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:]))
    site = Site({"/v1/models": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"})
    assert (await look_at(site, nobody)).software == "vLLM"


# --- model servers without a model


@pytest.mark.parametrize(
    ("site", "software"),
    [
        (Site({"/api/version": answer({"version": "0.9"}), "/api/tags": answer({"models": None})}), "Ollama"),
        (peers.lm_studio({"id": "nomic-v1.5", "type": "embeddings", "state": "loaded"}), "LM Studio"),
        (peers.listing({"id": "nomic-embed-text", "object": "model"}), ""),
        (Site({"/v1/models": answer({"object": "list", "data": []})}), ""),
    ],
)
async def test_a_server_without_a_model_that_answers_is_empty(nobody: LLMSettings, site: Site, software: str) -> None:
    server = await look_at(site, nobody)
    assert (server.state, server.software, server.models) == ("empty", software, ())


async def test_whose_a_server_is_that_has_models_for_embedding_alone(
    nobody: LLMSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be sent all documents of a collection."""

    def is_theirs(_host: str, _port: int) -> bool:
        return True

    monkeypatch.setattr(scan, "is_of_another_person", is_theirs)
    server = await look_at(peers.listing({"id": "nomic-embed-text", "object": "model"}), nobody)
    assert (server.state, server.is_of_another) == ("empty", True)


@pytest.mark.parametrize("environ", [{}, {"LOCALLLM_OWN_SERVERS_ONLY": "1"}])
async def test_another_person_s_server_can_be_kept_out(
    nobody: LLMSettings, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    async with serving(peers.listing({"id": "own"})) as own, serving(peers.listing({"id": "evil"})) as theirs:
        monkeypatch.setattr(scan, "is_of_another_person", lambda _host, port: theirs.endswith(f":{port}"))
        found = await discover(nobody, environ, also=[theirs, own], within=LONG)
        names = [server.models[0].id for server in found if server.state == "ready"]
        assert names == (["own"] if environ else ["evil", "own"])


async def test_a_server_that_loads_its_model_is_silent_and_says_why(nobody: LLMSettings) -> None:
    loading = answer({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, 503)
    server = await look_at(Site({}, loading), nobody)
    assert (server.state, server.software, server.detail) == ("silent", "llama.cpp", "it is still loading its model")


# --- what is no model server

HTML = b"<!DOCTYPE html><html><head><title>SearXNG \x1b[31m</title></head><body>search</body></html>"
LIST_OF_SOMETHING = answer({"data": []})
SEARXNG = answer({"query": "q", "number_of_results": 0, "results": [], "unresponsive_engines": []})


@pytest.mark.parametrize(
    ("peer", "detail"),
    [
        (Site({}, answer(HTML, 404)), "a web page (HTTP 404) “SearXNG ␛[31m”"),
        (Site({}, SEARXNG), "something that is no model server (HTTP 200)"),
        (Site({}, answer(HTML)), "a web page (HTTP 200) “SearXNG ␛[31m”"),
        (Site({}, answer(b"<!DOCTYPE html>" + b"<title" * 600_000)), "a web page (HTTP 200)"),
        (Site({}, answer(HTML, 403)), "a web page (HTTP 403) “SearXNG ␛[31m”"),
        (Site({}, answer({"detail": "Not Found"}, 404)), "something that is no model server (HTTP 404)"),
        (Site({}, answer({})), "something that is no model server (HTTP 200)"),
        (Site({}, LIST_OF_SOMETHING), "something that is no model server (HTTP 200)"),
        (Site({}, answer(b"\xff\x00")), "something that is no model server (HTTP 200)"),
        (Site({}, answer(b"[" * 100_000)), "something that is no model server (HTTP 200)"),
        (Site({"/api/version": answer({"version": "0.6"})}, answer(b"<p>app", 404)), "a web page (HTTP 404)"),
        (Site({}, answer(b"", 302, location="/login")), "it redirects to /login (HTTP 302)"),
        (Site({}, b"HTTP/1.1 204 No Content\r\n\r\n"), "something that is no model server (HTTP 204)"),
        (Site({}, b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"), "it closes the connection without an answer"),
        (Site({}, b"HTTP/1.1 what\r\n\r\n"), "it closes the connection without an answer"),
        (peers.hangs_up, "it closes the connection without an answer"),
        (peers.replies(b"-ERR wrong number\r\n"), "something that does not speak HTTP: -ERR wrong number"),
        (peers.says(b"SSH-2.0-OpenSSH_9.2\r\n"), "something that does not speak HTTP: SSH-2.0-OpenSSH_9.2"),
        (peers.says(b"\x00\x1b]0;x\x07" * 900), "something that does not speak HTTP: ␀␛]0;x␇␀␛]0;x␇"),
    ],
)
async def test_what_is_no_model_server_is_foreign_and_described(nobody: LLMSettings, peer: Peer, detail: str) -> None:
    server = await look_at(peer, nobody)
    assert (server.state, server.models, server.provider) == ("foreign", (), "openai")
    assert server.detail.startswith(detail)
    assert len(server.detail) < 150


async def test_our_own_ensemble_is_not_found(nobody: LLMSettings) -> None:
    server = await look_at(peers.listing({"id": "ensemble", "object": "model", "owned_by": ENSEMBLE_OWNER}), nobody)
    assert server.state == "foreign"
    assert "ensemble" in server.detail


@pytest.mark.parametrize("head", ["content-type: application/json", "transfer-encoding: chunked"])
async def test_an_endless_body_is_not_read_to_its_end(nobody: LLMSettings, head: str) -> None:
    words = b"[" * 65_536
    if "chunked" in head:
        words = b"10000\r\n" + words + b"\r\n"
    peer = peers.repeats(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode(), words)
    server = await look_at(peer, nobody)
    assert (server.state, server.detail) == ("foreign", "an endless answer")


async def test_a_redirect_is_not_followed(nobody: LLMSettings) -> None:
    target = peers.vllm()
    async with serving(target) as there:
        server = await look_at(Site({}, answer(b"", 307, location=f"{there}/v1/models")), nobody)
    assert server.state == "foreign"
    assert target.asked == []


# --- time


async def test_all_are_asked_at_the_same_time(nobody: LLMSettings) -> None:
    """Each of four servers answers only when all four have been asked."""
    barrier = asyncio.Barrier(4)

    def waiting(site: Site) -> Peer:
        async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if not site.asked:
                await barrier.wait()
            await site(reader, writer)

        return peer

    async with AsyncExitStack() as stack:
        sites = (peers.lm_studio(), peers.ollama(), peers.llama_cpp(), peers.vllm())
        urls = [await stack.enter_async_context(serving(_knocked_at(waiting(site)))) for site in sites]
        settings = LLMSettings(
            lmstudio=LMStudioSettings(base_url=urls[0]),
            ollama=OllamaSettings(base_url=urls[1]),
            openai=OpenAISettings(base_url=urls[2]),
        )
        servers = await discover(settings, {}, also=urls[3:], within=LONG)
    assert [server.software for server in servers] == ["LM Studio", "Ollama", "llama.cpp", "vLLM"]


def _knocked_at(peer: Peer) -> Peer:
    """`peer` for connections on which something is asked; the others only see whether anybody is there."""

    async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        rest = asyncio.StreamReader()
        rest.feed_data(first + await reader.readuntil(b"\r\n\r\n"))
        await peer(rest, writer)

    return asked


@pytest.mark.parametrize(
    "peer",
    [
        peers.hangs,
        peers.replies(b"HTTP/1.1 200 OK\r\n"),
        peers.repeats(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", b" ", seconds=0.01),
    ],
)
async def test_who_does_not_answer_in_time_is_silent(nobody: LLMSettings, peer: Peer) -> None:
    server = await look_at(peer, nobody, within=SHORT)
    assert (server.state, server.detail) == ("silent", "no complete answer in 0.2 s")


async def test_of_a_slow_server_what_it_has_shown_counts(nobody: LLMSettings) -> None:
    """It lists its models, and the time ends before it has said whether it is Ollama or LM Studio."""
    lists = peers.listing({"id": "a", "owned_by": "me"})

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (peers.hangs if lists.asked else lists)(reader, writer)

    async with serving(slow) as url:
        settings = LLMSettings(
            lmstudio=nobody.lmstudio, ollama=nobody.ollama, openai=OpenAISettings(base_url=f"{url}/v1")
        )
        servers = await discover(settings, {}, also=(), within=1.0)
    server = next(one for one in servers if one.state != "absent")
    assert (server.provider, server.state, [model.id for model in server.models]) == ("openai", "ready", ["a"])


async def test_a_hanging_server_does_not_hide_the_others(nobody: LLMSettings) -> None:
    async with serving(peers.hangs) as hanging, serving(peers.vllm()) as ready:
        servers = await discover(nobody, {}, also=[hanging, ready], within=1.0)
    assert [server.state for server in servers[3:]] == ["silent", "ready"]


async def test_the_limit_of_another_machine_is_its_own(nobody: LLMSettings) -> None:
    """127.1 is the loopback to the system and another machine to us."""
    async with serving(peers.hangs) as url:
        far = LMStudioSettings(base_url=url.replace("127.0.0.1", "127.1"))
        settings = LLMSettings(lmstudio=far, ollama=nobody.ollama, openai=nobody.openai)
        server, *_ = await discover(settings, {}, also=(), within=LONG, within_far=SHORT)
    assert server.detail.endswith("in 0.2 s")


async def test_answers_that_came_while_this_program_was_busy_are_read(nobody: LLMSettings) -> None:
    within = 0.6
    async with serving(peers.vllm()) as url:
        search = asyncio.create_task(discover(nobody, {}, also=[url], within=within))
        for _ in range(3):
            await asyncio.sleep(0)
        time.sleep(within * 1.1)
        assert (await search)[-1].state == "ready"


# --- keys


async def test_a_locked_server_opens_to_the_key_of_the_address_the_user_has_set(nobody: LLMSettings) -> None:
    site = peers.llama_cpp(key="K1")
    async with serving(site) as url:
        settings = LLMSettings(lmstudio=nobody.lmstudio, ollama=nobody.ollama, openai=OpenAISettings(base_url=url))
        *_, locked = await discover(settings, {}, also=(), within=LONG)
        assert site.keys == []
        *_, opened = await discover(settings, {"OPENAI_API_KEY": " K1\n"}, also=(), within=LONG)
        sent = list(site.keys)
        *_, refused = await discover(settings, {"OPENAI_API_KEY": "K2"}, also=(), within=LONG)
        *_, unusable = await discover(settings, {"OPENAI_API_KEY": "K1é"}, also=(), within=LONG)
    assert (locked.state, locked.detail) == ("locked", "put it into the environment variable OPENAI_API_KEY")
    assert (opened.state, opened.software, opened.key_variable) == ("ready", "llama.cpp", "OPENAI_API_KEY")
    assert set(sent) == {"Bearer K1"}
    assert (refused.state, refused.detail) == ("locked", "the one in OPENAI_API_KEY was refused")
    assert unusable.state == "locked"
    assert "OPENAI_API_KEY holds characters" in unusable.detail
    assert site.keys.count("Bearer K2") == 1


async def test_a_server_that_asks_for_no_key_gets_none(nobody: LLMSettings) -> None:
    site = peers.llama_cpp()
    async with serving(site) as url:
        settings = LLMSettings(lmstudio=nobody.lmstudio, ollama=nobody.ollama, openai=OpenAISettings(base_url=url))
        *_, server = await discover(settings, {"OPENAI_API_KEY": "K1"}, also=(), within=LONG)
    assert (server.state, server.key_variable, site.keys) == ("ready", "", [])


async def test_no_key_goes_to_an_address_nobody_has_set(nobody: LLMSettings) -> None:
    site = peers.vllm()
    site.key = "K1"
    async with serving(site) as url:
        server = (await discover(nobody, {"OPENAI_API_KEY": "K1"}, also=[url], within=LONG))[-1]
        without = (await discover(nobody, {}, also=[url], within=LONG))[-1]
    assert site.keys == []
    assert server.state == without.state == "locked"
    assert "OPENAI_API_KEY" in server.detail
    assert "OPENAI_API_KEY" in without.detail
    assert f"--base-url {url}" in server.detail


async def test_llama_cpp_may_show_its_models_and_lock_the_rest(nobody: LLMSettings) -> None:
    site = peers.llama_cpp(key="K1")
    site.open_paths = frozenset({"/v1/models"})
    assert (await look_at(site, nobody)).state == "locked"


async def test_ollamas_key_goes_to_ollamas_address(nobody: LLMSettings) -> None:
    site = peers.ollama(key="K1")
    async with serving(site) as url:
        settings = LLMSettings(lmstudio=nobody.lmstudio, ollama=OllamaSettings(base_url=url), openai=nobody.openai)
        keys = {"OLLAMA_API_KEY": "K1", "OPENAI_API_KEY": "K2", "LMSTUDIO_API_KEY": "K3"}
        _, server, _ = await discover(settings, keys, also=(), within=LONG)
    assert (server.state, server.key_variable) == ("ready", "OLLAMA_API_KEY")
    assert set(site.keys) == {"Bearer K1"}


def test_found_keys_are_named_and_never_shown() -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "LMSTUDIO_API_KEY": " ", "OLLAMA_API_KEY": "", "HOME": "/"}
    assert found_keys(environ | {"SERPER_API_KEY": "of a search engine"}) == ("OPENAI_API_KEY",)


# --- addresses


async def test_the_same_address_is_asked_once_and_the_users_own_come_first(nobody: LLMSettings) -> None:
    site = peers.vllm()
    async with serving(site) as url:
        port = url.rpartition(":")[2]
        settings = LLMSettings(
            lmstudio=LMStudioSettings(),
            ollama=OllamaSettings(base_url=f"localhost:{port}/v1"),
            openai=OpenAISettings(base_url=url),
        )
        settings = LLMSettings(lmstudio=nobody.lmstudio, ollama=settings.ollama, openai=settings.openai)
        servers = await discover(settings, {}, also=[f"http://[::1]:{port}"], within=LONG)
    assert [server.state for server in servers] == ["absent", "ready"]
    assert servers[1].set_by_user
    assert site.asked.count("/v1/models") == 1


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://x",
        "http://[::1",
        "http://a b",
        "http://localhost:99999",
        "http://a..b",
        "http://\x1b[2J",
        "::",
        "http://localhost:0",
    ],
)
async def test_an_unusable_address_is_absent_with_the_reason(nobody: LLMSettings, address: str) -> None:
    settings = LLMSettings(lmstudio=nobody.lmstudio, ollama=nobody.ollama, openai=OpenAISettings(base_url=address))
    servers = await discover(settings, {"OLLAMA_HOST": "::::"}, also=(address,), within=LONG, within_far=LONG)
    assert {server.state for server in servers} == {"absent"}
    assert all(server.detail.isprintable() and server.detail for server in servers)


# --- what is not plain HTTP


async def test_another_machine_is_asked_through_the_proxy_and_this_one_never(
    nobody: LLMSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = "http://models.example/v1"
    listed = answer({"object": "list", "data": [{"id": "a", "object": "model", "owned_by": "vllm"}]})
    proxy, near = Site({f"{far}/models": listed}, answer(b"", 502)), peers.vllm()
    async with serving(proxy) as proxy_url, serving(near) as near_url:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy_url)
        settings = LLMSettings(
            lmstudio=LMStudioSettings(base_url=far), ollama=nobody.ollama, openai=OpenAISettings(base_url=near_url)
        )
        environ = {"HTTP_PROXY": proxy_url}
        servers = await discover(settings, environ, also=(), within=LONG, within_far=LONG)
    assert [server.software for server in servers] == ["vLLM", "", "vLLM"]
    assert f"{far}/models" in proxy.asked
    assert near.asked == ["/v1/models"]


async def test_a_proxy_that_cannot_be_used_is_the_reason(nobody: LLMSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    far = LMStudioSettings(base_url="http://models.example")
    settings = LLMSettings(lmstudio=far, ollama=nobody.ollama, openai=nobody.openai)
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")
    servers = await discover(settings, {"ALL_PROXY": "gopher://127.0.0.1:1"}, also=(), within=LONG, within_far=LONG)
    assert servers[0].state == "absent"
    assert "gopher" in servers[0].detail


async def test_who_does_not_speak_tls_where_it_is_asked_for_is_absent(nobody: LLMSettings) -> None:
    async with serving(peers.says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as url:
        server = (await discover(nobody, {}, also=[url.replace("http:", "https:")], within=LONG))[-1]
    assert (server.state, server.models) == ("absent", ())
    assert "SSL" in server.detail
