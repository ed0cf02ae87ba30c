"""Hand on what the user says in the middle of a run."""

import os
import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.base.events import Emit, Steered
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import Completion, Image
from localllm.text.model_orders import without_template_marks

WithFiles = tuple[str, tuple[Image, ...]]
"""A text with the content of the files it names, and the pictures among them."""


@cache
def _heading() -> str:
    return (Path(__file__).parent / "prompts" / "steering.md").read_text(encoding="utf-8").strip()


def framed(words: str) -> str:
    """`words` as they stand at the end of a tool's result: nobody but the person says them, and they count."""
    return f"{_heading()}\n{words}"


_QUOTED = "(quoted) "

_BETWEEN = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff_*`>#-]{1,9}"


@cache
def _halves() -> tuple[tuple[str, ...], ...]:
    """The words of the two halves of the heading."""
    halves = re.split(r"(?<=above): |\. ", _heading())[:2]
    return tuple(tuple(half.rstrip(".:,]").removeprefix("[").split()) for half in halves)


@cache
def _claims() -> re.Pattern[str]:
    """These words, in any case, and with anything between them that a reader passes over."""
    claims = "|".join(_BETWEEN.join(map(re.escape, words)) for words in _halves())
    return re.compile(rf"(?<!{re.escape(_QUOTED)})(?:{claims})", re.IGNORECASE)


def unforged(text: str) -> str:
    """What a tool gives back, or a file holds, with all that reads like our heading marked as a quotation: it is not
    the person who says it."""
    if text.isascii():  # most is, and holds no such words: the pattern takes three milliseconds to compile
        lower = text.lower()
        if not any(all(word.lower() in lower for word in words) for words in _halves()):
            return text
    return _claims().sub(lambda found: f"{_QUOTED}{found[0]}", text)


_LIKE_OURS = late_pattern(r"^(?=[^\S\n]*\[(?:the user|end of)\b)", re.IGNORECASE | re.MULTILINE)
"""Lines that begin as those in which we say what the user has done."""


def quoted(head: str, text: str) -> str:
    """`text` of others as it stands beside the user's words, behind a `head` that says whose it is: between lines with
    a mark that nobody could know, so that nothing in it ends its frame and goes on as the user."""
    mark = os.urandom(4).hex()
    inside = _LIKE_OURS.sub(_QUOTED, without_template_marks(unforged(text)))
    return f"[{head} Between the lines with {mark}, none of it the user's words:]\n--- {mark}\n{inside}\n--- end {mark}"


class Steering(Middleware):
    """Hands on what the person says while a run goes on, in its order, each once.

    Where the model has just ended with an answer, the run goes on with it as a message.
    """

    def __init__(
        self,
        with_files: Callable[[str, Emit], Awaitable[WithFiles]] | None = None,
        on_read: Callable[[], None] = lambda: None,
    ) -> None:
        """`with_files` gives words with the content of the files they name, and the pictures. `on_read` is called
        whenever some are read: what counts since the user spoke counts anew."""
        self._with_files = with_files
        self._on_read = on_read
        self._unread: list[str] = []
        self._open = False

    def begin(self) -> None:
        """A run begins, and can be spoken to."""
        self._unread.clear()
        self._open = True

    def close(self) -> None:
        """The run is over: what is unread stays so."""
        self._open = False

    def say(self, words: str) -> bool:
        """Have the model read `words` next; false where no run goes on that could take them."""
        if self._open:
            self._unread.append(words)
        return self._open

    @property
    def is_open(self) -> bool:
        """Whether a run goes on that can be spoken to."""
        return self._open

    @property
    def unread(self) -> tuple[str, ...]:
        """What was said and not read yet, the oldest first."""
        return tuple(self._unread)

    def take_back(self) -> str:
        """The newest words the model has not read, which it then never will; empty where there are none."""
        return self._unread.pop() if self._unread else ""

    async def before_step(self, state: RunState) -> Decision:
        """Put what was said at the end of what the model reads next."""
        while said := await self._next(state):
            words, (text, images) = said
            state.history.add_remark(framed(text), images, words=words)
        return None

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Go on with the first thing said; `before_step` adds the others."""
        if not (said := await self._next(state)):
            return None
        words, (text, images) = said
        return Inject(text, words=words, images=images)

    async def _next(self, state: RunState) -> tuple[str, WithFiles] | None:
        """The oldest words not read, and what the model reads for them. Until that is whole, they can be taken
        back."""
        while self._unread:
            words = self._unread[0]
            whole = await self._with_files(words, state.emit) if self._with_files else (words, ())
            if self._unread and self._unread[0] is words:
                state.emit(Steered(text=self._unread.pop(0)))
                self._on_read()
                return words, whole
        return None
