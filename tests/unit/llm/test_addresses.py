"""Addresses as people write them."""

import pytest

from localllm.llm.addresses import address_fault, apart_from_password, api_root, is_loopback, server_root
from tests.support.each import each


@pytest.mark.parametrize(
    "written",
    [
        "localhost:1234",
        "http://localhost:1234",
        "http://localhost:1234/",
        "http://localhost:1234/v1",
        "http://localhost:1234/v1/",
        " http://localhost:1234/v1/chat/completions ",
        "http://localhost:1234/v1/models",
    ],
)
def test_every_common_form_means_the_same(written: str) -> None:
    assert api_root(written) == "http://localhost:1234/v1"


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("https://gateway.example/llm/v1", "https://gateway.example/llm/v1"),
        ("https://gateway.example/openai", "https://gateway.example/openai"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("192.168.1.5:11434", "http://192.168.1.5:11434/v1"),
        ("http://models", "http://models/v1"),
    ],
)
def test_other_paths_and_hosts_are_kept(written: str, root: str) -> None:
    assert api_root(written) == root


@each(
    "path",
    [
        *("", "/", "/v1", "/v1/", "/v1/models", "/v1?key=x", "/v1/chat/completions", "/chat/completions"),
        *("/api", "/api/", "/api/chat", "/api/chat/", "/api/tags"),
        *("/api/v0", "/api/v1", "/api/v0/models", "/api/v1/chat"),
    ],
)
@each(
    ("host", "root"),
    [
        ("localhost:11434", "http://localhost:11434"),
        (" http://api", "http://api"),
        ("https://gateway.example/ollama", "https://gateway.example/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_root_of_a_server_is_the_same_in_every_form(host: str, root: str, path: str) -> None:
    assert server_root(host + path) == root
    assert server_root(server_root(host + path)) == root


@pytest.mark.parametrize("path", ["/v1beta", "/apis", "/my/v1x/y"])
def test_a_prefix_that_only_looks_like_an_interface_is_kept(path: str) -> None:
    assert server_root("http://h" + path) == "http://h" + path


@pytest.mark.parametrize("url", ["http://localhost:1", "127.0.0.1:80", "http://127.9.9.9/v1", "[::1]:80"])
def test_this_machine_is_known(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://127.0.0.1.evil.example",
        "http://10.0.0.1",
        "",
    ],
)
def test_other_machines_are_not_taken_for_this_one(url: str) -> None:
    assert not is_loopback(url)


@each(
    ("url", "word"),
    [
        ("", "host"),
        ("http://", "host"),
        ("http://localhost:abc", "abc"),
        ("http://localhost:99999", "99999"),
        ("http://[::1", "IPv6"),
        ("http://[zz::1]:80", "IPv6"),
        ("http://999.1.1.1", "999"),
        ("http://a..b", "a..b"),
        ("http://" + "a" * 64, "host name"),
        ("http://local host:1", "space"),
        ("http://local\nhost:1", "space"),
        ("ftp://localhost", "ftp"),
    ],
)
def test_an_unusable_address_is_told(url: str, word: str) -> None:
    assert word in address_fault(url)


@pytest.mark.parametrize("url", ["localhost:1234", " http://[::1]:8080/v1 ", "https://例え.jp/llm", "10.0.0.1"])
def test_a_usable_address_has_no_fault(url: str) -> None:
    assert address_fault(url) == ""


@pytest.mark.parametrize(
    ("written", "address", "secret"),
    [
        ("http://" + "name:pass%40word" + "@host:1/v1", "http://host:1/v1", "name:pass@word"),
        ("http://host/v1/a@b", "http://host/v1/a@b", ""),
        ("name:word@host", "host", "name:word"),
        ("http://[::1]:1234", "http://[::1]:1234", ""),
    ],
)
def test_a_password_is_not_shown(written: str, address: str, secret: str) -> None:
    assert apart_from_password(written) == (address, secret)
