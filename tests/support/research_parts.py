"""The parts of a research run that answer as they are told: a model in its roles, a search, a reader of pages."""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from localllm.base.errors import ToolExecutionError, WebSearchError
from localllm.base.events import Json
from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest
from localllm.research.model_calls import Roles
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.remark_texts import in_words
from localllm.research.run_context import Budget, RunContext
from localllm.research.run_store import RunStore
from localllm.web.meta_search import FoundPage, MetaAnswer, MetaSearch
from localllm.web.page_reader import PageReader, ReadPage
from tests.support.brains import Brain

Say = str | Json | Callable[[str], str | Json]
"""What a role answers, or how it makes that of the user message."""

QUESTION = "When did the Kita tower open, and how tall is it?"
PAGES = {
    "https://a.example/tower": "The Kita tower opened in May 1998. It is 120 metres tall. Visitors like the view.",
    "https://b.example/kita": "Opened in 1998, the Kita tower stands 120 metres high. It was closed for a year.",
    "https://c.example/news": "The mayor spoke about the new bridge. Nothing was said of towers.",
}
ANSWERS: dict[str, Say] = {
    "brief": {"language": "en", "period": "1998", "entities": ["Kita tower"], "needs": ["opening date", "height"]},
    "queries": {"queries": ["Kita tower opening", "Kita tower height"]},
    "aimed queries": {"queries": ["Kita tower official opening date"]},
    "outline": lambda asked: {"heading": "The Kita tower", "sections": [section_of(asked)]},
    "writer": lambda asked: " ".join(f"{text} [{name}]" for name, text in evidence_of(asked).items()),
    "reader": lambda asked: {"relevant": "Kita" in page_of(asked), "quotes": sentences_of(page_of(asked))[:2]},
}


def role_of(request: CompletionRequest) -> str:
    """The role a request is for, by the first line of its prompt."""
    found = re.match(r"You are the (.+) of a research team\.", request.messages[0].text)
    assert found
    return found[1]


def page_of(asked: str) -> str:
    """The page the reader is shown, without its title."""
    return asked.partition("<page>\n")[2].partition("\n</page>")[0].partition("\n\n")[2]


def evidence_of(asked: str) -> dict[str, str]:
    """The evidence a role is shown, by its ids, without its source."""
    return {name: text.strip() for name, text in re.findall(r"^\[(E\d+)\] (.*) \([^()]*\)$", asked, re.MULTILINE)}


def section_of(asked: str) -> Json:
    """One section with all the evidence the outline is shown."""
    return {"heading": "Opening and height", "evidence": list(evidence_of(asked))}


def sentences_of(text: str) -> list[str]:
    """The sentences of a plain text."""
    return re.findall(r"[^.]+\.", text)


def playing(answers: Mapping[str, Say]) -> tuple[LLMClient, Brain]:
    """A model that answers each role so, and what it was asked."""

    def answer(request: CompletionRequest) -> str:
        said = {**ANSWERS, **answers}[role_of(request)]
        told = said(request.messages[-1].text) if callable(said) else said
        return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)

    brain = Brain(answer)
    return LLMClient(brain, model="played", max_retries=0), brain


class FakeSearch(MetaSearch):
    """Finds all of `pages` for every query, or fails. `asked` has the queries of each search."""

    def __init__(self, pages: Sequence[str] = tuple(PAGES), failures: Sequence[WebSearchError] = ()) -> None:
        self.pages = list(pages)
        self.failures = tuple(failures)
        self.asked: list[tuple[str, ...]] = []

    async def search(self, queries: Sequence[str], *, language: str = "", limit: int = 10) -> MetaAnswer:
        self.asked.append(tuple(queries))
        found = tuple(FoundPage(url, url, "", ("fake",), tuple(queries), 1.0) for url in self.pages)
        return MetaAnswer(found, self.failures, (), len(queries), 0)


class FakeReader(PageReader):
    """Reads `pages`; what it does not have cannot be read. `asked` has the addresses."""

    def __init__(self, pages: Mapping[str, str] = PAGES) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def read(self, url: str) -> ReadPage:
        self.asked.append(url)
        if url not in self.pages:
            raise ToolExecutionError("web_unreachable", url=url, reason="gone")
        return ReadPage(url, f"Title of {url}", self.pages[url], "html", "2026-11-24T00:00:00+00:00")


def options(folder: Path | None = None, **given: Json) -> ResearchOptions:
    """Options of a small run."""
    docs = (str(folder),) if folder else ()
    return ResearchOptions(**{"query_count": 2, "max_validation": 1, "min_validation": 0, "docs": docs, **given})


def said_in(remarks: Sequence[object]) -> str:
    """All remarks as a person reads them."""
    return " ".join(in_words(one) for one in remarks)  # type: ignore[arg-type]


@contextmanager
def run_of(
    state: ResearchState, folder: Path, answers: Mapping[str, Say], **given: Json
) -> Generator[tuple[RunContext, Brain]]:
    """A run in the middle of its work, whose model answers so, and what that was asked."""
    client, brain = playing(answers)
    how = options(**given)
    with RunStore(folder) as store:
        roles = Roles(client, store, how, today=state.today, language=state.language)
        yield RunContext(state, store, roles, how, state.language, Budget(how, 0.0)), brain
