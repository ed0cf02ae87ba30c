"""The browser is looked at where research may want it, and what is missing says how to get it."""

from pathlib import Path

import pytest

from localllm.config.loader import Loaded
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings, WebSettings
from localllm.integrations.doctor import browser as subject
from localllm.integrations.doctor.browser import browser
from localllm.integrations.doctor.inputs import Finding
from localllm.web.browser import chromium, pdf_export
from tests.support.doctor_world import surroundings

pytestmark = pytest.mark.anyio


async def looked(folder: Path, *, web: bool = True, wanted: bool = True, language: str = "auto") -> list[Finding]:
    research = ResearchSettings(browser=wanted, language="ja" if language == "ja" else "auto")
    settings = Settings(web=WebSettings(enabled=web), research=research)
    return await browser(surroundings(folder, loaded=Loaded(settings=settings)))


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "_PLACES", ())
    monkeypatch.setattr(chromium, "_NAMES", ())


async def test_where_nobody_wants_it_it_is_not_looked_for(tmp_path: Path) -> None:
    assert await looked(tmp_path, web=False) == []
    assert await looked(tmp_path, wanted=False) == []


async def test_what_is_missing_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = await looked(tmp_path)
    assert (finding.name, finding.status) == ("browser", "note")
    assert "apt install chromium" in finding.fix
    monkeypatch.setattr(chromium, "is_installed", lambda: False)
    (finding,) = await looked(tmp_path)
    assert "localllm[browser]" in finding.fix


async def test_one_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(chromium, "_PLACES", (str(program),))
    (finding,) = await looked(tmp_path)
    assert (finding.status, "cannot be started" in finding.what) == ("note", True)
    assert (f"{program} --headless" in finding.fix, "localllm doctor" in finding.fix) == (True, False)


async def test_a_font_is_wanted_for_japanese_reports_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def version(_executable: Path) -> str:
        return "156.0"

    monkeypatch.setattr(subject, "_version", version)
    monkeypatch.setattr(chromium, "_PLACES", ("/bin/sh",))
    monkeypatch.setattr(pdf_export, "has_japanese_font", lambda _environ: False)
    assert [finding.status for finding in await looked(tmp_path)] == ["ok"]
    ready, font = await looked(tmp_path, language="ja")
    assert (ready.status, font.status) == ("ok", "note")
    assert "fonts-noto-cjk" in font.fix
