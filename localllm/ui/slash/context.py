"""What the chat knows of the program behind it."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Protocol

from localllm.base.config.schema import Settings
from localllm.base.events import AgentEvent, Usage


class ToolInfo(Protocol):
    """A tool as a person sees it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def risk(self) -> str:
        """safe, medium, high or highest."""
        ...

    @property
    def allowed(self) -> bool:
        """Whether the rules let the model have it."""
        ...


class ChatContext(Protocol):
    """One chat in one project, with one model at a time. Methods raise LocalLLMError."""

    @property
    def root(self) -> Path:
        """The project."""
        ...

    @property
    def session_id(self) -> str: ...

    @property
    def provider_name(self) -> str: ...

    @property
    def provider_address(self) -> str: ...

    @property
    def model(self) -> str:
        """The model's name; may be empty until it was first asked."""
        ...

    @property
    def sandbox_level(self) -> str:
        """How strongly commands are held; "none" where nothing holds them."""
        ...

    @property
    def settings(self) -> Settings: ...

    @property
    def usage(self) -> Usage:
        """Tokens of the session so far."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens the model can read."""
        ...

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as last sent; 0 where unknown."""
        ...

    def tools(self) -> Sequence[ToolInfo]: ...

    def run(self, query: str) -> AsyncGenerator[AgentEvent]:
        """The events of one request, RunFinished the last."""
        ...

    def interrupt(self) -> None:
        """Break off the run that is going on; its events still end with RunFinished."""
        ...

    async def list_models(self) -> list[str]: ...

    async def use_model(self, name: str) -> None: ...

    def undo(self, *, turn: bool = False) -> list[str]:
        """Take back the last change to a file, or all of the last turn; a line for each file."""
        ...

    def clear(self) -> None:
        """Begin a new conversation."""
        ...

    def notices(self) -> list[str]:
        """What the person should know at the start."""
        ...
