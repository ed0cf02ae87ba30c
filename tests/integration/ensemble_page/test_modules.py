"""The page's own modules, run in the browser: Markdown, streams of events, texts."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from localllm.ensemble.server.page import FOLDER
from tests.support.each import each
from tests.support.ensemble_page import Visitor, plain_run, played

_MADE = """async text => {
    const { markdown } = await import('/page/markdown.js');
    const whole = document.createElement('div');
    whole.append(markdown(text));
    return whole.innerHTML.replace(/ (?:dir|tabindex|target|rel|title)="[^"]*"/g, '');
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    with played(lambda _: plain_run()) as (server, _):
        visitor = Visitor(browser, server)
        yield visitor.page
        visitor.close()
        assert (visitor.foreign, visitor.faults) == ([], [])


@pytest.fixture
def made(page: Page) -> Any:
    """Makes the elements of a Markdown text, as HTML without what all of a kind have."""
    return lambda text: page.evaluate(_MADE, text)


@each(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("# A\n## B ##\n####### no", "<h3>A</h3><h4>B</h4><p>####### no</p>"),
        ("#no heading", "<p>#no heading</p>"),
        (
            "a **b** *c* ***d*** ~~e~~ `f`",
            "<p>a <strong>b</strong> <em>c</em> <em><strong>d</strong></em> <del>e</del> <code>f</code></p>",
        ),
        ("**太字**です。__強調__、", "<p><strong>太字</strong>です。<strong>強調</strong>、</p>"),
        ("snake_case_name and __init__ of 2 * 3 * 4", "<p>snake_case_name and <strong>init</strong> of 2 * 3 * 4</p>"),
        ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
        ("**open and `**` ", "<p>**open and <code>**</code></p>"),
        ("``a`b`` and `**c**`", "<p><code>a`b</code> and <code>**c**</code></p>"),
        (r"\*not\* \[x\] \d \\(x\\)", r"<p>*not* [x] \d \\(x\\)</p>"),
        ("a<br>b <b>c</b> &amp;", "<p>a<br>b &lt;b&gt;c&lt;/b&gt; &amp;amp;</p>"),
        (
            "- a\n- b\n  - c\n    - d\n- e",
            "<ul><li>a</li><li><p>b</p><ul><li><p>c</p><ul><li>d</li></ul></li></ul></li><li>e</li></ul>",
        ),
        ("3. a\n4. b\n\n   more\n5) c", '<ol start="3"><li>a</li><li><p>b</p><p>more</p></li><li>c</li></ol>'),
        ("1. a\n\n2. b\n\n3. c", '<ol start="1"><li>a</li><li>b</li><li>c</li></ol>'),
        ("* a\n1. b", '<ul><li>a</li></ul><ol start="1"><li>b</li></ol>'),
        (
            "- [ ] to do\n- [x] done",
            '<ul><li><span class="task">☐ </span>to do</li><li><span class="task">☑ </span>done</li></ul>',
        ),
        (
            "- a\n\n  ```py\n  x = 1\n  ```\n- b",
            '<ul><li><p>a</p><pre data-language="py"><code>x = 1</code></pre></li><li>b</li></ul>',
        ),
        (
            "```python\nx = [1]\n\n# no heading\n```\nafter",
            '<pre data-language="python"><code>x = [1]\n\n# no heading</code></pre><p>after</p>',
        ),
        ("~~~\n```\n~~~", "<pre><code>```</code></pre>"),
        ("```\nunclosed\n- x", "<pre><code>unclosed\n- x</code></pre>"),
        ("````\n```\ninner\n```\n````", "<pre><code>```\ninner\n```</code></pre>"),
        ("```inline``` code", "<p><code>inline</code> code</p>"),
        ("> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"),
        ("a\n\n---\n\n* * *\nb", "<p>a</p><hr><hr><p>b</p>"),
        (
            "| a | b |\n|:-:|--:|\n| `1` | 2 \\| 3 |\nafter",
            '<div class="table"><table><thead><tr><th data-side="center">a</th><th data-side="end">b</th></tr></thead>'
            '<tbody><tr><td data-side="center"><code>1</code></td><td data-side="end">2 | 3</td></tr></tbody>'
            "</table></div>"
            "<p>after</p>",
        ),
        ("[a](https://x.example/a_(b)) c", '<p><a href="https://x.example/a_(b)">a</a> c</p>'),
        ('[**a**](https://x.example "title")', '<p><a href="https://x.example/"><strong>a</strong></a></p>'),
        ("[1] and [x](https://x.example)", '<p>[1] and <a href="https://x.example/">x</a></p>'),
        (
            "see https://x.example/a_b_c, (http://y.example/).",
            '<p>see <a href="https://x.example/a_b_c">https://x.example/a_b_c</a>, (<a href="http://y.example/">http://y.example/</a>).</p>',
        ),
        (
            "(https://x.example/a_(b)). https://[*a*",
            '<p>(<a href="https://x.example/a_(b)">https://x.example/a_(b)</a>). https://[<em>a</em></p>',
        ),
        (
            "https://x.example/パリ、次",
            '<p><a href="https://x.example/%E3%83%91%E3%83%AA">https://x.example/パリ</a>、次</p>',
        ),
        ("![alt](https://x.example/i.png)", '<p><a href="https://x.example/i.png">alt</a></p>'),
        ("[a](javascript:alert(1)) [b](b.html)", "<p>[a](javascript:alert(1)) [b](b.html)</p>"),
        ("<https://x.example> <script>", '<p><a href="https://x.example/">https://x.example</a> &lt;script&gt;</p>'),
        ("", ""),
        ("\n \n", ""),
        ("    indented", "<p>indented</p>"),
        ("a\r\nb\r\rc", "<p>a\nb</p><p>c</p>"),
        ("text\n- item", "<p>text</p><ul><li>item</li></ul>"),
    ],
)
def test_markdown(made: Any, text: str, html: str) -> None:
    assert made(text) == html


