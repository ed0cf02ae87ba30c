"""Extract the text of HTML without scripts, navigation and forms: a line for each block, headings
and list items marked as in Markdown."""

import re
import time

from localllm.base.lazy_patterns import late_pattern

_SECONDS = 5.0
_PIECE = 16_384

_LEFT_OUT = frozenset({"script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "form", "button"})
_BLOCKS = late_pattern(
    "address|article|blockquote|br|dd|div|dl|dt|fieldset|figcaption|figure|h[1-6]|header|hr|li|main|ol|p|pre|section"
    "|table|tbody|td|tfoot|th|thead|tr|ul"
)


_ROW, _CELL = "\x1e", "\x1f"
"""The start or end of a table's row, and the start of a cell, until the text is put together."""
_ROWS = late_pattern(r"\x1e([^\x1e]*)(?=\x1e)")
_OF_ROWS = frozenset({"table", "tbody", "tfoot", "thead", "tr"})
_LONGEST_ROW = 500
_MARKED = late_pattern(r"^(?:#+|-) ")


def html_text(html: str) -> "HtmlText":
    """Extract the text of a page, with a time limit. It is fed in pieces: an unclosed tag or comment is
    then scanned once a piece, and not once a letter at the end."""
    from html.parser import HTMLParser  # takes 3 ms, saved in a session without the web

    plain = HtmlText()
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_starttag = plain.start
    parser.handle_endtag = plain.end
    parser.handle_data = plain.data
    end = time.monotonic() + _SECONDS
    for start in range(0, len(html), _PIECE):
        parser.feed(html[start : start + _PIECE])
        if time.monotonic() > end:
            return plain
    if len(parser.rawdata) <= _PIECE:
        parser.close()
    return plain


class HtmlText:
    """Collects the text of a page, a line for each block, and its title."""

    def __init__(self) -> None:
        self.title = ""
        self._parts: list[str] = []
        self._outside: list[str] = []  # open elements whose text is left out
        self._in_title = False

    @property
    def text(self) -> str:
        """The whole text, lines trimmed, without consecutive empty lines."""
        whole = _ROWS.sub(_in_a_line, "".join(self._parts)).replace(_ROW, "\n").replace(_CELL, "\n")
        lines = [" ".join(line.split()) for line in whole.split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def start(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle a start tag."""
        if tag in _LEFT_OUT:
            self._outside.append(tag)
        self._in_title = tag == "title" and not self.title
        if tag in _OF_ROWS or tag in ("td", "th"):
            self._parts.append(_ROW if tag in _OF_ROWS else _CELL)
        elif _BLOCKS.fullmatch(tag):
            self._parts.append("\n- " if tag == "li" else "\n" + "#" * int(tag[1]) + " " if tag[1:].isdigit() else "\n")

    def end(self, tag: str) -> None:
        """Handle an end tag."""
        if tag in self._outside:
            while self._outside.pop() != tag:
                pass
        self._in_title = False
        if tag in _OF_ROWS:
            self._parts.append(_ROW)
        elif _BLOCKS.fullmatch(tag):
            self._parts.append("\n")

    def data(self, data: str) -> None:
        """Handle text."""
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._outside:
            self._parts.append(data.replace(_ROW, " ").replace(_CELL, " "))


def _in_a_line(found: re.Match[str]) -> str:
    """Put the cells of a short row in one line. A long one is of a table that lays out a page."""
    if not found[1].strip():
        return ""
    before, *cells = [" ".join(cell.split()) for cell in found[1].split(_CELL)]
    is_row = len(cells) > 1 and not before and sum(map(len, cells)) <= _LONGEST_ROW and any(cells)
    return f"\n{' | '.join(cells)}" if is_row and not any(map(_MARKED.search, found[1].split("\n"))) else found[0]
