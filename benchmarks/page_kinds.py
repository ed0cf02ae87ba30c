"""Pages that are no articles, made with their true text: forums, questions, products and lists, English and Japanese.

The markup is that of common software (forum boards, question sites, shop systems, blogs' front pages, directories,
tables), with what such pages put around their text. What is true: all posts, the question with all answers, the
product's description, properties and reviews, the entries of a list with what is said of them. Not: the title, menus,
bread crumbs, names and ranks of users, votes, prices of other goods, links elsewhere, footers.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

KINDS = ("forum", "question", "product", "list")
PAGES_OF_EACH = 4
"""Pages made of each template and language."""

WORDS = {
    "en": (
        "The old|A new|Every second|My first|This small|Their last|One spare|The third|Some other|That cheap",
        "pump|battery|lens|saddle|kettle|router|hinge|compass|drill|valve|lamp|fan|sensor|cable|gear|filter|tent|brake",
        "needs|holds|loses|replaces|carries|keeps|shows|reaches|drops|passes|reports|takes|blocks|saves|doubles|lifts",
        "twelve litres an hour|half of its charge|a firmware from spring|the thin rubber ring|eighty degrees at noon"
        "|more noise than before|a second screw|the green cover|two metres of cord|no light in winter"
        "|the wrong address|a longer warranty|its own spare part|forty grams less|the blue connector",
        "after a week of rain|when the room is cold|before the update|on the left side|without any warning"
        "|if it is charged slowly|since the last repair|under a heavy load|at the second attempt|outside the city"
        "|whenever the lid is open|as the manual says|in a dry cupboard|for about three years",
    ),
    "ja": (
        "古い|新しい|小さな|最初の|予備の|安い|丈夫な|二台目の|借りた|軽い",
        "ポンプは|電池は|レンズは|鞍は|やかんは|端末は|蝶番は|羅針盤は|弁は|照明は|扇風機は|検知器は|歯車は|濾過器は",
        "雨の続いた週の後に|部屋が寒いと|更新の前は|左側で|警告もなく|ゆっくり充電すると|修理の後から|重い荷物の下で|二度目には",
        "毎時十二リットルの水を|充電の半分を|春の更新を|薄いゴムの輪を|昼の八十度を|前より大きな音を|二本目のねじを|緑の蓋を",
        "必要とします。|保ちます。|失います。|取り替えます。|運びます。|示します。|落とします。|通します。|報告します。|防ぎます。",
    ),
}
AROUND = {
    "en": "Home|News|Shop|About us|Contact|Sign in|Register|Help|Imprint|Privacy|Terms of use|Newsletter|Careers|Press",
    "ja": "トップ|新着|商品|会社案内|問い合わせ|ログイン|登録|ヘルプ|規約|個人情報|お知らせ|採用|報道",
}


@dataclass
class Sample:
    """A page: its kind, the software it looks like, its HTML and the text that is true of it."""

    kind: str
    template: str
    html: str
    truth: str


@dataclass
class Draft:
    """A page as it is made: texts given to `true` are content, those of `other` are not."""

    language: str
    dice: random.Random
    pieces: list[str] = field(default_factory=list[str])

    def sentence(self) -> str:
        glue = " " if self.language == "en" else ""
        said = glue.join(self.dice.choice(part.split("|")) for part in WORDS[self.language])
        return f"{said}." if self.language == "en" else said

    def sentences(self, least: int, most: int) -> str:
        glue = " " if self.language == "en" else ""
        return glue.join(self.sentence() for _ in range(self.dice.randint(least, most)))

    def true(self, text: str) -> str:
        """A text of the page's own, escaped."""
        self.pieces.append(text)
        return escape(text)

    def heading(self) -> str:
        return self.sentence().rstrip(".。")[:60]

    def other(self) -> str:
        return self.dice.choice(AROUND[self.language].split("|"))

    def links(self, count: int) -> str:
        return "".join(f"<li><a href='/{self.dice.random():.6f}'>{escape(self.other())}</a></li>" for _ in range(count))

    def teasers(self, count: int) -> str:
        """Links to other pages of the site, with a line each."""
        return "".join(f"<li><a href='/p/{number}'>{escape(self.heading())}</a></li>" for number in range(count))

    def user(self) -> str:
        return f"user{self.dice.randint(100, 99999)}"

    def page(self, title: str, inside: str, sidebar: str = "") -> str:
        return (
            f"<!DOCTYPE html><html lang='{self.language}'><head><meta charset='utf-8'><title>{escape(title)} - Site</title>"
            f"<style>p{{margin:0}}</style></head><body><header id='masthead'><nav><ul>{self.links(7)}</ul></nav></header>"
            f"{inside}{sidebar}<footer><ul>{self.links(9)}</ul><p>© 2026 {escape(self.other())}</p></footer></body></html>"
        )


