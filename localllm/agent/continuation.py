"""Request an answer until it is complete: retry an empty or interrupted one, continue a truncated one."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from localllm.agent.completion import ask, said_of_retry
from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.system_prompt import remark
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, Emit, Notice, TextDelta, Usage
from localllm.base.i18n import N_, _
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, Message, ToolChoice, ToolSpec, UserMessage
from localllm.llm.overflow import overflow_of
from localllm.llm.providers.base import MessageAssembler
from localllm.tools.results import ToolResult

MOST_ASKED = 2
"""Maximum requests for an answer after empty ones."""

_REMARKS = {"llm_thinking_cut": "thought_too_long", "llm_only_thought": "only_thought", "llm_empty": "said_nothing"}
_NOTICES = {
    "llm_thinking_cut": N_("The model used up its tokens on thinking and was asked for a short answer."),
    "llm_only_thought": N_("The model thought but gave no answer, and was asked for one."),
    "llm_empty": N_("The model returned an empty answer and was asked again."),
}

_LEAST_REPEATED = 8
"""Length of an overlap that may be accidental."""

_LONGEST_REPEATED = 20_000


class Seam:
    """Removes from a streamed text the overlap with the end of the text `before` it."""

    def __init__(self, before: str) -> None:
        self._before = before[-_LONGEST_REPEATED:]
        self._held = ""
        self._is_open = bool(before)

    def feed(self, piece: str) -> str:
        """Return what can be shown of the pieces so far."""
        if not self._is_open:
            return piece
        self._held += piece
        return "" if self._held.lstrip() in self._before else self.close()

    def close(self) -> str:
        """Return what was buffered and is no repetition."""
        held, self._held, self._is_open = self._held, "", False
        return held[repeated(self._before, held) :]


def joined(before: str, after: str) -> str:
    """Join both texts without their overlap."""
    return before + after[repeated(before[-_LONGEST_REPEATED:], after) :]


def repeated(before: str, after: str) -> int:
    """Return how many characters of `after` repeat the end of `before`, including leading white space."""
    blank = len(after) - len(after.lstrip())
    said = after[blank:]
    longest = min(len(before), len(said))
    for length in range(longest, _LEAST_REPEATED - 1, -1):
        if before.endswith(said[:length]):
            return blank + length
    return blank if before[-1:].isspace() else 0


class Room(Protocol):
    """Shortens the conversation; see Compaction."""

    async def recover(self, error: LLMConnectionError, emit: Emit) -> None: ...

    async def make_room(self, emit: Emit) -> bool: ...

    async def fit(self, emit: Emit) -> None: ...


class Answer:
    """One answer of `client`'s model. `is_shown`: its chunks are shown as they arrive, and cannot be retracted.

    `text` is the answer so far, `spent` the usage of attempts that is not in its own.
    """

    def __init__(self, client: LLMClient, room: Room, emit: Emit, *, is_shown: bool, thinking: bool = True) -> None:
        self.text = ""
        self.spent = Usage()
        self._client = client
        self._room = room
        self._emit = emit
        self._is_shown = is_shown
        self._thinking = thinking
        self._gathered = MessageAssembler()
        self._breaks = 0
        self._has_gone_on = False
        self._has_recovered = False
        self._has_replaced = False

    @property
    def said(self) -> AssistantMessage:
        """The answer so far, without calls, which may be incomplete."""
        return AssistantMessage(self.text, thinking=self._gathered.thinking)

    async def get(
        self,
        messages: Callable[[], tuple[Message, ...]],
        tools: Callable[[], tuple[ToolSpec, ...]],
        tool_choice: ToolChoice,
    ) -> Completion:
        """Return the answer to `messages`, which may change when room is made. Raises LLMConnectionError."""
        while True:
            before, self._gathered = self.text, MessageAssembler()
            seam = Seam(before)

            def show(event: AgentEvent, seam: Seam = seam) -> None:
                if isinstance(event, TextDelta):
                    self._add(seam.feed(event.text))
                else:
                    self._emit(event)

            try:
                part = await ask(
                    self._client,
                    self._request(messages()),
                    tools(),
                    show,
                    tool_choice=tool_choice,
                    gathered=self._gathered,
                    thinking=self._thinking,
                )
            except LLMConnectionError as error:
                self._add(seam.close())
                if await self._goes_on_after(error, before):
                    continue
                if self._has_gone_on:
                    return Completion(AssistantMessage(self.text), "length", Usage())
                raise
            self._add(seam.close())
            if await self._goes_on(part):
                self.spent += part.usage
                continue
            if before:
                whole = joined(before, part.message.text)
                part = msgspec.structs.replace(part, message=msgspec.structs.replace(part.message, text=whole))
            return part

    def _request(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return the messages, followed by the partial answer that is to be continued."""
        if not self.text.strip():
            return messages
        return (*messages, AssistantMessage(self.text), UserMessage(remark("go_on")))

    def _add(self, text: str) -> None:
        if text:
            self.text += text
            self._emit(TextDelta(text=text))

    async def _goes_on_after(self, error: LLMConnectionError, before: str) -> bool:
        """Return whether to retry after a failure, now that room was made or the server had a pause."""
        if overflow_of(error) and not self._has_recovered:
            self._has_recovered = True
            await self._room.recover(error, self._emit)
            return True
        if error.key == "llm_model_not_found" and not self._has_replaced:
            self._has_replaced = True
            if await self._uses_another_model():
                return True
        if not (self._gathered.text or self._gathered.thinking):  # already retried before the first chunk
            return False
        self._breaks += 1
        if not await self._client.may_ask_again(error, self._breaks, self._tell):
            return False
        if not self._is_shown:
            self.text = before
        return True

    async def _uses_another_model(self) -> bool:
        """Return whether a server that came back with another model answers with that one from now on."""
        gone = self._client.model
        if not (model := await self._client.replace_model()):
            return False
        text = _(
            "The server does not have {gone} any more: {model} answers now, with a window of {window:,} tokens.",
            gone=gone,
            model=model,
            window=self._client.context_window,
        )
        self._emit(Notice(text=text, level="warning"))
        await self._room.fit(self._emit)
        return True

    async def _goes_on(self, part: Completion) -> bool:
        """Return whether to ask the model to continue: once, if its text was truncated by the token limit."""
        message, was_cut = part.message, part.finish_reason == "length"
        if message.tool_calls or not message.text.strip() or not was_cut or self._has_gone_on:
            return False
        self._has_gone_on = True
        self._emit(
            Notice(text=_("The answer reached the token limit (llm.max_tokens): the model was asked to continue."))
        )
        await self._room.make_room(self._emit)
        return True

    def _tell(self, error: LLMConnectionError, seconds: float) -> None:
        text = said_of_retry(error, seconds)
        self._emit(Notice(text=text, level="warning"))


class Unanswered(Middleware):
    """Asks for an answer if the model has only thought, or returned nothing."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client
        self._asked = 0

    def begin(self) -> None:
        """Reset the count for a new run."""
        self._asked = 0

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Reset the count after a call."""
        self._asked = 0

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Ask for an answer, without thinking where the server supports it.
        Raises LLMConnectionError (one of UNANSWERED) if that did not help."""
        if answer.message.text.strip():
            return None
        error = self._client.unanswered(answer.finish_reason, has_thought=bool(answer.message.thinking.strip()))
        if self._asked >= MOST_ASKED:
            raise error
        self._asked += 1
        state.emit(Notice(text=_(_NOTICES[error.key]), level="warning"))
        return Inject(remark(_REMARKS[error.key]), thinking=False)
