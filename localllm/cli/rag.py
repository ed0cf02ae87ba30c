"""`localllm rag`: fill, search and manage the collections of documents."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from localllm.app.chat_client import open_chat_client
from localllm.app.private_log import start_log
from localllm.app.start_notices import settings_notices
from localllm.app.work_folder import work_folder
from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.events import Json
from localllm.base.i18n import _, ngettext
from localllm.cli.ingest_output import ingest_progress, print_ingest_report, print_skipped
from localllm.cli.interruption import InterruptedRun, finish
from localllm.cli.settings import load_here, say
from localllm.config.loader import Loaded
from localllm.rag.chat_model import ChatModel
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.locations import delivered_collections, delivered_remark
from localllm.rag.records import Collection, Found, IngestReport
from localllm.safety.closed_files import closed_files
from localllm.safety.hard_links import close_other_names
from localllm.text.sanitising import clean, json_report

_SHOWN_OF_A_HIT = 500  # characters
EXIT_LEFT_ALONE = 1
_LONGEST_WAIT = 120.0
"""Seconds to wait for the chat model's description, which is optional."""

Result = TypeVar("Result")


@click.group()
def rag() -> None:
    """Fill and search collections of your documents.

    The assistant searches them by itself where they may help; localllm rag chat answers only from them.
    """


_in_collection = click.option("-c", "--collection", metavar="NAME", default="", help="The collection.")
_as_json = click.option("--json", "json", is_flag=True, help="Print one JSON object.")


@rag.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_in_collection
@click.option("--description", default="", help="What it holds and when to search it; generated if omitted.")
@click.option("--project", "in_project", is_flag=True, help="Make a new collection for this project only.")
@_as_json
@click.pass_context
def ingest(
    context: click.Context, paths: tuple[Path, ...], collection: str, description: str, in_project: bool, json: bool
) -> None:
    """Add files and folders to a collection.

    Markdown, text, HTML, PDF, docx, xlsx, notebooks, code, CSV and JSON lines. Unchanged files are skipped, and files
    gone from the folders are removed from the collection. If interrupted, it resumes when run again.
    """
    try:
        with ingest_progress() as on_event:

            def taken_in(knowledge: KnowledgeBase) -> Coroutine[Any, Any, IngestReport]:
                return knowledge.ingest(paths, collection, on_event, description=description, in_project=in_project)

            report = finish(lambda: _with_own(context, taken_in))
    except (InterruptedRun, KeyboardInterrupt):
        say(_("Interrupted. What has been taken in so far is kept; the same command takes in the rest."))
        raise
    print_ingest_report(finish(lambda: _described_by_model(context, report)), json=json)


@rag.command()
@click.argument("name")
@_as_json
@click.pass_context
def reindex(context: click.Context, name: str, json: bool) -> None:
    """Rebuild the collection NAME after a change of the embedding model or the passage size."""
    with ingest_progress() as on_event:
        report = finish(lambda: _with_own(context, lambda knowledge: knowledge.reindex(name, on_event)))
    print_ingest_report(finish(lambda: _described_by_model(context, report)), json=json)


@rag.command()
@click.argument("name")
@click.pass_context
def optimize(context: click.Context, name: str) -> None:
    """Build the indexes that make searching a large collection fast."""
    finish(lambda: _with(context, lambda knowledge: knowledge.optimize(name)))
    say(_("Done."))


@rag.command()
@click.argument("query", nargs=-1, required=True)
@_in_collection
@click.option("-k", "--top-k", type=click.IntRange(1, 50), metavar="N", help="Maximum number of passages.")
@_as_json
@click.pass_context
def search(context: click.Context, query: tuple[str, ...], collection: str, top_k: int | None, json: bool) -> None:
    """Print the passages that answer QUERY, with their file and lines; nothing if none is relevant."""
    words = " ".join(query)
    found = finish(lambda: _search(context, words, collection, top_k or 0))
    for remark in found.remarks:
        say(str(remark))
    if json:
        click.echo(json_report(_found_json(found)))
        return
    for hit in found.hits:
        titles = "".join(f" › {title}" for title in hit.titles)
        click.echo(clean(f"{hit.reference}  ({hit.collection}{titles}; {hit.scores.total:.2f})", keep_newlines=False))
        text = hit.text.strip()
        shown = text if len(text) <= _SHOWN_OF_A_HIT else text[:_SHOWN_OF_A_HIT].rstrip() + " …"
        click.echo("".join(f"    {line}\n" for line in clean(shown).splitlines()))
    if not found.hits:
        say(_nothing(found))
        for hit in found.nearest:
            say(clean(f"    {hit.reference}  ({' › '.join((hit.collection, *hit.titles))})", keep_newlines=False))


