"""Where the bodies of functions lie: the lines that can be left out while the outline stays readable."""

from typing import TYPE_CHECKING, NamedTuple

from localllm.syntax.outline import parse, valid_utf8

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = ("function", "method", "constructor")
_STRINGS = ("string", "concatenated_string")


class Body(NamedTuple):
    """Lines counted from 1, `last` included: neither the signature, nor the docstring, nor a closing bracket."""

    first: int
    last: int


def bodies(text: bytes, language: str) -> list[Body]:
    """The bodies of at least two lines, in the order of the text, none inside another; `language` is a key of
    `grammars.GRAMMARS`. Raises NotParsedError."""
    text = valid_utf8(text)
    waiting = [parse(text, language).root_node]
    found: list[Body] = []
    while waiting:
        node = waiting.pop()
        inner = node.child_by_field_name("body") if any(name in node.type for name in _FUNCTIONS) else None
        if inner is None:
            waiting += node.children
        elif (body := _lines(inner, text)).last > body.first:
            found.append(body)
    return sorted(found)


def _lines(block: "Node", text: bytes) -> Body:
    first, last = block.start_point.row + 1, block.end_point.row + (block.end_point.column > 0)
    if text[block.start_byte : block.start_byte + 1] == b"{":
        return Body(first + 1, last - 1)
    statement = block.named_children[0] if block.named_children else None
    string = statement.named_children[0] if statement is not None and statement.named_children else None
    if statement is not None and statement.type == "expression_statement" and string and string.type in _STRINGS:
        return Body(statement.end_point.row + 2, last)
    return Body(first, last)
