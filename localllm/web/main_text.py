"""The main text of an HTML page: what its author wrote, without what the site put around it.

trafilatura finds articles. It is blind to pages whose text lies in many small pieces (answers of a forum, entries of a
list, the description of a product), and drops pieces amid an article; those come from the blocks of the page.
"""

import importlib
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.web.content_blocks import Block, content_blocks, parse_page, words_of

_MOST_TAGS = 60_000  # opening and closing; trafilatura takes 2 s for these, and ten times that for three times as many
_SHORTEST = 300
"""Characters of an article: of less, trafilatura has mostly missed what the page is about."""
_GRAM = 4
_PROSE = 80  # characters of a line of prose
_STRICT_SHARE = 0.5
"""Of the prose that trafilatura finds when it wants all, how much it must find when it wants to be sure."""
_LINKED = 0.33
"""The share of links from which on a block leads elsewhere."""
_COVERED = 0.6
_UNCOVERED = 0.2
"""Shares of a block's word sequences from which on, and below which, it is in a text, and is not."""
_SEEN = 0.75
"""The share of a page's pieces that an article must have, unless the page calls itself one: of less, trafilatura has
taken a part for the whole."""
_MOST_BESIDE = 1.25  # times as long as the pieces; of more, a text without prose is mostly menus
_MOST_HEADINGS_LOST = 3  # of entries of a list
_ALL_LINK = 0.9
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NEIGHBOURS = 2  # blocks of prose beside a gap that belong to the article
_FIRST_LINES = 3  # among which the title may be repeated
_LONGEST_ASIDE, _LONGEST_REQUEST = 200, 80  # characters of a line

_DENSE = late_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ARTICLE_MARK = late_pattern(
    r"""(?i)og:type["']?\s+content=["']?article|content=["']article["']\s+property=["']og:type"""
    r"""|"@type"\s*:\s*\[?\s*"(?:\w*NewsArticle|Article|BlogPosting|LiveBlogPosting)\""""
    r"""|itemtype=["']https?://schema\.org/(?:NewsArticle|Article|BlogPosting)"""
)
_LEADS_ELSEWHERE = late_pattern(
    r"(?i)^\W*(?:read (?:more|also|next|on)|related(?: (?:articles?|stories|posts|topics))?|see (?:more|also)"
    r"|also (?:read|on)|don.?t miss|more (?:from|on|stories)|(?:click|tap) here|recommended|you (?:may|might) also like"
    r"|leggi anche|lire aussi|lee también|lesen sie auch|関連記事|関連リンク|あわせて読みたい|こちらもおすすめ)"
    r"\s*(?:[:：|].*|\W*)$"
)
_ASKS_SOMETHING = late_pattern(
    r"(?i)^\W*(?:share (?:this|on)|like this (?:story|article)|follow us|sign up (?:for|to)|subscribe (?:to|now)"
    r"|comments?$|photos?$|advertisement$|loading|print$|e-?mail$|tweet$|filed under\b|tagged?:|image(?: credit)?:)"
)


class Place(NamedTuple):
    """How much of a text was found in the lines of another, and in which line last (-1: in none)."""

    share: float
    line: int


def main_text(html: str) -> str:
    """The main text of a page as Markdown; "" where trafilatura is not installed, or there is none to be found.

    It takes time: some 50 ms a page, up to 2 s for what is within the limits.
    """
    if html.count("<") > _MOST_TAGS or (tree := parse_page(html)) is None or (text := _article(html)) is None:
        return ""
    blocks, titles = content_blocks(tree), _titles(tree)
    pieces = _pieces(blocks)
    if pieces and not _is_article(html, text, pieces):
        return "\n\n".join(_without_titles([block.line for block in pieces], titles))
    return "\n\n".join(_without_asides(_without_titles(_filled(_lines(text), blocks), titles)))


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _is_content(block: Block) -> bool:
    return not block.around and block.links < _LINKED


def _length(text: str) -> int:
    """The length of a text in Latin letters: one of Chinese, Japanese or Korean says as much as two."""
    return len(text) + len(_DENSE.findall(text))


def _pieces(blocks: Sequence[Block]) -> list[Block]:
    """What a page of small pieces says: the blocks that are content, and links with content beside them, which are the
    headings of entries and cells of tables."""
    beside: set[tuple[int, ...]] = set()
    for block in filter(_is_content, blocks):
        beside |= {block.place[:-1], block.place[:-2]}

    def belongs(block: Block) -> bool:
        inside = block.place[:-1] in beside or (block.tag in _HEADINGS and block.place[:-2] in beside)
        return not block.around and (block.links < _ALL_LINK or inside)

    return list(filter(belongs, blocks))


def _is_article(html: str, text: str, pieces: Sequence[Block]) -> bool:
    """Whether what trafilatura found is what the page is about, and neither a part of it nor its menus as well."""
    if _has_prose(text):
        return _calls_itself_article(html) or _holds(text, pieces)
    return len(text) <= _MOST_BESIDE * sum(len(block.line) for block in pieces) and _holds(text, pieces)


