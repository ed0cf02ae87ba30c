"""Pass on what the user says during a run."""

import asyncio
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
"""A text with the content of the files it references, and the images among them."""


@cache
def _heading() -> str:
    return (Path(__file__).parent / "prompts" / "steering.md").read_text(encoding="utf-8").strip()


def framed(words: str) -> str:
    """Frame the user's `words` for the end of a tool result, as the user's own."""
    return f"{_heading()}\n{words}"


_QUOTED = "(quoted) "

_BETWEEN = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff_*`>#-]{1,9}"


@cache
def _halves() -> tuple[tuple[str, ...], ...]:
    """Return the words of the two halves of the heading."""
    halves = re.split(r"(?<=above): |\. ", _heading())[:2]
    return tuple(tuple(half.rstrip(".:,]").removeprefix("[").split()) for half in halves)


@cache
def _claims() -> re.Pattern[str]:
    """Match the heading's words in any case, with any ignorable characters between them."""
    claims = "|".join(_BETWEEN.join(map(re.escape, words)) for words in _halves())
    return re.compile(rf"(?<!{re.escape(_QUOTED)})(?:{claims})", re.IGNORECASE)


def unforged(text: str) -> str:
    """Mark text in tool output or files that imitates our heading as a quotation, not the user's words."""
    if text.isascii():  # most is, without these words: compiling the pattern takes three milliseconds
        lower = text.lower()
        if not any(all(word.lower() in lower for word in words) for words in _halves()):
            return text
    return _claims().sub(lambda found: f"{_QUOTED}{found[0]}", text)


_LIKE_OURS = late_pattern(r"^(?=[^\S\n]*\[(?:the user|end of)\b)", re.IGNORECASE | re.MULTILINE)
"""Matches lines that begin like ours about the user's actions."""


def quoted(head: str, text: str) -> str:
    """Frame untrusted `text` beside the user's words, after a `head` that names its origin: between lines with a random
    mark, so that nothing in it can end the frame and continue as the user."""
    mark = os.urandom(4).hex()
    inside = _LIKE_OURS.sub(_QUOTED, without_template_marks(unforged(text)))
    return f"[{head} Between the lines with {mark}, none of it the user's words:]\n--- {mark}\n{inside}\n--- end {mark}"


class Steering(Middleware):
    """Passes on what the user says during a run, in order, each once.

    If the model has just answered, the run continues with it as a message.
    """

    def __init__(
        self,
        with_files: Callable[[str, str, Emit], Awaitable[WithFiles]] | None = None,
        on_read: Callable[[], None] = lambda: None,
    ) -> None:
        """`with_files` returns words with the content of the files that the typed part of them references, and the
        images.
        `on_read` is called whenever some are read, to reset what counts from the user's last words."""
        self._with_files = with_files
        self._on_read = on_read
        self._unread: list[tuple[str, str]] = []  # words, and what was typed of them
        self._open = False
        self._silence: asyncio.Timeout | None = None
        """Expires with the next words, while `unless_spoken` waits."""

    def begin(self) -> None:
        """Start a run, which can receive words."""
        self._unread.clear()
        self._open = True

    def close(self) -> None:
        """End the run: unread words stay unread."""
        self._open = False

    def say(self, words: str, *, typed: str | None = None) -> bool:
        """Queue `words` for the model; False if no run can receive them. `typed`: see Kept."""
        if self._open:
            self._unread.append((words, words if typed is None else typed))
            silence, self._silence = self._silence, None
            if silence:
                silence.reschedule(0)
        return self._open

    async def unless_spoken(self, work: Callable[[], Awaitable[Decision]]) -> Decision:
        """Return the result of `work`, which is cancelled as soon as there are unread words; then None."""
        if self._unread:
            return None
        silence = asyncio.timeout(None)
        try:
            async with silence:
                self._silence = silence
                return await work()
        except TimeoutError:
            if not silence.expired():
                raise
            return None
        finally:
            self._silence = None

    @property
    def is_open(self) -> bool:
        """Whether a run can receive words."""
        return self._open

    @property
    def unread(self) -> tuple[str, ...]:
        """Words the model has not read yet, oldest first."""
        return tuple(words for words, _typed in self._unread)

    def take_back(self) -> str:
        """Withdraw the newest unread words; return "" if there are none."""
        return self._unread.pop()[0] if self._unread else ""

    async def before_step(self, state: RunState) -> Decision:
        """Append the queued words to the model's next input."""
        while said := await self._next(state):
            words, typed, (text, images) = said
            state.history.add_remark(framed(text), images, words=words, typed=typed)
        return None

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Continue with the first queued words; `before_step` adds the others."""
        if not (said := await self._next(state)):
            return None
        words, typed, (text, images) = said
        return Inject(text, words=words, typed=typed, images=images)

    async def _next(self, state: RunState) -> tuple[str, str | None, WithFiles] | None:
        """Return the oldest unread words, what was typed of them (see Kept), and the model's input for them.
        They can be withdrawn until that is complete."""
        while self._unread:
            said = self._unread[0]
            words, typed = said
            whole = await self._with_files(words, typed, state.emit) if self._with_files else (words, ())
            if self._unread and self._unread[0] is said:
                del self._unread[0]
                state.emit(Steered(text=words))
                self._on_read()
                return words, None if typed == words else typed, whole
        return None
