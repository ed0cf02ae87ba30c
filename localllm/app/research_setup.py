"""Create a Researcher from the settings, for the command line, the chat and tasks."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from localllm.app.model_session import Answerer
from localllm.app.work_folder import check_links
from localllm.base.errors import LLMConnectionError, SafetyViolationError
from localllm.base.i18n import _, language
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import cache_folder, projects_around
from localllm.config.schema import LLMSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.http.transport import refused
from localllm.rag.language_probe import script_of
from localllm.research.options import ResearchOptions
from localllm.research.researcher import CACHE, Researcher
from localllm.research.run_context import OnEvent, nobody
from localllm.research.run_store import RunStore
from localllm.research.tracing import Tracer
from localllm.safety.closed_files import closed_files
from localllm.safety.rules import refuse_closed_address
from localllm.web.meta_search import open_meta_search
from localllm.web.page_reader import PageReader
from localllm.web.services import page_reader

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase

_PATIENCE = 10.0
"""Seconds to wait for a model server's list before the first search."""

_WITHOUT_MODEL = "embedded"

_CACHES = "research"
"""Subfolder of the user's cache folder, for all work folders in projects."""


class ResearchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of research.

    settings: all of them, including those of the command line. root: the project, for paths in the settings. environ:
    the environment without keys that must not be sent (`Loaded.allowed_environ`). work_folder: the folder of history,
    tasks and logs; see `localllm.app.work_folder`.
    """

    settings: Settings
    root: Path
    environ: Mapping[str, str]
    work_folder: Path

    @property
    def caches(self) -> Path:
        """The folder of cached searches and notes: in the work folder, unless a command could write there. Addresses
        from it are fetched unasked, so it would be a way out for what a command puts into them."""
        if projects_around(self.work_folder, self.root):
            return cache_folder(self.environ) / _CACHES
        return self.work_folder / CACHE

    def check_links(self) -> None:
        """Raise ConfigurationError if a command may have redirected the work folder, or a folder in it, by a link. It
        may do so between two runs."""
        if projects_around(self.work_folder, self.root):
            check_links(self.work_folder, self.root)

    @property
    def search_environ(self) -> dict[str, str]:
        """The environment of searches, whose cache is in `caches`."""
        return {**self.environ, "LOCALLLM_CACHE_DIR": str(self.caches)}


class ResearchParts(NamedTuple):
    """The replaceable services: the page reader."""

    open_reader: Callable[[], PageReader | None]


def model_settings(settings: Settings) -> LLMSettings:
    """Return the settings of the research model: the chat's, unless `[research]` names another."""
    named = {key: value for key in ("provider", "model") if (value := getattr(settings.research, key))}
    if "provider" in named and "model" not in named and named["provider"] != settings.llm.provider:
        named["model"] = ""  # the chat's model is on another server
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
    """Open a Researcher; its connections are closed at the end.

    Args:
        setup: The research setup.
        options: The options of its runs; with `use_web` false only folders are searched. The caller has checked that
            the web may be used.
        on_event: Called with each event.
        client: The chat's model, which is not closed here; unused if `[research]` names another one. None selects the
            model by the settings.
        parts: The page reader; None for `standard_parts`.
        today: The date of runs.
        tracer: Traces the runs; see `open_tracer`.
        open_store: Opens the store in the folder of a run.

    Raises:
        LLMConnectionError: There is no model. Nothing was searched for.
        ConfigurationError: The settings cannot be applied, or the work folder has a link.
    """
    setup.check_links()
    parts = parts or standard_parts(setup)
    async with AsyncExitStack() as stack:
        model = await open_model(setup, stack, client)
        search = reader = None
        if options.use_web:
            search = open_meta_search(
                setup.settings.web,
                setup.search_environ,
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
            language=partial(report_language, options, setup.settings),
            today=today,
            tracer=tracer,
            open_store=open_store,
            knowledge=await _open_knowledge(setup, options, stack),
            project=setup.root,
            closed=closed_files(setup.settings.safety, setup.root, setup.settings.safety),
            caches=setup.caches,
        )


async def _open_knowledge(
    setup: ResearchSetup, options: ResearchOptions, stack: AsyncExitStack
) -> "KnowledgeBase | None":
    """Open the knowledge base, if the run searches collections."""
    if not options.collections:
        return None
    from localllm.rag.knowledge_base import KnowledgeBase

    closed = closed_files(setup.settings.safety, setup.root, setup.settings.safety)
    knowledge = KnowledgeBase(setup.settings, setup.root, setup.environ, closed=closed)
    return await stack.enter_async_context(knowledge)


async def open_model(setup: ResearchSetup, stack: AsyncExitStack, client: LLMClient | None = None) -> LLMClient:
    """Return the checked model for research, closed by `stack`: the chat's `client` unless `[research]` names another.
    Raises LLMConnectionError, ConfigurationError."""
    model = client if client is not None and not _names_another(setup.settings) else await _open_model(setup, stack)
    await _check_model(model, setup)
    return model


def report_language(options: ResearchOptions, settings: Settings, question: str) -> str:
    """Return the language of a report: "ja" or "en". By default that of the question if it is plainly Japanese or
    English, unless the user has set the interface's language; else that of the interface."""
    if options.language != "auto":
        return options.language
    if settings.ui.language == "auto":
        if _is_japanese(question):
            return "ja"
        if _is_english(question):
            return "en"
    return "ja" if language() == "ja" else "en"


def _is_japanese(question: str) -> bool:
    """Return whether a question is plainly Japanese; Chinese has no kana."""
    return _KANA.search(question) is not None and script_of(question) == "japanese"


def _is_english(question: str) -> bool:
    """Return whether a question is plainly English: names and keywords are of no language, and a name may have a word
    of English in another language."""
    words = len(_ENGLISH.findall(question))
    return words > (not question.isascii()) and script_of(question) == "latin"


_KANA = late_pattern("[ぁ-ゖァ-ヺ]")
_ENGLISH = late_pattern(
    r"\b(?:what|how|why|which|who|whose|where|when|does|did|is|are|were|should|could|would|can|has|have|the|of|and|with"
    r"|between|from|about|this|that)\b",
    re.IGNORECASE,
)


def standard_parts(setup: ResearchSetup, is_shunned: Callable[[str], bool] | None = None) -> ResearchParts:
    """Return the services of every run outside of tests; no page is read whose address `is_shunned`."""

    def check(url: str) -> None:
        refuse_closed_address(setup.settings.safety, url)
        if is_shunned and is_shunned(url):
            raise SafetyViolationError("denied_no_address", name=url)

    return ResearchParts(partial(page_reader, setup.settings, check))


def _names_another(settings: Settings) -> bool:
    """Whether `[research]` names another model."""
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
    """Ask the server for its models, to check that it is there. Raises LLMConnectionError."""
    provider = client.provider
    if provider.name == _WITHOUT_MODEL:
        raise LLMConnectionError("llm_none_found", addresses=model_settings(setup.settings).provider)
    try:
        async with asyncio.timeout(_PATIENCE):
            await client.list_models()
    except TimeoutError as error:
        reason = _("It did not answer within {seconds} s", seconds=int(_PATIENCE))
        raise refused(provider.name, provider.address, reason) from error
