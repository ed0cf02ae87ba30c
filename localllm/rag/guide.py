"""Write the list of collections for the model.

The guide is part of the system prompt, which never changes during a session. A collection created meanwhile is
announced after the latest request.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.llm.tokens import estimate_tokens
from localllm.rag.quoted_descriptions import QUOTED, description_of

if TYPE_CHECKING:
    from localllm.rag.records import Collection

HEAD = "Collections of documents, for search_rag_knowledge_base:"
MOST_TOKENS = 300
MOST_DESCRIBED = 8
_MOST_NAMED = 24
_LENGTHS = (160, 100, 60, 30)
"""Cells of a description: the first length at which the guide is short enough."""

_RULES = "Before you answer what they may tell, search them. Cite a passage as [its reference]."
_NO_RULES = "Search them for what they may tell."


def guide(collections: "Sequence[Collection]", *, brief: bool = False) -> str:
    """Write the routing guidance for these collections, the first of them described, in at most 300 tokens; "" for
    none. `brief`: for a small model, which is not offered list_rag_collections, without the reference to it."""
    if not collections:
        return ""
    described, others = list(collections[:MOST_DESCRIBED]), list(collections[MOST_DESCRIBED:])
    for length in _LENGTHS[1:] if brief else _LENGTHS:
        text = _text(described, others, length, brief=brief)
        if estimate_tokens(text) <= MOST_TOKENS:
            return text
    return _text([], [*described, *others], 0, brief=brief)


def _text(described: "Sequence[Collection]", others: "Sequence[Collection]", length: int, *, brief: bool) -> str:
    lines = [HEAD, *(_line(one, length) for one in described)]
    if others:
        names = ", ".join(one.name for one in others[:_MOST_NAMED])
        pointer = "" if brief else " (list_rag_collections describes them)"
        lines.append(f"- {'also ' if described else ''}{names}{', …' if others[_MOST_NAMED:] else ''}{pointer}")
    quoted = [QUOTED] if any("“" in line for line in lines) else []
    return "\n".join([*lines, *quoted, _NO_RULES if brief else _RULES])


def _line(collection: "Collection", length: int) -> str:
    described = description_of(collection, length)
    return f"- {collection.name}: {described}" if described else f"- {collection.name}"


def announcement(collections: "Sequence[Collection]") -> str:
    """Announce the collections created since the conversation began."""
    lines = [_line(one, _LENGTHS[0]) for one in collections]
    return "\n".join(["[New collections of documents; search_rag_knowledge_base finds them by name:", *lines]) + "]"
