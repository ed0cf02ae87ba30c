"""Write pictures and HTML in Markdown as text: a preview that shows them fetches their addresses.

A model can put into an address what it has read. What is a picture is found by parsing, so that code keeps its letters.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

_ROUNDS = 10  # what was HTML can hold a picture once it is text
_DEEP = 15
"""Nested brackets and quotations beyond which the parser gives up (20); other programs do not."""

_LONG = 20_000  # characters of a paragraph

_NESTED = late_pattern(rf"^(?:[ \t]{{0,9}}(?:[>*+-]|\d{{1,9}}[.)])){{{_DEEP}}}", re.MULTILINE)
_MARKUP = late_pattern(r"(?<!\\)((?:\\\\)*)(?:!\[|<(?=[A-Za-z/!?]))")
_TAG = late_pattern(r"<[A-Za-z/!?]")
_NO_MARKUP = {"![": "!\\[", "<": "\\<"}


def without_pictures(text: str) -> str:
    """Return Markdown whose pictures and HTML are text."""
    if "![" not in text and not _TAG.search(text):
        return text
    lines = text.split("\n")
    if _NESTED.search(text):
        return "\n".join(map(_as_text, lines))
    parser = _parser()
    lines = list(_without_footnotes(lines))
    for _ in range(_ROUNDS):
        places = {at for begin, end in _places("\n".join(lines), parser) for at in range(begin, end)}
        if not places:
            return "\n".join(lines)
        lines = [_as_text(line) if at in places else line for at, line in enumerate(lines)]
    return "\n".join(map(_as_text, lines))


def _as_text(line: str) -> str:
    return _MARKUP.sub(lambda found: found[1] + _NO_MARKUP[found[0].removeprefix(found[1])], line)


def _without_footnotes(lines: list[str]) -> Iterator[str]:
    """Yield the lines, those of footnotes as text: the parser knows none, some programs do."""
    is_footnote = False
    for line in lines:
        is_footnote = "[^" in line or (is_footnote and line[:1] in ("", " ", "\t", ">"))
        yield _as_text(line) if is_footnote else line


def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # only for answers with markup

    made = MarkdownIt("commonmark").enable(["strikethrough", "table"])
    made.core.ruler.disable("inline")  # most paragraphs have no markup
    return made


def _places(text: str, parser: "MarkdownIt") -> Iterator[tuple[int, int]]:
    """Yield the lines, the second exclusive, of blocks with a picture or HTML."""
    definitions: EnvType = {}
    around = (0, 0)
    for token in parser.parse(text, definitions):
        around = (token.map[0], token.map[1]) if token.map else around  # cells of a table have no lines of their own
        if token.type == "html_block" or (
            token.type == "inline"
            and _MARKUP.search(token.content)
            and (_is_intricate(token.content) or _has_picture(token.content, parser, definitions))
        ):
            yield around


def _is_intricate(content: str) -> bool:
    """Return whether parsing would take long, or give up."""
    return len(content) > _LONG or content.count("[") > _DEEP


def _has_picture(content: str, parser: "MarkdownIt", definitions: "EnvType") -> bool:
    found: list[Token] = []
    parser.inline.parse(content, parser, definitions, found)
    return any(
        token.type in ("image", "html_inline")
        or (token.type == "text" and _TAG.search(token.content))  # incorrect HTML, which some programs take
        for token in found
    )
