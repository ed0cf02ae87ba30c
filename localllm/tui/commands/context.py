"""What the chat knows of the program behind it."""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from localllm.base.events import AgentEvent, Emit, Usage
from localllm.config.schema import Mode, ProviderName, Settings
from localllm.llm.discovery.servers import Server
from localllm.llm.model_profiles import Profile
from localllm.llm.providers.base import ModelInfo
from localllm.llm.server_summary import Introduction
from localllm.repo_map.request import RepoMapText
from localllm.safety.saved_rules import Remembered
from localllm.sandbox.background import BackgroundCommand
from localllm.sessions.index import Session

if TYPE_CHECKING:
    from localllm.agent.memory_editor import Remembering
    from localllm.context.usage import WindowUse
    from localllm.ensemble.records import EnsembleResult, RunEvent
    from localllm.project.facts import ProjectAnalysis
    from localllm.rag.knowledge_base import KnowledgeBase
    from localllm.research.options import ResearchOptions
    from localllm.research.records import ResearchState
    from localllm.research.run_events import Forecast, ResearchEvent
    from localllm.sessions.transcript import Transcript


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

    @property
    def offered(self) -> bool:
        """Whether this conversation's profile tells the model of it."""
        ...


class PointInfo(Protocol):
    """A point to go back to: its number, its name or the request that came after it, when (seconds since the epoch),
    the files that would change back, and whether only these would, for the conversation up to it is gone."""

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
    """The sessions of the project, the one that is going on among them. Methods raise ConfigurationError."""

    @property
    def welcome(self) -> Sequence[str]:
        """What the person should know of the session that he goes on with, a line each."""
        ...

    @property
    def stood(self) -> tuple[str, str]:
        """What was asked last in it, and what was answered, whole; "" where nothing was."""
        ...

    def broken_off(self) -> str:
        """The request in whose middle the last session was broken off; "" where it was not, or goes on here. Reads a
        file."""
        ...

    @property
    def known(self) -> Sequence[Session]:
        """All of them as they were last looked at, told without waiting."""
        ...

    async def find(self, words: str = "") -> Sequence[Session]:
        """All, the last worked in first; or those in which something like `words` was asked for."""
        ...

    async def resume(self, wanted: str = "") -> Sequence[str]:
        """Go on with the session whose name begins so, or whose title this is; what should be known of it."""
        ...

    async def fork(self, point: int = 0) -> Sequence[str]:
        """Go on in a copy of this session, or of what it was at that checkpoint."""
        ...

    async def transcript(self) -> "Transcript":
        """This session as a person reads it again."""
        ...

    @property
    def title(self) -> str:
        """What the person calls this session."""
        ...

    def rename(self, title: str) -> None:
        """Call this session so; "" for nothing."""
        ...

    @property
    def is_kept(self) -> bool:
        """Whether this session can be gone on with later: something was said, and could be written down."""
        ...

    @property
    def failure(self) -> str:
        """Why this session cannot be written down; "" where it can."""
        ...


class FinishedRun(Protocol):
    """What came of a research run, and the file its report is in."""

    @property
    def state(self) -> "ResearchState": ...

    @property
    def report(self) -> Path: ...


class Research(Protocol):
    """Research with the model of the chat. Methods raise LocalLLMError."""

    def options(self, preset: str = "", docs: tuple[str, ...] = ()) -> "ResearchOptions":
        """How a run is done by the settings, a preset and these folders of documents."""
        ...

    def stored_options(self, name: str) -> "ResearchOptions":
        """How the run `name` was begun."""
        ...

    async def forecast(self, options: "ResearchOptions") -> "Forecast":
        """What a run will take."""
        ...

    async def run(
        self, question: str, options: "ResearchOptions", on_event: "Callable[[ResearchEvent], None]"
    ) -> FinishedRun:
        """Answer a question; cancelled, it can be gone on with."""
        ...

    async def resume(self, name: str, on_event: "Callable[[ResearchEvent], None]") -> FinishedRun:
        """Go on with a run."""
        ...


