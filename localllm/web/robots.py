"""What sites allow programs to read: robots.txt as RFC 9309 says it is found, read and kept."""

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
"""The name by which the rules of a site know this program, whatever it calls itself otherwise."""

_AGENT = late_pattern(r"\s*+user(?:-|\s++)?agent(?:\s*+:|\s)(?P<name>[^#]*+)", re.IGNORECASE)
"""A line that names for whom the next rules are, in all the spellings that are understood."""

_LARGEST = 512_000  # bytes; RFC 9309, 2.5: at least 500 KiB
_REDIRECTS = 5  # RFC 9309, 2.3.1.2
_FORGOTTEN_AFTER = 60.0  # seconds until a site whose rules could not be had is asked once more
_KEPT_FOR = 24 * 3600.0  # RFC 9309, 2.4
_LONGEST_DELAY = 10.0
"""Seconds between two requests that a site can ask for; of one that asks for more, few pages are read anyway."""


class SiteRules:
    """The rules of one site. `delay` is how many seconds it wants between two requests, at most ten."""

    def __init__(self, text: str = "", *, unknown: str = "") -> None:
        """`unknown` is why the rules could not be had."""
        protego: Any = importlib.import_module("protego")
        self._rules: Any = protego.Protego.parse("\n".join(map(_for_this_program, text.splitlines())))
        self.unknown = unknown
        self.delay = min(max(float(self._rules.crawl_delay(_TOKEN) or 0), 0.0), _LONGEST_DELAY)

    def check(self, url: str) -> None:
        """Raise ToolExecutionError where the page at `url` must not be read."""
        if self.unknown:
            raise ToolExecutionError("web_robots_unknown", url=shown_address(url), reason=self.unknown)
        if not self.allows(url):
            raise ToolExecutionError("web_robots_forbid", url=shown_address(url))

    def allows(self, url: str) -> bool:
        """Whether the page at `url`, which is of this site, may be read."""
        return not self.unknown and bool(self._rules.can_fetch(url, _TOKEN))


class Robots:
    """Finds the rules of sites; each is asked once a day. Needs the package protego."""

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[SiteRules, float]] = {}

    async def rules_for(self, url: str) -> SiteRules:
        """The rules of the site of `url`. Raises SafetyViolationError where that must not be reached."""
        site = site_of(url)
        rules, until = self._kept.get(site, (None, 0.0))
        if rules is None or until <= self._clock():
            rules = await self._find(site)
            self._kept[site] = rules, self._clock() + (_FORGOTTEN_AFTER if rules.unknown else _KEPT_FOR)
        return rules

    async def _find(self, site: str) -> SiteRules:
        """4xx and redirects without end: there are none, all is allowed. 5xx and no answer: nothing is."""
        try:
            page = await self._fetcher.fetch(f"{site}/robots.txt", _anywhere, redirects=_REDIRECTS)
        except SafetyViolationError as error:
            if _leads_inside(error, site):
                raise
            return SiteRules()  # what it was led to is none of the web's, and so no rules
        except ToolExecutionError as error:
            return _without_rules(error)
        if isinstance(page, Moved):
            return SiteRules()
        return SiteRules(page.data[:_LARGEST].decode("utf-8-sig", "replace"))


def site_of(url: str) -> str:
    """Scheme, host and port of an address: what one robots.txt is for."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


def _for_this_program(line: str) -> str:
    """The line, all names but this program's and `*` made one: rules are kept once for each name that they are for, and
    thousands of either in one file would take all memory."""
    found = _AGENT.match(line)
    name = found["name"].strip().lower() if found else ""
    if not name:
        return line
    known = name if name == "*" else name.replace("*", "")
    return f"User-agent: {known if known in ('*', _TOKEN) else 'other'}"


def is_installed() -> bool:
    """Whether the package that reads robots.txt is there."""
    return importlib.util.find_spec("protego") is not None


def _anywhere(_before: str, _after: str) -> bool:
    return True


def _leads_inside(error: LocalLLMError, site: str) -> bool:
    """Whether it is the site itself that is refused."""
    return str(error.params.get("url", "")).startswith(shown_address(site))


def _without_rules(error: LocalLLMError) -> SiteRules:
    status = error.params.get("status")
    if error.key == "web_redirects" or (isinstance(status, int) and status < 500):
        return SiteRules()
    return SiteRules(unknown=f"HTTP {status}" if status else str(error.params.get("reason") or error.what))
