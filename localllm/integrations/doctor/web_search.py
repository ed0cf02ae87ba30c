"""Check the web, if the settings turn it on: whether it can be searched, and with what pages are read."""

import asyncio
import importlib.util
from collections.abc import Iterator, Sequence

import msgspec

from localllm.base.errors import CacheError, ToolExecutionError, WebSearchError
from localllm.base.i18n import _
from localllm.integrations.doctor.inputs import Finding, Surroundings, note, of_error, ok, uses_research
from localllm.web.search_cache import SearchCache
from localllm.web.services import WebAccess, open_web

_SECONDS = 5.0  # the user is waiting
_PACKAGES = ("trafilatura", "pypdf")


async def web(here: Surroundings) -> list[Finding]:
    """Check which engines answer, and which packages are missing. If the web is off and research was
    never used, explain how to turn it on. Offline, only the cache is checked."""
    settings = here.loaded.settings.web
    if not settings.enabled and not uses_research(here):
        fix = _("To turn it on: localllm config set web.enabled true")
        return [note("web", _("Searching and reading the web are off."), fix)]
    findings = [] if settings.enabled else [_off_in_chat()]
    patience = msgspec.structs.replace(settings, timeout=min(settings.timeout, _SECONDS))
    access = open_web(patience, here.environ)
    if here.loaded.settings.offline:
        said = note("web", _("Offline: the web is neither searched nor read."))
        return [said, *await _cache(access.cache, settings.cache)]
    respects = here.loaded.settings.research.respect_robots
    return [
        *findings,
        *await _engines(access),
        *await _cache(access.cache, settings.cache),
        *_packages(respects_robots=respects),
    ]


def _off_in_chat() -> Finding:
    return note(
        "web",
        _("In the chat the web is off; localllm research searches it."),
        _("To turn it on: localllm config set web.enabled true"),
    )


async def _engines(access: WebAccess) -> list[Finding]:
    """Return one finding for each engine. One without an answer is a warning only if no other answers."""
    answering: list[str] = []
    failures: list[WebSearchError] = []
    silent: list[str] = []
    for engine in access.engines:
        try:
            silent += await engine.check()
            answering.append(engine.name)
        except WebSearchError as error:
            failures.append(error)
    if not access.engines:
        failures.append(WebSearchError("web_no_engine"))
    found = [of_error("web", error, "note" if answering else "warning") for error in failures]
    if answering:
        found.append(ok("web", _("The web can be searched ({engines}).", engines=", ".join(answering))))
    if silent:
        found.append(_of_silent(silent))
    return found


def _of_silent(engines: Sequence[str]) -> Finding:
    """Build the finding on engines behind SearxNG that did not answer while others did."""
    return note(
        "web",
        _("Some engines behind SearxNG do not answer ({engines}).", engines=", ".join(engines)),
        _("Wait, if they were asked too often; otherwise remove them from its settings.yml, or enable others there."),
    )


async def _cache(cache: SearchCache | None, chosen: str) -> list[Finding]:
    """Check whether searches can be cached; silent in the default case."""
    if cache is None:
        return []
    try:
        await asyncio.to_thread(cache.backend.check)
    except CacheError as error:
        return [of_error("web", error, "warning")]
    return [] if chosen in ("disk", "memory") else [ok("web", _("The search cache works."))]


def _packages(*, respects_robots: bool) -> Iterator[Finding]:
    if respects_robots and importlib.util.find_spec("protego") is None:
        yield of_error("web", ToolExecutionError("web_robots_no_package"), "warning")
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        yield note(
            "web",
            _("Pages are read less well: {packages} not installed.", packages=", ".join(missing)),
            _("Install what the web needs: pip install 'localllm[web]'"),
        )
