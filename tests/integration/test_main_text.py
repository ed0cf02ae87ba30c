"""The main text of pages: articles, what article extractors drop from amid them, and pages that are none."""

import pytest

from localllm.web import article
from localllm.web.article import extract_article
from localllm.web.content_blocks import content_blocks, parse_page
from localllm.web.main_text import main_text

PROSE = "The tram of Lindholm carried {n} thousand passengers in year {n}, more than anybody had thought possible."
OPENED = '"@type":[' * 200_000
MENU = "<nav><ul>" + "<li><a href='/a'>Elsewhere</a></li>" * 20 + "</ul></nav>"


def page(body: str, heading: str = "The tram of Lindholm") -> str:
    return f"<html><head><title>{heading}</title></head><body>{MENU}{body}<footer>Imprint</footer></body></html>"


def paragraphs(first: int, last: int) -> str:
    return "".join(f"<p>{PROSE.format(n=number)}</p>" for number in range(first, last))


def test_an_article_is_read_without_what_stands_around_it() -> None:
    text = main_text(page(f"<article><h1>The tram of Lindholm</h1>{paragraphs(3, 12)}</article>"))
    assert text.count("passengers") == 9
    assert "Elsewhere" not in text
    assert "Imprint" not in text
    assert "The tram of Lindholm\n" not in text, "the title is kept beside the text"


@pytest.mark.parametrize(
    "aside",
    [  # in both languages
        "Read more: The bus of Lindholm",
        "関連記事：リンドホルムのバス",
        "Share this article",
        "Sign up to our newsletter",
    ],
)
def test_requests_and_links_to_other_articles_are_left_out(aside: str) -> None:
    text = main_text(page(f"<article>{paragraphs(3, 8)}<p>{aside}</p>{paragraphs(8, 12)}</article>"))
    assert text.count("passengers") == 9
    assert aside not in text


def test_a_sentence_that_only_begins_like_a_request_stays() -> None:
    sentence = (
        "Share this on the way: the council says that the tram has paid for itself twice over, and that a second line "
        "to the harbour will be opened before the end of the decade if the harbour company takes part in it."
    )
    assert sentence in main_text(page(f"<article>{paragraphs(3, 8)}<p>{sentence}</p>{paragraphs(8, 12)}</article>"))


def test_a_page_of_small_pieces_is_read_from_its_blocks() -> None:
    offers = "".join(f"<div class=item><span>Pump {n}</span><div>{n} kW, {n} kg</div></div>" for n in range(30))
    text = main_text(page(f"<div id=products>{offers}</div>"))
    assert "Pump 7" in text
    assert "29 kW, 29 kg" in text
    assert "Elsewhere" not in text


def test_japanese_is_read() -> None:
    body = "".join(
        f"<p>{n}年度の利用者は{n}万人で、予想を上回った。市は次の路線を計画している。</p>" for n in range(3, 14)
    )
    text = main_text(page(f"<article>{body}</article>", "リンドホルムの路面電車"))
    assert "7年度の利用者は7万人" in text


@pytest.mark.parametrize("html", ["", "<p", "<html>" * 300, "<div>" * 70_000 + "deep"])
def test_what_is_no_page_has_no_main_text(html: str) -> None:
    assert main_text(html) == ""


def test_blocks_tell_content_from_what_stands_around_it() -> None:
    tree = parse_page(
        "<body><div class='share-box'>Tweet this</div><p>One <a href=/>link</a></p><p hidden>No</p>"
        "<ul><li><a href=/>All link</a></li></ul></body>"
    )
    blocks = {block.text: block for block in content_blocks(tree)}
    assert blocks["Tweet this"].around
    assert not blocks["One link"].around
    assert 0.4 < blocks["One link"].links < 0.6
    assert blocks["All link"].links == 1.0
    assert blocks["All link"].line == "- All link"
    assert "No" not in blocks


def test_a_page_nested_without_end_is_read_as_far_as_it_goes() -> None:
    tree = parse_page("<div>" * 5_000 + "<p>deep</p>" + "</div>" * 5_000)
    assert len(content_blocks(tree)) <= 2


def test_the_properties_of_a_product_stand_beside_its_description() -> None:
    bullets = "".join(f"<li>The pump number {n} lifts {n * 7} litres in an hour</li>" for n in range(9))
    rows = "".join(f"<tr><th>Weight of part {n}</th><td>{n * 3} kg</td></tr>" for n in range(6))
    others = "<div class='recommendations'><ul>" + "<li><a href='/x'>Another pump</a></li>" * 8 + "</ul></div>"
    text = main_text(
        page(f"<div id=top><ul>{bullets}</ul></div>{others}<div id=text>{paragraphs(3, 7)}</div><table>{rows}</table>")
    )
    for expected in ("lifts 56 litres", "in year 6", "Weight of part 5", "15 kg"):
        assert expected in text
    assert "Another pump" not in text
    assert "Elsewhere" not in text


def test_the_entries_of_a_list_keep_their_linked_headings() -> None:
    entries = "".join(
        f"<article><h2><a href='/{n}'>Heading of the entry {n}</a></h2><p>{PROSE.format(n=n)}</p></article>"
        for n in range(8)
    )
    body = f"<main>{entries}</main>"
    text = main_text(page(body))
    for number in range(8):
        assert f"## Heading of the entry {number}\n\n{PROSE.format(n=number)}" in text
    japanese = "".join(
        f"<li><a href='/{n}'>第{n}の駅</a>は町の北に建てられ、毎日{n}百人が乗り降りする。</li>" for n in range(9)
    )
    assert "第8の駅は町の北に" in main_text(page(f"<div><h1>駅</h1><ul>{japanese}</ul></div>"))


def test_what_calls_itself_an_article_is_read_as_one() -> None:
    teasers = "".join(f"<div class=card><b>Teaser {n}</b><div>says little of it, {n}</div></div>" for n in range(40))
    body = f"<article><h1>The tram of Lindholm</h1>{paragraphs(3, 9)}</article><div>{teasers}</div>"
    marked = page(body).replace("<head>", "<head><meta property='og:type' content='article'>")
    text = main_text(marked)
    assert text.count("passengers") == 6
    assert "Teaser 7" not in text


def test_a_page_that_takes_patterns_for_ever_costs_no_more_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article, "SECONDS", 2)
    data = f"<script type='application/ld+json'>{OPENED}</script>"
    assert extract_article(page(f"<article>{paragraphs(3, 12)}</article>{data}")) is None
