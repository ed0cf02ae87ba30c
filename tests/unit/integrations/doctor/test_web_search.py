"""The web: asked only where it is on, over a real server on loopback."""

import importlib.util
from pathlib import Path

import msgspec
import pytest

from localllm.config.loader import Loaded
from localllm.config.schema import Settings, WebSettings
from localllm.integrations.doctor.checks import examine
from localllm.integrations.doctor.inputs import Finding
from localllm.integrations.doctor.web_search import web
from tests.support.doctor_world import surroundings
from tests.support.web_server import page, serve

pytestmark = pytest.mark.anyio

FOUND = page('{"query": "test", "results": []}', "application/json")
NOWHERE = "http://127.0.0.1:9"


async def looked(folder: Path, *engines: str, url: str = NOWHERE) -> list[Finding]:
    settings = WebSettings(enabled=True, engines=engines, searxng_url=url)
    return await web(surroundings(folder, loaded=Loaded(settings=Settings(web=settings))))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages that are there."""
    there = {"trafilatura", "pypdf", "ddgs", "protego"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in there else None)
    return there


async def test_where_it_is_off_nobody_is_asked_and_the_setting_is_named(tmp_path: Path) -> None:
    (finding,) = await web(surroundings(tmp_path))
    assert (finding.status, finding.what) == ("note", "Searching and reading the web are off.")
    assert "web.enabled true" in finding.fix


async def test_offline_no_engine_is_asked_and_none_is_said_to_answer(tmp_path: Path) -> None:
    async with serve({"/search": FOUND}) as site:
        settings = Settings(offline=True, web=WebSettings(enabled=True, engines=("searxng",), searxng_url=site.url))
        (finding,) = await web(surroundings(tmp_path, loaded=Loaded(settings=settings)))
        assert site.asked == []
    assert (finding.status, finding.what) == ("note", "Offline: the web is neither searched nor read.")


async def test_an_engine_that_answers(tmp_path: Path) -> None:
    async with serve({"/search": FOUND}) as site:
        (finding,) = await looked(tmp_path, "searxng", url=site.url)
    assert (finding.status, finding.what) == ("ok", "The web can be searched (searxng).")


async def test_what_is_wrong_says_how_to_fix_it(tmp_path: Path) -> None:
    async with serve({"/search": page("", "text/html", "403 Forbidden")}) as site:
        (finding,) = await looked(tmp_path, "searxng", url=site.url)
    assert finding.status == "warning"
    assert "search.formats" in finding.fix
    (finding,) = await looked(tmp_path, "searxng")
    assert finding.status == "warning"
    assert "does not answer" in finding.what


async def test_engines_behind_searxng_that_are_silent(tmp_path: Path) -> None:
    silent = '"unresponsive_engines": [["bing", "timeout"], ["qwant", "Suspended: too many requests"]]'
    result = '{"url": "https://a.example/", "title": "A"}'
    for results, status in ((f"[{result}]", "note"), ("[]", "warning")):
        answer = page(f'{{"query": "test", "results": {results}, {silent}}}', "application/json")
        async with serve({"/search": answer}) as site:
            *_, finding = await looked(tmp_path, "searxng", url=site.url)
        assert finding.status == status
        assert "qwant: Suspended" in finding.what
        assert "settings.yml" in finding.fix


async def test_where_research_was_used_it_is_looked_at_though_the_web_is_off(tmp_path: Path) -> None:
    here = surroundings(tmp_path, environ={"PATH": "", "LOCALLLM_DATA_DIR": str(tmp_path / "data")})
    (tmp_path / "data/history").mkdir(parents=True)
    async with serve({"/search": FOUND}) as site:
        settings = Settings(web=WebSettings(searxng_url=site.url, engines=("searxng",)))
        off, finding = await web(msgspec.structs.replace(here, loaded=Loaded(settings=settings)))
    assert off.what == "In the chat the web is off; localllm research searches it."
    assert "web.enabled true" in off.fix
    assert finding.what == "The web can be searched (searxng)."


async def test_one_that_stands_in_for_another_is_enough(tmp_path: Path, installed: set[str]) -> None:
    found = await looked(tmp_path, "searxng", "duckduckgo")
    assert [finding.status for finding in found] == ["note", "ok"]
    installed.remove("ddgs")
    found = await looked(tmp_path, "searxng", "duckduckgo")
    assert [finding.status for finding in found] == ["warning", "warning"]
    assert "localllm[web]" in found[1].fix


async def test_serper_is_searched_with_a_key_and_that_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    (finding,) = await looked(tmp_path, "serper")
    assert (finding.status, "SERPER_API_KEY is not set" in finding.what) == ("warning", True)
    monkeypatch.setenv("SERPER_API_KEY", "Bearer my-secret-key-0123456789")
    (finding,) = await looked(tmp_path, "serper")
    assert (finding.status, "does not hold a key" in finding.what) == ("warning", True)
    assert "my-secret" not in f"{finding.what} {finding.fix}"
    monkeypatch.setenv("SERPER_API_KEY", "0123456789abcdef0123456789abcdef01234567")
    (finding,) = await looked(tmp_path, "serper")
    assert (finding.status, finding.what) == ("ok", "The web can be searched (serper).")


async def test_a_cache_that_cannot_be_used(tmp_path: Path) -> None:
    for cache, fix in (("redis://127.0.0.1:9/0", "Check that it is reachable"), ("dsik", "redis://localhost:6379/0")):
        settings = WebSettings(enabled=True, engines=("duckduckgo",), cache=cache)
        ready, finding = await web(surroundings(tmp_path, loaded=Loaded(settings=Settings(web=settings))))
        assert (ready.status, finding.status) == ("ok", "warning")
        assert "Searches cannot be kept in" in finding.what
        assert fix in finding.fix
    assert [path.name for path in tmp_path.rglob("*.sqlite")] == []


async def test_packages_that_are_missing(tmp_path: Path, installed: set[str]) -> None:
    installed.remove("pypdf")
    installed.remove("protego")
    *_, robots, finding = await looked(tmp_path, "duckduckgo")
    assert (robots.status, "protego" in robots.what) == ("warning", True)
    assert (finding.status, "pypdf" in finding.what, "trafilatura" in finding.what) == ("note", True, False)


async def test_doctor_looks_at_it(tmp_path: Path) -> None:
    loaded = Loaded(settings=Settings(web=WebSettings(enabled=True, engines=("searxng",), searxng_url=NOWHERE)))
    assert "web" in {finding.name for finding in await examine(surroundings(tmp_path, loaded=loaded))}
