"""Whether the grammar ends a command of a bash line wherever the shell does.

The grammar takes some ends of lines for blanks (`echo =~`), and what stands behind them for words of the command.
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
"""What consists of commands: a break in it lies between two of them."""

_OPERATORS = frozenset({";", "&", "|", "|&", "&&", "||", ";;", ";&", ";;&", "(", ")", "\n"})
_SET_FIRST = frozenset({"variable_assignment"})
_INNER_END = late_pattern(r"\s\]\]")
_PATTERN = late_pattern(r"(?:[^\s\]]|\](?!\]))*")


def overlooked(root: "Node", text: str, breaks: Iterable[int]) -> Iterator[int]:
    """Those of the `breaks` in `text` that part no commands for the grammar. A break is the place of a `;`, `&`, `|`,
    `(`, `)` or end of line that parts some for the shell; `text` has a character for each byte."""
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
    """Whether only variables are set before: `A=1 B=2`, and on the next line a command, to which they are given."""
    before = [child.type for child in node.children if child.start_byte < at]
    return node.type == "command" and bool(before) and _SET_FIRST.issuperset(before)


def _is_of_test(node: "Node", text: str, at: int) -> bool:
    """Whether it belongs to the language of `[[ … ]]`, whose end is where the grammar has it."""
    test = text[node.start_byte : node.end_byte]
    if not test.startswith("[[") or len(_INNER_END.findall(test)) > 1:
        return False
    return text[at : at + 1] in "\n()|" or "&&" in (text[at - 1 : at + 1], text[at : at + 2])