def _deep(sign: str, times: int = 2_000) -> str:
    return "\n".join(f"{sign * number}x" for number in range(times))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[a](" * 50_000,
        "![" * 100_000,
        "*a " * 70_000,
        "**" * 100_000,
        "_a" * 100_000,
        "`" * 200_000,
        "`a``b```c" * 20_000,
        "<" * 200_000,
        "https://" * 25_000,
        ("https://[" * 100 + ")" * 1_000 + " ") * 100,
        ("https://[" + "." * 1_900 + "x ") * 100,
        ("|" + "-" * 1_990 + "x\n") * 100,
        "> " * 100_000,
        "- " * 100_000,
        _deep(">", 600),
        _deep(" ", 600).replace("x", "- x"),
        "|" * 200_000 + "\n|-|",
        "| a " * 400 + "\n" + "|-" * 400 + "\n" + ("| b " * 400 + "\n") * 100,
        "#" * 200_000,
        "1. a\n\n" * 30_000,
        "```\n" * 50_000,
        "- a\n```\n" * 20_000,
        "\\" * 200_000,
        "a\n" * 100_000,
    ],
    ids=range(25),
)
def test_markdown_takes_no_longer_the_more_hostile_it_is(made: Any, text: str) -> None:
    """What took a time that grows with the square of the length would not end within the limit of a test."""
    assert len(made(text)) >= 0


def test_what_is_drawn_while_it_comes_is_what_is_drawn_at_the_end(page: Page) -> None:
    """However a text is cut into pieces."""
    text = (
        "# Title\n\nA *paragraph*\nof two lines.\n\n1. one\n\n2. two\n   - nested\n\n   still two\n\n"
        "```js\nlet a;\n\n\nlet b;\n"
        "```\n\n| a | b |\n|---|---|\n| c | d |\n\n> quote\n\nlast **line**"
    )
    script = """async ([text, size]) => {
        const { StreamedText } = await import('/page/streamed_text.js');
        const plain = one => [...one.querySelectorAll('.done, .last')].map(part => part.innerHTML).join('');
        const [streamed, whole] = [document.createElement('div'), document.createElement('div')];
        const texts = [new StreamedText(streamed), new StreamedText(whole)];
        for (let at = 0; at < text.length; at += size) {
            texts[0].append(text.slice(at, at + size));
            texts[0].draw();
        }
        texts[0].finish();
        texts[0].draw();
        texts[1].finish(text);
        texts[1].draw();
        return [plain(streamed), plain(whole), texts[0].text === text];
    }"""
    for size in (1, 2, 3, 7, 50, 1_000):
        streamed, whole, is_same = page.evaluate(script, [text, size])
        assert is_same
        assert streamed == whole
    assert "<li" in whole
    assert whole.count("<ol") == 1


