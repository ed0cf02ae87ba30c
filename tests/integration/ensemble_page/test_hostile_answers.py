"""Whatever a model writes, the page stays as it is: nothing runs, nothing is loaded, nothing freezes."""

from typing import Any

import pytest
from playwright.sync_api import Error, expect

from localllm.base.errors import LLMConnectionError
from localllm.ensemble.records import WorkerText
from tests.support.ensemble_page import Visit, answered, begin, ended, finished, plain_run, played

HOSTILE = """<img src=x onerror="document.title='pwned'"><script>document.title = 'pwned'</script>
<svg onload="document.title='pwned'"><iframe srcdoc="<script>parent.document.title='pwned'</script>"></iframe>
<a href="javascript:document.title='pwned'">a</a> <style>body { display: none }</style>

[one](javascript:document.title='pwned') [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>)
[four](vbscript:x) [five](//foreign.example/x) [six](/agents) [seven](java\tscript:alert(1)) <javascript:alert(1)>
![pixel](https://foreign.example/pixel.png) ![x](javascript:alert(1)) <https://foreign.example/auto>
[good](https://foreign.example/a?b=c#d) https://foreign.example/bare. [quoted](https://foreign.example/"onclick="x)

| <img src=x onerror="document.title='pwned'"> | b |
|---|---|
| <script>document.title='pwned'</script> | `<b>` |

```html"><img src=x onerror="document.title='pwned'">
</code></pre><img src=x onerror="document.title='pwned'">
```
"""


def test_markup_and_links_of_answers_are_harmless(visit: Visit) -> None:
    name = 'Worker <img src=x onerror="document.title=1">'
    run = plain_run(HOSTILE, HOSTILE, final=HOSTILE)
    run[0] = run[0].__class__("<b>r</b>", "review", (name, "B"), "<img src=x>")  # type: ignore[union-attr, call-arg]
    with played(lambda _: run) as (server, _):
        visitor = visit(server)
        page = visitor.page
        page.on("dialog", lambda dialog: visitor.faults.append("a dialog"))
        visitor.ask(HOSTILE)
        visitor.wait()
        page.locator(".text.answer a").first.wait_for()
        assert page.evaluate("document.title").startswith("<img src=x onerror=")  # the question, as text
        found = page.evaluate(
            "[...document.querySelectorAll('#turns *')].map(one => one.localName)"
            ".filter(name => ['img', 'script', 'iframe', 'style', 'object', 'embed', 'link', 'form'].includes(name))"
        )
        assert found == []
        handlers = "[...document.querySelectorAll('#turns *')].flatMap(one => one.getAttributeNames())"
        assert [one for one in page.evaluate(handlers) if one.startswith("on") or one == "style"] == []
        links = page.evaluate(
            "[...document.querySelectorAll('.text.answer a')].map(one => [one.href, one.rel, one.target])"
        )
        expected = ["pixel.png", "auto", "a?b=c#d", "bare", "%22onclick=%22x"]
        assert [link[0] for link in links] == [f"https://foreign.example/{one}" for one in expected]
        assert all("noopener" in rel and target == "_blank" for _, rel, target in links)
        expect(page.locator(".column h4").first).to_have_text(name)


def test_marks_that_reorder_text_are_shown(visit: Visit) -> None:
    text = "safe\u202e evil \u2066x\u2069 \u200fy \U000e0041hidden\x1b[31m"
    error = LLMConnectionError("llm_cut", url="http://x", reason="\u202egnorw\u202c")
    answers = [answered(0, text), answered(1, error=error), answered(2, "שלום עולם")]
    run = [begin(), *(finished(n, one.text, one.error) for n, one in enumerate(answers)), ended(answers, text)]
    with played(lambda _: run) as (server, _):
        visitor = visit(server)
        visitor.ask("\u202ereversed")
        visitor.wait()
        visitor.wait_column(0, "safe")
        shown = visitor.page.evaluate("document.body.innerText")
        assert not {"\u202e", "\u2066", "\u2069", "\u200f", "\U000e0041", "\x1b"} & set(shown)
        assert "safe<U+202E> evil <U+2066>x<U+2069> <U+200F>y <U+E0041>hidden<U+001B>[31m" in shown
        assert "<U+202E>gnorw<U+202C>" in shown
        direction = "getComputedStyle(document.querySelectorAll('.column')[2].querySelector('.text p')).direction"
        assert visitor.page.evaluate(direction) == "rtl"
        assert visitor.page.evaluate("getComputedStyle(document.body).direction") == "ltr"


