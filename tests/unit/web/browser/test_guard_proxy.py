"""The proxy of the browser: whom it serves, where it goes on to, and how much it lets through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from localllm.base.errors import SafetyViolationError
from localllm.sandbox.network.hosts import Target
from localllm.web.browser.guard_proxy import GuardProxy, NextProxy, PublicWeb
from tests.support.web_server import PUBLIC, Names, Site, page, serve

pytestmark = pytest.mark.anyio


def refused(host: str, port: int, *addresses: str, allowed: tuple[str, ...] = ()) -> bool:
    web = PublicWeb(allowed)
    try:
        web.check(Target(host, port))
        web.vet(Target(host, port), addresses)
    except SafetyViolationError:
        return True
    return False


def test_only_public_hosts_on_the_ports_of_the_web_are_reached() -> None:
    assert not refused("example.com", 443, PUBLIC)
    assert not refused("example.com", 80, PUBLIC, "2606:2800:220:1::1")
    for host, port in (("example.com", 22), ("example.com", 8443), ("localhost", 80), ("printer.local", 80)):
        assert refused(host, port, PUBLIC), host
    for address in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "64:ff9b::a00:1"):
        assert refused("example.com", 80, address), address
        assert refused("example.com", 443, PUBLIC, address), address
        assert refused(address, 80, address), address


def test_what_the_user_names_may_be_private() -> None:
    allowed = ("localhost:8000", "10.0.0.1:80")
    assert not refused("localhost", 8000, "127.0.0.1", allowed=allowed)
    assert not refused("10.0.0.1", 80, "10.0.0.1", allowed=allowed)
    assert refused("localhost", 8001, "127.0.0.1", allowed=allowed)


@asynccontextmanager
async def guarding(site: Site, following: NextProxy | None = None) -> AsyncIterator[tuple[GuardProxy, str]]:
    """A guard whose names are public and lead to the site, and its address with the password."""

    async def resolve(wanted: Target) -> list[str]:
        return await Names(inside_example_com=["10.0.0.1"])(wanted.host, wanted.port)

    async def connect(address: str, _port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert address in (PUBLIC, "proxy.example.com")
        return await asyncio.open_connection("127.0.0.1", site.port)

    guard = GuardProxy((), following, resolve=resolve, connect=connect)
    await guard.start()
    guard.allow_more(1_000_000)
    try:
        yield guard, guard.address.replace("//", f"//{guard.user}:{guard.password}@")
    finally:
        guard.close()


async def status(proxy: str, url: str) -> tuple[int, str]:
    async with httpx.AsyncClient(proxy=proxy, trust_env=False, verify=False) as client:
        answer = await client.get(url)
    return answer.status_code, answer.text


async def test_it_serves_who_has_the_password() -> None:
    async with serve({"/a": page("hello")}) as site, guarding(site) as (guard, address):
        assert await status(address, "http://example.com/a") == (200, "hello")
        assert (await status(guard.address, "http://example.com/a"))[0] == 407
        assert (await status(address.replace(guard.password, "wrong"), "http://example.com/a"))[0] == 407
        assert (await status(address, "http://inside.example.com/a"))[0] == 403
        assert len(site.asked) == 1
        assert "proxy-authorization" not in site.asked[0].lower()


async def test_each_has_a_password_of_its_own() -> None:
    async with serve({}) as site, guarding(site) as (one, _), guarding(site) as (other, _):
        assert one.password != other.password


async def test_what_is_too_much_is_cut() -> None:
    async with serve({"/a": page("x" * 500_000)}) as site, guarding(site) as (guard, address):
        assert (await status(address, "http://example.com/a"))[0] == 200
        guard.allow_more(100_000)
        with pytest.raises(httpx.HTTPError):
            await status(address, "http://example.com/a")
        assert (await status(address, "http://example.com/a"))[0] == 502
        guard.allow_more(1_000_000)
        assert (await status(address, "http://example.com/a"))[0] == 200


async def test_it_goes_on_through_the_users_proxy() -> None:
    following = NextProxy.of("http://{}@proxy.example.com:3128".format("me:se%20cret"))
    assert (following.host, following.port) == ("proxy.example.com", 3128)
    async with serve({"http://example.com/a": page("through")}) as site, guarding(site, following) as (_, address):
        assert await status(address, "http://example.com/a") == (200, "through")
        head = "GET http://example.com/a HTTP/1.1\r\nProxy-Authorization: Basic bWU6c2UgY3JldA=="
        assert site.asked[0].startswith(head)
        assert (await status(address, "http://10.0.0.1/a"))[0] == 403
        site.pages["example.com:443"] = b"HTTP/1.1 200 Yes\r\n\r\nnot TLS"
        with pytest.raises(httpx.HTTPError):
            await status(address, "https://example.com/")
        assert site.asked[-1].startswith("CONNECT example.com:443 HTTP/1.1\r\n")
        site.pages["example.com:443"] = b"HTTP/1.1 403 No\r\n\r\n"
        with pytest.raises(httpx.ProxyError, match="502"):
            await status(address, "https://example.com/")


@pytest.mark.parametrize("address", ["https://proxy.example.com", "socks5://127.0.0.1:1080", "proxy"])
def test_other_proxies_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match=address):
        NextProxy.of(address)