@rag.command("list")
@_as_json
@click.pass_context
def list_(context: click.Context, json: bool) -> None:
    """List the collections."""
    collections = _open(context).collections()
    delivered = _delivered(context, collections)
    if json:
        listed = [msgspec.to_builtins(one) for one in collections]
        click.echo(json_report({"collections": listed, "delivered": [*delivered]}))
        return
    if delivered:
        say(str(delivered_remark(delivered, load_here(context)[0])))
    elif not collections:
        say(_("There are no collections yet. Create one: localllm rag ingest PATH --collection NAME"))
    for one in collections:
        click.echo(f"{one.name}  {_size(one)}")
        if one.description:
            click.echo(f"    {clean(one.description, keep_newlines=False)}")


@rag.command()
@click.argument("name")
@_as_json
@click.pass_context
def show(context: click.Context, name: str, json: bool) -> None:
    """Show what is in the collection NAME: its files, and why some were skipped."""
    knowledge = _open(context)
    collection, files = knowledge.collection(name), knowledge.files(name)
    if json:
        listed = [{**msgspec.to_builtins(one), "why": str(one.why) if one.why else ""} for one in files]
        click.echo(json_report({"collection": msgspec.to_builtins(collection), "files": listed}))
        return
    _print_collection(collection, knowledge.place(collection.name))
    for one in files:
        if one.why is None:
            count = ngettext("{count} passage", "{count} passages", one.chunks)
            click.echo(f"  {clean(one.file, keep_newlines=False)}  {count}")
    print_skipped([one for one in files if one.why], most=len(files))


@rag.command()
@click.argument("name")
@click.argument("text", nargs=-1)
@click.pass_context
def describe(context: click.Context, name: str, text: tuple[str, ...]) -> None:
    """Describe what the collection NAME holds and when to search it; with "" the next ingest does.

    Without TEXT, the description is printed.
    """
    knowledge = _open(context)
    described = knowledge.describe(name, " ".join(text)) if text else knowledge.collection(name)
    click.echo(f"{described.name}: {clean(described.description, keep_newlines=False) or _('(no description)')}")


@rag.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def delete(context: click.Context, names: tuple[str, ...], yes: bool) -> int:
    """Delete collections; the documents themselves stay."""
    knowledge = _open(context)
    found = [knowledge.collection(name) for name in dict.fromkeys(names)]
    if not yes:
        if not sys.stdin.isatty():
            raise KnowledgeBaseUsageError("rag_needs_yes")
        for one in found:
            say(f"{one.name}  {_size(one)}")
        count = ngettext("Delete {count} collection for good?", "Delete {count} collections for good?", len(found))
        if not click.confirm(count, default=False, err=True):
            return EXIT_LEFT_ALONE
    for one in found:
        knowledge.delete(one.name)
    say(_("{count} deleted.", count=len(found)))
    return 0


@rag.command()
@click.argument("name", required=False)
@_as_json
@click.pass_context
def status(context: click.Context, name: str | None, json: bool) -> None:
    """Show where collections are, how they are searched, and what is out of date in them; for one or all."""
    knowledge = _open(context)
    collections = [knowledge.collection(name)] if name else knowledge.collections()
    stale = {one.name: [str(remark) for remark in knowledge.staleness(one)] for one in collections}
    if json:
        listed = [
            {
                **msgspec.to_builtins(one),
                "remarks": stale[one.name],
                "place": knowledge.place(one.name),
            }
            for one in collections
        ]
        delivered = [] if name else _delivered(context, collections)
        click.echo(json_report({"folder": str(knowledge.folder), "collections": listed, "delivered": [*delivered]}))
        return
    click.echo(_("Folder: {folder}", folder=knowledge.folder))
    for one in collections:
        _print_collection(one, knowledge.place(one.name))
        for remark in stale[one.name]:
            click.echo(f"  ! {clean(remark)}")
    if not name and (delivered := _delivered(context, collections)):
        say(str(delivered_remark(delivered, load_here(context)[0])))
    elif not collections:
        say(_("There are no collections yet. Create one: localllm rag ingest PATH --collection NAME"))


