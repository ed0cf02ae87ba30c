"""Read the sources of a round in parallel; store each page before use, and mark copies."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from localllm.base import offline
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import N_
from localllm.research.records import Source
from localllm.research.remark_texts import remark
from localllm.research.run_context import RunContext, remark_of
from localllm.research.run_events import PageRead
from localllm.research.run_store import StoredPage
from localllm.text import near_duplicates
from localllm.text.sanitising import clean
from localllm.web.addresses import UNLESS_ALLOWED

_ONLY_SO_MANY = N_(
    "Only one page was read: more were not allowed.", "Only {count} pages were read: more were not allowed."
)
_NOT_PUBLIC = N_(
    "One page was not read, as its address is not that of a public site: {places} (see web.allow_private).",
    "{count} pages were not read, as their addresses are not those of public sites: {places} (see web.allow_private).",
)
_MOST_NAMED = 5
_OFFLINE = N_("Pages are not read while the program is offline.")
_LONGEST_TEXT = 1_000_000
"""Characters stored per page: a book fits."""


async def read_sources(run: RunContext) -> list[Source]:
    """Read the unread sources, as many pages as options and budget allow; return the newly read.

    An unreadable page is replaced by the next one found. A shortage is mentioned in the report.
    """
    state, options = run.state, run.options
    found = [source for source in state.sources if source.state == "found"]
    waiting = [source.id for source in sorted(found, key=lambda one: -one.round)]  # this round's sources first
    left = options.max_search
    if options.max_pages:
        left = min(left, max(0, options.max_pages - state.numbers.pages))
    read: list[str] = []
    while waiting and left and (run.budget.allows() or not read):
        batch, waiting = waiting[:left], waiting[left:]
        done = await read_batch(run, [state.source(name) for name in batch])
        fine = [source.id for source in done if source.state == "read"]
        left -= len(fine)
        read += fine
    if waiting and not left and options.max_pages and state.numbers.pages >= options.max_pages:
        run.remark(remark(_ONLY_SO_MANY, count=options.max_pages))
    mark_copies(run, read)
    _tell_of_refused(run)
    _tell_of_too_few(run)
    return [state.source(name) for name in read]


async def read_batch(run: RunContext, sources: Sequence[Source]) -> list[Source]:
    """Read these sources and update them in the state as read or failed."""
    done = await _read_all(run, sources)
    _put(run, done)
    return done


async def _read_all(run: RunContext, sources: Sequence[Source]) -> list[Source]:
    """Read all concurrently; the reader limits each host to one request at a time."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read(run, source)) for source in sources]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


async def _read(run: RunContext, source: Source) -> Source:
    """Return the source as read or failed."""
    page = run.store.page(source.url) or await _fetched(run, source)
    if page.problem is not None or not page.text_hash:
        problem = page.problem or remark(N_("The page has no text."))
        done = msgspec.structs.replace(source, state="failed", problem=problem)
    else:
        done = msgspec.structs.replace(
            source,
            state="read",
            title=source.title or page.title,
            accessed=page.accessed,
            text_hash=page.text_hash,
            characters=page.characters,
            local=source.local or page.kind == "local",  # decided by the text's origin, not by who found it
        )
    run.tell(PageRead(run=run.state.id, source=done.id, url=done.url, title=done.title, problem=done.problem))
    return done


async def _fetched(run: RunContext, source: Source) -> StoredPage:
    """Fetch and store the page, or its error."""
    if run.reader is None:
        problem = remark(_OFFLINE if offline.is_on() else N_("The web is off."))
        run.remark(problem)
        return StoredPage(source.url, problem=problem)
    try:
        page = await run.reader.read(source.url)
    except LocalLLMError as error:
        return run.store.keep_page(source.url, StoredPage(source.url, problem=remark_of(error)))
    text = clean(page.text)[:_LONGEST_TEXT]
    problem = remark_of(page.failure) if page.failure and not text.strip() else None
    if page.failure and (problem is None or "url" not in page.failure.params):
        run.remark(remark_of(page.failure))
    stored = StoredPage(page.url, clean(page.title, keep_newlines=False), page.kind, page.accessed, problem=problem)
    return run.store.keep_page(source.url, stored, text if text.strip() else "")


def _put(run: RunContext, done: Sequence[Source]) -> None:
    """Replace the sources in the state."""
    places = {source.id: place for place, source in enumerate(run.state.sources)}
    for source in done:
        run.state.sources[places[source.id]] = source
        run.state.numbers.pages += source.state == "read"


def mark_copies(run: RunContext, names: Sequence[str]) -> None:
    """Mark each source whose text nearly equals an earlier one's."""
    signatures: dict[str, tuple[int, ...]] = {}
    places = {source.id: place for place, source in enumerate(run.state.sources)}
    for source in list(run.state.sources):
        if source.state != "read":
            continue
        signature = near_duplicates.signature(run.store.text(source.text_hash))
        if source.id in names:
            first = next(
                (name for name, other in signatures.items() if near_duplicates.is_near_duplicate(signature, other)), ""
            )
            if first:
                run.state.sources[places[source.id]] = msgspec.structs.replace(source, copy_of=first)
                continue
        if not source.copy_of:
            signatures[source.id] = signature


def _tell_of_refused(run: RunContext) -> None:
    """Name the pages that were found and refused, such as those of this machine, with the setting that allows them."""
    failed = [source for source in run.state.sources if source.state == "failed" and source.problem is not None]
    refused = [one.url for one in failed if one.problem and one.problem.params.get("reason") in UNLESS_ALLOWED]
    if refused:
        places = list(dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in refused))
        named = ", ".join([*places[:_MOST_NAMED], *(["…"] if places[_MOST_NAMED:] else [])])
        said = remark(_NOT_PUBLIC, count=len(refused), places=named)
        earlier = [one for one in run.state.remarks if one.text == said.text and one != said]  # of a round with fewer
        run.state.remarks = [one for one in run.state.remarks if one not in earlier]
        run.remark(said)


def _tell_of_too_few(run: RunContext) -> None:
    state = run.state
    count = sum(source.state == "read" for source in state.sources)
    if state.round == 0 and count < run.options.min_search:
        text = N_(
            "Only one source could be read; {least} were wanted.",
            "Only {count} sources could be read; {least} were wanted.",
        )
        none = N_("No source could be read; {least} were wanted.")
        run.remark(remark(text if count else none, count=count, least=run.options.min_search))
