"""Make a Researcher from the settings, for the command line, the chat and tasks alike."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from localllm.app.model_session import Answerer
from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import _, language
from localllm.config.schema import LLMSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.http.transport import refused
from localllm.research.options import ResearchOptions
from localllm.research.researcher import CACHE, Researcher
from localllm.research.run_context import OnEvent, nobody
from localllm.research.run_store import RunStore
from localllm.research.tracing import Tracer
from localllm.safety.closed_files import closed_files
from localllm.web.meta_search import open_meta_search
from localllm.web.page_reader import PageReader
from localllm.web.services import page_reader

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase

_PATIENCE = 10.0
"""Seconds a model server may take to say what it offers, before anything is searched for."""

_WITHOUT_MODEL = "embedded"


class ResearchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What research is set up from.

    settings: all of them, those of the command line included.
    root: the project, for paths in the settings.
    environ: the environment without the keys that may not be sent (`Loaded.allowed_environ`).
    work_folder: where history, tasks, logs and the cache of searches are; `localllm.app.work_folder` finds it.
    """

    settings: Settings
    root: Path
    environ: Mapping[str, str]
    work_folder: Path


class ResearchParts(NamedTuple):
    """What reads pages."""

    open_reader: Callable[[], PageReader | None]


def model_settings(settings: Settings) -> LLMSettings:
    """The settings of the model that does research: the chat's, unless `[research]` names another."""
    named = {key: value for key in ("provider", "model") if (value := getattr(settings.research, key))}
    if "provider" in named and "model" not in named and named["provider"] != settings.llm.provider:
        named["model"] = ""  # the chat's model is another server's
    return msgspec.structs.replace(settings.llm, **named, max_retries=settings.research.retry)


@asynccontextmanager
async def open_researcher(
    setup: ResearchSetup,
    options: ResearchOptions,
    on_event: OnEvent = nobody,
    *,
    client: LLMClient | None = None,
    parts: ResearchParts | None = None,
    today: Callable[[], date] = date.today,
    tracer: Tracer | None = None,
    open_store: Callable[[Path], RunStore] = RunStore,
) -> AsyncGenerator[Researcher]:
    """A Researcher, whose connections are closed at the end.

    Args:
        setup: What it is made from.
        options: How its runs are done; with `use_web` false nothing but folders is searched. Whoever calls has seen to
            it that the web may be used.
        on_event: Who is told what happens.
        client: The chat's model, which is not closed here; it is left alone where `[research]` names another one. None
            finds the model by the settings.
        parts: What reads; None takes the `standard_parts`.
        today: The date that runs are given.
        tracer: Who traces the runs; `open_tracer` gives one where the user wants that.
        open_store: Opens the store in the folder of a run.

    Raises:
        LLMConnectionError: There is no model. Nothing was searched for.
        ConfigurationError: The settings cannot be followed.
    """
    parts = parts or standard_parts(setup)
    async with AsyncExitStack() as stack:
        model = await open_model(setup, stack, client)
        search = reader = None
        if options.use_web:
            search = open_meta_search(
                setup.settings.web,
                {**setup.environ, "LOCALLLM_CACHE_DIR": str(setup.work_folder / CACHE)},
                cache_ttl=options.cache_ttl,
                use_cache=options.use_cache,
            )
            stack.push_async_callback(search.aclose)
            if (reader := parts.open_reader()) is not None:
                stack.push_async_callback(reader.aclose)
        yield Researcher(
            model,
            search,
            reader,
            setup.work_folder,
            options,
            on_event,
            language=report_language(options),
            today=today,
            tracer=tracer,
            open_store=open_store,
            knowledge=await _open_knowledge(setup, options, stack),
            project=setup.root,
            closed=closed_files(setup.settings.safety, setup.root),
        )


async def _open_knowledge(
    setup: ResearchSetup, options: ResearchOptions, stack: AsyncExitStack
) -> "KnowledgeBase | None":
    """The knowledge base, where the run searches collections."""
    if not options.collections:
        return None
    from localllm.rag.knowledge_base import KnowledgeBase

    closed = closed_files(setup.settings.safety, setup.root)
    knowledge = KnowledgeBase(setup.settings, setup.root, setup.environ, closed=closed)
    return await stack.enter_async_context(knowledge)


async def open_model(setup: ResearchSetup, stack: AsyncExitStack, client: LLMClient | None = None) -> LLMClient:
    """The model that does research, seen to be there, closed by `stack`: the chat's `client` unless `[research]` names
    another. Raises LLMConnectionError, ConfigurationError."""
    model = client if client is not None and not _names_another(setup.settings) else await _open_model(setup, stack)
    await _check_model(model, setup)
    return model


def report_language(options: ResearchOptions) -> str:
    """The language of a report: "ja" or "en"; where the options leave it open, that of the program's own words."""
    if options.language != "auto":
        return options.language
    return "ja" if language() == "ja" else "en"


def standard_parts(setup: ResearchSetup) -> ResearchParts:
    """The parts every run has but those of tests."""
    return ResearchParts(partial(page_reader, setup.settings))


def _names_another(settings: Settings) -> bool:
    """Whether research has a model of its own."""
    own = settings.research
    return own.provider not in ("", settings.llm.provider) or own.model not in ("", settings.llm.model)


async def _open_model(setup: ResearchSetup, stack: AsyncExitStack) -> LLMClient:
    answerer = Answerer(setup.root, model_settings(setup.settings), setup.environ)
    stack.push_async_callback(answerer.aclose)
    await answerer.ready()
    if answerer.provider_name == _WITHOUT_MODEL:
        addresses = ", ".join(server.base_url for server in answerer.servers) or "—"
        raise LLMConnectionError("llm_none_found", addresses=addresses)
    return answerer.llm_client


async def _check_model(client: LLMClient, setup: ResearchSetup) -> None:
    """Ask the server what it offers: only that shows whether it is there. Raises LLMConnectionError."""
    provider = client.provider
    if provider.name == _WITHOUT_MODEL:
        raise LLMConnectionError("llm_none_found", addresses=model_settings(setup.settings).provider)
    try:
        async with asyncio.timeout(_PATIENCE):
            await client.list_models()
    except TimeoutError as error:
        reason = _("It did not answer within {seconds} s", seconds=int(_PATIENCE))
        raise refused(provider.name, provider.address, reason) from error
