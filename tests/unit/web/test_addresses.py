"""What of the addresses of the world may be fetched."""

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.web.addresses import checked_url, read_address
from tests.support.each import each


@pytest.mark.parametrize(
    "url", ["https://example.com/a?b=c", "http://example.com", "example.com/path", "https://日本語.jp"]
)
def test_public_addresses(url: str) -> None:
    assert checked_url(url).scheme in ("http", "https")


@each(
    "url",
    [
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://printer.local/",
        "http://wiki.internal/",
        "http://router/",
        "http://nas.home.arpa/",
        "http://127.0.0.1/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://8.8.8.8:22/",
        "https://example.com:8443/",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: x",
        "http://0x5d.184.216.34/",
        "http://93.0xb8d822/",
        "http://93.184.216.34./",
        "http://%65xample.com/",
        "http://exa,mple.com/",
        "http://ｅxample.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "https://",
        "",
        "https://example.com/" + "a" * 5_000,
    ],
)
def test_what_is_none_of_the_public_web(url: str) -> None:
    with pytest.raises(SafetyViolationError) as caught:
        checked_url(url)
    assert caught.value.key == "web_address_refused"


def test_the_user_names_exceptions_by_host_and_port() -> None:
    allowed = frozenset({"127.0.0.1:8000", "wiki.internal:443"})
    assert checked_url("http://127.0.0.1:8000/x", allowed).port == 8000
    assert checked_url("https://WIKI.internal/x", allowed).host == "wiki.internal"
    for url in ("http://127.0.0.1:8001/", "http://wiki.internal/", "http://u@127.0.0.1:8000/"):
        with pytest.raises(SafetyViolationError):
            checked_url(url, allowed)


@pytest.mark.parametrize("url", ["http://\ud800/x", "\ud800http://a/", "https://a.example/\udcff"])
def test_half_a_surrogate_pair_is_no_address(url: str) -> None:
    assert read_address(url) is None
