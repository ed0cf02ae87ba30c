"""Who answers when a person must decide. The screen, the one-shot printer and editors each have one."""

import asyncio
from typing import Protocol

import msgspec

from localllm.base.events import ConfirmationAnswered, ConfirmationRequested


class Confirmer(Protocol):
    """Gives the answer to a confirmation."""

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """The answer to `request`. Cancelling it cancels the call."""
        ...


class OnBehalf:
    """Asks `confirmer` for the sub-agent `agent`; one question at a time of all that share `turn`."""

    def __init__(self, confirmer: Confirmer, agent: str, turn: asyncio.Lock) -> None:
        self._confirmer = confirmer
        self._agent = agent
        self._turn = turn

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """The answer, when it is this one's turn."""
        async with self._turn:
            return await self._confirmer.confirm(msgspec.structs.replace(request, agent=self._agent))
