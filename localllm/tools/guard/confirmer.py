"""Who answers when a person must decide. The screen, the one-shot printer and editors each have one."""

from typing import Protocol

from localllm.base.events import ConfirmationAnswered, ConfirmationRequested


class Confirmer(Protocol):
    """Gives the answer to a confirmation."""

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """The answer to `request`. Cancelling it cancels the call."""
        ...
