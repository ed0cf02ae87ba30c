"""Find what an answer says was changed, in other words than those of `claimed_files`, and what was not."""

import re

import msgspec

from localllm.agent.checks.unmet_orders import claims_all
from localllm.agent.phrases import claimed_places as places
from localllm.agent.phrases.claimed_files import is_touched
from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern
from localllm.tools.tool_system import ToolSystem

_EXPLAINS = late_pattern(
    r"^\+(?!\+\+ )(?:\s*\*|[^\n]*(?:\"\"\"|'''|#|//|/\*|--|;;|\bhelp\b|@doc|description))", re.MULTILINE
)
"""Matches an added line that may be documentation in code."""


class Changed(msgspec.Struct, frozen=True):
    """The files that a session has changed, and the position of the changes at which its newest run began."""

    paths: frozenset[str]
    position: int


def untouched_places(
    tools: ToolSystem, listing: ProjectListing, changed: Changed, request: str, answer: str
) -> list[str]:
    """Return the files, or the documents as they are called, that the answer says were changed and that were not, and
    those that the request orders to be changed, unless the answer tells of them as left. Reads files."""
    named = [
        one.path
        for one in places.further_places(answer)
        if not is_touched(changed.paths, one.path) and _lacks(tools, listing, one)
    ]
    kinds: list[places.Kind] = [*places.claimed_documents(answer), *places.ordered_documents(request, answer)]
    open_kinds = (
        one for one in dict.fromkeys(kinds) if not any(places.is_of_kind(path, one) for path in changed.paths)
    )
    found = [*named, *(one for one in open_kinds if one != "documentation" or not _explains(tools, changed))]
    if claims_all(answer):
        found += [path for path in places.item_files(request) if not is_touched(changed.paths, path)]
    return found


def _lacks(tools: ToolSystem, listing: ProjectListing, claimed: places.ClaimedPlace) -> bool:
    """Return whether a file of the project has none of the names that an answer tells of."""
    paths = [claimed.path] if (tools.root / claimed.path).is_file() else _of_name(listing, claimed.path)
    texts = [tools.readable_text(path) for path in paths]
    words = [word for name in claimed.names for word in re.findall(r"\w+", name)[:1]]
    return bool(texts) and not any(text is None or any(word in text for word in words) for text in texts)


def _of_name(listing: ProjectListing, path: str) -> list[str]:
    try:
        return [one.path for one in listing.entries if not one.is_dir and f"/{one.path}".endswith(f"/{path}")]
    except OSError:
        return []


def _explains(tools: ToolSystem, changed: Changed) -> bool:
    """Return whether a change may document something within code, or cannot be looked at."""
    return any(one.reason or _EXPLAINS.search(one.diff) for one in tools.changes.diffs_since(changed.position))
