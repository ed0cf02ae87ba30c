"""Which names a source file defines and which it uses: what a map of a repository is made of."""

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
"""The nodes of all grammars that hold words which name nothing; what is interpolated into a string lies beside them."""

_USE = re.compile(rb"(?:\.|->|::)?[A-Za-z_$\x80-\xff][\w$\x80-\xff]{2,}")
_OF_SOMETHING = re.compile("^(?:->|::)")
_LAST_NAME = re.compile(r"[\w$]+(?=[^\w$]*$)")
_LONGEST = 60  # of a name; longer ones are data
_MOST_NAMES = 3_000
_SIGNATURE = 120  # characters of it that are shown
_SIGNATURE_LINES = 8


class Symbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A definition as the map shows it; lines count from 1. `name` is what others call it by, without what it is in.

    `line` is the one with the name on it, below decorators and annotations. `signature` is the text from there on, on
    one line, without the body. `parent` is the dotted name of what it is defined in.
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
        """The name with what it is in, dotted."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Symbols(msgspec.Struct, frozen=True):
    """What one file defines, in the order of the text, how often it uses which names, and its outline.

    The uses are all identifiers of at least three letters outside of comments and strings, but the definitions' own
    names: which grammar node is a use differs from language to language, which name is defined elsewhere does not. A
    name used of something, as in `a.name`, `a->name` or `A::name`, has a `.` in front.
    """

    outline: Outline
    definitions: tuple[Symbol, ...]
    references: dict[str, int]


def symbols(text: bytes, language: str) -> Symbols:
    """The symbols of `text`, which should be UTF-8; `language` is a key of `grammars.GRAMMARS`.

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
    """The first line of the definition on which its name stands, for it may begin with annotations."""
    word = re.compile(rf"(?<![\w$@\"']){re.escape(name)}(?![\w$])")
    inside = range(definition.line, min(definition.end_line, len(lines)) + 1)
    return next((line for line in inside if word.search(lines[line - 1])), definition.line)


def _signature(lines: list[str]) -> str:
    """The first of `lines`, with those that follow while a bracket is open, white space made single."""
    text = ""
    for line in lines:
        text = f"{text} {line.strip()}" if text and not text.endswith(("(", "[")) else text + line.strip()
        if text.count("(") <= text.count(")") and text.count("[") <= text.count("]"):
            break
    text = " ".join(text[: _SIGNATURE * 4].split()).removesuffix("{").rstrip()
    text = re.sub(r",? (?=[)\]])", "", text)
    return text if len(text) <= _SIGNATURE else text[: _SIGNATURE - 1] + "…"


def _prose(root: "Node", language: str) -> Iterator[tuple[int, int]]:
    """From where to where strings and the like go."""
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
