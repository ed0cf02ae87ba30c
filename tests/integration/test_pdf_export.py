"""PDFs printed by the real Chromium, read back."""

import io
import os
from pathlib import Path

import pypdf
import pytest

from localllm.base.errors import BrowserError
from localllm.web.browser import pdf_export
from localllm.web.browser.pdf_export import has_japanese_font, print_pdf
from tests.support.web_server import page, serve

pytestmark = pytest.mark.anyio

REPORT = """<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>水瀬市の学校給食</title>
<style>h1 {{ color: #024 }}</style></head><body><h1>水瀬市の学校給食</h1><p>市は二〇二五年から給食を無償にした[1]。</p>
<p>長い青い西の民と母、鬼と竜、食べる麦。</p>
<table><tr><td>費用</td><td>3億円</td></tr></table><img src="{url}/pixel.png"><script>document.title = 'no'</script>
<p>The council agrees.</p></body></html>"""


async def test_a_japanese_report_reads_back_and_nothing_is_fetched() -> None:
    async with serve({"/pixel.png": page(b"", "image/png")}) as site:
        data = await print_pdf(REPORT.format(url=site.url), "report.pdf")
        assert site.asked == []
    reader = pypdf.PdfReader(io.BytesIO(data))
    text = "".join(one.extract_text() for one in reader.pages)
    for expected in (
        "水瀬市の学校給食",
        "市は二〇二五年から給食を無償にした[1]。",
        "3億円",
        "長い青い西の民と母、鬼と竜、食べる麦。",
        "council agrees",
        "1 / 1",
    ):
        assert expected in text
    assert reader.metadata
    assert reader.metadata.title == "水瀬市の学校給食"


async def test_without_a_japanese_font_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_export, "has_japanese_font", lambda: False)
    with pytest.raises(BrowserError) as caught:
        await print_pdf(REPORT.format(url="x"), "report.pdf")
    assert "fonts-noto-cjk" in caught.value.fix
    assert (await print_pdf("<p>Latin letters only", "latin.pdf")).startswith(b"%PDF-")


async def test_without_a_browser_it_is_said() -> None:
    def find() -> Path:
        raise BrowserError("browser_missing")

    with pytest.raises(BrowserError) as caught:
        await print_pdf("<p>x", "report.pdf", find=find)
    assert caught.value.key == "browser_missing"


def test_fonts_are_found_by_fontconfig_and_else_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_japanese_font()
    program = tmp_path / "fc-list"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    assert not has_japanese_font({"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    monkeypatch.setattr(pdf_export, "_FONT_FOLDERS", (str(tmp_path),))
    assert not has_japanese_font({"PATH": "/none"})
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/NotoSansCJK-Regular.ttc").write_bytes(b"")
    assert has_japanese_font({"PATH": "/none"})
