"""The interface of the program for the chat and its commands."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from localllm.base.events import AgentEvent, Emit, Usage
from localllm.base.i18n import _
from localllm.config.schema import Mode, ProviderName, Settings
from localllm.llm.discovery.servers import Server
from localllm.llm.model_profiles import Profile
from localllm.llm.providers.base import ModelInfo
from localllm.llm.server_summary import Introduction, StandIn
from localllm.repo_map.request import RepoMapText
from localllm.safety.saved_rules import Remembered
from localllm.sandbox.background import BackgroundCommand
from localllm.sessions.index import Session

if TYPE_CHECKING:
    from localllm.agent.memory_editor import Remembering
    from localllm.config.loader import Loaded
    from localllm.context.usage import WindowUse
    from localllm.project.facts import ProjectAnalysis
    from localllm.rag.knowledge_base import KnowledgeBase
    from localllm.sessions.transcript import Transcript
    from localllm.tui.commands.long_runs import EnsembleDesk, Market, Research


class ToolInfo(Protocol):
    """A tool as shown to the user."""

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
        """Whether rules allow it."""
        ...

    @property
    def offered(self) -> bool:
        """Whether this conversation's profile offers it to the model."""
        ...


class PointInfo(Protocol):
    """A checkpoint: its number, its name or the request after it, its time (seconds since the epoch), the files a
    rewind would change, and whether only these would change because the conversation up to it is gone."""

    @property
    def number(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def by_hand(self) -> bool: ...

    @property
    def time(self) -> float: ...

    @property
    def changed(self) -> Sequence[str]: ...

    @property
    def files_only(self) -> bool: ...


class PastSessions(Protocol):
    """The sessions of the project, the current one included. Methods raise ConfigurationError."""

    @property
    def welcome(self) -> Sequence[str]:
        """Notes on the resumed session, a line each."""
        ...

    @property
    def stood(self) -> tuple[str, str]:
        """Its last request and the answer, untruncated; "" for none."""
        ...

    def broken_off(self) -> str:
        """Return the request during which the last session was interrupted; "" if it was not, or was resumed here.
        Reads a file."""
        ...

    @property
    def known(self) -> Sequence[Session]:
        """The sessions as of the last scan, without waiting."""
        ...

    async def find(self, words: str = "") -> Sequence[Session]:
        """List all sessions, most recently used first, or those with requests similar to `words`."""
        ...

    async def resume(self, wanted: str = "") -> Sequence[str]:
        """Resume the session with this name prefix or title; return notes on it."""
        ...

    async def fork(self, point: int = 0) -> Sequence[str]:
        """Continue in a copy of this session, or of its state at a checkpoint."""
        ...

    async def transcript(self) -> "Transcript":
        """Return this session as a readable transcript."""
        ...

    @property
    def title(self) -> str:
        """The user's title of this session."""
        ...

    def rename(self, title: str) -> None:
        """Set the title of this session; "" for none."""
        ...

    @property
    def is_kept(self) -> bool:
        """Whether this session can be resumed later: there was a message, and it could be logged."""
        ...

    @property
    def failure(self) -> str:
        """Why this session cannot be logged; "" if it can."""
        ...


class FileDiffInfo(Protocol):
    """The change of a file: a unified `diff`, or the `reason` why there is none to show."""

    @property
    def path(self) -> str: ...

    @property
    def diff(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Changes(Protocol):
    """The session's changes in the project. Methods raise ToolExecutionError."""

    def undo(self, *, turn: bool = False) -> list[str]:
        """Undo the last change to a file, or all of the last turn; return a line per file."""
        ...

    def redo(self) -> list[str]:
        """Redo the last `undo`, unless something was changed since; return a line per file."""
        ...

    def earlier(self, *, turn: bool = False) -> list[str]:
        """List what `undo` would revert of another session, a line each; empty if the next change is this session's."""
        ...

    def files(self) -> list[str]:
        """Return the files that tools changed and that still differ; sorted."""
        ...

    def diffs(self, *, turn: bool = False) -> Sequence[FileDiffInfo]:
        """Return the diffs of these files, of all or of those of the last request."""
        ...

    def checkpoint(self, name: str) -> int:
        """Create a checkpoint with a name (may be empty); return its number."""
        ...

    def checkpoints(self) -> Sequence[PointInfo]:
        """Return the checkpoints of this session, oldest first."""
        ...

    def rewind(self, which: str) -> list[str]:
        """Rewind files and conversation to the checkpoint of this number or name; return a line for each action."""
        ...

    @property
    def is_rewound(self) -> bool:
        """Whether `undo` would undo a rewind that changed anything."""
        ...


class ChatContext(Protocol):
    """One chat in one project, with one model at a time. Methods raise LocalLLMError."""

    @property
    def root(self) -> Path:
        """The project."""
        ...

    @property
    def here(self) -> Path:
        """The current folder in the project."""
        ...

    @property
    def session_id(self) -> str: ...

    @property
    def connecting(self) -> bool:
        """Whether the search for a model is in progress."""
        ...

    @property
    def provider_name(self) -> str: ...

    @property
    def provider_address(self) -> str: ...

    @property
    def model(self) -> str:
        """The model's name; may be empty before the first contact."""
        ...

    @property
    def stand_in(self) -> StandIn | None:
        """Who gave the last answer instead of the model, if that could not be reached."""
        ...

    @property
    def model_info(self) -> ModelInfo:
        """The server's description of the model, as far as requested."""
        ...

    @property
    def sandbox_level(self) -> str:
        """The sandbox's strength; "none" without a sandbox, empty before `probe_sandbox`."""
        ...

    async def probe_sandbox(self) -> None:
        """Determine `sandbox_level` in the background."""
        ...

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        ...

    def set_mode(self, mode: Mode) -> None:
        """Set the permission mode."""
        ...

    def rules(self) -> Sequence[Remembered]:
        """The permissions granted by answers."""
        ...

    def forget_rule(self, remembered: Remembered) -> None:
        """Revoke a permission."""
        ...

    @property
    def settings(self) -> Settings: ...

    @property
    def config(self) -> "Loaded":
        """The settings in force, with their origins: as loaded at the start, and as applied since."""
        ...

    def apply_setting(self, key: str) -> bool:
        """Use the user's own value of `key`, just saved, from now on. False if it takes effect at the next start."""
        ...

    def settings_news(self) -> Sequence[str]:
        """Return a notice of the settings files changed since the start or the last notice, if any."""
        ...

    @property
    def last_answer(self) -> str:
        """The last answer of this conversation, as Markdown; "" for none."""
        ...

    @property
    def usage(self) -> Usage:
        """Tokens of the session so far."""
        ...

    @property
    def context_window(self) -> int:
        """The model's context window in tokens."""
        ...

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a default, since neither the settings nor the server has it."""
        ...

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as last sent; 0 if unknown."""
        ...

    @property
    def profile(self) -> Profile:
        """The prompt profile of this conversation."""
        ...

    def tools(self) -> Sequence[ToolInfo]: ...

    def run(self, query: str, *, typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """Stream the events of one request, RunFinished last. `typed`: the part of it typed by the user, if the rest
        was pasted or supplied by an alias of the project."""
        ...

    def steer(self, text: str, *, typed: str | None = None) -> bool:
        """Send `text` to the model during the run; false if no run accepts it. `typed`: as for `run`."""
        ...

    @property
    def listens(self) -> bool:
        """Whether a run accepts `steer`."""
        ...

    @property
    def unread(self) -> Sequence[str]:
        """Steering messages the model has not read yet, oldest first."""
        ...

    def unsteer(self) -> str:
        """Withdraw the newest of `unread`; empty if there is none."""
        ...

    def interrupt(self) -> None:
        """Interrupt the current run; its events still end with RunFinished."""
        ...

    def begin_connecting(self) -> None:
        """Start selecting a model in the background."""
        ...

    async def settled(self) -> None:
        """Wait until the model is selected, or the search has failed. Raises nothing."""
        ...

    def introduction(self) -> Introduction:
        """Return the known facts about the model."""
        ...

    @property
    def servers(self) -> Sequence[Server]:
        """The servers found by the last search."""
        ...

    @property
    def server(self) -> Server | None:
        """The server of `servers` in use."""
        ...

    async def look_for_servers(self) -> Sequence[Server]:
        """Check every known address for model servers."""
        ...

    async def use_model(self, name: str) -> None:
        """Switch to this model on any server that has it; part of its name is sufficient."""
        ...

    async def use_address(self, url: str) -> None:
        """Switch to the OpenAI-compatible server at this address."""
        ...

    async def use_provider(self, name: ProviderName) -> None:
        """Switch to this provider."""
        ...

    @property
    def research(self) -> "Research":
        """Research with the current model."""
        ...

    @property
    def market(self) -> "Market":
        """Market scans with the current model."""
        ...

    @property
    def ensemble(self) -> "EnsembleDesk":
        """The configured ensemble of models."""
        ...

    async def consult(self, kind: Literal["panel", "boss"], question: str, emit: Emit) -> None:
        """Ask the panel or the boss; the result is emitted as a Consulted, and its plan is added to the next
        request."""
        ...

    def offer(self, command: str, output: str, return_code: int) -> None:
        """Add the output of a user's command to the next request."""
        ...

    def knowledge(self) -> "KnowledgeBase | None":
        """Open the collections of documents; None if there are none. Reads folders."""
        ...

    def offer_passages(self, query: str, text: str, *, is_research: bool = False) -> None:
        """Add passages found for `query`, or the findings of research, to the next request."""
        ...

    def offer_answer(self, query: str, answer: str) -> None:
        """Add the ensemble's answer to the next request."""
        ...

    @property
    def changes(self) -> "Changes":
        """The session's changes in the project, to show and undo."""
        ...

    def background(self) -> Sequence[BackgroundCommand]:
        """The session's background commands, running or ended, oldest first."""
        ...

    async def draw_map(self, words: str, lines: int) -> RepoMapText:
        """Draw the repository map in so many lines, ranked by `words`, or by the last topics."""
        ...

    async def analyze(self) -> "ProjectAnalysis":
        """Analyse the project from its files. Raises OSError."""
        ...

    def window_use(self) -> "WindowUse":
        """The use of the model's context window."""
        ...

    async def compact(self, wish: str, emit: Emit) -> None:
        """Compact the conversation, preserving above all what `wish` names; a Notice reports the result."""
        ...

    def clear(self) -> None:
        """Start a new conversation."""
        ...

    @property
    def keeping(self) -> PastSessions:
        """The sessions of this project, the current one included."""
        ...

    @property
    def memory(self) -> "Remembering":
        """The project's memory."""
        ...

    def notices(self) -> list[str]:
        """Return the notices shown at start-up, independent of the model."""
        ...


def answering_model(chat: ChatContext) -> str:
    """Return the name of the model that answers, with the one it stands in for; empty before the first contact."""
    if stand_in := chat.stand_in:
        return _("{model} (instead of {other})", model=stand_in.model, other=chat.model or chat.provider_name)
    return chat.model
