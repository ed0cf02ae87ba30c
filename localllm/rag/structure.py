"""Split a text into blocks by its type: Markdown, plain text, source code, pages."""

import re
from collections.abc import Iterator, Sequence

from localllm.base.lazy_patterns import late_pattern
from localllm.code.grammars import language_of
from localllm.code.outline import Definition, NotParsedError, outline
from localllm.rag.chunking import Block
from localllm.text.markdown_blocks import BlockSplitter

_HEADING = late_pattern(r" {0,3}(#{1,6})[ \t]++(.*?)[ \t]*+#*+[ \t]*+$")
_UNDERLINED = late_pattern(r"([^\n]+)\n {0,3}(=+|-+)[ \t]*$")
_MARKUP = late_pattern(r"[*_`]+|\[([^\]]*)\]\([^)]*\)")
_LONGEST_TITLE = 120
_LONGEST_HEADING = 1_000  # characters; the patterns are too slow on longer lines
_DEEPEST = 2
"""Definitions nested deeper are part of the enclosing one."""


def markdown_blocks(text: str, kind: str = "lines") -> Iterator[Block]:
    """Split a Markdown text into blocks, each with its heading path. With kind "heading", lines are not counted: the
    text comes from a file without lines."""
    splitter = BlockSplitter()
    titles: dict[int, str] = {}
    line = 1
    for found in (*splitter.feed(text), *splitter.finish()):
        first, line = line, line + found.text.count("\n")
        if found.kind == "blank":
            continue
        heading = _heading(found.text)
        if heading:
            level, title = heading
            titles = {depth: kept for depth, kept in titles.items() if depth < level} | {level: title}
        body = found.text.rstrip("\n")
        block = Block(body, tuple(titles.values()), is_heading=heading is not None)
        yield (
            block._replace(kind="heading")
            if kind == "heading"
            else block._replace(first=first, last=first + body.count("\n"))
        )


def _heading(text: str) -> tuple[int, str] | None:
    """Parse the level and the title of a heading; None if it is none, or too long."""
    text = text.rstrip("\n")
    if len(text) > _LONGEST_HEADING:
        return None
    if match := _HEADING.match(text):
        level, title = len(match[1]), match[2]
    elif match := _UNDERLINED.fullmatch(text):
        level, title = 1 if match[2][0] == "=" else 2, match[1]
    else:
        return None
    return level, re.sub(_MARKUP.pattern, r"\1", title).strip()[:_LONGEST_TITLE]


def plain_blocks(text: str) -> Iterator[Block]:
    """Split a plain text into paragraphs, at empty lines."""
    gathered: list[str] = []
    start = 1
    for number, line in enumerate((*text.split("\n"), ""), 1):
        if line.strip():
            start = start if gathered else number
            gathered.append(line)
        elif gathered:
            yield Block("\n".join(gathered), first=start, last=start + len(gathered) - 1)
            gathered = []


def code_blocks(text: str, language: str) -> Iterator[Block]:
    """Split a source file into its definitions, each with the comments and decorators before it, and the code between
    them. A file that cannot be parsed is split at empty lines."""
    try:
        definitions = outline(text.encode("utf-8", "replace"), language).definitions
    except NotParsedError:
        yield from plain_blocks(text)
        return
    lines = text.split("\n")
    borders = _borders(lines, [one for one in definitions if one.full_name.count(".") < _DEEPEST])
    for (start, names), end in zip(borders, [at for at, _ in borders[1:]] + [len(lines)], strict=True):
        body = "\n".join(lines[start:end])
        trimmed = body.strip("\n")
        if trimmed.strip():
            first = start + 1 + (len(body) - len(body.lstrip("\n")))
            yield Block(trimmed, names, first=first, last=first + trimmed.count("\n"), glue="\n\n")


def _borders(lines: Sequence[str], definitions: Sequence[Definition]) -> list[tuple[int, tuple[str, ...]]]:
    """Return where each block begins (from 0), at and after each definition, and the names of its enclosing
    definitions."""
    found: dict[int, tuple[str, ...]] = {0: ()}
    line = start = 0
    for one in sorted(definitions, key=lambda one: (one.line, -one.end_line)):
        names = tuple(one.full_name.split("."))
        found.setdefault(one.end_line, names[:-1])
        if one.line != line:
            start, line = _with_comments(lines, one.line - 1, line), one.line
        found[start] = names
    return sorted((at, names) for at, names in found.items() if at < len(lines))


def _with_comments(lines: Sequence[str], at: int, least: int) -> int:
    """Return where the comments and decorators right before a line begin, from the line `least` on."""
    while at > least and lines[at - 1].lstrip().startswith(("#", "//", "/*", "*", "@", "--")):
        at -= 1
    return at


def page_blocks(pages: Sequence[str]) -> Iterator[Block]:
    """Split the pages of a document into paragraphs."""
    for number, page in enumerate(pages, 1):
        for block in plain_blocks(page):
            yield block._replace(kind="page", first=number, last=number, glue="\n")


def blocks_of(file_name: str, text: str) -> Iterator[Block]:
    """Split a text file into blocks by the type its name implies."""
    if language := language_of(file_name, text[:4096].encode("utf-8", "replace")):
        return code_blocks(text, language)
    if file_name.lower().endswith((".md", ".markdown", ".mdx", ".rst")):
        return markdown_blocks(text)
    return plain_blocks(text)
