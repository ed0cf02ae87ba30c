"""The same page, however it is addressed, has one canonical address; different pages never do."""

import pytest

from localllm.web.canonical_urls import canonical_url
from tests.support.each import each

SAME = [
    "https://example.com/a",
    "http://example.com/a",
    "https://www.example.com/a/",
    "HTTPS://WWW.Example.COM:443/a",
    "http://example.com:80/a#part",
    "https://example.com./a?utm_source=x&UTM_Campaign=y",
    "https://example.com/a?gclid=1&fbclid=2&",
    "https://m.example.com/a",
    "https://amp.example.com/a",
    "https://example.com/a?amp",
    "https://example.com/a?amp=1&utm_medium=m",
    "https://example.com/a?outputType=amp",
    "https://www.google.com/amp/s/example.com/a",
    "https://www.google.co.jp/amp/s/www.example.com/a",
    "https://example-com.cdn.ampproject.org/c/s/example.com/a",
    "https://www-example-com.cdn.ampproject.org/v/s/www.example.com/a?amp=1",
    "https://example.com/%61",
]

OTHERS = [
    "https://example.com/A",
    "https://example.com/a/b",
    "https://example.com:8443/a",
    "http://example.com:443/a",
    "https://docs.example.com/a",
    "https://mobile.example.com/a",
    "https://sp.example.com/a",
    "https://i.example.com/a",
    "https://example.com/a?id=1",
    "https://example.com/a?id=2",
    "https://example.com/a?utm=1",
    "https://example.com/a?amp=2",
    "https://example.com/a?page=amp",
    "https://example.com/a#!/one",
    "https://example.com/a#/two",
    "https://example.com/a/amp",
    "https://example.com/",
    "https://m.example.com/",
    "https://example.com/a%2Fb",
    "ftp://example.com/a",
]

PAIRS = [
    ("https://en.m.wikipedia.org/wiki/Tide", "https://en.wikipedia.org/wiki/Tide"),
    ("https://ja.wikipedia.org/wiki/潮汐", "https://ja.m.wikipedia.org/wiki/%e6%bd%ae%E6%B1%90"),
    ("https://日本語.example/a", "https://xn--wgv71a119e.example/a"),
    ("https://mobile.twitter.com/a/status/1", "https://twitter.com/a/status/1"),
    (
        "https://news.example/2026/11/24/high-tide-reached-port/amp/",
        "https://news.example/2026/11/24/high-tide-reached-port",
    ),
    ("https://news.example/articles/12345/amp", "https://news.example/articles/12345"),
    ("https://news.example/tide.amp.html", "https://news.example/tide.html"),
    ("https://s.tabelog.com/tokyo/1/", "https://tabelog.com/tokyo/1"),
    ("https://example.org/search?q=%7Ea", "https://example.org/search?q=~a"),
]

APART = [
    ("https://web.dev/articles/amp", "https://web.dev/articles"),
    ("https://docs.example/guide/amp", "https://docs.example/guide"),
    ("https://amp.dev/documentation", "https://dev/documentation"),
    ("https://amp.co.jp/company", "https://co.jp/company"),
    ("https://m.com/a", "https://com/a"),
    ("https://en.wikipedia.org/wiki/Tide", "https://ja.wikipedia.org/wiki/Tide"),
    ("https://example.org/?q=a%26b", "https://example.org/?q=a&b"),
    ("https://example.org/a+b", "https://example.org/a%20b"),
    ("https://example.org/a?b=1&a=2", "https://example.org/a?a=2&b=1"),
    ("https://www.google.com/amp/", "https://www.google.com/"),
    ("https://google.example.com/amp/s/example.com/a", "https://example.com/a"),
    ("https://user.github.io/a", "https://github.io/a"),
]


@each("url", SAME)
def test_spellings_of_one_page(url: str) -> None:
    assert canonical_url(url) == "example.com/a"


def test_other_pages_stay_others() -> None:
    assert len({canonical_url(url) for url in [SAME[0], *OTHERS]}) == len(OTHERS) + 1


@each(("one", "other"), PAIRS)
def test_variants_of_real_sites(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other)


@each(("one", "other"), APART)
def test_what_looks_like_a_variant_is_another_page(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize("url", ["", "no address", "http://[::1", "https://host:port/x", "mailto:a@example.com"])
def test_what_is_no_address_of_the_web_stays_as_it_is(url: str) -> None:
    assert canonical_url(url) == url


def test_parameters_that_matter_keep_their_order() -> None:
    assert canonical_url("https://a.example/s?b=2&utm_source=n&a=1") == "a.example/s?b=2&a=1"


@each("url", [*SAME, *(url for pair in PAIRS for url in pair)])
def test_a_canonical_address_is_its_own(url: str) -> None:
    assert canonical_url("https://" + canonical_url(url)) == canonical_url(url)
