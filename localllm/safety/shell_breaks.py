"""Find ends of commands in a bash line that the grammar misses.

The grammar takes some line ends for blanks (`echo =~`), and what follows them for arguments of the command.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLDERS = frozenset(
    {
        "c_style_for_statement",
        "case_item",
        "case_statement",
        "command_substitution",
        "compound_statement",
        "do_group",
        "elif_clause",
        "else_clause",
        "for_statement",
        "function_definition",
        "heredoc_redirect",
        "if_statement",
        "list",
        "pipeline",
        "process_substitution",
        "program",
        "subshell",
        "while_statement",
    }
)
"""Nodes that consist of commands: a break in them lies between two commands."""

_OPERATORS = frozenset({";", "&", "|", "|&", "&&", "||", ";;", ";&", ";;&", "(", ")", "\n"})
_SET_FIRST = frozenset({"variable_assignment"})
_INNER_END = late_pattern(r"\s\]\]")
_PATTERN = late_pattern(r"(?:[^\s\]]|\](?!\]))*")


def overlooked(root: "Node", text: str, breaks: Iterable[int]) -> Iterator[int]:
    """Yield the `breaks` in `text` that separate no commands for the grammar. A break is the position of a `;`, `&`,
    `|`, `(`, `)` or line end that does for the shell; `text` has one character for each byte."""
    for at in breaks:
        node = root.descendant_for_byte_range(at, at + 1)
        if node is None or not _parts(node, text, at):
            yield at


def _parts(node: "Node", text: str, at: int) -> bool:
    if text[at : at + 1] == "\n" and (node.type in _HOLDERS or _is_behind_assignments(node, at)):
        return True
    above = node.parent
    if above is not None and node.type in _OPERATORS and above.type in _HOLDERS:
        return True
    while above is not None and node.type not in _HOLDERS:
        if node.type == "array":
            return text[at : at + 1] in "\n()"
        if node.type == "test_command":
            return _is_of_test(node, text, at)
        if node.type == "regex" and not _PATTERN.fullmatch(text, node.start_byte, node.end_byte):
            return False
        node, above = above, above.parent
    return False


def _is_behind_assignments(node: "Node", at: int) -> bool:
    """Return whether only assignments precede it, to which the grammar adds the next line: `A=1 B=2`."""
    before = [child.type for child in node.children if child.start_byte < at]
    return node.type == "command" and bool(before) and _SET_FIRST.issuperset(before)


def _is_of_test(node: "Node", text: str, at: int) -> bool:
    """Return whether it belongs to a `[[ … ]]` test, whose end the grammar finds."""
    test = text[node.start_byte : node.end_byte]
    if not test.startswith("[[") or len(_INNER_END.findall(test)) > 1:
        return False
    return text[at : at + 1] in "\n()|" or "&&" in (text[at - 1 : at + 1], text[at : at + 2])
