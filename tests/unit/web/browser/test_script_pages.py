"""When a page needs a browser, and what is said where there is none."""

from pathlib import Path

import pytest

from localllm.base.errors import BrowserError
from localllm.web.browser import chromium
from localllm.web.browser.script_pages import PageRenderer, needs_scripts
from tests.support.each import each

SCRIPT = "<script src=/app.js></script>"


PAGES = (
    ("empty", SCRIPT, "", True),
    ("a frame", f"<div id='root'></div>{SCRIPT}", "Menu. About us. Contact. Imprint. All rights reserved.", True),
    ("says so", f"<noscript>Enable JavaScript to go on.</noscript>{SCRIPT}", "x" * 150, True),
    ("short", f"<p>Not found</p>{SCRIPT}", "There is no page of this name. Look at the list of pages.", False),
    ("long enough", f"<div id=root></div>{SCRIPT}", "x" * 200, False),
    ("no scripts", "<div id=root></div>", "", False),
    ("a word like it", "<p>description</p>", "", False),
)


@each("name, html, text, expected", PAGES)
def test_what_needs_scripts(name: str, html: str, text: str, expected: bool) -> None:
    assert needs_scripts(html, text) is expected, name


@pytest.mark.anyio
async def test_what_cannot_be_had_is_looked_for_once() -> None:
    looked: list[str] = []

    def find() -> Path:
        looked.append("x")
        raise BrowserError("browser_missing")

    renderer = PageRenderer(find=find)
    for _ in range(2):
        with pytest.raises(BrowserError) as caught:
            await renderer.render("http://example.com/")
        assert caught.value.key == "browser_missing"
    assert looked == ["x"]
    await renderer.aclose()


@pytest.mark.anyio
async def test_a_program_that_is_no_browser_says_so(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    renderer = PageRenderer(find=lambda: program)
    with pytest.raises(BrowserError) as caught:
        await renderer.render("http://example.com/")
    assert (caught.value.key, caught.value.code) == ("browser_not_started", "E5001")
    with pytest.raises(BrowserError) as caught:
        await PageRenderer(proxy="socks5://127.0.0.1:1", find=lambda: program).render("http://example.com/")
    assert caught.value.key == "browser_proxy"


def test_no_browser_of_the_project_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "_PLACES", ())
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (project / "bin/chromium").write_bytes(b"\x7fELF\2\1")
    (project / "bin/chromium").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/chrome").symlink_to(project / "bin/chromium")
    path = f"{project}/bin:bin::{tmp_path}/bin"
    assert chromium.find_chromium({"PATH": path}) == project / "bin/chromium", "it is one where it is no project's"
    (project / ".git").mkdir()
    assert chromium.find_chromium({"PATH": path}) is None
    (project / ".git").rmdir()
    monkeypatch.chdir(project)
    assert chromium.find_chromium({"PATH": path}) is None


def test_scripts_before_the_browser_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "_PLACES", (str(tmp_path / "none"),))
    for name, head in (("chromium", b"#!/bin/sh\n"), ("google-chrome", b"\x7fELF\2\1")):
        (tmp_path / name).write_bytes(head)
        (tmp_path / name).chmod(0o755)
    assert chromium.find_chromium({"PATH": str(tmp_path)}) == tmp_path / "google-chrome"
    (tmp_path / "google-chrome").unlink()
    assert chromium.find_chromium({"PATH": str(tmp_path)}) is None
    with pytest.raises(BrowserError) as caught:
        chromium.require_chromium({"PATH": str(tmp_path)})
    assert caught.value.key == "browser_missing"
    monkeypatch.setattr(chromium, "is_installed", lambda: False)
    with pytest.raises(BrowserError) as caught:
        chromium.require_chromium({"PATH": str(tmp_path)})
    assert caught.value.key == "browser_no_package"
