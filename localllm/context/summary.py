"""The state of the work in a model's words; where it has none that are of use, nothing."""

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Usage
from localllm.base.i18n import tr
from localllm.context.budget import NO_MODEL, Budget, Scale
from localllm.context.conversation import Conversation
from localllm.context.handoff import earlier_state, transcript
from localllm.context.truncation import cut
from localllm.llm.client import LLMClient
from localllm.llm.messages import SystemMessage, UserMessage

_BY_RULE = frozenset({"embedded", "scripted"})
"""Providers without a model behind them: they have nothing to say to a transcript."""

_FILL = 0.8
"""Of the window the transcript may fill beside its answer: the estimate may be off."""

_LENGTHS = (4_000, 2_000, 1_000, 500, 250, 120)
"""Characters a result has in the transcript, the most that makes it fit."""

_WORDS_PER_TOKEN = 0.6
_LEAST_LETTERS = 40
_TOO_LONG = 1.5
"""A summary so many times as long as was asked for is no summary."""

_CHANTING = 0.2
"""Text that can be packed into so small a part of itself says one thing over and over: prose needs 0.4 and more."""
_TELLING = 400


Begins = Callable[[], None]
"""Told before a model is asked for a summary, which may take a while."""


def to_nobody() -> None:
    """Nobody waits."""


class Summary(msgspec.Struct, frozen=True):
    """What the model says of the work, and what that cost. `text` is empty where it is of no use, `why` tells why."""

    text: str = ""
    why: str = ""
    usage: Usage = Usage()


class Summariser:
    """Asks `client` for hand-offs."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    @property
    def has_model(self) -> bool:
        """Whether there is somebody to ask."""
        return self._client.provider.name not in _BY_RULE

    async def summarise(
        self, conversation: Conversation, scale: Scale, budget: Budget, wish: str = "", begins: Begins = to_nobody
    ) -> Summary:
        """The state of the work in `conversation`. `wish`: what the person wants kept; `begins` is told once before
        the model is asked. A request that is too long for the server is made again, half as long. Raises nothing but a
        cancellation."""
        if not self.has_model:
            return Summary(why=NO_MODEL)
        begins()
        for factor in (budget.factor, 2 * budget.factor):
            try:
                return await self._ask(conversation, scale, msgspec.structs.replace(budget, factor=factor), wish)
            except LLMConnectionError as error:
                if error.key != "llm_context_overflow":
                    return Summary(why=error.what)
        return Summary(why=tr("context.why_unfit"))

    async def _ask(self, conversation: Conversation, scale: Scale, budget: Budget, wish: str) -> Summary:
        system = SystemMessage(_prompt().format(words=int(budget.summary * _WORDS_PER_TOKEN)))
        asked = f"Above all, keep: {wish}\n\n" if wish else ""
        fixed = scale.messages((system, UserMessage(asked)))
        room = int(_FILL * (budget.window - 2 * budget.summary) / budget.factor) - fixed
        text = fitting_transcript(conversation, room, scale)
        request = UserMessage(f"<transcript>\n{text}\n</transcript>\n\n{asked}Write the hand-off now.")
        answer = await self._client.complete((system, request), tool_choice="none", max_tokens=2 * budget.summary)
        written = answer.message.text.strip()
        fault = _fault(written, answer.finish_reason, scale.text(written), budget.summary)
        return Summary("" if fault else written, fault, answer.usage)


def fitting_transcript(conversation: Conversation, tokens: int, scale: Scale) -> str:
    """The messages as a text of so many tokens at most, and what an earlier hand-off told, at its beginning."""
    if before := earlier_state(conversation.messages):
        before = cut(before, tokens // 2, "[… {count:,} characters left out]", scale.text, head=0.5)
    text = ""
    for most in _LENGTHS:
        text = transcript(conversation, most)
        if scale.text(text) <= tokens - scale.text(before):
            break
    rest = cut(text, max(0, tokens - scale.text(before)), "[… {count:,} characters left out]", scale.text, head=0.3)
    return "\n\n".join(filter(None, [before and f"Handed over before:\n{before}", rest]))


def _fault(text: str, finish: str, tokens: int, wanted: int) -> str:
    """Why a summary is of no use; empty where it is."""
    if not text:
        return tr("context.why_empty")
    if len(text) < _LEAST_LETTERS:
        return tr("context.why_short")
    packed = text.encode("utf-8", "surrogatepass")
    if len(packed) > _TELLING and len(zlib.compress(packed)) < _CHANTING * len(packed):
        return tr("context.why_repeats")
    return tr("context.why_long") if finish == "length" or tokens > _TOO_LONG * wanted else ""


@cache
def _prompt() -> str:
    return (Path(__file__).parent / "prompts" / "summary.md").read_text(encoding="utf-8").strip()
