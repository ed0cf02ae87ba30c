"""LocalLLMCode: the one place where the parts are built and put together."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

import msgspec

from localllm.agents.react_agent import ReActAgent
from localllm.base import logs
from localllm.base.config.loading import Loaded
from localllm.base.config.schema import Settings
from localllm.base.errors import ConfigurationError, InternalError, LLMConnectionError
from localllm.base.events import AgentEvent, MessageCompleted, Notice, RunFinished, RunStarted, Usage
from localllm.base.i18n import tr
from localllm.base.paths import ensure_project_folder, state_folder
from localllm.llm.building import make_client
from localllm.llm.clients import LLMClient
from localllm.memory.sessions import SessionLog, new_session_id
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.builtin import BUILTIN_TOOLS
from localllm.tools.context import ToolContext
from localllm.tools.guard.confirmer import Confirmer
from localllm.tools.guard.journal import Journal
from localllm.tools.guard.paths import ProjectRoot
from localllm.tools.guard.policy import Policy, check_rules
from localllm.tools.guard.snapshots import Snapshots
from localllm.tools.tool_system import ToolSystem

MAX_TOOL_OUTPUT = 30_000
"""Characters of one tool's output the model is given at most."""

MIN_TOOL_OUTPUT = 8_000
"""Characters it is given at least, however small the window."""

_CHARACTERS_PER_TOKEN = 3.6
_SHARE_OF_WINDOW = 0.10


class FrontEnd(Protocol):
    """Whoever shows a run to a person: the chat's terminal, or the printer of a one-shot run."""

    @property
    def confirmer(self) -> Confirmer:
        """Who answers confirmations."""
        ...

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> None:
        """Show the events of one run, to their end."""
        ...

    async def interact(self, chat: "LocalLLMCode") -> int:
        """Let the person talk until he leaves; the program's exit code."""
        ...


class ToolInfo(msgspec.Struct, frozen=True):
    """A tool as a person sees it: `risk` is safe, medium, high or highest."""

    name: str
    description: str
    risk: str
    allowed: bool


