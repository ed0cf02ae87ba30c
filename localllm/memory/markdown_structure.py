"""Parse the block structure of Markdown line by line: headings, list items, fences, and their ends.

It follows CommonMark as far as an editor needs, which must not mistake a fence's or comment's content for structure.
The lines of the blocks, joined, are the text.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["front", "blank", "heading", "item", "fence", "html", "rule", "text"]


class Block(NamedTuple):
    """The lines `start` to `end` (exclusive). An `item` is an outermost list item, including nested lines,
    without the blank lines after it. `level` and `title` are for headings; `closed` is False for an unclosed fence or
    comment, which extends to the end of the text."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: str = ""
    closed: bool = True


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])(?=[ \t]|$)([ \t]*)")
_INTERRUPTING = re.compile(r" {0,3}(?:[-*+]|1[.)])[ \t]+\S")
_FRONT = {"---": ("---", "..."), "+++": ("+++",)}
_YAML = re.compile(r"[ \t#\[\]{})]|-(?:[ \t]|$)|.*?:(?:[ \t]|$)")
"""The beginning of a front matter line: indented, a comment, a value in brackets, a list, a key."""
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7}) \S|={7}$")
"""The conflict markers of git."""

_DEFINITION = re.compile(r""" {0,3}\[[^\[\]]+\]:[ \t]*[^ \t]+(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$""")
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_HTML = (
    (
        re.compile(r" {0,3}<(?:pre|script|style|textarea)(?=[\s>]|$)", re.I),
        re.compile(r"</(pre|script|style|textarea)>", re.I),
    ),
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (re.compile(r" {0,3}<\?"), re.compile(r"\?>")),
    (re.compile(r" {0,3}<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r" {0,3}<![A-Za-z]"), re.compile(r">")),
    (re.compile(rf" {{0,3}}</?(?:{_BLOCK_TAGS})(?=[\s>]|/>|$)", re.I), None),
)
"""The beginning and end of an HTML block; None for a blank line (CommonMark 4.6, kinds 1 to 6)."""
_ATTRIBUTE = r"""[ \t]+[A-Za-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^ \t"'=<>`]+|'[^']*'|"[^"]*"))?"""
_TAG_ALONE = re.compile(rf" {{0,3}}<(?:/[A-Za-z][\w-]*|[A-Za-z][\w-]*(?:{_ATTRIBUTE})*)[ \t]*/?>[ \t]*$")
"""Kind 7: also ended by a blank line, but it does not interrupt a paragraph."""


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`, each with its own newline (`\\n`, `\\r\\n` or `\\r`)."""
    return _LINE.findall(text)


def ending(line: str) -> str:
    """Return the newline at the end of `line`, empty if it has none."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1:] if line.endswith(("\n", "\r")) else ""


def scan(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a text; every line is in one."""
    return _Scanner(lines).blocks()


class _Scanner:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [line.rstrip("\r\n") for line in lines]
        if self._lines:
            self._lines[0] = self._lines[0].removeprefix("\ufeff")
        self._blocks: list[Block] = []

    def blocks(self) -> list[Block]:
        at = self._front_matter()
        while at < len(self._lines):
            block = self._block_at(at)
            self._blocks.append(block)
            at = block.end
        return self._blocks

    def _front_matter(self) -> int:
        """Return the index after the front matter; unclosed front matter is none.
        An empty line or a sentence below the first line makes that a rule."""
        ends = _FRONT.get(self._lines[0].rstrip()) if self._lines else None
        if ends is None or not "".join(self._lines[1:2]).strip():
            return 0
        for at, line in enumerate(self._lines[1:], start=1):
            if line.rstrip() in ends:
                self._blocks.append(Block("front", 0, at + 1))
                return at + 1
            if ends == _FRONT["---"] and line.strip() and not _YAML.match(line):
                return 0
        return 0

    def _block_at(self, at: int) -> Block:
        line = self._lines[at]
        if not line.strip():
            return Block("blank", at, at + 1)
        if (heading := _ATX.match(line)) and not _is_code(line):
            title = _CLOSING_HASHES.sub("", line[heading.end() :].strip())
            return Block("heading", at, at + 1, len(heading[1]), title.strip())
        if _RULE.match(line):
            return Block("rule", at, at + 1)
        if _ITEM.match(line):
            return Block("item", at, self._item_end(at))
        if fence := _FENCE.match(line):
            return self._fence(at, fence[1])
        for begins, ends in _HTML:
            if begins.match(line):
                return self._html(at, ends)
        if _TAG_ALONE.match(line):
            return self._html(at, None)
        return self._text(at)

    def _fence(self, at: int, mark: str) -> Block:
        for line in range(at + 1, len(self._lines)):
            if _closes(self._lines[line], mark):
                return Block("fence", at, line + 1)
        return Block("fence", at, len(self._lines), closed=False)

    def _html(self, at: int, ends: re.Pattern[str] | None) -> Block:
        for line in range(at, len(self._lines)):
            if ends is None and not self._lines[line].strip():
                return Block("html", at, line)
            if ends is not None and ends.search(self._lines[line]):
                return Block("html", at, line + 1)
        return Block("html", at, len(self._lines), closed=ends is None)

    def _text(self, at: int) -> Block:
        """Parse a paragraph (a quotation, a table, indented code), or a heading with an underline."""
        if _is_code(self._lines[at]) or _DEFINITION.match(self._lines[at]):
            return Block("text", at, at + 1)
        quoted = self._lines[at].lstrip().startswith(">")
        end = at + 1
        while end < len(self._lines):
            line = self._lines[end]
            if not quoted and (underline := _UNDERLINE.match(line)):
                title = " ".join(part.strip() for part in self._lines[at:end])
                return Block("heading", at, end + 1, 1 if underline[1][0] == "=" else 2, title)
            if not line.strip() or _interrupts(line) or (quoted and _ITEM.match(line)):
                break
            end += 1
        return Block("text", at, end)

    def _item_end(self, at: int) -> int:
        """Return the end of the item that begins at `at`: its lines are indented to its content or continue its
        paragraph."""
        column = content_column(self._lines[at])
        fence = _opened_fence(self._lines[at], column)
        paragraph = _is_paragraph(self._lines[at])
        end, line = at + 1, at + 1
        while line < len(self._lines):
            text = self._lines[line]
            if not text.strip():
                if line == at + 1 and not item_content(self._lines[at]).strip():
                    return end  # an item may begin with one blank line, not with two
                paragraph = False
            elif indentation(text) >= column:
                nested = _dedented(text, column)
                if fence or _FENCE.match(nested):
                    fence, paragraph = _next_fence(fence, nested), False
                elif paragraph:
                    paragraph = not _UNDERLINE.match(nested) and (_is_paragraph(nested) or not _interrupts(nested))
                else:
                    paragraph = _is_paragraph(nested)
                end = line + 1
            elif paragraph and goes_on(text):
                end = line + 1
            else:
                return end
            line += 1
        return end


def _is_code(line: str) -> bool:
    return indentation(line) >= 4


def indentation(line: str) -> int:
    """Return the column of the first non-space character; tab stops are at every fourth."""
    return _width(line[: len(line) - len(line.lstrip(" \t"))], 0)


def _width(space: str, column: int) -> int:
    for character in space:
        column += 4 - column % 4 if character == "\t" else 1
    return column


def content_column(line: str) -> int:
    """Return the column of the item's content, to which nested lines are indented."""
    if not (item := _ITEM.match(line)):
        return 0
    marker = len(item[1]) + len(item[2])
    column = _width(item[3], marker)
    beyond = column - marker
    return marker + 1 if not line[item.end() :].strip() or beyond > 4 else column


def item_content(line: str) -> str:
    """Return the text after the marker of an item's first line."""
    return line[item.end() :] if (item := _ITEM.match(line)) else line


def item_marker(line: str) -> str:
    """Return the marker of an item's first line with the white space around it, such as `- `."""
    return item[0] if (item := _ITEM.match(line)) else ""


def _is_paragraph(line: str) -> bool:
    """Return whether the first line of a block begins a paragraph, possibly in nested items."""
    at = 0
    while item := _ITEM.match(line, at):
        if len(item[3]) > 4:
            return False
        at = item.end()
    line = line[at:]
    if not line.strip() or _is_code(line) or line.lstrip().startswith(">"):
        return False
    return not (_ATX.match(line) or _FENCE.match(line) or any(begins.match(line) for begins, _ in _HTML))


def _dedented(line: str, column: int) -> str:
    return " " * (indentation(line) - column) + line.lstrip(" \t")


def _opened_fence(line: str, column: int) -> str:
    found = _FENCE.match(item_content(line)) if column else None
    return found[1] if found else ""


def _next_fence(fence: str, line: str) -> str:
    """Return the marker of the fence that is open after `line`."""
    if fence:
        return "" if _closes(line, fence) else fence
    found = _FENCE.match(line)
    return found[1] if found else ""


def _closes(line: str, mark: str) -> bool:
    bare = line.strip(" \t")
    return indentation(line) <= 3 and len(bare) >= len(mark) and not bare.strip(mark[0])


def goes_on(line: str) -> bool:
    """Return whether `line`, unindented right after an item's paragraph, would continue it."""
    return bool(line.strip()) and not (_interrupts(line) or _ITEM.match(line) or _CONFLICT.match(line))


def goes_on_text(line: str) -> bool:
    """Return whether `line` would continue a paragraph outside items; an item not numbered 1 does."""
    return bool(line.strip()) and not (_interrupts(line) or _CONFLICT.match(line))


def conflict(line: str) -> str:
    """Return the marker (`<`, `|`, `=` or `>`) of a git conflict line, empty if it is none."""
    return line[0] if _CONFLICT.match(line) else ""


def underlines(line: str) -> bool:
    """Return whether `line` would make the paragraph before it a heading."""
    return _UNDERLINE.match(line) is not None


def _interrupts(line: str) -> bool:
    """Return whether `line` ends a paragraph without a blank line between."""
    if _is_code(line):
        return False
    if _ATX.match(line) or _RULE.match(line) or _FENCE.match(line) or _INTERRUPTING.match(line):
        return True
    return line.lstrip().startswith(">") or any(begins.match(line) for begins, _ in _HTML)
