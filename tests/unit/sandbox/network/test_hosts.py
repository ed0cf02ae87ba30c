"""Which hosts the user's list allows, and which addresses their names may stand for."""

import re

import pytest

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.sandbox.network.hosts import NetworkHosts, Target, target
from tests.support.each import each


@each(
    ("entry", "host", "port", "allowed"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "files.pypi.org", 443, False),
        ("pypi.org", "evilpypi.org", 443, False),
        ("pypi.org", "pypi.org.evil.example", 443, False),
        ("PyPI.org", "pypi.org", 443, True),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("*.example.org:8443", "a.example.org", 8443, True),
        ("*.example.org:8443", "a.example.org", 443, False),
        ("host.example:8443", "host.example", 8443, True),
        ("host.example:8443", "host.example", 443, False),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("127.0.0.1:8080", "localhost", 8080, False),
        ("[::1]:8080", "::1", 8080, True),
        ("*.0.0.1:80", "127.0.0.1", 80, False),
    ],
)
def test_the_list(entry: str, host: str, port: int, allowed: bool) -> None:
    hosts = NetworkHosts.of([entry, "other.example"])
    if allowed:
        hosts.check(Target(host, port))
        return
    with pytest.raises(SafetyViolationError) as refusal:
        hosts.check(Target(host, port))
    assert refusal.value.key == "network_not_allowed"


def test_an_empty_list_allows_nothing() -> None:
    assert not NetworkHosts()
    with pytest.raises(SafetyViolationError):
        NetworkHosts().check(Target("pypi.org", 443))


@each(
    "entry",
    [
        *("", "*", "*.", "http://pypi.org", "pypi.org/simple", "a b", "pypi.org:0", "pypi.org:65536", "pypi.org:x"),
        *("a@b", "*.*.org", "a.*", "пример.рф", ".org", "a..b", "pypi.org.", "*.127.0.0.1", "::1", "a\0b", "-", "a%2e"),
    ],
)
def test_what_is_no_entry(entry: str) -> None:
    with pytest.raises(ConfigurationError) as fault:
        NetworkHosts.of([entry])
    assert fault.value.code == "E1026"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("PyPI.org:443", "pypi.org", 443),
        ("a_b.example:1", "a_b.example", 1),
        ("[2001:DB8:0::1]:443", "2001:db8::1", 443),
        ("1.2.3.4", "1.2.3.4", 80),
    ],
)
def test_a_target_has_one_spelling(text: str, host: str, port: int) -> None:
    assert target(text, 80) == Target(host, port)


@each(
    "text",
    [
        *("pypi.org\0.evil.example:443", "pypi.org%00:443", "user@pypi.org:443", "pypi.org:443:443", "", ":443"),
        "[::1:443",
        "[::1%eth0]:443",
        "pypi.org :443",
        "ｐypi.org:443",
        "pypi.org:4４3",
        "pypi.org:-1",
        "a" * 254 + ":1",
        "pypi.org.:1",
    ],
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        target(text, 80)


def test_a_name_must_stand_for_public_addresses_only() -> None:
    hosts = NetworkHosts.of(["pypi.org", "127.0.0.1:8080", "10.0.0.5"])
    wanted = Target("pypi.org", 443)
    hosts.vet(wanted, ["8.8.8.8", "2606:4700::1111"])
    for addresses in (["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["fe80::1%eth0"], ["fec0::5"], ["64:ff9b:1::7f00:1"]):
        with pytest.raises(SafetyViolationError) as refusal:
            hosts.vet(wanted, addresses)
        assert refusal.value.key == "network_not_public"
    hosts.vet(Target("127.0.0.1", 8080), ["127.0.0.1"])
    with pytest.raises(SafetyViolationError):
        hosts.vet(Target("10.0.0.5", 443), ["10.0.0.5"])  # named without its port: not this very one


@each(
    ("host", "listed"),
    [("pypi.org", True), ("a.example.org", True), ("example.org", False), ("one.example", True), ("", False)],
)
def test_a_host_is_listed_at_any_port(host: str, listed: bool) -> None:
    assert NetworkHosts.of(["PyPI.org", "*.example.org", "one.example:8443"]).lists(host) is listed
