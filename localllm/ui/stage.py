"""Screen and keyboard, and whose they are at the moment: the run's, or a question's."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from localllm.ui.render import Renderer
from localllm.ui.screen import Screen
from localllm.ui.theme import Line
from localllm.ui.typeahead import TypeAhead

if TYPE_CHECKING:
    from localllm.ui.prompt import Question


class Stage:
    """Hands the terminal from the run to a question and back. What was typed ahead never answers a question."""

    def __init__(self, screen: Screen, renderer: Renderer, typeahead: TypeAhead) -> None:
        self._screen = screen
        self._renderer = renderer
        self._typeahead = typeahead
        self._opened: Question | None = None

    async def reached(self, request_id: str) -> None:
        """Wait until everything before the question is on the screen."""
        await self._renderer.reached(request_id)

    @contextmanager
    def cleared(self, call_id: str) -> Generator[None]:
        """The screen and the keyboard for a question about `call_id` alone."""
        self._renderer.suspend()
        self._typeahead.pause()
        self._typeahead.keep(self._question.pending())
        try:
            yield
        finally:
            self._typeahead.keep(self._question.pending())
            self._typeahead.start()
            self._renderer.resume(shown_diff_of=call_id)

    async def ask(self, default: str = "") -> str:
        """One line; `default` is there already. KeyboardInterrupt for Ctrl+C, EOFError for the end of input."""
        return await self._question.ask(default)

    async def view(self, lines: Sequence[Line]) -> None:
        """Show `lines` on the whole screen, to scroll in."""
        await self._question.view(lines)

    @property
    def _question(self) -> "Question":
        if self._opened is None:
            from localllm.ui.prompt import Question  # brings prompt_toolkit, which takes a while to load

            self._opened = Question(self._screen.theme)
        return self._opened