def board(draft: Draft) -> str:
    """A forum board with a table or boxes for posts, users beside them."""
    title = draft.heading()
    posts = "".join(
        f"<div id='p{number}' class='post has-profile'><dl class='postprofile'><dt>{draft.user()}</dt><dd>Posts: "
        f"{draft.dice.randint(1, 999)}</dd><dd>Joined: 2019</dd></dl><div class='postbody'><p class='author'>by "
        f"{draft.user()} » 2024-05-0{draft.dice.randint(1, 9)}</p><div class='content'>"
        + "<br><br>".join(draft.true(draft.sentences(1, 3)) for _ in range(draft.dice.randint(1, 2)))
        + f"</div><div class='signature'>{draft.other()}</div></div></div>"
        for number in range(draft.dice.randint(4, 9))
    )
    head = f"<div class='navbar'><ul>{draft.links(5)}</ul></div><h2 class='topic-title'>{escape(title)}</h2>"
    return draft.page(
        title, f"<div id='page-body'>{head}{posts}</div>", f"<div class='pagination'>{draft.links(4)}</div>"
    )


def old_board(draft: Draft) -> str:
    """A forum of tables."""
    title = draft.heading()
    rows = f"<tr><th colspan='2'>{escape(title)}</th></tr>" + "".join(
        f"<tr><td width='150'><b>{draft.user()}</b><br>Member</td><td><span class='postdetails'>Posted: 12 May</span><hr>"
        f"<span class='postbody'>{draft.true(draft.sentences(2, 4))}</span></td></tr>"
        for _ in range(draft.dice.randint(4, 8))
    )
    return draft.page(
        title, f"<table class='bodyline'><tr><td><table class='forumline'>{rows}</table></td></tr></table>"
    )


def stream(draft: Draft) -> str:
    """A forum whose topic is a stream of articles."""
    title = draft.heading()
    inside = f"<h1><a href='/t/1'>{escape(title)}</a></h1>" + "".join(
        f"<article id='post_{number}' class='topic-post'><div class='topic-meta-data'><span class='username'>{draft.user()}"
        f"</span> <time>3d</time></div><div class='cooked'><p>{draft.true(draft.sentences(1, 3))}</p>"
        + (f"<ul><li>{draft.true(draft.sentence())}</li></ul>" if number % 3 == 1 else "")
        + "</div><nav class='post-controls'><button>Like</button></nav></article>"
        for number in range(draft.dice.randint(5, 9))
    )
    more = f"<div class='suggested-topics'><h3>Suggested</h3><ul>{draft.teasers(5)}</ul></div>"
    return draft.page(title, f"<div id='main-outlet'>{inside}</div>{more}")


