"""The tools search_rag_knowledge_base and list_rag_collections: cited passages from the user's collections."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.text.model_orders import without_template_marks
from localllm.text.sanitising import clean
from localllm.tools.context import Knowledge, ToolContext
from localllm.tools.frames import framed
from localllm.tools.registry import tool

if TYPE_CHECKING:
    from localllm.rag.records import Collection, Found, Hit

_FOUND = N_("{count} passage for “{query}”", "{count} passages for “{query}”")
_OUTDATED = N_(
    "{count} passage for “{query}”; changed or deleted since the ingest: {files}",
    "{count} passages for “{query}”; changed or deleted since the ingest: {files}",
)
_LISTED = N_("{count} collection", "{count} collections")
_LONGEST_DESCRIPTION = 300
"""Terminal cells."""
_LEAST_OF_A_HIT = 200
"""Minimum useful characters of a passage; with less room it is only named."""


_MOST_ASKED_FOR = 50
"""Passages of one search; most would only be named."""


@tool(risk=Risk.SAFE, unlisted=("limit",), brief="Search the user's collections of documents.")
async def search_rag_knowledge_base(
    context: ToolContext, query: str, collection: str = "", limit: int = 0
) -> ToolOutput:
    """Search the user's collections of documents. Gives passages, each with the reference to cite it by.

    query: words the document would use, in its language
    collection: name of one; all are searched without it
    """
    knowledge = _knowledge(context)
    found = await knowledge.search(query, _named(knowledge, collection), min(max(limit, 0), _MOST_ASKED_FOR))
    hits = found.hits
    return ToolOutput(
        payload={
            "query": query,
            "results": [_result(hit) for hit in hits],
            "metadata": {
                "searched": list(found.searched),
                "elsewhere": list(found.elsewhere),
                "outdated": list(found.outdated),
            },
        },
        for_model=framed("document_passages", passages_text(hits, context.output_limit))
        + more_note(found)
        + outdated_note(found)
        if hits
        else _nothing(context, found),
        summary=Phrase(
            _OUTDATED if found.outdated else _FOUND,
            count=len(hits),
            query=clean(query, keep_newlines=False)[:60],
            files=clean(", ".join(found.outdated), keep_newlines=False),
        ),
        untrusted=bool(hits or found.nearest),  # documents are untrusted
    )


@tool(risk=Risk.SAFE)
async def list_rag_collections(context: ToolContext) -> ToolOutput:
    """List the collections of documents: what each holds, and how much."""
    from localllm.rag.quoted_descriptions import QUOTED, description_of, is_users

    collections = _knowledge(context).collections()
    lines = [
        f"- {one.name} ({one.files:,} files, {one.chunks:,} passages):"
        f" {description_of(one, _LONGEST_DESCRIPTION) or 'no description'}"
        for one in collections
    ]
    of_documents = any(one.description and not is_users(one) for one in collections)
    return ToolOutput(
        payload={"collections": [_entry(one) for one in collections]},
        for_model="\n".join([*lines, *([QUOTED] if of_documents else [])]) or "There are no collections.",
        summary=Phrase(_LISTED, count=len(collections)),
        untrusted=of_documents,
    )


def _knowledge(context: ToolContext) -> Knowledge:
    if context.knowledge is None:
        raise KnowledgeBaseUsageError("rag_no_collections")
    return context.knowledge


def _named(knowledge: Knowledge, name: str) -> str:
    """Return the collection `name` means, ignoring case, blanks and hyphens; "" for all."""
    wanted = name.strip()
    if not wanted or wanted.casefold() in ("all", "*", "any", "none", "null"):
        return ""

    def folded(text: str) -> str:
        return "".join(sign for sign in text.casefold() if sign.isalnum())

    return next((one.name for one in knowledge.collections() if folded(one.name) == folded(wanted)), wanted)


def passages_text(hits: "Sequence[Hit]", room: int) -> str:
    """Format the passages in about `room` characters; those without room are only named."""
    parts: list[str] = []
    named: list[str] = []
    for hit in hits:
        reference = f"[{clean(hit.reference, keep_newlines=False)}]"
        place = clean(" › ".join((f"{reference} {hit.collection}", *hit.titles)), keep_newlines=False)
        head = without_template_marks(place)
        text = without_template_marks(clean(hit.text)).strip()
        left = room - sum(map(len, parts)) - len(head) - 2
        if parts and left < min(len(text), _LEAST_OF_A_HIT):
            named.append(reference)
            continue
        parts.append(f"{head}\n{text if len(text) <= left else text[: max(left, _LEAST_OF_A_HIT)] + ' […]'}")
    return "\n\n".join([*parts, *([f"Also found: {', '.join(named)}"] if named else [])])


def more_note(found: "Found") -> str:
    """Say that more passages match, in which files, and how to see them; empty if none does."""
    if not (count := len(found.more)):
        return ""
    new = [one.file for one in found.more if all(one.file != hit.file for hit in found.hits)]
    files = [without_template_marks(clean(name, keep_newlines=False)) for name in dict.fromkeys(new)]
    where = ", ".join([*files[:_MOST_NAMED], *(["…"] if files[_MOST_NAMED:] else [])])
    matches = f"{count} more {'passage matches' if count == 1 else 'passages match'}"
    wanted = min(len(found.hits) + count, _MOST_ASKED_FOR)
    more = f"; limit={wanted} shows more" if wanted > len(found.hits) else ""
    return f"\n[At least {matches}: {where or 'in the same files'}{more}]"


_MOST_NAMED = 6
"""Files with further passages."""


def outdated_note(found: "Found") -> str:
    """Name files whose passages may no longer be what they say."""
    names = ", ".join(without_template_marks(clean(name, keep_newlines=False)) for name in found.outdated)
    return f"\n[Changed or deleted since they were indexed: {names}. Say that it may be out of date.]" if names else ""


def _nothing(context: ToolContext, found: "Found") -> str:
    """Report that nothing was found, and suggest what to search next: titles, collections and their languages."""
    where = f"collection {found.searched[0]}" if len(found.searched) == 1 else "collections"
    if found.elsewhere:
        names = ", ".join(found.elsewhere)
        return (
            f"Nothing about it in the {where}. There are passages in: {names}. Search there, or without a collection."
        )
    near = list(dict.fromkeys(f"- {_place(hit)}" for hit in found.nearest))
    lines = [f"No passage of the {where} clearly answers it."]
    if near:
        lines += ["These share some of its words:", *near]
    there = _knowledge(context).collections()
    lines += [f"Collections: {', '.join([*map(_named_with_language, there[:_MOST_LISTED])])}"]
    lines[-1] += f", and {len(there) - _MOST_LISTED} more" if there[_MOST_LISTED:] else ""
    titles = ", the words of such a title" if near else ""
    return "\n".join((*lines, _AGAIN.format(titles=titles)))


_AGAIN = (
    "Search again in other words: synonyms, the name of the thing{titles}, in the language of the collection."
    " Nothing in two more searches: say it is not there."
)
_MOST_LISTED = 24


def _named_with_language(collection: "Collection") -> str:
    """Return a collection's name, marked if its description is Japanese."""
    from localllm.rag.language_probe import script_of

    return f"{collection.name} (Japanese)" if script_of(collection.description) == "japanese" else collection.name


def _place(hit: "Hit") -> str:
    return without_template_marks(clean(" › ".join((hit.reference, *hit.titles)), keep_newlines=False))


def _result(hit: "Hit") -> dict[str, Json]:
    return {
        "reference": hit.reference,
        "collection": hit.collection,
        "file": hit.file,
        "headings": list(hit.headings),
        "place": {"kind": hit.place.kind, "first": hit.place.first, "last": hit.place.last, "sheet": hit.place.sheet},
        "path": hit.path,
        "text": hit.text,
        "scores": msgspec.to_builtins(hit.scores),
    }


def _entry(collection: "Collection") -> dict[str, Json]:
    return {
        "name": collection.name,
        "description": collection.description,
        "files": collection.files,
        "chunks": collection.chunks,
    }
