"""Tell which texts another shell than bash reads as bash does, and read the others once more.

`sh` is dash on many machines: to it `$'a\\'` ends at the second quote.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

Reader = Literal["bash", "posix", "other"]
"""The shell that reads a text: bash, one that reads what POSIX describes as bash does, or another one."""

_SHARED = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "word", "number", "string", "string_content"}
    | {"raw_string", "concatenation", "simple_expansion", "expansion", "variable_name", "special_variable_name"}
    | {"redirected_statement", "file_redirect", "file_descriptor", "command_substitution", "subshell", "comment"}
    | {"compound_statement", "negated_command", "if_statement", "elif_clause", "else_clause", "for_statement"}
    | {"while_statement", "do_group", "\n", ";", "&", "|", "&&", "||", "!", "(", ")", "{", "}", "$(", "$", "${", '"'}
    | {">", ">>", "<", ">&", "<&", ">|", "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while"}
    | {"until", "case_statement", "case_item", "extglob_pattern", "case", "esac", ";;", "`", "regex", "test_command"}
    | {"unary_expression", "binary_expression", "test_operator", "[", "]", "=", "!=", "-", "+", "?", ":-", ":+", ":?"}
    | {":=", "%", "%%", "#", "##"}
)
"""Types of nodes of the grammar that POSIX describes, of those that a plain line has."""

_TESTS = frozenset({"test_operator", "=", "!="})  # `[ a < b ]` reads a file

_EXPANSION = late_pattern(
    r"\$\{(?:#?(?:\w+|[@*#?$!-])|(?:\w+|[@*])(?::?[-+?=]|%%?|##?)(?:[^'\"\\$`{}()<>;&|#]|\$(?=\w))*)\}"
)
"""The expansions that POSIX describes, without quotes or substitutions in them, which shells read differently."""

_PATTERN = late_pattern(r"[^'\"\\$`{}()<>;&]*")  # of `case`

_BRACES = late_pattern(r"\{[^{}]*(?:,|\.\.)")  # bash makes several words of them
_QUOTED_DOLLAR = late_pattern(r"(?<!\\)((?:\\\\)*)\$(?=['\"])")
_WORDS_OF_BASH = late_pattern(r"(?<![^\s;&|()!])\[\[(?=\s)|&>|(?<!\$)\(\((?!\))|\$\[")
_AS_OTHERS = {"[[": ":", "&>": "& >", "((": "( (", "$[": "["}


def is_read_alike(nodes: "Iterable[Node]", text: "Callable[[Node], str]") -> bool:
    """Return whether any shell that POSIX describes reads these nodes of bash's grammar as bash does. `text`: returns
    a node as written."""
    return all(node.type in _SHARED and _is_node_read_alike(node, text) for node in nodes)


def _is_node_read_alike(node: "Node", text: "Callable[[Node], str]") -> bool:
    match node.type:
        case "word" | "concatenation":
            return not _BRACES.search(text(node))
        case "$":  # $"text"
            return (after := node.next_sibling) is None or after.type != "string"
        case "expansion":
            return bool(_EXPANSION.fullmatch(text(node)))
        case "extglob_pattern":
            return bool(_PATTERN.fullmatch(text(node)))
        case "binary_expression":
            return all(child.is_named or child.type in _TESTS for child in node.children)
        case "command_substitution":  # shells differ in quotes within back quotes
            return node.children[0].type != "`" or not {"\\", '"'} & set(text(node))
        case _:
            return True


def as_others_read(text: str, reader: Reader) -> str:
    """Return the text written for bash as a shell reads it that knows no `$'…'`, `&>`, `[[`, `((` and `$[`. Of a shell
    with other quotes, without any."""
    if reader == "other":
        return re.sub(r"[\\'\"]", "", text)
    return _WORDS_OF_BASH.sub(lambda found: _AS_OTHERS[found[0]], _QUOTED_DOLLAR.sub(r"\1", text))
