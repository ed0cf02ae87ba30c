"""Compare two versions of a file without what no program runs: comments, docstrings and blank lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localllm.base.lazy_patterns import late_pattern
from localllm.code.outline import NotParsedError, analyse

if TYPE_CHECKING:
    from tree_sitter import Node

_ACTIVE = late_pattern(r">>> |```|^#!|coding[:=]|\bgo:|\+build\b|import \"C\"|#(?:include|cgo)\b|@ts-|#\s*type:")
"""Matches comments that tools read, and docstrings with tests."""


def have_same_code(old: str, new: str, language: str) -> bool:
    """Return whether two texts differ in nothing that runs. `language` is a key of `grammars.GRAMMARS`."""
    try:
        return _code(old.encode(), language) == _code(new.encode(), language)
    except NotParsedError:
        return False


def _code(text: bytes, language: str) -> tuple[list[bytes], list[bytes]]:
    """Return the lines of code without the blanks at their ends, and the literals of several lines, in which these
    count. Raises NotParsedError, also for a text with syntax errors."""
    analysed = analyse(text, language)
    if analysed.root.has_error:
        raise NotParsedError("broken")
    docstrings = _docstrings(analysed.root) if language == "python" else ()
    parts: list[bytes] = []
    left_out: set[tuple[int, int]] = set()
    position = 0
    for start, end in sorted((*analysed.found.comments, *docstrings)):
        if start >= position and not _ACTIVE.search(analysed.text[start:end].decode("utf-8", "replace")):
            parts.append(analysed.text[position:start])
            left_out.add((start, end))
            position = end
    parts.append(analysed.text[position:])
    lines = [line.rstrip() for line in b"".join(parts).splitlines() if line.strip()]
    literals = [place for place in _literals(analysed.root) if place not in left_out]
    return lines, [analysed.text[start:end] for start, end in literals]


def _literals(node: "Node") -> Iterator[tuple[int, int]]:
    """Yield the ranges of strings and the like that have several lines."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.start_point[0] == node.end_point[0] or "comment" in node.type:
            continue
        if "string" in node.type or "heredoc" in node.type or (node.is_named and not node.children):
            yield node.start_byte, node.end_byte
        else:
            waiting.extend(node.children)


def _docstrings(node: "Node") -> Iterator[tuple[int, int]]:
    """Yield the ranges of strings that are statements of their own."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        child = node.children[0] if node.type == "expression_statement" and node.child_count == 1 else None
        if child is not None and child.type == "string":
            if not any(part.type == "interpolation" for part in child.children):
                yield child.start_byte, child.end_byte
        elif not node.type.endswith("expression"):
            waiting.extend(node.children)
