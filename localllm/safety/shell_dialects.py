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
    | {"until"}
)
"""Types of nodes of the grammar that POSIX describes, of those that a plain line has."""

_BRACES = late_pattern(r"\{[^{}]*(?:,|\.\.)")  # bash makes several words of them
_QUOTED_DOLLAR = late_pattern(r"(?<!\\)((?:\\\\)*)\$(?=['\"])")
_WORDS_OF_BASH = late_pattern(r"(?<![^\s;&|()!])\[\[(?=\s)|&>|(?<!\$)\(\((?!\))|\$\[")
_AS_OTHERS = {"[[": ":", "&>": "& >", "((": "( (", "$[": "["}


def is_read_alike(nodes: "Iterable[Node]", text: "Callable[[Node], str]") -> bool:
    """Return whether any shell that POSIX describes reads these nodes of bash's grammar as bash does. `text`: returns
    a node as written."""
    for node in nodes:
        if node.type not in _SHARED:
            return False
        if node.type in ("word", "concatenation") and _BRACES.search(text(node)):
            return False
        if node.type == "$" and (after := node.next_sibling) is not None and after.type == "string":  # $"text"
            return False
    return True


def as_others_read(text: str, reader: Reader) -> str:
    """Return the text written for bash as a shell reads it that knows no `$'…'`, `&>`, `[[`, `((` and `$[`. Of a shell
    with other quotes, without any."""
    if reader == "other":
        return re.sub(r"[\\'\"]", "", text)
    return _WORDS_OF_BASH.sub(lambda found: _AS_OTHERS[found[0]], _QUOTED_DOLLAR.sub(r"\1", text))
