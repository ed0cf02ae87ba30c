"""The command line of research as a user calls it: real processes, a loopback web, a played model behind a server."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.research_web.dataset import Question
from tests.research_web.played_models import HonestModel
from tests.research_web.served_model import ServedModel
from tests.research_web.server import ResearchWeb
from tests.support.program import PATIENCE, Program


class ResearchWorld(Program):
    """A user with a model server and a search engine. `hold` makes the model wait before the answer with this number
    (from 1) until `release` is called."""

    def __init__(self, folder: Path, web: ResearchWeb, language: str = "C.UTF-8") -> None:
        super().__init__(folder, language)
        self.web = web
        self._inner = HonestModel(web.data)
        self._held_at = 0
        self._answers = 0
        self.is_holding = threading.Event()
        self._released = threading.Event()
        self.model = ServedModel(self._answer)

    def hold(self, answer: int) -> None:
        """Wait before the answer with this number, counted from now."""
        self._answers, self._held_at = 0, answer
        self.is_holding.clear()
        self._released.clear()

    def release(self) -> None:
        """Answer, and wait no more."""
        self._held_at = 0
        self._released.set()

    def _answer(self, messages: Sequence[dict[str, Any]], schema: dict[str, Any] | None) -> str:
        self._answers += 1
        if self._answers == self._held_at:
            self.is_holding.set()
            self._released.wait(PATIENCE)
        return self._inner(messages, schema)

    def configure(self, more: str = "", engines: str = '["searxng"]') -> None:
        """Write the user's settings."""
        self.write_settings(
            f'[llm]\nprovider = "openai"\n[llm.openai]\nbase_url = "{self.model.url}"\n'
            f'[web]\nengines = {engines}\nsearxng_url = "{self.web.search_url}"\nproxy = "{self.web.proxy_url}"\n'
            f"{more}"
        )

    @property
    def question(self) -> Question:
        """One whose answer is in the web, in English."""
        return self._first("en")

    @property
    def japanese_question(self) -> Question:
        return self._first("ja")

    def _first(self, language: str) -> Question:
        return next(one for one in self.web.data.questions.values() if one.language == language)


@contextmanager
def research_world(
    folder: Path, *, make: Callable[[Path, ResearchWeb], ResearchWorld] = ResearchWorld
) -> Generator[ResearchWorld]:
    """A world in a folder."""
    with ResearchWeb() as web:
        world = make(folder, web)
        with world.model:
            world.configure()
            yield world