@rag.command("eval")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_in_collection
@click.option("-k", "--top-k", type=click.IntRange(1, 100), default=5, show_default=True, metavar="N")
@_as_json
@click.pass_context
def eval_(context: click.Context, file: Path, collection: str, top_k: int, json: bool) -> None:
    """Score the search on questions whose sources you know: recall, nDCG, MRR.

    FILE has one question per line: JSON lines, a JSON list or CSV with `question`, `sources` (such as docs/setup.md or
    docs/setup.md:10-24; several as a list or separated by ;, none if nothing should be found) and, without
    --collection, `collection`.
    """
    from localllm.rag.evaluation import evaluate, read_questions

    questions = read_questions(file)
    score = finish(lambda: _with(context, lambda knowledge: evaluate(knowledge, questions, collection, top_k)))
    refused, unanswerable = score.refused
    if json:
        report: dict[str, Json] = {
            "questions": len(score.outcomes),
            "top_k": top_k,
            "recall": round(score.recall, 4),
            "ndcg": round(score.ndcg, 4),
            "mrr": round(score.mrr, 4),
            "unanswerable": unanswerable,
            "left_unanswered": refused,
            "outcomes": [
                {"question": one.question.text, "sources": list(one.question.sources), "ranks": list(one.ranks)}
                for one in score.outcomes
            ],
        }
        click.echo(json_report(report))
        return
    for one in score.answerable:
        if not one.first:
            click.echo(clean(_("not found: {question}", question=one.question.text), keep_newlines=False))
    click.echo(
        f"recall@{top_k} {score.recall:.3f}  nDCG@{top_k} {score.ndcg:.3f}  MRR {score.mrr:.3f}  "
        + ngettext("({count} question)", "({count} questions)", len(score.answerable))
    )
    if unanswerable:
        click.echo(_("nothing found, as it should be: {count} of {total}", count=refused, total=unanswerable))


@rag.command()
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("-p", "--prompt", metavar="TEXT", help="Answer this and exit.")
@click.option(
    "-c",
    "--collection",
    "collections",
    metavar="NAME",
    multiple=True,
    help="Answer from this collection only; can be given several times.",
)
@click.option(
    "--ipo",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Log every input, output and tool result to FILE, and as JSON lines beside it.",
)
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    help="With a question: the answer as text, as one JSON object, or every event as a JSON line.",
)
@click.pass_context
def chat(
    context: click.Context,
    words: tuple[str, ...],
    prompt: str | None,
    collections: tuple[str, ...],
    ipo: Path | None,
    output: str,
) -> int:
    """Answer QUESTION, or a series of questions, from the collections alone, each statement with its reference; exit or
    quit leaves.
    """
    from localllm.cli.rag_chat import run_chat

    if words and prompt is not None:
        raise click.UsageError(_("Give either a question or --prompt, not both."))
    if words:
        prompt = " ".join(words)
    if prompt is None and output != "text":
        raise click.UsageError(_("--output needs one question to answer: QUESTION or -p."))
    if prompt is not None and not prompt.strip():
        raise KnowledgeBaseUsageError("rag_empty_query")
    project, loaded = load_here(context)
    accept_no_sandbox: bool = context.find_root().params["i_accept_no_sandbox"]
    return run_chat(
        project,
        loaded,
        prompt,
        ipo,
        output,  # pyright: ignore[reportArgumentType]
        collections=collections,
        accept_no_sandbox=accept_no_sandbox,
    )


def _delivered(context: click.Context, own: Sequence[Collection]) -> list[str]:
    """Return the names of collections delivered with the project, which are not used."""
    return delivered_collections(load_here(context)[0], {one.name for one in own})


def _load(context: click.Context) -> tuple[Path, Loaded]:
    """Return the project and its settings, and start the log. Raises ConfigurationError."""
    project, loaded = load_here(context)
    start_log(loaded.settings.logging, work_folder(loaded.settings))
    return project, loaded


def _closed(loaded: Loaded, project: Path) -> Callable[[], Callable[[str], bool]]:
    """Return which files rules close, under all their names."""
    return closed_files(close_other_names(loaded.settings.safety, project), project, loaded.own.safety)


