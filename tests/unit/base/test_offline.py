"""What the guard lets through. That Python asks it before each connection: tests/e2e/test_offline.py."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from localllm.base.offline import Guard, OfflineError, is_direct, offline_error_in, own_network_only
from tests.support.each import each

NAMED = (
    "http://192.168.1.20:11434/v1",
    "10.0.0.5:8000",
    "https://[fd00::7]",
    "http://[fe80::1%25eth0]:1234",
    "http://203.0.113.9:8080",
    "http://GPU.lan.:8080",
    "http://計算機.example:8080",
    "https://api.example",
    "",
    "http://host:not-a-port",
)
HERE = ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1")


def connects(guard: Guard, host: object, port: int, family: socket.AddressFamily = socket.AF_INET) -> str:
    """Why not; empty where it may."""
    with socket.socket(family, socket.SOCK_STREAM) as client:
        return reason(guard, "socket.connect", client, (host, port))


def reason(guard: Guard, event: str, *arguments: object) -> str:
    try:
        guard.judge(event, arguments)
    except OfflineError as error:
        return error.reason.english
    return ""


@each(
    ("host", "port", "why"),
    [
        *((host, 80, "") for host in HERE),
        ("192.168.1.20", 11434, ""),
        ("192.168.1.20", 11435, "you have not named it"),
        ("192.168.1.21", 11434, "you have not named it"),
        ("::ffff:192.168.1.20", 11434, ""),
        (b"10.0.0.5", 8000, ""),
        ("172.31.0.1", 80, "you have not named it"),
        ("169.254.169.254", 80, "you have not named it"),
        ("fd00::7", 443, ""),
        ("FD00:0::7", 443, ""),
        ("fe80::1%2", 1234, ""),
        ("fe80::2%2", 1234, "you have not named it"),
        ("203.0.113.9", 8080, "not in your own network"),
        ("192.0.2.1", 80, "not in your own network"),
        ("100.64.0.1", 80, "not in your own network"),
        ("172.32.0.1", 80, "not in your own network"),
        ("2001:db8::1", 80, "not in your own network"),
        ("64:ff9b::7f00:1", 80, "not in your own network"),
        ("224.0.0.251", 5353, "not in your own network"),
        ("0.0.0.0", 80, "not in your own network"),
        ("<broadcast>", 9, "not in your own network"),
        ("gpu.lan", 8080, "not in your own network"),
        ("", 80, "not in your own network"),
    ],
)
def test_a_connection(host: object, port: int, why: str) -> None:
    found = connects(Guard(NAMED), host, port)
    assert bool(found) == bool(why)
    assert why in found


@each(
    ("name", "is_looked_up"),
    [
        *((name, True) for name in (None, "", "localhost", "LOCALHOST.", "192.0.2.1", "::1", b"10.0.0.5")),
        *((name, True) for name in ("gpu.lan", "GPU.LAN", "gpu.lan.", b"gpu.lan", "計算機.example", "api.example")),
        *((name, False) for name in ("gpu", "x.gpu.lan", "example.org", b"example.org", "host")),
    ],
)
def test_a_look_up(name: object, is_looked_up: bool) -> None:
    for event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        assert (reason(Guard(NAMED), event, name, 80) == "") == is_looked_up, event


@each(
    ("addresses", "admitted"),
    [
        (["192.168.7.7"], {"192.168.7.7"}),
        (["203.0.113.1", "192.168.7.7", "127.0.0.1"], {"192.168.7.7", "127.0.0.1"}),
        (["203.0.113.1"], None),
        ([], None),
    ],
)
def test_what_a_name_stands_for(addresses: Sequence[str], admitted: set[str] | None) -> None:
    guard = Guard(NAMED)
    assert connects(guard, "192.168.7.7", 8080), "not before it was looked up"
    if admitted is None:
        with pytest.raises(OfflineError):
            guard.admitted("gpu.lan", addresses)
        return
    assert guard.admitted("gpu.lan", addresses) == admitted
    assert connects(guard, "192.168.7.7", 8080) == ""
    assert connects(guard, "192.168.7.7", 8081), "the port counts"


def test_what_other_names_stand_for_opens_nothing() -> None:
    guard = Guard(NAMED)
    assert guard.admitted("localhost", ["127.0.0.1", "192.168.7.7"]) == {"127.0.0.1", "192.168.7.7"}
    assert connects(guard, "192.168.7.7", 8080)


def test_sockets_within_the_machine_and_those_that_are_connected_are_let_be() -> None:
    guard = Guard([])
    with socket.socket(socket.AF_UNIX) as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connected:
        assert reason(guard, "socket.connect", here, "/run/somebody.sock") == ""
        assert reason(guard, "socket.sendmsg", connected, None) == ""
        assert reason(guard, "socket.sendto", connected, ("192.0.2.1", 53))


def test_what_is_named_is_told_without_this_machine() -> None:
    guard = Guard(["http://localhost:1234", "http://127.0.0.1:8080", "192.168.1.20:11434", "https://[fd00::7]"])
    assert guard.places == ("192.168.1.20:11434", "[fd00::7]:443")


def test_the_cause_of_an_error_is_found() -> None:
    def fail() -> None:
        try:
            Guard([]).judge("socket.getaddrinfo", ("example.org", 80))
        except OSError as error:
            raise RuntimeError from error

    with pytest.raises(RuntimeError) as caught:
        fail()
    found = offline_error_in(caught.value)
    assert found is not None
    assert found.place == "example.org"
    assert offline_error_in(ValueError()) is None


@each(
    ("host", "why"),
    [
        ("127.0.0.1", "Connect call failed"),  # nobody listens there
        ("203.0.113.9", "not in your own network"),
        ("169.254.169.254", "not in your own network"),
    ],
)
def test_within_the_own_network_no_task_connects_elsewhere(host: str, why: str) -> None:
    async def connect() -> None:
        async with asyncio.timeout(5):
            await asyncio.open_connection(host, 9)

    async def begin() -> None:
        with own_network_only():
            assert is_direct()
            connecting = asyncio.create_task(connect())
        assert not is_direct()
        await connecting

    with pytest.raises(OSError, match=why):
        asyncio.run(begin())