@pytest.mark.parametrize("text", ["x" * 1_000_000, "x " * 500_000, "[" * 300_000, "**a " * 60_000, "> " * 100_000])
def test_a_huge_answer_is_shown_in_part_until_it_is_asked_for(visit: Visit, text: str) -> None:
    pieces = [WorkerText(0, text[at : at + 5_000]) for at in range(0, len(text), 5_000)]
    answers = [answered(0, text), answered(1, "small")]
    run = [begin(2), *pieces, finished(0, text), finished(1, "small"), ended(answers, text)]
    with played(lambda _: run, count=2) as (server, _):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("?")
        visitor.wait()
        visitor.wait_column(1, "small")
        if len(text) > 200_000:
            page.locator(".text.answer .rest:visible").wait_for()
            length = page.evaluate("document.querySelector('.text.answer').innerText.length")
            assert length < 220_000
            expect(page.locator(".text.answer .rest")).to_contain_text(f"{len(text):,}")
        elif text.strip("> "):
            page.locator(".text.answer .last > *, .text.answer .done > *").first.wait_for()
        page.fill("#prompt", "still alive")
        assert page.input_value("#prompt") == "still alive"


def test_all_of_a_long_answer_is_there_once_it_is_asked_for(visit: Visit) -> None:
    text = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(9_000))
    with played(lambda _: plain_run("a", final=text), count=1) as (server, _):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait()
        assert "Paragraph 8999 " not in visitor.answer()
        visitor.page.locator(".text.answer .rest button").click()
        visitor.page.get_by_text("Paragraph 8999 ").wait_for()


def test_thousands_of_pieces_are_drawn_a_few_at_a_time(visit: Visit) -> None:
    """Ten workers write 3,000 pieces each; meanwhile a person types."""
    words = [f"word{number} " + ("\n\n" if number % 40 == 39 else "") for number in range(3_000)]
    pieces = [WorkerText(worker, word) for word in words for worker in range(10)]
    answers = [answered(worker, "".join(words)) for worker in range(10)]
    half = len(pieces) // 2
    ends = [finished(worker, "".join(words)) for worker in range(10)]
    run = [begin(10), *pieces[:half], "half", *pieces[half:], *ends, ended(answers, "Done.")]
    with played(lambda _: run, count=10) as (server, ensemble):
        visitor = visit(server)
        page = visitor.page
        page.evaluate(
            "window.drawn = 0; new MutationObserver(seen => { drawn += seen.length })"
            ".observe(document.getElementById('turns'), {childList: true, characterData: true, subtree: true})"
        )
        visitor.ask("?")
        visitor.wait_column(9, "word1499 ")
        page.locator("#prompt").press_sequentially("typed meanwhile")
        ensemble.gates["half"].set()
        visitor.wait()
        visitor.wait_column(9, "word2999 ")
        assert page.input_value("#prompt") == "typed meanwhile"
        assert page.evaluate("drawn") < len(pieces) / 2
        shown = page.locator(".column").nth(4).locator(".text").inner_text()
        assert shown.split() == "".join(words).split()


def test_the_policy_holds_even_where_the_page_would_err(visit: Visit) -> None:
    """What a fault of the page's own would let through is refused by the browser."""
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server)
        page = visitor.page
        with pytest.raises(Error, match="TrustedHTML"):
            page.evaluate("document.body.innerHTML = '<b>x</b>'")
        page.evaluate(
            """() => {
                window.refused = [];
                document.addEventListener('securitypolicyviolation', one => refused.push(one.effectiveDirective));
                const add = (tag, given) => document.head.append(Object.assign(document.createElement(tag), given));
                add('style', {textContent: 'body { color: red }'});
                add('img', {src: 'https://foreign.example/x.png'});
                add('iframe', {src: 'https://foreign.example/'});
                add('link', {rel: 'stylesheet', href: 'https://foreign.example/x.css'});
                fetch('https://foreign.example/').catch(() => 0);
            }"""
        )
        wanted = {"style-src-elem", "img-src", "frame-src", "connect-src"}
        page.wait_for_function("wanted => wanted.every(one => refused.includes(one))", arg=sorted(wanted))
        visitor.faults.clear()  # the policy's own reports of what was tried here


def test_the_history_is_text_as_well(visit: Visit) -> None:
    def play(_: Any) -> Any:
        return plain_run(HOSTILE, final=HOSTILE)

    with played(play, count=1) as (server, _):
        visitor = visit(server)
        page = visitor.page
        visitor.ask("<img src=x onerror=alert(1)>\u202e")
        visitor.wait()
        visitor.reload()
        visitor.wait()
        page.click("#history-open")
        expect(page.locator("#history .title")).to_have_text("<img src=x onerror=alert(1)><U+202E>")
        assert page.locator("img, script:not([src])").count() == 0