def test_long_code_is_one_block_again_once_it_has_ended(page: Page) -> None:
    code = "\n".join(f"line {number} of some code" for number in range(1_500))
    script = """async text => {
        const { StreamedText } = await import('/page/streamed_text.js');
        const element = document.createElement('div');
        const streamed = new StreamedText(element);
        const counts = [];
        for (let at = 0; at < text.length; at += 3000) {
            streamed.append(text.slice(at, at + 3000));
            streamed.draw();
        }
        counts.push(element.querySelectorAll('pre').length);
        streamed.finish();
        while (streamed.draw());
        counts.push(element.querySelectorAll('pre').length);
        return [counts, element.querySelector('pre').textContent];
    }"""
    (while_it_comes, at_the_end), shown = page.evaluate(script, f"```\n{code}\n```")
    assert while_it_comes > 1
    assert at_the_end == 1
    assert shown == code


_EVENTS = """async ([text, size]) => {
    const { eventsOf } = await import('/page/event_stream.js');
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream({start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
    }});
    const found = [];
    let heard = 0;
    for await (const event of eventsOf({body}, () => { heard += 1; })) found.push([event.event, event.data]);
    return [found, heard];
}"""


@pytest.mark.parametrize("size", [1, 2, 3, 5, 16, 10_000])
def test_events_are_read_whatever_pieces_they_come_in(page: Page, size: int) -> None:
    text = (
        ": a comment\n\n"
        'event: a\ndata: {"text": "日本語 🎉"}\n\n'
        'event:b\r\ndata:{"text":\r\ndata:"two lines"}\r\nid: 7\r\n\r\n'
        'data: "no name"\n\n'
        "event: without data\n\n"
        'event: cut\ndata: "never clo'
    )
    found, heard = page.evaluate(_EVENTS, [text, size])
    assert found == [["a", {"text": "日本語 🎉"}], ["b", {"text": "two lines"}], ["message", "no name"]]
    assert heard >= 1


def test_a_long_event_in_small_pieces_takes_no_square_of_its_length(page: Page) -> None:
    text = f"event: a\ndata: {json.dumps('x' * 2_000_000)}\n\n"
    found, _ = page.evaluate(_EVENTS, [text, 100])
    assert len(found[0][1]) == 2_000_000


def test_both_languages_have_every_text_with_the_same_parameters(page: Page) -> None:
    texts = page.evaluate("import('/page/texts.js').then(module => module.TEXTS)")
    assert texts["en"].keys() == texts["ja"].keys()
    for key, english in texts["en"].items():
        assert english.strip()
        parameters = set(re.findall(r"\{(\w+)\}", english))
        assert set(re.findall(r"\{(\w+)\}", texts["ja"][key])) == parameters, key


def test_every_text_is_used_and_every_text_used_is_there(page: Page) -> None:
    files = [
        file.read_text() for file in FOLDER.iterdir() if file.suffix in (".js", ".html") and file.name != "texts.js"
    ]
    source = "\n".join(files)
    keys = set(page.evaluate("import('/page/texts.js').then(module => Object.keys(module.TEXTS.en))"))
    named = set(re.findall(r"""data-(?:text|label|placeholder)="(\w+)\"""", source))
    named |= set(re.findall(r'\bt\("(\w+)"', source))
    named |= {form for key in re.findall(r'\bcount\("(\w+)"', source) for form in (key, f"{key}_one")}
    assert named <= keys
    assert {key for key in keys - named if f'"{key}"' not in source} <= {"seconds"}
