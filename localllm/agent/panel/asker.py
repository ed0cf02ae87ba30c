"""Ask a panel member: at the end of the main conversation, or with a dossier."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import msgspec

from localllm.agent.history import with_remark
from localllm.agent.panel.dossier import question_only
from localllm.agent.panel.members import Members, Role, instructions, is_same_model, server_of, tail
from localllm.agent.panel.records import ROLE_NAMES, Dossier, MainPrompt
from localllm.agent.system_prompt import remark
from localllm.base.errors import ConfigurationError, LLMConnectionError, LocalLLMError
from localllm.base.events import Consulting, Emit, Json, Notice, Opinion, Usage
from localllm.base.i18n import _, sentences
from localllm.config.schema import PanelSettings
from localllm.llm.client import LLMClient
from localllm.llm.messages import Completion, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.overflow import overflow_of
from localllm.llm.retry import SCHEMA_ERRORS

_TO_THINK = 2_000
"""Tokens allowed for thinking, which servers count as part of the answer."""

_GOAL = 200
"""Tokens of the goal when the conversation already contains it."""

_MARGIN = 1.15
"""Maximum ratio of actual to estimated tokens of a question."""

_TRIES = 2
"""Maximum answers with tool calls of a member: after the first it is told that only text is read."""

Question = Callable[[Dossier, int], str]
"""Formats the question about a dossier in a number of tokens."""


class Answer(NamedTuple):
    """A member's answer; without one `opinion` is None and `left_out` says who and why."""

    opinion: Opinion | None
    left_out: str = ""
    usage: Usage = Usage()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question to `role`. `slot`: the server's cache slot for dossiers, if it has several."""

    role: Role
    question: Question
    dossier: Dossier
    by_hand: bool = False
    schema: dict[str, Json] | None = None
    slot: int | None = None