class LocalLLMCode:
    """The program without its screen: settings in, events out.

    `root` is the project; `environ` holds the keys of model servers; `accept_no_sandbox` lets commands run on a
    machine that has no sandbox. Making it raises ConfigurationError where the settings cannot be followed.
    """

    def __init__(
        self,
        root: Path,
        loaded: Loaded,
        front_end: FrontEnd,
        *,
        environ: Mapping[str, str],
        accept_no_sandbox: bool = False,
    ) -> None:
        check_rules(loaded.settings.safety, [tool.name for tool in BUILTIN_TOOLS])
        self.root = root
        self.config = loaded
        self.settings: Settings = loaded.settings
        self.session_id = new_session_id()
        self.usage = Usage()
        self.context_used = 0
        self._front_end = front_end
        self._accept_no_sandbox = accept_no_sandbox
        self.llm_client: LLMClient = make_client(loaded.settings.llm, root, environ)

    async def initialize(self) -> bool:
        """Build the tools and the agent. Asks no server: that happens with the first request."""
        logs.start(state_folder() / "logs", self.settings.logging.level)
        self._project_folder = ensure_project_folder(self.root)
        self._runner = SandboxRunner(self.root, state_folder=state_folder(), accept_no_sandbox=self._accept_no_sandbox)
        self._start_session()
        return True

    async def run_oneshot(self, prompt: str) -> RunFinished:
        """One request, shown by the front end; how it ended."""
        if not prompt.strip():
            raise ConfigurationError("usage_no_prompt")
        await self._front_end.consume(self.run(prompt))
        return self._finished

    async def run_interactive(self) -> int:
        """The chat, until the person leaves."""
        return await self._front_end.interact(self)

    async def cleanup(self) -> None:
        """Close the session log and the connections."""
        self._session.close()
        await self.llm_client.aclose()

    # --- what the chat and its commands use

    async def run(self, query: str) -> AsyncGenerator[AgentEvent]:
        """The events of one request. A fault of ours ends the run, not the program: it is logged, and told."""
        try:
            async with aclosing(self.react_agent.run(query)) as events:
                async for event in events:
                    yield event
        except Exception as error:  # noqa: BLE001 - the app boundary
            logs.of("APP").exception("a run failed")
            wrapped = InternalError("internal", reason=repr(error), log=logs.file())
            finished = RunFinished(status="error", answer="", error_code=wrapped.code, error=wrapped.lines())
            self._tell(finished)
            yield finished

    def interrupt(self) -> None:
        """Break off the run that is going on."""
        self.react_agent.interrupt()

    @property
    def provider_name(self) -> str:
        """The provider's name in the settings."""
        return self.llm_client.provider.name

    @property
    def provider_address(self) -> str:
        """Where the model is."""
        return self.llm_client.provider.address

    @property
    def model(self) -> str:
        """The model's name, empty until the server was first asked for it."""
        return self.llm_client.model

    @property
    def sandbox_level(self) -> str:
        """How strongly commands are held."""
        return self._runner.level

    @property
    def context_window(self) -> int:
        """Tokens the model can read."""
        return self.llm_client.context_window

    def tools(self) -> Sequence[ToolInfo]:
        """Every tool, and whether the rules let the model have it."""
        offered = {spec.name for spec in self.tool_system.specs()}
        return [
            ToolInfo(tool.name, tool.spec.description, tool.risk.name.lower(), tool.name in offered)
            for tool in BUILTIN_TOOLS
        ]

    async def list_models(self) -> list[str]:
        """The names of the server's models."""
        return [model.id for model in await self.llm_client.list_models()]

    async def use_model(self, name: str) -> None:
        """Ask `name` from now on. Raises LLMConnectionError where the server does not offer it."""
        names = await self.list_models()
        if name not in names:
            raise LLMConnectionError(
                "llm_model_not_found", url=self.provider_address, model=name, reason="", available=", ".join(names)
            )
        self.llm_client.model = name

    def undo(self, *, turn: bool = False) -> list[str]:
        """Take back the last change to a file, or all of the last turn; a line for each."""
        return self.tool_system.undo(turn=turn)

    def clear(self) -> None:
        """Begin a new conversation, in a session of its own."""
        self._session.close()
        self.session_id = new_session_id()
        self.context_used = 0
        self._start_session()

    def notices(self) -> list[str]:
        """What the person should know at the start."""
        notes = [tr("start.scripted")] if self.provider_name == "scripted" else []
        if self.config.withheld:
            notes.append(tr("start.withheld", keys=", ".join(self.config.withheld)))
        return [*notes, *self.config.warnings]

    def _start_session(self) -> None:
        self._session = SessionLog(self._project_folder / "sessions", self.session_id)
        self._finished = RunFinished(status="interrupted", answer="")
        self.tool_system = self._make_tools()
        self.react_agent = ReActAgent(
            self.llm_client,
            self.tool_system,
            settings=self.settings.agent,
            session_id=self.session_id,
            listeners=[self._tell],
        )

    def _make_tools(self) -> ToolSystem:
        room = int(self.context_window * _CHARACTERS_PER_TOKEN * _SHARE_OF_WINDOW)
        context = ToolContext(
            root=ProjectRoot(self.root),
            settings=self.settings,
            runner=self._runner,
            output_limit=min(MAX_TOOL_OUTPUT, max(MIN_TOOL_OUTPUT, room)),
            overflow_folder=self._project_folder / "tool-output",
        )
        return ToolSystem(
            BUILTIN_TOOLS,
            context,
            policy=Policy(self.settings.safety),
            confirmer=self._front_end.confirmer,
            snapshots=Snapshots.of_project(self.root),
            journal=Journal(state_folder() / "journal.jsonl", self.session_id),
        )

    def _tell(self, event: AgentEvent) -> None:
        """Every event of every run, whether or not anybody iterates."""
        self._session.append(event)
        match event:
            case MessageCompleted(usage=usage):
                self.usage += usage
                self.context_used = usage.prompt_tokens + usage.completion_tokens or self.context_used
            case RunFinished():
                self._finished = event
                logs.of("AGENT").info("run ended: %s after %d steps", event.status, event.steps)
            case RunStarted():
                logs.of("AGENT").info("run started: %s %s", event.provider, event.model)
            case Notice(text=text, level="warning"):
                logs.of("AGENT").warning("%s", text)
            case _:
                pass
