"""Extract the main text of an HTML page, without boilerplate.

trafilatura finds articles. It misses pages whose text is in many small pieces (forum answers, list entries, a product
description), and drops pieces within an article; those are taken from the blocks of the page.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.web.article import extract_article
from localllm.web.content_blocks import Block, content_blocks, parse_page, words_of

_MOST_TAGS = 60_000  # opening and closing; trafilatura takes 2 s for these, and ten times that for three times as many
_SHORTEST = 300
"""Characters of an article: with less, trafilatura has usually missed the subject of the page."""
_GRAM = 4
_PROSE = 80  # characters of a line of prose
_STRICT_SHARE = 0.5
"""Share of the prose found in recall mode that precision mode must find."""
_LINKED = 0.33
"""Share of links from which on a block is navigation."""
_COVERED = 0.6
_UNCOVERED = 0.2
"""Shares of a block's word sequences above which it is in a text, and below which it is not."""
_SEEN = 0.75
"""Share of a page's pieces an article must contain, unless the page declares itself one: with less, trafilatura has
extracted only a part."""
_MOST_BESIDE = 1.25  # times the length of the pieces; a longer text without prose is mostly menus
_MOST_HEADINGS_LOST = 3  # headings of list entries
_ALL_LINK = 0.9
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NEIGHBOURS = 2  # blocks of prose around a gap that belong to the article
_FIRST_LINES = 3  # which may repeat the title
_LONGEST_ASIDE, _LONGEST_REQUEST = 200, 80  # characters of a line

_DENSE = late_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ARTICLE_MARK = late_pattern(
    r"""(?i)og:type["']?\s++content=["']?article|content=["']article["']\s++property=["']og:type"""
    r"""|"@type"\s*+:\s*+(?:\[\s*+)?"(?:\w*NewsArticle|Article|BlogPosting|LiveBlogPosting)\""""
    r"""|itemtype=["']https?://schema\.org/(?:NewsArticle|Article|BlogPosting)"""
)
_LEADS_ELSEWHERE = late_pattern(
    r"(?i)^\W*(?:read (?:more|also|next|on)|related(?: (?:articles?|stories|posts|topics))?|see (?:more|also)"
    r"|also (?:read|on)|don.?t miss|more (?:from|on|stories)|(?:click|tap) here|recommended|you (?:may|might) also like"
    r"|leggi anche|lire aussi|lee también|lesen sie auch|関連記事|関連リンク|あわせて読みたい|こちらもおすすめ)"
    r"(?:\s*+[:：|].*|\W*)$"
)
_ASKS_SOMETHING = late_pattern(
    r"(?i)^\W*(?:share (?:this|on)|like this (?:story|article)|follow us|sign up (?:for|to)|subscribe (?:to|now)"
    r"|comments?$|photos?$|advertisement$|loading|print$|e-?mail$|tweet$|filed under\b|tagged?:|image(?: credit)?:)"
)


class Place(NamedTuple):
    """The share of a text found in the lines of another, and the last line with it (-1: none)."""

    share: float
    line: int


def main_text(html: str) -> str:
    """Extract the main text of a page as Markdown; "" if trafilatura is not installed or finds none.

    Blocks for about half a second per page, of which most is the start of a process.
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
    """Return the length of a text in Latin letters: a Chinese, Japanese or Korean one counts as two."""
    return len(text) + len(_DENSE.findall(text))


def _pieces(blocks: Sequence[Block]) -> list[Block]:
    """Return the pieces of a page: content blocks, and links with content beside them, such as entry headings and table
    cells."""
    beside: set[tuple[int, ...]] = set()
    for block in filter(_is_content, blocks):
        beside |= {block.place[:-1], block.place[:-2]}

    def belongs(block: Block) -> bool:
        inside = block.place[:-1] in beside or (block.tag in _HEADINGS and block.place[:-2] in beside)
        return not block.around and (block.links < _ALL_LINK or inside)

    return list(filter(belongs, blocks))


def _is_article(html: str, text: str, pieces: Sequence[Block]) -> bool:
    """Whether trafilatura's text is what the page is about, neither a part of it nor including menus."""
    if _has_prose(text):
        return _calls_itself_article(html) or _holds(text, pieces)
    return len(text) <= _MOST_BESIDE * sum(len(block.line) for block in pieces) and _holds(text, pieces)


def _holds(text: str, pieces: Sequence[Block]) -> bool:
    """Whether the text has most of the pieces, and the entries' headings among them."""
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
    """Whether the page's metadata (Open Graph, schema.org) declare one article."""
    return bool(_ARTICLE_MARK.search(html))


def _article(html: str) -> str | None:
    """Return the article that trafilatura finds; None without it. Precision mode is preferred unless it loses much of
    the prose."""
    if (found := extract_article(html)) is None:
        return None
    return found.strict if _prose(found.strict) >= _STRICT_SHARE * _prose(found.wide) else found.wide


def _prose(text: str) -> int:
    """Count the letters of prose in a text, each line once; of the whole text if it has no prose."""
    return sum(len(line) for line in {*text.split("\n")} if len(line) >= _PROSE) or len(text)


class _Lines:
    """An index of the lines of a text: by four-word sequences, shorter lines as a whole or (`short`) anywhere, such as
    in a table row."""

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
        """Locate a text in the lines."""
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
    """Insert the blocks dropped from within the lines: neighbours of kept prose, before the last of it."""
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
    """Return the page's title and headings, in the form `_without_titles` compares."""
    found = [tree.findtext(".//title") or ""]
    found += ["".join(element.itertext()) for element in list(tree.iter("h1"))[:_FIRST_LINES]]
    found += [element.get("content") or "" for element in tree.iter("meta") if element.get("property") == "og:title"]
    return {" ".join(words_of(title)) for title in found} - {""}


def _without_titles(lines: Sequence[str], titles: Collection[str]) -> list[str]:
    """Drop the title from the first lines."""
    first = [line for line in lines[:_FIRST_LINES] if " ".join(words_of(line)) not in titles]
    return [*first, *lines[_FIRST_LINES:]]


def _without_asides(lines: Sequence[str]) -> list[str]:
    """Drop links to other articles, and appeals to the reader."""
    return [
        line
        for line in lines
        if not (len(line) < _LONGEST_ASIDE and _LEADS_ELSEWHERE.search(line))
        and not (len(line) < _LONGEST_REQUEST and _ASKS_SOMETHING.search(line))
    ]