class Asker:
    """Asks `members`. `admits` returns whether the rate limit allows a client now.

    A member with the main model is asked at the end of the main conversation, if the dossier has it: its server has
    that cached and needs to process only the question. Others get the dossier itself.
    """

    def __init__(self, members: Members, settings: PanelSettings, admits: Callable[[LLMClient], bool]) -> None:
        self._members = members
        self._settings = settings
        self._admits = admits
        self._turns: dict[str, asyncio.Lock] = {}
        self._at_work: list[Role] = []

    async def ask(self, asked: Asked, emit: Emit) -> Answer:
        """Return the answer to `asked`. Raises only cancellation."""
        role = asked.role
        try:
            client = self._members.client(role)
        except LocalLLMError as error:
            is_setting = isinstance(error, ConfigurationError)  # permanent until the user fixes it
            return Answer(None, _left_out(role, "", sentences(error.what, error.fix) if is_setting else error.what))
        try:
            async with self._turns.setdefault(server_of(client), asyncio.Lock()):
                if not self._admits(client):
                    return Answer(
                        None,
                        _left_out(
                            role, _who(client), _("the rate limit of its server does not allow another request yet")
                        ),
                    )
                with self._shown(role, emit):
                    async with asyncio.timeout(self._settings.timeout):
                        return await self._ask(client, asked, emit)
        except TimeoutError:
            reason = _("no answer within {seconds} s", seconds=f"{self._settings.timeout:g}")
        except LocalLLMError as error:
            reason = error.what
        return Answer(None, _left_out(role, _who(client), reason))

    @contextmanager
    def _shown(self, role: Role, emit: Emit) -> Generator[None]:
        """Show that `role` is being asked."""
        self._at_work.append(role)
        emit(Consulting(roles=tuple(self._at_work)))
        try:
            yield
        finally:
            self._at_work.remove(role)
            emit(Consulting(roles=tuple(self._at_work)))

    async def _ask(self, client: LLMClient, asked: Asked, emit: Emit) -> Answer:
        await client.get_ready()
        main, prompt = self._members.main, asked.dossier.main
        if prompt and is_same_model(client, main):
            try:
                return await self._ask_at_tail(main, prompt, asked, emit)
            except LLMConnectionError as error:
                if not overflow_of(error):
                    raise
        return await self._ask_by_dossier(client, asked, emit)

    async def _ask_at_tail(self, client: LLMClient, prompt: MainPrompt, asked: Asked, emit: Emit) -> Answer:
        """Ask at the end of the main conversation, whose prompt stays unchanged. Calls are not run."""
        part = tail("", asked.role, by_hand=asked.by_hand)
        dossier = question_only(asked.dossier) if asked.by_hand else question_only(asked.dossier, _GOAL)
        question = asked.question(dossier, self._room(client, free_tokens(client, prompt), part))
        messages = with_remark(prompt.messages, tail(question, asked.role, by_hand=asked.by_hand))
        usage = Usage()
        for _try in range(_TRIES):
            completion = await self._complete(client, messages, prompt.tools, asked, emit)
            usage += completion.usage
            if not (calls := completion.message.tool_calls):
                return _answer(client, asked.role, completion, usage)
            results = [ToolMessage(call.id, call.name, remark("text_only")) for call in calls]
            messages = (*messages, completion.message, *results)
        reason = _("it called a tool again, although only text is accepted")
        return Answer(None, _left_out(asked.role, _who(client.answering), reason), usage)

    async def _ask_by_dossier(self, client: LLMClient, asked: Asked, emit: Emit) -> Answer:
        part = instructions(asked.role, by_hand=asked.by_hand)
        question = asked.question(asked.dossier, self._room(client, client.context_window, part))
        messages = (SystemMessage(part), UserMessage(question))
        completion = await self._complete(client, messages, (), asked, emit)
        return _answer(client, asked.role, completion, completion.usage)

    async def _complete(
        self, client: LLMClient, messages: Sequence[Message], tools: Sequence[ToolSpec], asked: Asked, emit: Emit
    ) -> Completion:
        """Request the member's answer, with the schema enforced where supported."""

        def tell(notice: str) -> None:
            emit(Notice(text=f"{role_name(asked.role)}: {notice}", level="warning"))

        ask = partial(
            client.complete,
            messages,
            tools,
            max_tokens=self._settings.max_tokens + _TO_THINK,
            on_notice=tell,
            slot=asked.slot if server_of(client) == server_of(self._members.main) else None,
        )
        try:
            return await ask(schema=asked.schema)
        except LLMConnectionError as error:
            if asked.schema is None or error.key not in SCHEMA_ERRORS:
                raise
            return await ask()

    def _room(self, client: LLMClient, free: int, part: str) -> int:
        """Return the tokens a question may take of `free`, beside the answer and the member's instructions."""
        answer = min(self._settings.max_tokens, free // 4)
        return int((free - answer - client.estimate_tokens(part)) / _MARGIN)


def role_name(role: Role) -> str:
    """Return a role's name in the user's language."""
    return _(ROLE_NAMES[role])


def free_tokens(client: LLMClient, prompt: MainPrompt) -> int:
    """Return the free tokens of the window after the main conversation."""
    return client.context_window - client.expect_prompt(prompt.messages, prompt.tools)


def _answer(client: LLMClient, role: Role, completion: Completion, usage: Usage) -> Answer:
    text, who = completion.message.text.strip(), client.answering
    if not text:
        return Answer(None, _left_out(role, _who(who), _("it gave no answer")), usage)
    return Answer(Opinion(role=role, text=text, provider=who.provider.name, model=who.model), usage=usage)


def _who(client: LLMClient) -> str:
    """Return provider and model, or the address while the model is unknown."""
    return f"{client.provider.name} {client.model or client.provider.address}".strip()


def _left_out(role: Role, who: str, reason: str) -> str:
    name = role_name(role)
    return _("{member}: {reason}", member=f"{name} ({who})" if who else name, reason=reason.rstrip(".。 "))
