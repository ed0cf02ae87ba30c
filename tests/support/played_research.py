"""Whole research runs in this process: a played model, and the tests' web without a server between."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, CompletionRequest, SystemMessage
from localllm.research.options import ResearchOptions
from localllm.research.researcher import Researcher
from localllm.research.run_context import OnEvent, nobody
from localllm.web.meta_search import FoundPage, MetaAnswer, MetaSearch
from localllm.web.page_reader import PageReader, ReadPage
from tests.research_web.dataset import Dataset, load
from tests.research_web.search_index import SearchIndex, snippet
from tests.research_web.served_model import count_tokens
from tests.support.brains import Brain

Answer = Callable[[Sequence[dict[str, Any]], dict[str, Any] | None], str]


def client_of(model: Answer) -> tuple[LLMClient, Brain]:
    """A client whose model is a played one, and what that was asked."""

    def answer(request: CompletionRequest) -> str:
        return model([_as_sent(message) for message in request.messages], request.schema)

    brain = Brain(answer)
    return LLMClient(brain, model="played", max_retries=0), brain


def _as_sent(message: object) -> dict[str, Any]:
    role = "system" if isinstance(message, SystemMessage) else "user"
    role = "assistant" if isinstance(message, AssistantMessage) else role
    return {"role": role, "content": getattr(message, "text")}  # noqa: B009 - each kind of message has one


def largest_request(brain: Brain) -> int:
    """The tokens of the largest request with its answer, as the played server counts them."""
    return max(
        count_tokens("\n".join(message.text for message in request.messages)) + request.max_tokens
        for request in brain.requests
    )


class PlayedSearch(MetaSearch):
    """Searches the tests' web by its index. `asked` has the queries."""

    def __init__(self, data: Dataset | None = None) -> None:
        self._index = SearchIndex((data or load()).pages.values())
        self.asked: list[str] = []

    async def search(self, queries: Sequence[str], *, language: str = "", limit: int = 10) -> MetaAnswer:
        found: dict[str, FoundPage] = {}
        for query in queries:
            self.asked.append(query)
            for page, score in self._index.search(query, language)[:limit]:
                known = found.get(page.url)
                asked = (*known.queries, query) if known else (query,)
                best = max(score, known.score) if known else score
                found[page.url] = FoundPage(page.url, page.title, snippet(page, query), ("played",), asked, best)
        ranked = sorted(found.values(), key=lambda one: -one.score)
        return MetaAnswer(tuple(ranked), (), (), len(queries), 0)


class PlayedReader(PageReader):
    """Reads the pages of the tests' web; those with another status than 200 cannot be read."""

    def __init__(self, data: Dataset | None = None) -> None:
        self._data = data or load()
        self.asked: list[str] = []

    async def read(self, url: str) -> ReadPage:
        self.asked.append(url)
        page = self._data.page_at(url)
        if page is None or page.status != 200 or not page.text:
            raise ToolExecutionError("web_unreachable", url=url, reason="gone")
        text = "\n\n".join(filter(None, (page.text, page.hidden)))
        return ReadPage(url, page.title, text, "html", "2026-11-24T00:00:00+00:00")


def researcher_of(
    model: Answer, folder: Path, language: str = "en", *, on_event: OnEvent = nobody, **given: Json
) -> tuple[Researcher, Brain]:
    """A researcher over the tests' web, and what its model was asked."""
    client, brain = client_of(model)
    how = ResearchOptions(**{"language": language, **given})
    made = Researcher(
        client,
        PlayedSearch(),
        PlayedReader(),
        folder,
        how,
        on_event,
        today=lambda: date(2026, 11, 24),
        clock=lambda: 0.0,
    )
    return made, brain
