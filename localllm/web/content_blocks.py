"""Split a page into its text blocks, in order, with the features that separate content from boilerplate."""

import importlib
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from localllm.base.lazy_patterns import late_pattern

_SECONDS = 5.0
_DEEPEST = 200
"""Nesting depth; deeper elements are read as text of the one at this depth. lxml stops at 256."""

_SKIPPED = frozenset(
    """
    script style noscript template svg math nav footer aside form button select option textarea iframe object video
    audio canvas dialog menu head title label
    """.split()
)
_BLOCK_TAGS = frozenset(
    """
    address article blockquote body center dd details div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 header hr
    html li main ol p pre section summary table tbody td tfoot th thead tr ul caption
    """.split()
)
_AROUND = late_pattern(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|breadcrumbs?|crumbs?|footer|foot|sidebar|side-?bar|related|recommend(?:ed|ation"
    r"s?)?|share|sharing|social|cookies?|consent|gdpr|banner|advert(?:isement)?s?|ads?|promo(?:tion)?s?|sponsor(?:ed)?|newsl"
    r"etter|subscri(?:be|ption)|signup|sign-?in|login|paywall|popup|modal|toolbar|pagination|pager|tags?|tag-?list|trending"
    r"|popular|most-?read|outbrain|taboola|widgets?|skip|copyright|byline|author(?:-?(?:box|bio|info))?|post-?profile|user-?name|meta|postmeta|vote|rating-"
    r"?stars|user-?(?:info|card|profile)|signature|sr-only|visually-?hidden|screen-?reader|hidden|print-?only|reader-?tools)"
    r"(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Words in the class or id of boilerplate elements."""

_HIDDEN = late_pattern(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACES = late_pattern(r"\s+")


class Block(msgspec.Struct, frozen=True):
    """A run of text without nested blocks. `links` is the share of its letters in links; `around` says that it or an
    ancestor is named like boilerplate; `place` has its ancestors, from the root."""

    text: str
    tag: str
    links: float
    around: bool
    place: tuple[int, ...]

    @property
    def line(self) -> str:
        """The text as a line of Markdown."""
        match self.tag:
            case "li":
                return f"- {self.text}"
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                return f"{'#' * int(self.tag[1])} {self.text}"
            case _:
                return self.text


class _Open:
    """A block being read."""

    def __init__(self, tag: str, place: tuple[int, ...], *, around: bool) -> None:
        self.tag, self.place, self.around = tag, place, around
        self.parts: list[str] = []
        self.linked = 0

    def take(self) -> Iterator[Block]:
        """Yield the text so far as a block, unless it is blank."""
        text = _SPACES.sub(" ", "".join(self.parts)).strip()
        if text:
            yield Block(text, self.tag, min(1.0, self.linked / len(text)), self.around, self.place)
        self.parts, self.linked = [], 0


def parse_page(html: str) -> Any:
    """Parse a page; None if it cannot be parsed."""
    lxml_html: Any = importlib.import_module("lxml.html")
    etree: Any = importlib.import_module("lxml.etree")
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        return lxml_html.document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return None


def content_blocks(tree: Any) -> list[Block]:
    """Return the blocks of a page, as far as the time limit allows."""
    found: list[Block] = []
    end = time.monotonic() + _SECONDS
    for block in _walk(tree):
        found.append(block)
        if time.monotonic() > end:
            break
    return found


def _walk(tree: Any) -> Iterator[Block]:
    """Walk depth first, without recursion, since pages may be nested arbitrarily deep."""
    number = 0
    open_blocks = [_Open("body", (), around=False)]
    steps: list[tuple[str, Any, bool]] = [("in", tree, False)]
    while steps:
        step, element, in_link = steps.pop()
        current = open_blocks[-1]
        if step == "text":
            _add(current, element, in_link=in_link)
        elif step == "out":
            yield from open_blocks.pop().take()
        elif element.tag == "br" or element.tag == "hr":
            current.parts.append("\n")
        elif not _is_skipped(element):
            number += 1
            in_link = in_link or element.tag == "a"
            children = list(element) if len(open_blocks) < _DEEPEST else []
            inner: list[tuple[str, Any, bool]] = [("text", element.text, in_link)]
            for child in children:
                inner += [("in", child, in_link), ("text", child.tail, in_link)]
            if element.tag in _BLOCK_TAGS:
                yield from current.take()
                open_blocks.append(_opened(element, current, number))
                inner.append(("out", None, False))
            steps.extend(reversed(inner))


def _opened(element: Any, parent: _Open, number: int) -> _Open:
    names = f"{element.get('class') or ''} {element.get('id') or ''}"[:500]
    is_root = element.tag in ("html", "body", "main", "article")
    around = parent.around or (not is_root and bool(_AROUND.search(names)))
    tag = (
        parent.tag
        if element.tag in ("div", "p", "center", "section") and parent.tag in ("li", "td", "th")
        else element.tag
    )
    return _Open(tag, (*parent.place, number), around=around)


def _add(block: _Open, text: str | None, *, in_link: bool) -> None:
    if text:
        block.parts.append(text)
        block.linked += len(text.strip()) if in_link else 0


def _is_skipped(element: Any) -> bool:
    if element.tag in _SKIPPED:
        return True
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or bool(_HIDDEN.search(element.get("style") or ""))
    )


def words_of(text: str) -> list[str]:
    """Return the words by which a text is recognised; in scripts without spaces, each letter."""
    return _WORDS.findall(text.lower())


_WORDS = late_pattern(r"[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]+")