def _holds(text: str, pieces: Sequence[Block]) -> bool:
    """Whether the text has most of the pieces, and the headings of entries among them."""
    there = _Lines(_lines(text), short=True)
    missing = [block for block in pieces if there.find(block.text).share < _COVERED]
    headings, lost = (sum(map(_heads_entry, part)) for part in (pieces, missing))
    share = sum(len(block.text) for block in missing) / sum(len(block.text) for block in pieces)
    return share <= 1 - _SEEN and not (lost >= _MOST_HEADINGS_LOST and lost * 2 > headings)


def _heads_entry(block: Block) -> bool:
    return block.tag in _HEADINGS and block.links >= _ALL_LINK


def _has_prose(text: str) -> bool:
    return _length(text) >= _SHORTEST and any(_length(line) >= _PROSE for line in text.split("\n"))


def _calls_itself_article(html: str) -> bool:
    """Whether the page says by its metadata (Open Graph, schema.org) that it is one article."""
    return bool(_ARTICLE_MARK.search(html))


def _article(html: str) -> str | None:
    """What trafilatura takes for the article; None where it is not installed. It is asked twice: what it is sure of is
    better, unless much of the prose is lost so."""
    try:
        trafilatura: Any = importlib.import_module("trafilatura")
    except ImportError:
        return None

    def extract(*, sure: bool) -> str:
        return trafilatura.extract(html, output_format="markdown", include_comments=False, favor_precision=sure) or ""

    wide, strict = extract(sure=False), extract(sure=True)
    return strict if _prose(strict) >= _STRICT_SHARE * _prose(wide) else wide


def _prose(text: str) -> int:
    """Letters of the prose in a text, each line once; of all of it where there is none."""
    return sum(len(line) for line in {*text.split("\n")} if len(line) >= _PROSE) or len(text)


class _Lines:
    """The lines of a text, to look up what is in them: by sequences of four words, shorter lines by themselves, or
    (`short`) wherever they stand, such as in a row of a table."""

    def __init__(self, lines: Sequence[str], *, short: bool = False) -> None:
        self._grams: dict[tuple[str, ...], int] = {}
        self._whole: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(lines):
            words = words_of(line)
            self._whole.setdefault(tuple(words), number)
            for size in range(1, _GRAM) if short else ():
                for gram in _grams(words, size):
                    self._whole.setdefault(gram, number)
            for gram in _grams(words):
                self._grams.setdefault(gram, number)

    def find(self, text: str) -> Place:
        """Where a text is in the lines."""
        words = words_of(text)
        if len(words) < _GRAM:
            line = self._whole.get(tuple(words), -1)
            return Place(float(line >= 0), line)
        grams = _grams(words)
        hits = [self._grams[gram] for gram in grams if gram in self._grams]
        return Place(len(hits) / len(grams), hits[-1] if hits else -1)


def _grams(words: Sequence[str], size: int = _GRAM) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _filled(lines: Sequence[str], blocks: Sequence[Block]) -> list[str]:
    """The lines, with the blocks dropped from amid them: neighbours of prose that was kept, before the last of it."""
    there = _Lines(lines)
    places = [there.find(block.text) for block in blocks]
    prose_of: dict[tuple[int, ...], int] = {}
    last_of: dict[tuple[int, ...], int] = {}
    for number, (block, place) in enumerate(zip(blocks, places, strict=True)):
        if place.share >= _COVERED:
            last_of[block.place[:-1]] = number
            prose_of[block.place[:-1]] = prose_of.get(block.place[:-1], 0) + (len(block.text) >= _PROSE)
    missing: dict[int, list[str]] = {}
    behind = -1
    for number, (block, place) in enumerate(zip(blocks, places, strict=True)):
        around = block.place[:-1]
        if place.share >= _COVERED:
            behind = place.line
        elif (
            place.share < _UNCOVERED
            and behind >= 0
            and _is_content(block)
            and prose_of.get(around, 0) >= _NEIGHBOURS
            and number < last_of[around]
        ):
            missing.setdefault(behind, []).append(block.line)
    return [text for number, line in enumerate(lines) for text in (line, *missing.get(number, ()))]


def _titles(tree: Any) -> set[str]:
    """The page's title and headings, as `_without_titles` compares them."""
    found = [tree.findtext(".//title") or ""]
    found += ["".join(element.itertext()) for element in list(tree.iter("h1"))[:_FIRST_LINES]]
    found += [element.get("content") or "" for element in tree.iter("meta") if element.get("property") == "og:title"]
    return {" ".join(words_of(title)) for title in found} - {""}


def _without_titles(lines: Sequence[str], titles: Collection[str]) -> list[str]:
    """The lines without the title at their beginning."""
    first = [line for line in lines[:_FIRST_LINES] if " ".join(words_of(line)) not in titles]
    return [*first, *lines[_FIRST_LINES:]]


def _without_asides(lines: Sequence[str]) -> list[str]:
    """The lines without links to other articles, and requests to the reader."""
    return [
        line
        for line in lines
        if not (len(line) < _LONGEST_ASIDE and _LEADS_ELSEWHERE.search(line))
        and not (len(line) < _LONGEST_REQUEST and _ASKS_SOMETHING.search(line))
    ]