class FinishedScan(Protocol):
    """What came of a market scan: its id, its report in Markdown, and whether something is missing."""

    @property
    def id(self) -> str: ...

    @property
    def report(self) -> str: ...

    @property
    def partial(self) -> bool: ...


class Market(Protocol):
    """Market scans with the model of the chat. Methods raise LocalLLMError."""

    async def scan(
        self, theme: str, regions: tuple[str, ...], pages: int | None, on_event: "Callable[[ResearchEvent], None]"
    ) -> FinishedScan:
        """Scan the market of a theme; no regions means all, no pages what is set."""
        ...


class EnsembleDesk(Protocol):
    """The ensemble that the settings name. Methods raise LocalLLMError."""

    async def ask(self, prompt: str, on_event: "Callable[[RunEvent], None]") -> "EnsembleResult":
        """Ask the workers and the reviewer; cancelled, every request ends."""
        ...


class FileDiffInfo(Protocol):
    """What has become of a file: a unified `diff`, or the `reason` why there is none to show."""

    @property
    def path(self) -> str: ...

    @property
    def diff(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Changes(Protocol):
    """What the session has changed in the project. Methods raise ToolExecutionError."""

    def undo(self, *, turn: bool = False) -> list[str]:
        """Take back the last change to a file, or all of the last turn; a line for each file."""
        ...

    def redo(self) -> list[str]:
        """Make again what `undo` took back last, unless something was changed since; a line for each file."""
        ...

    def earlier(self, *, turn: bool = False) -> list[str]:
        """What `undo` would take back of an earlier session or another one, a line each; nothing where it is this
        session's."""
        ...

    def files(self) -> list[str]:
        """The files that tools have changed and that are not as they were; sorted."""
        ...

    def diffs(self, *, turn: bool = False) -> Sequence[FileDiffInfo]:
        """What has become of these files, of all or of those of the last request."""
        ...

    def checkpoint(self, name: str) -> int:
        """Remember this point under a number and a name (which may be empty); the number."""
        ...

    def checkpoints(self) -> Sequence[PointInfo]:
        """The points of this session, the oldest first."""
        ...

    def rewind(self, which: str) -> list[str]:
        """Bring files and conversation back to the point of this number or name; a line for each thing done."""
        ...


class ChatContext(Protocol):
    """One chat in one project, with one model at a time. Methods raise LocalLLMError."""

    @property
    def root(self) -> Path:
        """The project."""
        ...

    @property
    def here(self) -> Path:
        """The folder in it where the person stands."""
        ...

    @property
    def session_id(self) -> str: ...

    @property
    def connecting(self) -> bool:
        """Whether it is still being found out who answers."""
        ...

    @property
    def provider_name(self) -> str: ...

    @property
    def provider_address(self) -> str: ...

    @property
    def model(self) -> str:
        """The model's name; may be empty until it was first asked."""
        ...

    @property
    def model_info(self) -> ModelInfo:
        """What its server tells of the model, as far as it was asked."""
        ...

    @property
    def sandbox_level(self) -> str:
        """How strongly commands are held; "none" where nothing holds them, empty before `probe_sandbox`."""
        ...

    async def probe_sandbox(self) -> None:
        """Find out `sandbox_level`, without keeping anything else from going on."""
        ...

    @property
    def mode(self) -> Mode:
        """What is asked about."""
        ...

    def set_mode(self, mode: Mode) -> None:
        """Ask about more or less from now on."""
        ...

    def rules(self) -> Sequence[Remembered]:
        """What answers have allowed."""
        ...

    def forget_rule(self, remembered: Remembered) -> None:
        """Ask about it again."""
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
    def assumes_window(self) -> bool:
        """Whether `context_window` is a guess: neither the settings nor the server tell."""
        ...

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as last sent; 0 where unknown."""
        ...

    @property
    def profile(self) -> Profile:
        """How much the model is told and offered in this conversation."""
        ...

    def tools(self) -> Sequence[ToolInfo]: ...

    @property
    def project_aliases(self) -> Collection[str]:
        """Those of the aliases that the project's settings have given."""
        ...

    def run(self, query: str, *, typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """The events of one request, RunFinished the last. `typed`: the end of it that the person typed, where an
        alias of the project's has given the rest."""
        ...

    def steer(self, text: str) -> bool:
        """Let the model read `text` in the middle of the run; false where no run goes on that could take it."""
        ...

    @property
    def listens(self) -> bool:
        """Whether a run goes on that `steer` can tell something."""
        ...

    @property
    def unread(self) -> Sequence[str]:
        """What `steer` took and the model has not read yet, the oldest first."""
        ...

    def unsteer(self) -> str:
        """Take the newest of `unread` back; empty where there is none."""
        ...

    def interrupt(self) -> None:
        """Break off the run that is going on; its events still end with RunFinished."""
        ...

    def begin_connecting(self) -> None:
        """Find out who answers, while other things go on."""
        ...

    async def settled(self) -> None:
        """Wait until it is known who answers, or that nobody does. Raises nothing."""
        ...

    def introduction(self) -> Introduction:
        """Who answers, as far as known."""
        ...

    @property
    def servers(self) -> Sequence[Server]:
        """What was found when last looked for."""
        ...

    @property
    def server(self) -> Server | None:
        """The one of `servers` that is asked."""
        ...

    async def look_for_servers(self) -> Sequence[Server]:
        """Every address a model server may be at, and what is there now."""
        ...

    async def use_model(self, name: str) -> None:
        """Ask this model from now on, whatever server has it; a part of its name will do."""
        ...

    async def use_address(self, url: str) -> None:
        """Ask the OpenAI-compatible server at this address from now on."""
        ...

    async def use_provider(self, name: ProviderName) -> None:
        """Ask this provider from now on."""
        ...

    @property
    def research(self) -> Research:
        """Research with the model that answers."""
        ...

    @property
    def market(self) -> Market:
        """Market scans with the model that answers."""
        ...

    @property
    def ensemble(self) -> EnsembleDesk:
        """The ensemble of models that the settings name."""
        ...

    async def consult(self, kind: Literal["panel", "boss"], question: str, emit: Emit) -> None:
        """Ask the panel or the boss; what is said is emitted as a Consulted, and its plan goes to the model with the
        next request."""
        ...

    def offer(self, command: str, output: str, return_code: int) -> None:
        """Let the model read, with the next request, what a command of the person's own printed."""
        ...

    def knowledge(self) -> "KnowledgeBase | None":
        """The collections of documents; None where there are none. Reads folders."""
        ...

    def offer_passages(self, query: str, text: str) -> None:
        """Let the model read, with the next request, passages that were found for `query`."""
        ...

    def offer_answer(self, query: str, answer: str) -> None:
        """Let the model read, with the next request, what the ensemble has answered."""
        ...

    @property
    def changes(self) -> "Changes":
        """What the session has changed in the project, to be shown and taken back."""
        ...

    def background(self) -> Sequence[BackgroundCommand]:
        """The commands of the session that run in the background or did, the oldest first."""
        ...

    async def draw_map(self, words: str, lines: int) -> RepoMapText:
        """What matters most in the project, in so many lines; to `words`, or to what was talked about last."""
        ...

    async def analyze(self) -> "ProjectAnalysis":
        """What the project is, from its files alone. Raises OSError."""
        ...

    def window_use(self) -> "WindowUse":
        """Where the model's window goes."""
        ...

    async def compact(self, wish: str, emit: Emit) -> None:
        """Sum the conversation up to make room, and keep above all what `wish` says; a Notice tells what was done."""
        ...

    def clear(self) -> None:
        """Begin a new conversation."""
        ...

    @property
    def keeping(self) -> PastSessions:
        """The sessions of this project, the one that is going on among them."""
        ...

    @property
    def memory(self) -> "Remembering":
        """What is remembered of the project."""
        ...

    def notices(self) -> list[str]:
        """What the person should know at the start, whoever answers."""
        ...
