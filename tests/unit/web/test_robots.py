"""The rules of a site as RFC 9309 has them found, read and kept."""

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.web.fetching import Fetcher
from localllm.web.robots import Robots, SiteRules, site_of
from tests.support.web_engines import Clock
from tests.support.web_server import Leading, Names, moved, page, serve

pytestmark = pytest.mark.anyio

RULES = """
User-agent: *
Disallow: /

User-agent: localllm
Disallow: /private/
Allow: /private/open.html
Disallow: /*.pdf$
Crawl-delay: 3
"""


async def allowed(answer: bytes | list[bytes], *paths: str, **more: bytes) -> list[bool]:
    """Whether each path may be read where robots.txt is this answer."""
    async with serve({"/robots.txt": answer, **{f"/{name}": raw for name, raw in more.items()}}) as site:
        robots = Robots(Fetcher(resolve=Names(), transport=Leading(site)))
        return [
            (await robots.rules_for(f"http://a.example.com{path}")).allows(f"http://a.example.com{path}")
            for path in paths
        ]


async def test_the_longest_rule_wins_and_wildcards_count() -> None:
    paths = ("/", "/private/x", "/private/open.html", "/a/b.pdf", "/a/b.pdf?x=1", "/robots.txt")
    assert await allowed(page(RULES, "text/plain"), *paths) == [True, False, True, False, True, True]


async def test_rules_for_all_hold_where_none_are_for_this_program() -> None:
    rules = "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n"
    assert await allowed(page(rules), "/", "/x", "/y") == [True, False, True]


@pytest.mark.parametrize(
    "line", ["User-agent: localllm", "useragent:LOCALLLM", "\tUser  Agent localllm # us", "USER-AGENT : *localllm*"]
)
async def test_it_knows_its_name_in_every_spelling(line: str) -> None:
    rules = f"User-agent: *\nDisallow: /x\nUser-agent: other\n{line}\nUser-agent: local\nDisallow: /y\n"
    assert await allowed(page(rules), "/x", "/y") == [True, False]


@pytest.mark.parametrize("form", ["User-agent: a{}", "user agent a{}", "Useragent a{}*", "\x1cUSER-AGENT:a{}"])
def test_rules_for_thousands_of_others_take_no_memory(form: str) -> None:
    others = "\r".join(map(form.format, range(7_000)))
    rules = SiteRules(f"{others}\nUser-agent: *\nDisallow: /x\n" + "Disallow: /*y\n" * 20_000)
    assert [rules.allows(f"http://a.example{path}") for path in ("/x", "/zy", "/z")] == [False, False, True]


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden", "429 Too Many"])
async def test_without_rules_all_is_allowed(status: str) -> None:
    assert await allowed(page("User-agent: *\nDisallow: /", status=status), "/x") == [True]


async def test_what_is_no_file_of_rules_forbids_nothing() -> None:
    for body in (b"", b"\xff\xfe\x00\x01" * 400, b"<html><body>Disallow: /</body>"):
        assert await allowed(page(body), "/x") == [True]
    assert await allowed(page("\ufeffUser-agent: *\nDisallow: /x"), "/x") == [False]


async def test_redirects_are_followed_five_times() -> None:
    steps = {f"r{number}": moved(f"/r{number + 1}") for number in range(1, 5)}
    last = page("User-agent: *\nDisallow: /x")
    assert await allowed(moved("https://b.example.com/r1"), "/x", **steps, r5=last) == [False]
    endless = moved("/robots.txt")
    assert await allowed(endless, "/x") == [True]
    assert await allowed(moved("http://10.0.0.1/"), "/x") == [True]


@pytest.mark.parametrize("answer", [page("", status="500 Broken"), page("", status="503 Busy"), b"no http\r\n\r\n"])
async def test_a_site_whose_rules_cannot_be_had_is_left_alone(answer: bytes) -> None:
    async with serve({"/robots.txt": answer}) as site:
        rules = await Robots(Fetcher(resolve=Names(), transport=Leading(site))).rules_for("http://a.example.com/x")
    with pytest.raises(ToolExecutionError) as caught:
        rules.check("http://a.example.com/x")
    assert (caught.value.key, bool(caught.value.params["reason"])) == ("web_robots_unknown", True)


async def test_a_site_is_asked_once_a_day_and_sooner_where_it_failed() -> None:
    clock = Clock()
    answers = [page("", status="500 Broken"), page("User-agent: *\nDisallow: /x")]
    async with serve({"/robots.txt": answers}) as site:
        robots = Robots(Fetcher(resolve=Names(), transport=Leading(site)), clock=clock)
        url = "http://a.example.com/x"
        assert (await robots.rules_for(url)).unknown
        assert (await robots.rules_for(url)).unknown
        await clock.pause(61)
        assert not (await robots.rules_for(url)).unknown
        await clock.pause(23 * 3600)
        assert not (await robots.rules_for(url)).allows(url)
        assert len(site.asked) == 2
        await clock.pause(2 * 3600)
        await robots.rules_for(url)
        assert len(site.asked) == 3
        assert (await robots.rules_for("https://a.example.com/x")).allows("https://a.example.com/y")
        assert len(site.asked) == 4  # https is another site


async def test_the_delay_is_bounded() -> None:
    for said, kept in (("3", 3.0), ("600", 10.0), ("-5", 0.0), ("soon", 0.0), ("nan", 0.0)):
        async with serve({"/robots.txt": page(f"User-agent: *\nCrawl-delay: {said}\n")}) as site:
            rules = await Robots(Fetcher(resolve=Names(), transport=Leading(site))).rules_for("http://a.example.com/")
        assert rules.delay == kept, said


async def test_a_site_that_leads_inside_is_refused() -> None:
    async with serve({}) as site:
        robots = Robots(Fetcher(resolve=Names(evil_example_com=["10.0.0.1"]), transport=Leading(site)))
        with pytest.raises(SafetyViolationError):
            await robots.rules_for("http://evil.example.com/x")


def test_the_site_of_an_address() -> None:
    assert site_of("http://a.example/x?y=/") == "http://a.example"
    assert site_of("https://a.example:8443?q=1/2") == "https://a.example:8443"