def answers(draft: Draft) -> str:
    """A question site with votes."""
    title = draft.heading()
    inside = f"<div id='question-header'><h1><a href='/q/1'>{escape(title)}</a></h1></div>"
    for number in range(draft.dice.randint(3, 6)):
        body = "".join(f"<p>{draft.true(draft.sentences(1, 3))}</p>" for _ in range(draft.dice.randint(1, 3)))
        code = (
            f"<pre><code>{draft.true(f'run --step {number} --wait {number * 7} --quiet')}</code></pre>"
            if number
            else ""
        )
        inside += (
            f"<div class='answer' id='answer-{number}'><div class='js-vote-count'>{draft.dice.randint(0, 90)}</div>"
            f"<div class='s-prose js-post-body'>{body}{code}</div><div class='user-info'>answered by {draft.user()}</div>"
            "</div>"
        )
    side = f"<div id='sidebar'><h4>Related</h4><ul>{draft.teasers(8)}</ul></div>"
    return draft.page(title, f"<div id='mainbar'>{inside}</div>", side)


def wisdom(draft: Draft) -> str:
    """A question site of short answers in nested boxes without names that tell."""
    title = draft.heading()
    inside = f"<div class='x1'><h1>{escape(title)}</h1><div class='x2'>{draft.true(draft.sentences(1, 2))}</div></div>"
    inside += "".join(
        f"<div class='x3'><div class='x4'>{draft.user()}</div><div class='x5'><div>{draft.true(draft.sentences(1, 2))}</div>"
        "</div></div>"
        for _ in range(draft.dice.randint(4, 8))
    )
    return draft.page(title, f"<main>{inside}<section class='related'><ul>{draft.teasers(6)}</ul></section></main>")


def shop(draft: Draft) -> str:
    """A shop's page: summary, description, table of properties, reviews."""
    title = draft.heading()
    inside = f"<nav class='woocommerce-breadcrumb'>{draft.links(3)}</nav><div class='summary entry-summary'>"
    inside += f"<h1 class='product_title'>{escape(title)}</h1><div class='short-description'><p>"
    inside += f"{draft.true(draft.sentences(1, 2))}</p></div><form class='cart'><button>Buy</button></form></div>"
    inside += "<div class='tabs'><div id='tab-description'>"
    inside += "".join(f"<p>{draft.true(draft.sentences(2, 3))}</p>" for _ in range(2))
    inside += "<ul>" + "".join(f"<li>{draft.true(draft.sentence())}</li>" for _ in range(4)) + "</ul></div>"
    inside += f"<div id='tab-additional'><table class='attributes'>{properties(draft)}</table></div>"
    inside += "<div id='reviews'><ol class='commentlist'>" + "".join(
        f"<li class='review'><p class='meta'>{draft.user()}</p><div class='description'><p>{draft.true(draft.sentence())}</p>"
        "</div></li>"
        for _ in range(draft.dice.randint(1, 4))
    )
    related = f"<section class='related products'><ul>{draft.teasers(4)}</ul></section>"
    return draft.page(title, f"<main><div class='product'>{inside}</ol></div></div></div>{related}</main>")


def catalogue(draft: Draft) -> str:
    """A maker's data sheet: little prose, much table."""
    title = draft.heading()
    inside = f"<h1>{escape(title)}</h1><p>{draft.true(draft.sentence())}</p>"
    for _ in range(3):
        inside += f"<h2>{draft.true(draft.heading())}</h2><table>{properties(draft, 7)}</table>"
    return draft.page(title, f"<div id='content'>{inside}</div><div class='sidebar'><ul>{draft.teasers(5)}</ul></div>")


def market(draft: Draft) -> str:
    """A market's page: bullets first, a long description below, what others bought between."""
    title = draft.heading()
    bullets = "".join(f"<li><span class='a-list-item'>{draft.true(draft.sentence())}</span></li>" for _ in range(5))
    inside = f"<span id='productTitle'>{escape(title)}</span><div id='feature-bullets'><ul>{bullets}</ul></div>"
    inside += f"<div class='carousel recommendations'><h2>Others</h2><ul>{draft.teasers(8)}</ul></div>"
    inside += f"<div id='productDescription'><p>{draft.true(draft.sentences(4, 7))}</p></div><table>{properties(draft)}</table>"
    return draft.page(title, f"<div id='dp-container'>{inside}</div>")


