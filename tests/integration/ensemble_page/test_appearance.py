"""The page in both languages, dark and light, on a phone and with ten workers, and by keyboard alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from localllm.ensemble.records import WorkerText
from tests.support.ensemble_page import Visit, Visitor, answered, begin, ended, finished, plain_run, played, silent

LONG = (
    "https://example.org/"
    + "long" * 60
    + "\n\n```\n"
    + "code " * 80
    + "\n```\n\n"
    + "| a " * 20
    + "|\n"
    + "|---" * 20
    + "|"
)
WIDEST = "document.documentElement.scrollWidth <= innerWidth"


def ground(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def contrast_faults(page: Page) -> list[str]:
    """Visible texts whose contrast with what is behind them is below 4.5 : 1."""
    return page.evaluate(
        """() => {
            const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            const rgba = colour => {
                paint.clearRect(0, 0, 1, 1);
                paint.fillStyle = colour;
                paint.fillRect(0, 0, 1, 1);
                return [...paint.getImageData(0, 0, 1, 1).data];
            };
            const linear = part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
            const behind = element => {
                for (let one = element; one; one = one.parentElement) {
                    const found = rgba(getComputedStyle(one).backgroundColor);
                    if (found[3] > 200) return found;
                }
                return [255, 255, 255, 255];
            };
            const faults = [];
            for (const element of document.querySelectorAll('body *')) {
                const hasText = [...element.childNodes].some(one => one.nodeType === 3 && one.data.trim());
                if (!hasText || !element.checkVisibility({opacityProperty: true})) continue;
                if (element.matches('.unseen, .skip, :disabled, :disabled *')) continue;
                const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (ratio < 4.5) faults.push(`${element.localName}.${element.className}: ${ratio.toFixed(2)}`);
            }
            return faults;
        }"""
    )


@pytest.fixture
def busy() -> Iterator[Any]:
    """A server of ten workers, some of which fail; the run stops at a gate before its end."""
    answers = [answered(n, error=silent()) if n % 4 == 3 else answered(n, f"Answer {n}. {LONG}") for n in range(10)]
    texts = [WorkerText(n, one.text[:200]) for n, one in enumerate(answers) if one.text]
    ends = [finished(n, one.text, one.error) for n, one in enumerate(answers)]
    run = [begin(10), *texts, "end", *ends, ended(answers, LONG)]
    with played(lambda _: run, count=10) as (server, ensemble):
        yield server, ensemble


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_can_be_read(visit: Visit, busy: Any, scheme: Any) -> None:
    server, ensemble = busy
    visitor = visit(server, color_scheme=scheme)
    page = visitor.page
    page.locator("#agents li").first.wait_for()
    assert (int(ground(page)[4:].split(",")[0]) < 60) == (scheme == "dark")
    assert contrast_faults(page) == []
    visitor.ask("?")
    visitor.wait_column(9, "Answer 9")
    assert contrast_faults(page) == []
    ensemble.gates["end"].set()
    visitor.wait()
    assert contrast_faults(page) == []


def test_the_theme_is_switched_and_remembered(visit: Visit) -> None:
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server, color_scheme="light")
        page = visitor.page
        light = ground(page)
        page.click("#theme")
        dark = ground(page)
        assert dark != light
        expect(page.locator("#theme")).to_have_attribute("aria-label", "Light colours")
        page.reload()
        assert ground(page) == dark
        page.click("#theme")
        assert ground(page) == light


def test_japanese_where_the_browser_speaks_it(visit: Visit) -> None:
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server, locale="ja-JP")
        page = visitor.page
        assert page.evaluate("document.documentElement.lang") == "ja"
        expect(page.locator("#send")).to_have_text("質問する")
        visitor.ask("首都は？")
        visitor.wait()
        expect(page.locator(".card h3")).to_have_text("最終回答")
        expect(page.locator(".workers summary")).to_have_text("3 台中 3 台が回答")
        page.click("#language")
        expect(page.locator(".card h3")).to_have_text("Final answer")
        expect(page.locator(".workers summary")).to_have_text("3 of 3 answered")
        expect(page.locator("#send")).to_have_text("Ask")
        page.reload()
        visitor.wait()
        expect(page.locator(".card h3")).to_have_text("Final answer")
        assert page.evaluate("document.documentElement.lang") == "en"


def test_the_language_changes_in_the_middle_of_a_run(visit: Visit, busy: Any) -> None:
    server, ensemble = busy
    visitor = visit(server)
    visitor.ask("?")
    visitor.wait_column(0, "Answer 0")
    visitor.page.click("#language")
    expect(visitor.page.locator(".card .state")).to_have_text("10 台中 0 台が完了")
    ensemble.gates["end"].set()
    visitor.wait()
    expect(visitor.page.locator(".column .state").nth(3)).to_have_text("失敗")


def test_a_phone_shows_all_of_it(visit: Visit, busy: Any) -> None:
    server, ensemble = busy
    visitor = visit(server, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = visitor.page
    page.locator("#agents li").first.wait_for()
    assert page.evaluate(WIDEST)
    for button in ("#new", "#history-open", "#language", "#theme", "#send"):
        box = page.locator(button).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert min(box["width"], box["height"]) >= 32
    page.fill("#prompt", "?")
    page.tap("#send")
    visitor.wait_column(0, "Answer 0")
    assert page.evaluate(WIDEST)
    ensemble.gates["end"].set()
    visitor.wait()
    assert page.evaluate(WIDEST)
    page.locator(".column").nth(9).scroll_into_view_if_needed()
    box = page.locator(".column").nth(9).bounding_box()
    assert box
    assert box["x"] >= -1
    assert box["x"] + box["width"] <= 391
    page.tap("#history-open")
    page.locator("#history[open]").wait_for()
    box = page.locator("#history").bounding_box()
    assert box
    assert box["width"] <= 390
    assert page.evaluate(WIDEST)


def test_ten_workers_are_seen_at_once(visit: Visit, busy: Any) -> None:
    server, _ = busy
    visitor = visit(server, viewport={"width": 1440, "height": 900})
    visitor.ask("?")
    visitor.wait_column(9, "Answer 9")
    for place in range(10):
        box = visitor.page.locator(".column").nth(place).bounding_box()
        assert box
        assert box["y"] + box["height"] <= 900
        assert box["x"] + box["width"] <= 1440
        assert box["width"] >= 200


def focused(page: Page) -> str:
    """What has the focus, by its id or what it says."""
    one = "(one => one.id || one.getAttribute('aria-label') || one.innerText)(document.activeElement)"
    return page.evaluate(one)


def test_everything_can_be_done_by_keyboard(visit: Visit) -> None:
    with played(lambda question: plain_run(final=f"About {question.prompt}")) as (server, ensemble):
        visitor = visit(server)
        page = visitor.page
        keys = page.keyboard
        page.locator("#agents li").first.wait_for()
        assert focused(page) == "prompt"
        keys.type("by hand")
        keys.press("Enter")  # a new line, nothing more
        keys.type("second line")
        assert ensemble.questions == []
        keys.press("Control+Enter")
        visitor.wait()
        assert ensemble.questions[0].prompt == "by hand\nsecond line"
        assert focused(page) == "prompt"
        visitor.reload()
        visitor.wait()
        page.locator(".skip").focus()
        order = [_tabbed(page) for _ in range(4)]
        assert order == ["new", "history-open", "language", "theme"]
        ring = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(ring) == "solid"
        keys.press("Shift+Tab")
        keys.press("Shift+Tab")
        keys.press("Enter")
        page.locator("#history[open]").wait_for()
        while focused(page) == "history-close":
            keys.press("Tab")
        keys.press("Enter")
        expect(page.locator("#history")).not_to_be_visible()
        answer = page.locator(".turn:last-child .text.answer")
        expect(answer).to_have_text("About by hand\nsecond line", use_inner_text=True)


def _tabbed(page: Page) -> str:
    page.keyboard.press("Tab")
    return focused(page)


def test_the_focus_is_not_lost_with_the_button_that_was_pressed(visit: Visit, busy: Any) -> None:
    server, _ = busy
    visitor = visit(server)
    page = visitor.page
    page.fill("#prompt", "?")
    page.keyboard.press("Tab")
    assert focused(page) == "send"
    page.keyboard.press("Enter")
    visitor.wait_column(0, "Answer 0")
    assert focused(page) == "stop"
    page.keyboard.press("Enter")
    visitor.wait("stopped")
    expect(page.locator("#prompt")).to_be_focused()


def test_escape_closes_a_dialog_before_it_stops_a_run(visit: Visit, busy: Any) -> None:
    server, ensemble = busy
    visitor = visit(server)
    page = visitor.page
    visitor.ask("?")
    visitor.wait_column(0, "Answer 0")
    page.evaluate("document.getElementById('history').showModal()")
    page.keyboard.press("Escape")
    expect(page.locator("#history")).not_to_be_visible()
    assert ensemble.closed == 0
    expect(page.locator(".turn")).to_have_attribute("data-state", "running")
    page.keyboard.press("Escape")
    visitor.wait("stopped")


def test_text_that_is_being_composed_is_not_sent(visit: Visit) -> None:
    with played(lambda _: plain_run()) as (server, ensemble):
        page = visit(server).page
        page.fill("#prompt", "にほん")
        page.evaluate(
            "document.getElementById('prompt').dispatchEvent(new KeyboardEvent('keydown',"
            " {key: 'Enter', ctrlKey: true, isComposing: true, bubbles: true}))"
        )
        expect(page.locator("#prompt")).to_have_value("にほん")
        assert ensemble.questions == []


def test_who_cannot_see_is_told_the_course_and_not_each_word(visit: Visit) -> None:
    words = [WorkerText(worker, "word ") for _ in range(300) for worker in range(3)]
    answers = [answered(worker, "word " * 300) for worker in range(3)]
    run = [begin(), *words, *(finished(worker, "word " * 300) for worker in range(3)), ended(answers)]
    with played(lambda _: run) as (server, _):
        visitor = visit(server)
        page = visitor.page
        page.evaluate(
            "window.told = []; new MutationObserver(() => told.push(document.getElementById('status').textContent))"
            ".observe(document.getElementById('status'), {childList: true, characterData: true, subtree: true})"
        )
        visitor.ask("?")
        visitor.wait()
        told = page.evaluate("told")
        assert told[0] == "Asking 3 workers"
        assert told[-1] == "The final answer is ready, after 12.3 seconds"
        assert len(told) <= 6
        live = (
            "[...document.querySelectorAll('[aria-live], [role=status], [role=log], [role=alert]')].map(one => one.id)"
        )
        assert page.evaluate(live) == ["status", "token-wrong"]


def test_every_control_has_a_name(visit: Visit) -> None:
    with played(lambda _: plain_run()) as (server, _):
        visitor = visit(server)
        visitor.ask("?")
        visitor.wait()
        nameless = "one => !(one.getAttribute('aria-label') || one.innerText.trim() || one.labels?.length)"
        controls = "[...document.querySelectorAll('button, textarea, input, [role=group]')]"
        assert visitor.page.evaluate(f"{controls}.filter(one => one.checkVisibility()).filter({nameless}).length") == 0


def test_a_worker_is_enlarged_and_made_small_again(visit: Visit, busy: Any) -> None:
    server, _ = busy
    visitor: Visitor = visit(server)
    visitor.ask("?")
    visitor.wait_column(0, "Answer 0")
    column = visitor.page.locator(".column").nth(2)
    small = column.bounding_box()
    column.get_by_role("button").click()
    large = column.bounding_box()
    assert small
    assert large
    assert large["width"] > 2 * small["width"]
    column.get_by_role("button").click()
    assert column.bounding_box() == small
