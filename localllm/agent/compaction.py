"""Keep the conversation within the model's window: before a request that would fill it, and after one the server
refused."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from localllm.agent.history import History
from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.system_prompt import remark
from localllm.base import events
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Emit, Notice
from localllm.base.i18n import N_, _, sentences
from localllm.context.budget import NO_MODEL, Scale
from localllm.llm.client import LLMClient
from localllm.llm.messages import Completion, ToolSpec, UserMessage
from localllm.llm.overflow import Overflow, overflow_of
from localllm.tools.results import ToolResult

if TYPE_CHECKING:
    from localllm.context.context_manager import Compacted, SmartContextManager
    from localllm.context.usage import WindowUse

MOST_FAILURES = 3
"""Consecutive compactions that do not make enough room, after which the run ends."""

# Imported when needed: most conversations, and every start, need no compaction.


class Surroundings(msgspec.Struct, frozen=True):
    """Project context for compaction: the situation (where and when); remembered notes; a file's rank, 0 to 1; its
    text; the user's folder in the project. `keep` stores the user's words in a file the model can read, and returns its
    name."""

    situation: Callable[[], str] = str
    notes: Callable[[], str] = str
    rank: Callable[[str], float] | None = None
    read: Callable[[str], str | None] = lambda _path: None
    keep: Callable[[str], str] | None = None
    here: str = ""


class Compaction(Middleware):
    """Makes room in `history` for `client`'s answers. `tools` returns those currently offered; `compact_at` is the
    share of the window that may be filled; `note` is called with each compaction."""

    def __init__(
        self,
        client: LLMClient,
        history: History,
        tools: Callable[[], tuple[ToolSpec, ...]],
        *,
        compact_at: float,
        surroundings: Surroundings,
        note: "Callable[[Compacted], None]",
    ) -> None:
        self._client = client
        self._history = history
        self._tools = tools
        self._compact_at = compact_at
        self._surroundings = surroundings
        self._note = note
        self._failures = 0
        self._was_cut: Literal["", "call", "thinking"] = ""

    @cached_property
    def manager(self) -> "SmartContextManager":
        """The context manager that shortens the conversation."""
        from localllm.context.context_manager import SmartContextManager

        around = self._surroundings
        return SmartContextManager(
            self._client,
            compact_at=self._compact_at,
            surroundings=around.situation,
            rank=around.rank,
            read=around.read,
            keep=around.keep,
        )

    async def before_step(self, state: RunState) -> Decision:
        """Make room if the next request would have too little. Raises LLMConnectionError if that fails."""
        before, was_cut, self._was_cut = self._history.generation, self._was_cut, ""
        if self._is_full():
            await self._client.get_ready()  # the window may have been assumed until now
        if not self._is_full():
            self._failures = 0
            if was_cut:
                await self.make_room(state.emit)
        elif not self._client.assumes_window or self.manager.words_fit(self._history.conversation, self._tools()):
            await self._compact(state.emit)
        # else the assumed window is too small for the user's text: let the server decide
        if was_cut != "call":
            return None
        return Inject(remark("room_made" if self._history.generation != before else "smaller_call"))

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Note whether the token limit truncated a call: then the next answer needs more room, or fewer words."""
        is_cut = any(result.error is not None and result.error.key == "tool_cut_arguments" for result in results)
        self._was_cut = "call" if is_cut else ""

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Note whether thinking was truncated there."""
        if answer.finish_reason == "length" and not answer.message.text.strip():
            self._was_cut = "thinking"
        return None

    async def make_room(self, emit: Emit) -> bool:
        """Make room for a longer answer after a truncated one, if the conversation fills half of the window.
        Return whether there is more room now."""
        return self._is_half_full() and await self._compact(emit)

    async def fit(self, emit: Emit) -> None:
        """Make room for a request in a window that has become smaller."""
        if self._is_full():
            await self._compact(emit)

    def _is_full(self) -> bool:
        return Scale(self._client, self._tools(), self._compact_at).is_full(self._history.messages)

    async def recover(self, error: LLMConnectionError, emit: Emit) -> None:
        """Make room after the server has refused a request as too long.
        Raises LLMConnectionError: `error` itself, if it is another one or nothing can be removed."""
        overflow = overflow_of(error)
        if overflow is None or not await self._compact(emit, overflow):
            raise error

    def _is_half_full(self) -> bool:
        used = self._client.expect_prompt(self._history.messages, self._tools())
        return used > self._client.context_window // 2

    async def by_hand(self, emit: Emit, wish: str = "") -> "Compacted":
        """Summarise the conversation now, between two turns, preserving above all what `wish` asks for."""
        made = await self.manager.compact(self._history.conversation, self._tools(), wish=wish, by_hand=True)
        if not self._take(made, emit):
            emit(Notice(text=_("There is nothing to summarise yet.")))
            return made
        told = _told(made)
        emit(
            Notice(
                text=sentences(told, _("Without a model, a list of what was done takes the place of a summary."))
                if made.why == NO_MODEL
                else told
            )
        )
        return made

    def use(self) -> "WindowUse":
        """Return how the window is used."""
        from localllm.context.usage import window_use

        scale = Scale(self._client, self._tools(), self._compact_at)
        return window_use(self._history.conversation, scale, assumed=self._client.assumes_window)

    async def _compact(self, emit: Emit, overflow: Overflow | None = None) -> bool:
        """Make room; return whether there is more now."""

        def begins() -> None:
            emit(
                Notice(
                    text=_(
                        "The context window is nearly full: the model is summarising the conversation, "
                        "which may take a while."
                    )
                )
            )

        tools = self._tools()
        try:
            made = await self.manager.compact(self._history.conversation, tools, overflow=overflow, begins=begins)
        except LLMConnectionError:
            self._withdraw()
            raise
        if is_shorter := self._take(made, emit):
            emit(Notice(text=_told(made), level="info" if made.fits else "warning"))
        if made.fits and is_shorter:
            self._failures = 0
            return True
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._failures = 0
            window = self.manager.budget(self._history.conversation, self._tools()).window
            raise LLMConnectionError("context_full", count=MOST_FAILURES, after=f"{made.after:,}", window=f"{window:,}")
        return is_shorter

    def _withdraw(self) -> None:
        """Remove a request that does not fit: it would block every later one."""
        from localllm.context.summary import is_head

        newest = self._history.messages[-1]
        if isinstance(newest, UserMessage) and not is_head(newest):
            self._history.withdraw()

    def _take(self, made: "Compacted", emit: Emit) -> bool:
        """Adopt the compacted conversation if it is shorter; return whether it is."""
        if made.after >= made.before:
            return False
        self._history.rewrite(made.conversation)
        messages = tuple(msgspec.to_builtins(message) for message in made.conversation.messages)
        emit(events.Compacted(how=made.how, before=made.before, after=made.after, messages=messages, usage=made.usage))
        self._note(made)
        return True


def _told(made: "Compacted") -> str:
    key = (
        N_("Old tool output was dropped to make room: about {before} → {after} tokens.")
        if made.how == "pruned"
        else N_(
            "The conversation was summarised to make room: about {before} → {after} tokens. Your own messages are kept."
        )
    )
    lines = [_(key, before=f"{made.before:,}", after=f"{made.after:,}")]
    if made.why and made.why != NO_MODEL:
        lines.append(
            _(
                "The model's summary could not be used ({why}); a plain list of what was done takes its place.",
                why=made.why,
            )
        )
    return sentences(*lines)
