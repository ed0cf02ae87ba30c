"""Extract the names that a source file defines and uses, for the repository map."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from localllm.code.grammars import load
from localllm.code.outline import Definition, Outline, analyse, outline_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_PROSE = frozenset(
    {"ansi_c_string", "char_literal", "character_literal", "heredoc_content", "interpreted_string_literal_content"}
    | {"jsx_text", "multiline_string_fragment", "nowdoc_string", "raw_string", "raw_string_content"}
    | {"raw_string_literal", "raw_string_literal_content", "regex_pattern", "string_content", "string_fragment"}
    | {"string_literal_content", "text", "verbatim_string_literal"}
)
"""Nodes of all grammars whose words are no names; interpolated code in a string is a separate node."""

_USE = re.compile(rb"(?:\.|->|::)?[A-Za-z_$\x80-\xff][\w$\x80-\xff]{2,}")
_OF_SOMETHING = re.compile("^(?:->|::)")
_LAST_NAME = re.compile(r"[\w$]+(?=[^\w$]*$)")
_LONGEST = 60  # characters of a name; longer ones are data
_MOST_NAMES = 3_000
_SIGNATURE = 120  # characters of it that are shown
_SIGNATURE_LINES = 8


class Symbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A definition as shown in the map; lines count from 1. `name` is without its parent.

    `line` is the line with the name, below decorators and annotations. `signature` is the text from there, on
    one line, without the body. `parent` is the dotted name of the enclosing definition.
    """

    kind: str
    name: str
    line: int
    end_line: int
    parent: str
    signature: str
    complexity: int = 0

    @property
    def full_name(self) -> str:
        """The name with its parent, dotted."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Symbols(msgspec.Struct, frozen=True):
    """The definitions of a file in text order, the number of uses of each name, and the outline.

    Uses are all identifiers of at least three letters outside of comments and strings, except the definitions' own
    names: which grammar nodes are uses depends on the language, which names are defined elsewhere does not. A
    name accessed on something, as in `a.name`, `a->name` or `A::name`, has a leading `.`.
    """

    outline: Outline
    definitions: tuple[Symbol, ...]
    references: dict[str, int]


def symbols(text: bytes, language: str) -> Symbols:
    """Extract the symbols of `text`, which should be UTF-8; `language` is a key of `grammars.GRAMMARS`.

    Raises NotParsedError, as `outline` does.
    """
    analysed = analyse(text, language)
    made = outline_of(analysed)
    text = analysed.text
    definitions = tuple(_named(made.definitions, text.decode().split("\n")))
    references = _references(text, [*analysed.found.comments, *_prose(analysed.root, language)])
    references.subtract(definition.name for definition in definitions)
    used = {name: count for name, count in references.most_common(_MOST_NAMES) if count > 0}
    return Symbols(made, definitions, used)


def _named(definitions: Iterable[Definition], lines: list[str]) -> Iterator[Symbol]:
    for definition in definitions:
        if not (name := _LAST_NAME.search(definition.name.rstrip("?!="))):
            continue
        line = _line_with(name[0], lines, definition)
        yield Symbol(
            kind=definition.kind,
            name=name[0],
            line=line,
            end_line=definition.end_line,
            parent=definition.parent,
            signature=_signature(lines[line - 1 : min(line - 1 + _SIGNATURE_LINES, definition.end_line)]),
            complexity=definition.complexity,
        )


def _line_with(name: str, lines: list[str], definition: Definition) -> int:
    """Return the first line of the definition with its name, as it may begin with annotations."""
    word = re.compile(rf"(?<![\w$@\"']){re.escape(name)}(?![\w$])")
    inside = range(definition.line, min(definition.end_line, len(lines)) + 1)
    return next((line for line in inside if word.search(lines[line - 1])), definition.line)


def _signature(lines: list[str]) -> str:
    """Join the first of `lines` with those that follow while a bracket is open, collapsing white space."""
    text = ""
    for line in lines:
        text = f"{text} {line.strip()}" if text and not text.endswith(("(", "[")) else text + line.strip()
        if text.count("(") <= text.count(")") and text.count("[") <= text.count("]"):
            break
    text = " ".join(text[: _SIGNATURE * 4].split()).removesuffix("{").rstrip()
    text = re.sub(r",? (?=[)\]])", "", text)
    return text if len(text) <= _SIGNATURE else text[: _SIGNATURE - 1] + "…"


def _prose(root: "Node", language: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of strings and the like."""
    from tree_sitter import QueryCursor

    if query := _prose_query(language):
        for nodes in QueryCursor(query).captures(root).values():
            yield from ((node.start_byte, node.end_byte) for node in nodes)


@cache
def _prose_query(language: str) -> "Query | None":
    from tree_sitter import Query

    grammar = load(language)
    named = (number for number in range(grammar.node_kind_count) if grammar.node_kind_is_named(number))
    kinds = sorted(_PROSE & {grammar.node_kind_for_id(number) for number in named})
    return Query(grammar, f"[{' '.join(f'({kind})' for kind in kinds)}] @prose") if kinds else None


def _references(text: bytes, passed_over: list[tuple[int, int]]) -> Counter[str]:
    parts: list[bytes] = []
    position = 0
    for start, end in sorted(passed_over):
        if start > position:
            parts.append(text[position:start])
        position = max(position, end)
    parts.append(text[position:])
    counts: Counter[str] = Counter()
    for use, count in Counter(_USE.findall(b" ".join(parts))).items():
        if len(use) <= _LONGEST:
            counts[_OF_SOMETHING.sub(".", use.decode("utf-8", "replace"))] += count
    return counts
