"""Commands on the collections of documents: /rag and /collections."""

import asyncio

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.i18n import N_, _, ngettext
from localllm.rag.locations import delivered_collections, delivered_remark
from localllm.text.sanitising import clean
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash, table
from localllm.tui.render.report import wrapped

_SHOWN_LINES = 4
_OFFERED = 6_000
"""Characters of the passages added to the next request."""


@slash(
    "rag",
    usage=N_("[query]"),
    forms=N_("/rag | the collections\n/rag how long is the warranty | passages that answer this"),
)
async def rag(call: SlashCall) -> Outcome:
    """Search the collections of documents; the model reads what was found with your next request."""
    query = call.arguments.strip()
    if not query:
        await _list(call)
        return
    if (knowledge := call.chat.knowledge()) is None:
        raise KnowledgeBaseUsageError("rag_no_collections")
    from localllm.tools.knowledge import passages_text

    async with knowledge, saying(call.screen, _("searching")):
        found = await knowledge.search(query)
    screen = call.screen
    for remark in found.remarks:
        screen.print_lines(wrapped("  ", str(remark), "warning", screen.width))
    for hit in found.hits:
        titles = "".join(f" › {title}" for title in hit.titles)
        head = clean(f"{hit.reference}  {hit.collection}{titles}", keep_newlines=False)
        screen.print_lines(wrapped("  ", head, "accent", screen.width))
        for line in clean(hit.text).strip().splitlines()[:_SHOWN_LINES]:
            screen.print_lines(wrapped("    ", line, "dim", screen.width)[:2])
    if not found.hits:
        near = _("Nothing found that answers this. The closest are:")
        screen.print_lines(wrapped("  ", near if found.nearest else _("Nothing found."), "", screen.width))
        for hit in found.nearest:
            place = clean(f"{hit.reference}  {' › '.join((hit.collection, *hit.titles))}", keep_newlines=False)
            screen.print_lines(wrapped("    ", place, "dim", screen.width))
        return
    call.chat.offer_passages(query, passages_text(found.hits, _OFFERED))
    screen.print(("dim", "  " + _("The model reads this with your next request.")))


@slash("collections")
async def collections(call: SlashCall) -> Outcome:
    """List the collections of documents, what each holds and how much."""
    await _list(call)


async def _list(call: SlashCall) -> None:
    screen = call.screen
    knowledge = call.chat.knowledge()
    known = await asyncio.to_thread(knowledge.collections) if knowledge else []
    if delivered := delivered_collections(call.chat.root, {one.name for one in known}):
        screen.print_lines(wrapped("  ", str(delivered_remark(delivered, call.chat.root)), "warning", screen.width))
    elif not known:
        text = _("There are no collections yet. Create one: localllm rag ingest PATH --collection NAME")
        screen.print_lines(wrapped("  ", text, "", screen.width))
    if not known:
        return
    rows = [
        (one.name, "\n".join(filter(None, (ngettext("{count} file", "{count} files", one.files), one.description))))
        for one in known
    ]
    table(screen, rows)
