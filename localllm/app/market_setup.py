"""Create a BroadResearcher from the settings, for the command line and the chat."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from functools import partial

from localllm.app.research_setup import ResearchParts, ResearchSetup, open_model, report_language, standard_parts
from localllm.base.errors import ResearchUsageError
from localllm.llm.client import LLMClient
from localllm.research.market.broad_researcher import BroadResearcher, MarketOptions
from localllm.research.market.search_service import open_search_service
from localllm.research.options import ResearchOptions
from localllm.research.run_context import OnEvent, nobody


@asynccontextmanager
async def open_broad_researcher(
    setup: ResearchSetup,
    options: ResearchOptions,
    on_event: OnEvent = nobody,
    *,
    client: LLMClient | None = None,
    parts: ResearchParts | None = None,
    today: Callable[[], date] = date.today,
) -> AsyncGenerator[BroadResearcher]:
    """Open a BroadResearcher; its connections are closed at the end.

    Args:
        setup: The research setup.
        options: Research options that apply: the language, limits, caching of searches. The caller has checked that
            the web may be used.
        on_event: Called with each event.
        client: The chat's model, as in `open_researcher`.
        parts: The page reader; None for `standard_parts`.
        today: The date of scans.

    Raises:
        ResearchUsageError: The program is offline (market_off).
        WebSearchError: Serper is used with a malformed key.
        LLMConnectionError: There is no model. Nothing was searched for.
        ConfigurationError: The settings cannot be applied, or the work folder has a link.
    """
    settings = setup.settings
    if settings.offline:
        raise ResearchUsageError("market_off")
    setup.check_links()
    market = settings.market
    async with AsyncExitStack() as stack:
        service = open_search_service(
            settings.web,
            market,
            setup.search_environ,
            cache_ttl=options.cache_ttl,
            use_cache=options.use_cache,
        )
        stack.push_async_callback(service.aclose)
        await service.check_key()
        model = await open_model(setup, stack, client)
        reader = (parts or standard_parts(setup)).open_reader()
        if reader is not None:
            stack.push_async_callback(reader.aclose)
        yield BroadResearcher(
            model,
            service,
            reader,
            setup.work_folder,
            MarketOptions(market.max_results, market.pages, market.sensitive_words),
            options,
            on_event,
            language=partial(report_language, options, settings),
            today=today,
            caches=setup.caches,
        )
