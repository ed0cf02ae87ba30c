"""Which addresses are read without a question, and which spellings of them the rules know."""

import msgspec
import pytest

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.config.schema import SafetySettings, Settings, WebSettings
from localllm.safety.policy import Policy, Situation
from localllm.safety.rules import check_rules, refuse_closed_address
from localllm.tools.builtin import tools_for
from localllm.tools.web import fetch_page, searxng_search, web_search
from tests.support.each import each

SAID = (
    "Look at https://example.org/a?b=c, docs.python.org/3/ and (http://plain.example:8080/x). "
    "main.pyを直して、https://日本語.jp/案内を読んで「https://quoted.example/」 me@mail.example www.bare.example "
    "http://good.example@evil.example/ [page](https://linked.example/p)."
)


def decide(url: str, settings: SafetySettings | None = None, **situation: object) -> str:
    given = Situation(**situation)  # type: ignore[arg-type] - its fields
    return Policy(settings or SafetySettings()).judge(fetch_page, {"url": url}, str, given).decision


class TestTyped:
    @each("mode", ["plan", "ask", "auto-edit", "auto"])
    @each("tainted", [False, True])
    @each(
        ("url", "decision"),
        [
            ("https://example.org/a?b=c", "allow"),
            ("http://example.org/a?b=c", "ask"),
            ("HTTPS://EXAMPLE.org:443/a?b=c#part", "allow"),
            ("https://example.org./a?b=c", "allow"),
            ("https://example.org/x/../a?b=c", "allow"),
            ("https://example.org/a?b=secret", "ask"),
            ("https://example.org/a?b=c&k=secret", "ask"),
            ("https://example.org:8443/a?b=c", "ask"),
            ("https://example.org//a?b=c", "ask"),
            ("https://example.org@evil.example/a?b=c", "ask"),
            ("https://example.org\\@evil.example/a?b=c", "ask"),
            ("https://example.org.evil.example/a?b=c", "ask"),
            ("https://evil.example/?q=https://example.org/a?b=c", "ask"),
            ("https://evil.example/#https://example.org/a?b=c", "ask"),
            ("http://docs.python.org/3/", "allow"),
            ("docs.python.org/3/", "allow"),
            ("docs.python.org/3/?k=secret", "ask"),
            ("https://docs.python.org/3/secret", "ask"),
            ("http://plain.example:8080/x", "allow"),
            ("http://plain.example/x", "ask"),
            ("https://plain.example:8080/x", "ask"),
            ("https://main.py/", "ask"),
            ("https://www.bare.example", "allow"),
            ("https://main.py/secret", "ask"),
            ("https://xn--wgv71a119e.jp/案内を読んで", "allow"),
            ("https://quoted.example", "allow"),
            ("https://linked.example/p", "allow"),
            ("https://mail.example/", "ask"),
            ("https://good.example/", "ask"),
            ("https://evil.example/", "ask"),
            ("https://ехample.org/a?b=c", "ask"),  # two letters are Cyrillic
            ("https://", "ask"),
        ],
    )
    def test_that_address_is_read(self, mode: str, tainted: bool, url: str, decision: str) -> None:
        settings = SafetySettings(mode=mode)  # type: ignore[arg-type] - one of them
        assert decide(url, settings, said=SAID, tainted=tainted) == decision

    @each(
        ("url", "decision"),
        [
            ("https://example.org/", "allow"),
            ("https://example.org/docs/b.html", "allow"),
            ("https://example.org/docs?k=secret", "ask"),
            ("https://www.example.org/", "ask"),
            ("http://example.org/docs", "ask"),
            ("https://docs.python.org/3/library/re.html", "ask"),
            ("https://linked.example/", "allow"),
            ("https://docs.python.org/3", "allow"),
            ("https://example.org/a/?b=c", "allow"),
            ("https://日本語.jp/", "allow"),
        ],
    )
    def test_of_its_host_what_has_no_query_until_text_from_the_web_is_there(self, url: str, decision: str) -> None:
        assert decide(url, said=SAID) == decision
        assert decide(url, said=SAID, tainted=True) == "ask"

    def test_the_name_of_a_file_is_no_address(self) -> None:
        url, is_file = "https://example.org/a", {"example.org/a"}.__contains__
        assert decide(url, said="Read example.org/a", is_file=is_file) == "ask"
        assert decide(url, said="Read https://example.org/a", is_file=is_file) == "allow"

    def test_http_that_was_typed_is_https_as_well(self) -> None:
        assert decide("https://a.example/x", said="http://a.example/x") == "allow"


class TestFound:
    @each(
        ("url", "decision"),
        [
            ("https://a.example/x?y=1", "allow"),
            (" https://a.example/x?y=1\n", "allow"),
            ("https://a.example/x?y=1#z", "ask"),
            ("https://a.example/x?y=1&z", "ask"),
            ("https://a.example/x", "ask"),
            ("https://A.example/x?y=1", "ask"),
            ("http://a.example/x?y=1", "ask"),
        ],
    )
    def test_letter_by_letter(self, url: str, decision: str) -> None:
        assert decide(url, tainted=True, found={"https://a.example/x?y=1"}) == decision


