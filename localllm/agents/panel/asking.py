"""Asking one member of the panel: in turn where several have one server, and never longer than it may take."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from localllm.agents.panel.members import Members, server_of
from localllm.agents.panel.roles import Role, instructions
from localllm.base.config.schema import PanelSettings
from localllm.base.errors import ConfigurationError, LLMConnectionError, LocalLLMError
from localllm.base.events import Emit, Json, Notice, Opinion, Usage
from localllm.base.i18n import tr
from localllm.llm.clients import LLMClient
from localllm.llm.messages import SystemMessage, UserMessage

_TO_THINK = 2_000
"""Tokens a model may think before its answer, which servers count with it."""


_MARGIN = 1.15
"""A question may be so much longer than estimated."""

Question = Callable[[int], str]
"""A question in so many tokens."""


class Answer(NamedTuple):
    """What a member said; `opinion` is None for one that did not, and `left_out` says who and why."""

    opinion: Opinion | None
    left_out: str = ""
    usage: Usage = Usage()


class Asker:
    """Asks `members`. `admits` says whether a client may be asked now as far as its rate goes."""

    def __init__(self, members: Members, settings: PanelSettings, admits: Callable[[LLMClient], bool]) -> None:
        self._members = members
        self._settings = settings
        self._admits = admits
        self._turns: dict[str, asyncio.Lock] = {}

    async def ask(
        self,
        role: Role,
        question: Question,
        emit: Emit,
        *,
        by_hand: bool = False,
        schema: dict[str, Json] | None = None,
    ) -> Answer:
        """What `role` says to `question`. Raises nothing but an interrupt."""
        try:
            client = self._members.client(role)
        except LocalLLMError as error:
            is_setting = isinstance(error, ConfigurationError)  # it stays so until the person has mended it
            return Answer(None, _left_out(role, "", f"{error.what} {error.mend}" if is_setting else error.what))
        try:
            async with self._turns.setdefault(server_of(client), asyncio.Lock()):
                if not self._admits(client):
                    return Answer(None, _left_out(role, _who(client), tr("panel.rate_limited")))
                async with asyncio.timeout(self._settings.timeout):
                    return await self._ask(client, role, question, emit, by_hand=by_hand, schema=schema)
        except TimeoutError:
            reason = tr("panel.timed_out", seconds=f"{self._settings.timeout:g}")
        except LocalLLMError as error:
            reason = error.what
        return Answer(None, _left_out(role, _who(client), reason))

    async def _ask(
        self,
        client: LLMClient,
        role: Role,
        question: Question,
        emit: Emit,
        *,
        by_hand: bool,
        schema: dict[str, Json] | None,
    ) -> Answer:
        def tell(notice: str) -> None:
            emit(Notice(text=f"{tr(f'panel.role.{role}')}: {notice}", level="warning"))

        await client.get_ready()
        told = instructions(role, by_hand=by_hand)
        messages = (SystemMessage(told), UserMessage(question(self._room(client, told))))
        ask = partial(client.complete, messages, max_tokens=self._settings.max_tokens + _TO_THINK, on_notice=tell)
        try:
            completion = await ask(schema=schema)
        except LLMConnectionError as error:
            if schema is None or error.key != "llm_bad_call":
                raise
            completion = await ask()  # in the middle of its answer the server could not read it: llama.cpp, at times
        text = completion.message.text.strip()
        who = client.answering
        if not text:
            return Answer(None, _left_out(role, _who(who), tr("panel.said_nothing")), completion.usage)
        opinion = Opinion(role=role, text=text, provider=who.provider.name, model=who.model)
        return Answer(opinion, usage=completion.usage)

    def _room(self, client: LLMClient, told: str) -> int:
        """Tokens of its window that a question may take."""
        window = client.context_window
        answer = min(self._settings.max_tokens, window // 4)
        return int((window - answer - client.estimate_tokens(told)) / _MARGIN)


def _who(client: LLMClient) -> str:
    """The provider and the model, or, before that is known, the address."""
    return f"{client.provider.name} {client.model or client.provider.address}".strip()


def _left_out(role: Role, who: str, reason: str) -> str:
    name = tr(f"panel.role.{role}")
    return tr("panel.left_out", member=f"{name} ({who})" if who else name, reason=reason.rstrip(".。 "))
