"""The same page, however it is addressed, is one result."""

import pytest

from localllm.web.engines.base import SearchResult
from localllm.web.engines.duplicate_results import canonical_url, unique

SAME = [
    "https://example.com/a",
    "http://example.com/a",
    "https://www.example.com/a/",
    "HTTPS://WWW.Example.COM:443/a",
    "http://example.com:80/a#part",
    "https://example.com./a?utm_source=x&UTM_Campaign=y",
    "https://example.com/a?gclid=1&fbclid=2&",
]

OTHERS = [
    "https://example.com/A",
    "https://example.com/a/b",
    "https://example.com:8443/a",
    "http://example.com:443/a",
    "https://docs.example.com/a",
    "https://example.com/a?id=1",
    "https://example.com/a?id=2",
    "https://example.com/a?utm=1",
    "https://example.com/a#!/one",
    "https://example.com/a#/two",
    "https://example.com/",
    "ftp://example.com/a",
]


@pytest.mark.parametrize("url", SAME)
def test_spellings_of_one_page(url: str) -> None:
    assert canonical_url(url) == "example.com/a"


def test_other_pages_stay_others() -> None:
    assert len({canonical_url(url) for url in [SAME[0], *OTHERS]}) == len(OTHERS) + 1


@pytest.mark.parametrize("url", ["", "no address", "http://[::1", "https://host:port/x", "mailto:a@example.com"])
def test_what_is_no_address_of_the_web_stays_as_it_is(url: str) -> None:
    assert canonical_url(url) == url


def test_parameters_that_matter_keep_their_order() -> None:
    assert canonical_url("https://a.example/s?b=2&utm_source=n&a=1") == "a.example/s?b=2&a=1"


def test_the_first_of_each_page_stays_in_its_place() -> None:
    urls = ["https://b.example/", SAME[0], "https://c.example/x", SAME[5], "http://b.example", "https://d.example/"]
    found = unique(SearchResult(f"title {number}", url, "", "e") for number, url in enumerate(urls))
    assert [result.title for result in found] == ["title 0", "title 1", "title 2", "title 5"]
