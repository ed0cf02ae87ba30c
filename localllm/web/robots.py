"""Fetch, parse and cache robots.txt (RFC 9309)."""

import importlib
import importlib.util
import re
import time
from collections.abc import Callable
from typing import Any

from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.lazy_patterns import late_pattern
from localllm.web.addresses import shown_address
from localllm.web.fetching import USER_AGENT, Fetcher, Moved

_TOKEN = USER_AGENT.partition(" ")[0]
"""The name of this program in robots.txt, whatever its User-Agent header."""

_AGENT = late_pattern(r"\s*+user(?:-|\s++)?agent(?:\s*+:|\s)(?P<name>[^#]*+)", re.IGNORECASE)
"""A user-agent line, in all accepted spellings."""

_LARGEST = 512_000  # bytes; RFC 9309, 2.5: at least 500 KiB
_REDIRECTS = 5  # RFC 9309, 2.3.1.2
_FORGOTTEN_AFTER = 60.0  # seconds until a site with unavailable rules is asked again
_KEPT_FOR = 24 * 3600.0  # RFC 9309, 2.4
_LONGEST_DELAY = 10.0
"""Longest crawl delay, in seconds; few pages are read of a site that asks for more."""


class SiteRules:
    """The rules of one site. `delay` is its crawl delay in seconds, at most ten."""

    def __init__(self, text: str = "", *, unknown: str = "") -> None:
        """Parse the rules. `unknown` is why they are not available."""
        protego: Any = importlib.import_module("protego")
        self._rules: Any = protego.Protego.parse("\n".join(map(_for_this_program, text.splitlines())))
        self.unknown = unknown
        self.delay = min(max(float(self._rules.crawl_delay(_TOKEN) or 0), 0.0), _LONGEST_DELAY)

    def check(self, url: str) -> None:
        """Raise ToolExecutionError if the page at `url` must not be read."""
        if self.unknown:
            raise ToolExecutionError("web_robots_unknown", url=shown_address(url), reason=self.unknown)
        if not self.allows(url):
            raise ToolExecutionError("web_robots_forbid", url=shown_address(url))

    def allows(self, url: str) -> bool:
        """Whether the page at `url`, on this site, may be read."""
        return not self.unknown and bool(self._rules.can_fetch(url, _TOKEN))


class Robots:
    """The rules of sites, each cached for a day. Needs the package protego."""

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[SiteRules, float]] = {}

    async def rules_for(self, url: str) -> SiteRules:
        """Return the rules of the site of `url`. Raises SafetyViolationError if the site must not be accessed."""
        site = site_of(url)
        rules, until = self._kept.get(site, (None, 0.0))
        if rules is None or until <= self._clock():
            rules = await self._find(site)
            self._kept[site] = rules, self._clock() + (_FORGOTTEN_AFTER if rules.unknown else _KEPT_FOR)
        return rules

    async def _find(self, site: str) -> SiteRules:
        """Fetch the rules. 4xx and endless redirects: everything is allowed. 5xx and no response: nothing is."""
        try:
            page = await self._fetcher.fetch(f"{site}/robots.txt", _anywhere, redirects=_REDIRECTS)
        except SafetyViolationError as error:
            if _leads_inside(error, site):
                raise
            return SiteRules()  # it redirects to a private address, so there are no rules
        except ToolExecutionError as error:
            return _without_rules(error)
        if isinstance(page, Moved):
            return SiteRules()
        return SiteRules(page.data[:_LARGEST].decode("utf-8-sig", "replace"))


def site_of(url: str) -> str:
    """Return scheme, host and port of an address, the scope of a robots.txt."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


def _for_this_program(line: str) -> str:
    """Replace all names except this program's and `*` by one: the parser stores rules per name, and thousands of them
    in one file would exhaust the memory."""
    found = _AGENT.match(line)
    name = found["name"].strip().lower() if found else ""
    if not name:
        return line
    known = name if name == "*" else name.replace("*", "")
    return f"User-agent: {known if known in ('*', _TOKEN) else 'other'}"


def is_installed() -> bool:
    """Whether the robots.txt parser is installed."""
    return importlib.util.find_spec("protego") is not None


def _anywhere(_before: str, _after: str) -> bool:
    return True


def _leads_inside(error: LocalLLMError, site: str) -> bool:
    """Whether the site itself is refused."""
    return str(error.params.get("url", "")).startswith(shown_address(site))


def _without_rules(error: LocalLLMError) -> SiteRules:
    status = error.params.get("status")
    if error.key == "web_redirects" or (isinstance(status, int) and status < 500):
        return SiteRules()
    return SiteRules(unknown=f"HTTP {status}" if status else str(error.params.get("reason") or error.what))