def _open(context: click.Context) -> KnowledgeBase:
    """Open the knowledge base with the settings here. Raises ConfigurationError, KnowledgeBaseError."""
    project, loaded = _load(context)
    closed = _closed(loaded, project)
    return KnowledgeBase(loaded.settings, project, loaded.allowed_environ(os.environ), closed=closed)


async def _with(context: click.Context, work: Callable[[KnowledgeBase], Coroutine[Any, Any, Result]]) -> Result:
    """Call `work` with the knowledge base, and close it."""
    async with _open(context) as knowledge:
        return await work(knowledge)


async def _with_own(context: click.Context, work: Callable[[KnowledgeBase], Coroutine[Any, Any, Result]]) -> Result:
    """Call `work`, which fills a collection, with the knowledge base, and close it. A collection outlives the project:
    of an untrusted project's settings, only what excludes files in its own folder counts."""
    project, loaded = _load(context)
    if ignored := [key for key in loaded.withheld if key.startswith("rag.")]:
        say(settings_notices(ignored, [])[0])
    closed = _closed(loaded, project)
    exclude = loaded.settings.project.exclude_patterns
    async with KnowledgeBase(loaded.own, project, os.environ, closed=closed, exclude=exclude) as knowledge:
        return await work(knowledge)


async def _search(context: click.Context, query: str, collection: str, top_k: int) -> Found:
    """Search; if rag.rerank is set, the chat model reranks the hits."""
    project, loaded = _load(context)
    environ = loaded.allowed_environ(os.environ)
    async with AsyncExitStack() as stack:
        model = None
        if loaded.settings.rag.rerank:
            client = await stack.enter_async_context(open_chat_client(project, loaded.settings.llm, environ))
            model = ChatModel(client) if client else None
        closed = _closed(loaded, project)
        knowledge = KnowledgeBase(loaded.settings, project, environ, model, closed)
        return await (await stack.enter_async_context(knowledge)).search(query, collection, top_k)


async def _described_by_model(context: click.Context, report: IngestReport) -> IngestReport:
    """Return the report of an ingest; a regenerated description is rewritten by the chat model, if there is one."""
    if not report.contents:
        return report
    project, loaded = _load(context)
    async with open_chat_client(project, loaded.own.llm, os.environ) as client:
        if client is None:
            return report
        say(_("The documents are indexed. Asking the chat model to describe them in a sentence …"))
        text = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_WAIT):
                text = await ChatModel(client).describe(report.contents)
    if not text:
        say(
            _(
                "It gave none: titles and words from the documents are used instead. To write one: localllm rag "
                "describe NAME TEXT"
            )
        )
        return report
    described = _open(context).describe(report.collection.name, text, is_own=False)
    return msgspec.structs.replace(report, collection=described)


def _print_collection(one: Collection, place: str) -> None:
    click.echo(f"{one.name}  {_size(one)}")
    rows = [
        (_("holds"), one.description),
        (_("from"), ", ".join(one.roots)),
        (
            _("found by"),
            _("words and meaning ({model})", model=one.embedder.name) if one.embedder else _("words (BM25)"),
        ),
        (
            _("kept in"),
            {
                "user": _("your data folder"),
                "project": _("your state folder, for this project only"),
                "server": _("the Qdrant server"),
            }[one.home]
            + f" ({place})",
        ),
        (_("changed"), one.updated),
    ]
    for name, value in rows:
        if value:
            click.echo(f"  {name}: {clean(value, keep_newlines=False)}")


def _size(one: Collection) -> str:
    files = ngettext("{count} file", "{count} files", one.files)
    passages = ngettext("{count} passage", "{count} passages", one.chunks)
    skipped = _(", {count} skipped", count=one.skipped) if one.skipped else ""
    return f"{files}, {passages}{skipped}"


def _nothing(found: Found) -> str:
    if found.elsewhere:
        return _("Nothing found here; there are passages in: {names}.", names=", ".join(found.elsewhere))
    if found.nearest:
        return _("Nothing found that answers this. The closest are:")
    return _("Nothing found.")


def _found_json(found: Found) -> dict[str, Json]:
    return {
        "hits": [{"reference": hit.reference, **msgspec.to_builtins(hit)} for hit in found.hits],
        "nearest": [{"reference": hit.reference, **msgspec.to_builtins(hit)} for hit in found.nearest],
        "searched": list(found.searched),
        "elsewhere": list(found.elsewhere),
    }
