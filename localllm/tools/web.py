"""The tools web_search, searxng_search and fetch_page. Their results are untrusted and framed as such."""

from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json, Notice
from localllm.base.i18n import N_, Phrase
from localllm.config.schema import WebSettings
from localllm.safety.tool_definition import Preview, Risk, Tool, ToolOutput
from localllm.text.sanitising import clean
from localllm.tools.context import ToolContext
from localllm.tools.frames import framed
from localllm.tools.registry import tool
from localllm.tools.results import cap

if TYPE_CHECKING:
    from localllm.web.engines.base import SearchAnswer
    from localllm.web.fetching import Moved
    from localllm.web.services import WebAccess

_LONGEST_SNIPPET = 300
_MOST_ANSWERS = 3
_LITTLE_TEXT = 200  # characters; a page with scripts and less text is mostly built by them
_READ = N_("{url}: {count} character", "{url}: {count} characters")
_BUILT = N_(
    "{url}: {count} character; the page needs JavaScript", "{url}: {count} characters; the page needs JavaScript"
)
_HEAD = 0.9
"""Share of the limit for a page's head, as the important text is at its beginning."""


def web_tools(settings: WebSettings) -> tuple[Tool, ...]:
    """Return the web tools to offer: none if the web is disabled, and searxng_search only as one of two engines."""
    if not settings.enabled:
        return ()
    from localllm.web.services import has_two_engines

    return (fetch_page, searxng_search, web_search) if has_two_engines(settings) else (fetch_page, web_search)


@tool(risk=Risk.SAFE, sends=("query",))
async def web_search(context: ToolContext, query: str) -> ToolOutput:
    """Search the web."""
    return await _search(context, query, only="")


@tool(risk=Risk.SAFE, sends=("query",))
async def searxng_search(context: ToolContext, query: str) -> ToolOutput:
    """Search the web with SearxNG alone."""
    return await _search(context, query, only="searxng")


def _preview(context: ToolContext, url: str) -> Preview:
    """Preview the address in its normalised spelling. One that is never fetched raises an error instead."""
    from localllm.web.addresses import checked_url, host_of

    address = checked_url(url, {place.lower() for place in context.settings.web.allow_private})
    return Preview(summary=f"fetch_page {host_of(address)}", detail=str(address))


@tool(risk=Risk.SAFE, fetches=("url",), preview=_preview)
async def fetch_page(context: ToolContext, url: str) -> ToolOutput:
    """Read a page of the web as text."""
    web, address = _web(context), url.strip()
    if address not in web.found or context.may_read_anew():
        return await _read(context, url)
    return await web.read_once(address, lambda: _read(context, url), lambda page: _as_kept(page, context.output_limit))


def _as_kept(page: ToolOutput, limit: int) -> ToolOutput:
    """Return the page as shown when requested again."""
    payload = page.payload | {"content": str(page.payload.get("content", ""))[:limit]}
    return msgspec.structs.replace(page, payload=payload, for_model=f"{page.for_model}\n[as it was when first read]")


async def _read(context: ToolContext, url: str) -> ToolOutput:
    from localllm.web.addresses import shown_address
    from localllm.web.extraction import page_text
    from localllm.web.fetching import Moved

    page = await _web(context).fetcher.fetch(url, context.may_follow)
    if isinstance(page, Moved):
        return _moved(page)
    found = await page_text(page)
    text = clean(found.text)
    address = shown_address(page.url)
    title = clean(found.title, keep_newlines=False)[:_LONGEST_SNIPPET]
    notes = [f"[only the first {len(page.data):,} bytes of the page were read]"] if page.cut else []
    is_built = found.by == "html" and len(text) < _LITTLE_TEXT and b"<script" in page.data.lower()
    if is_built:
        notes.append("[its text is made by JavaScript, which is not run here: look for another source]")
    payload: dict[str, Json] = {
        "url": address,
        "title": title,
        "content": text,
        "metadata": {"media_type": page.media_type, "size": len(page.data), "extracted_by": found.by, "cut": page.cut},
    }
    shown = cap(text, context, "fetch_page", head=_HEAD)
    shown = f"{f'title: {title}'}\n\n{shown}" if title else shown
    return ToolOutput(
        payload=payload,
        for_model="\n".join([address, framed("web_content", shown), *notes]),
        summary=Phrase(_BUILT if is_built else _READ, url=address, count=len(text)),
        untrusted=True,
    )


def _moved(page: "Moved") -> ToolOutput:
    from localllm.web.addresses import shown_address

    told = Phrase(
        "{url} was not read: it redirects to another address, which needs its own permission. Fetch that "
        "if it is needed.",
        url=shown_address(page.url),
    )
    return ToolOutput(
        payload={"url": page.url, "moved_to": page.to},
        for_model=f"{told.english}\n{framed('web_content', page.to)}",
        summary=told,
        success=False,
        untrusted=True,
    )


async def _search(context: ToolContext, query: str, *, only: str) -> ToolOutput:
    if not query.strip():
        raise ToolExecutionError("web_no_query")
    web = _web(context)
    answer, failures = await web.search(query.strip(), only)
    if web.cache and (trouble := web.cache.take_failure()):
        context.emit(Notice(text=str(trouble), level="warning"))
    said = [error.what_phrase.english for error in failures if "reason" in error.params]  # with text from a server
    if answer.silent:
        said.append(f"did not answer: {clean(', '.join(answer.silent), keep_newlines=False)}")
    own = [error.what_phrase.english for error in failures if "reason" not in error.params]
    payload: dict[str, Json] = {
        "query": query,
        "results": [
            {"title": result.title, "url": result.url, "snippet": result.snippet, "engine": result.engine}
            for result in answer.results
        ],
        "answers": list(answer.answers),
        "metadata": {"notes": [*said, *own]},
    }
    asked = clean(query, keep_newlines=False)
    found = _listed(answer) + [f"[{note}]" for note in said]
    if not (answer.results or answer.answers):
        own.insert(0, f"nothing found for {asked}")
    return ToolOutput(
        payload=payload,
        for_model="\n".join(
            [*([framed("web_content", "\n".join(found))] if found else []), *(f"[{note}]" for note in own)]
        ),
        summary=_found(answer, asked),
        untrusted=True,
    )


def _found(answer: "SearchAnswer", query: str) -> Phrase:
    """Report how much was found, or which engines did not respond."""
    if answer.silent and not (answer.results or answer.answers):
        silent = clean(", ".join(answer.silent), keep_newlines=False)
        return Phrase("Nothing for {query}, and these did not answer: {silent}", query=query, silent=silent)
    return Phrase(
        N_("{count} result for {query}", "{count} results for {query}"), count=len(answer.results), query=query
    )


def _listed(answer: "SearchAnswer") -> list[str]:
    """Format the results, two or three lines each."""
    from localllm.web.addresses import shown_address

    lines = [_line(text) for text in answer.answers[:_MOST_ANSWERS]]
    for number, result in enumerate(answer.results, 1):
        lines += [f"{number}. {_line(result.title)}", f"   {shown_address(result.url)}"]
        if result.snippet:
            lines.append(f"   {_line(result.snippet)}")
    return lines


def _line(text: str) -> str:
    return clean(" ".join(text.split()), keep_newlines=False)[:_LONGEST_SNIPPET]


def _web(context: ToolContext) -> "WebAccess":
    if context.web is None:
        raise ToolExecutionError("web_off")
    return context.web