def properties(draft: Draft, count: int = 5) -> str:
    """Rows of a name and a value."""
    names = draft.dice.sample(range(100), count)
    word = {"en": "Property", "ja": "項目"}[draft.language]
    return "".join(
        f"<tr><th>{draft.true(f'{word} {number}')}</th><td>{draft.true(draft.heading()[:25])}</td></tr>"
        for number in names
    )


def front_page(draft: Draft) -> str:
    """Entries of a blog or of news: linked headings with a teaser each."""
    title = draft.heading()
    entries = "".join(
        f"<article class='hentry'><h2 class='entry-title'><a href='/{number}'>{draft.true(draft.heading())}</a></h2>"
        f"<div class='entry-meta'>2024-03-{number + 10}</div><div class='entry-summary'><p>{draft.true(draft.sentences(1, 2))}"
        "</p></div></article>"
        for number in range(draft.dice.randint(6, 10))
    )
    side = f"<aside><h3>Popular</h3><ul>{draft.teasers(5)}</ul></aside>"
    return draft.page(title, f"<main id='main'>{entries}<nav class='pagination'>{draft.links(4)}</nav></main>", side)


def directory(draft: Draft) -> str:
    """Names that are links, a few words beside each."""
    title = draft.heading()
    inside = f"<h1>{escape(title)}</h1><p>{draft.true(draft.sentences(1, 2))}</p>"
    for _ in range(3):
        entries = "".join(
            f"<li><a href='/e/{number}'>{draft.true(draft.heading()[:30])}</a> – {draft.true(draft.sentence())}</li>"
            for number in range(draft.dice.randint(5, 9))
        )
        inside += f"<h2>{draft.true(draft.heading())}</h2><ul>{entries}</ul>"
    return draft.page(title, f"<div id='content'><div class='mw-parser-output'>{inside}</div></div>")


def table(draft: Draft) -> str:
    """A table of many rows."""
    title = draft.heading()
    rows = "".join(
        f"<tr><td>{draft.true(str(number))}</td><td><a href='/{number}'>{draft.true(draft.heading())}</a></td>"
        f"<td>{draft.true(draft.heading())}</td><td>{draft.true(f'{draft.dice.randint(100, 9999)} km')}</td></tr>"
        for number in range(draft.dice.randint(12, 25))
    )
    return draft.page(title, f"<div class='page'><h1>{escape(title)}</h1><table class='wikitable'>{rows}</table></div>")


def changes(draft: Draft) -> str:
    """Release notes: short lines under versions."""
    title = draft.heading()
    inside = "".join(
        f"<h3>{draft.true(f'Version 4.{number}.0')}</h3><ul>"
        + "".join(f"<li>{draft.true(draft.sentence())}</li>" for _ in range(draft.dice.randint(3, 6)))
        + "</ul>"
        for number in range(draft.dice.randint(4, 7))
    )
    return draft.page(title, f"<div class='wrap'><div class='col'>{inside}</div></div>")


TEMPLATES: dict[str, tuple[Callable[[Draft], str], ...]] = {
    "forum": (board, old_board, stream),
    "question": (answers, wisdom),
    "product": (shop, catalogue, market),
    "list": (front_page, directory, table, changes),
}


def samples() -> Iterator[Sample]:
    """All pages, the same ones each time."""
    for kind, templates in TEMPLATES.items():
        for template in templates:
            for language in ("en", "ja"):
                for number in range(PAGES_OF_EACH):
                    draft = Draft(language, random.Random(f"{template.__name__} {language} {number}"))
                    html = template(draft)
                    yield Sample(kind, f"{template.__name__} {language}", html, "\n".join(draft.pieces))