class TestLed:
    @each(
        ("before", "after", "decision"),
        [
            ("http://a.example/x", "http://a.example/y?z", "allow"),
            ("http://a.example/x", "https://a.example/y?z", "allow"),
            ("https://a.example/x", "http://a.example/x", "ask"),
            ("http://a.example/x", "http://www.a.example/x", "ask"),
            ("http://a.example/x", "http://a.example:8080/x", "ask"),
            ("http://a.example:8080/x", "https://a.example:8080/x", "ask"),
            ("http://a.example/x", "http://b.example/x", "ask"),
        ],
    )
    def test_a_page_leads_within_its_host(self, before: str, after: str, decision: str) -> None:
        assert decide(after, tainted=True, led_by=before) == decision

    def test_the_rules_come_first(self) -> None:
        settings = SafetySettings(deny=("fetch_page(a.example/inside)",), ask=("fetch_page(a.example/asked)",))
        for path, decision in (("inside/x", "deny"), ("asked", "ask"), ("else", "allow")):
            assert decide(f"http://a.example/{path}", settings, led_by="http://a.example/x") == decision


class TestRules:
    DENIED = SafetySettings(allow=("fetch_page",), deny=("fetch_page(http://b.example)", "fetch_page(c.example/in)"))
    ALLOWED = SafetySettings(allow=("fetch_page(listed.example/docs)", "fetch_page(https://a.example/x?y=1)"))

    @pytest.mark.parametrize("decision", ["ask", "deny"])
    def test_those_that_search_and_read_besides_fall_under_the_same_rules(self, decision: str) -> None:
        research = msgspec.structs.replace(searxng_search, name="deep_research")
        for rule, tools in (("web_search", (web_search, searxng_search, research)), ("fetch_page", (research,))):
            settings = SafetySettings(mode="auto", **{decision: (rule,)})  # type: ignore[arg-type] - lists of rules
            for tool in tools:
                judged = Policy(settings).judge(tool, {"query": "x"}, str, Situation(said="x"))
                assert (judged.decision, judged.rule) == (decision, rule)
        allowed = Policy(SafetySettings(mode="ask", allow=("web_search",)))
        assert not allowed.judge(research, {"query": "x"}, str, Situation()).rule

    def test_research_reads_no_address_that_is_denied_or_asked_about(self) -> None:
        settings = SafetySettings(
            deny=("fetch_page(a.example/in)",), ask=("*(https://b.example)",), allow=("fetch_page",)
        )
        for url in ("http://a.example/in/x", "https://b.example/"):
            with pytest.raises(SafetyViolationError):
                refuse_closed_address(settings, url)
        for url in ("http://a.example/", "http://c.example/in"):
            refuse_closed_address(settings, url)

    @each(
        ("url", "decision"),
        [
            ("http://b.example/?x", "deny"),
            ("HTTP://B.EXAMPLE:80/", "deny"),
            ("http://b.example./", "deny"),
            ("http://b。example/", "deny"),
            ("http://b.example:8080/", "deny"),
            ("https://b.example/", "allow"),
            ("c.example/in", "deny"),
            ("http://c.example/%69n/x", "deny"),
            ("http://c.example//in", "deny"),
            ("http://c.example/x/%2e%2e/in", "deny"),
            ("https://c.example/inside", "allow"),
            ("https://d.example/c.example/in", "allow"),
        ],
    )
    def test_what_is_denied_is_so_in_every_spelling(self, url: str, decision: str) -> None:
        assert decide(url, self.DENIED, said="x", tainted=True) == decision

    @each(
        ("url", "decision"),
        [
            ("https://listed.example/docs/x?y", "allow"),
            ("http://listed.example:80/docs", "allow"),
            ("listed.example/docs/", "allow"),
            ("https://listed.example/docsy", "ask"),
            ("https://listed.example/docs/../x", "ask"),
            ("https://listed.example/docs/%2e%2e/x", "ask"),
            ("https://listed.example/docs//../../x", "ask"),
            ("https://listed.example:8443/docs/", "ask"),
            ("https://listed.example.evil/docs/", "ask"),
            ("https://user@listed.example/docs/", "ask"),
            ("https://a.example/x?y=1", "allow"),
            ("https://a.example/x?y=12", "ask"),
            ("https://a.example/x", "ask"),
        ],
    )
    def test_what_is_allowed_is_no_more(self, url: str, decision: str) -> None:
        assert decide(url, self.ALLOWED, tainted=True) == decision

    @each("prefix", ["http://", "https:///x", "a b", "*.example.org"])
    def test_one_that_names_no_host_is_none(self, prefix: str) -> None:
        settings = Settings(web=WebSettings(enabled=True))
        with pytest.raises(ConfigurationError):
            check_rules(SafetySettings(deny=(f"fetch_page({prefix})",)), tools_for(settings))


class TestOdd:
    @each(
        "url",
        ["http://0x5d.184.216.34/", "http://1.2.3.4./", "http://127.1/", "http://%61.example/", "http://a,b.com/"],
    )
    def test_spellings_resolvers_read_in_their_own_way_are_no_addresses(self, url: str) -> None:
        assert decide(url, SafetySettings(allow=(f"fetch_page({url})",)), said=url) == "ask"
