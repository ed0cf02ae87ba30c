"""LocalLLMCode: the one place where the parts are built and put together."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from localllm.agents.checkpoints import Checkpoints, Point
from localllm.agents.react_agent import ReActAgent
from localllm.base import logs
from localllm.base.config.loading import Loaded
from localllm.base.config.schema import Mode, ProviderName, Settings
from localllm.base.errors import ConfigurationError, InternalError, LocalLLMError, SafetyViolationError
from localllm.base.events import AgentEvent, MessageCompleted, Notice, RunFinished, RunStarted, Usage
from localllm.base.i18n import tr
from localllm.base.paths import ensure_project_folder, state_folder
from localllm.llm.building import make_client
from localllm.llm.clients import LLMClient
from localllm.llm.discovery.looking import found_keys
from localllm.llm.discovery.servers import Server
from localllm.llm.introducing import Introduction, describe, introduce
from localllm.llm.providers.base import ModelInfo, Preparing, Provider
from localllm.llm.selection import Selection
from localllm.memory.sessions import SessionLog, new_session_id
from localllm.sandbox.background import BackgroundCommand, BackgroundCommands
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.background import note_end
from localllm.tools.builtin import ALL_TOOLS, tools_for
from localllm.tools.context import ToolContext
from localllm.tools.guard.confirmer import Confirmer
from localllm.tools.guard.journal import Journal, JournalEntry, digest
from localllm.tools.guard.paths import ProjectRoot
from localllm.tools.guard.policy import Policy
from localllm.tools.guard.remembered import Remembered, RememberedRules
from localllm.tools.guard.rules import check_rules, closed_to_commands
from localllm.tools.guard.snapshots import Snapshots
from localllm.tools.tool_system import ToolSystem
from localllm.web.access import open_web

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
        check_rules(loaded.settings.safety, ALL_TOOLS)
        self.root = root
        self.config = loaded
        self.settings: Settings = loaded.settings
        self.session_id = new_session_id()
        self.usage = Usage()
        self.context_used = 0
        self._remembered = RememberedRules.of_user(root, environ)
        self._policy = Policy(self.settings.safety, self._remembered.rules)
        self._front_end = front_end
        self._accept_no_sandbox = accept_no_sandbox
        self._environ = environ
        self.llm_client: LLMClient = make_client(loaded.settings.llm, root, environ)
        self._selection = Selection(self.llm_client, loaded.settings.llm, root, environ)
        self._introduced: Provider | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._sandbox_level = ""
        self._recovered = 0

    async def initialize(self) -> bool:
        """Build the tools and the agent. Waits for no server: `settled` and the first request do."""
        logs.start(state_folder() / "logs", self.settings.logging.level)
        self._project_folder = ensure_project_folder(self.root)
        unreadable, unwritable = closed_to_commands(self.settings.safety)
        self._runner = SandboxRunner(
            self.root,
            state_folder=state_folder(),
            accept_no_sandbox=self._accept_no_sandbox,
            unreadable=[self.root / path for path in unreadable],
            unwritable=[self.root / path for path in unwritable],
            network_hosts=self.settings.safety.network_hosts,
        )
        self._start_session()
        self._recovered = self.tool_system.recover()
        if self.mode == "auto":
            await asyncio.to_thread(self._refuse_unheld)
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
        """End the commands in the background, and close the session log and the connections."""
        await self._background.end()
        self._runner.close()
        self._session.close()
        await self._selection.aclose()
        await self.llm_client.aclose()

    # --- what the chat and its commands use

    def begin_connecting(self) -> None:
        """Look for the model server while other things go on; every request waits for it."""
        self._selection.begin()

    async def settled(self) -> None:
        """Wait until it is known who answers, or that nobody does. Raises nothing."""
        await self._selection.settled()

    def introduction(self) -> Introduction:
        """Who answers, as far as known; from now on the person is told when that changes by itself."""
        self._introduced = self.llm_client.provider
        return introduce(
            self.llm_client,
            self.servers,
            self.server,
            self._selection.failure,
            sought=self._selection.automatic,
            keys=found_keys(self._environ),
        )

    async def run(self, query: str) -> AsyncGenerator[AgentEvent]:
        """The events of one request. A fault of ours ends the run, not the program: it is logged, and told."""
        try:
            if finished := await self._connect():
                started = RunStarted(
                    session_id=self.session_id, query=query, provider=self.provider_name, model=self.model
                )
                for event in self._told(started, finished):
                    yield event
                return
            for event in self._told(*self._news()):
                yield event
            self._checkpoints.add(query, by_hand=False)
            async with aclosing(self.react_agent.run(query)) as events:
                async for event in events:
                    yield event
        except Exception as error:  # noqa: BLE001 - the app boundary
            logs.of("APP").exception("a run failed")
            for event in self._told(_failed(InternalError("internal", reason=repr(error), log=logs.file()))):
                yield event

    async def _connect(self) -> RunFinished | None:
        """Know whom to ask, or how the run ends where that is not to be had, or the person would not wait for it."""
        waiting = self._waiting = asyncio.ensure_future(self._selection.ready())
        try:
            await asyncio.wait({waiting})
            waiting.result()
        except LocalLLMError as error:
            return _failed(error)
        except asyncio.CancelledError:
            if not waiting.cancelled():
                raise
            return RunFinished(status="interrupted", answer="")
        finally:
            waiting.cancel()
            self._waiting = None

    def _news(self) -> list[Notice]:
        """That another answers than the person was told of, and what the answer has to wait for, if so."""
        provider = self.llm_client.provider
        news: list[Notice] = []
        if self._introduced not in (None, provider):
            self._introduced = provider
            news.append(Notice(text=tr("start.now", who=describe(self.llm_client, self.server))))
        if isinstance(provider, Preparing) and provider.preparing:
            news.append(Notice(text=provider.preparing))
        return news

    def _told(self, *events: AgentEvent) -> Sequence[AgentEvent]:
        """The events, once the log has them."""
        for event in events:
            self._tell(event)
        return events

    def interrupt(self) -> None:
        """Break off the run that is going on."""
        if self._waiting is not None:
            self._waiting.cancel()
        else:
            self.react_agent.interrupt()

    @property
    def connecting(self) -> bool:
        """Whether it is still being found out who answers."""
        return self._selection.searching

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
    def model_info(self) -> ModelInfo:
        """What its server tells of the model, as far as it was asked."""
        return self.llm_client.info

    @property
    def sandbox_level(self) -> str:
        """How strongly commands are held; empty until `probe_sandbox` has found out."""
        return self._sandbox_level

    async def probe_sandbox(self) -> None:
        """Find out how strongly commands are held. The first time this runs one, which takes some 30 ms."""
        self._sandbox_level = await asyncio.to_thread(lambda: self._runner.level)
        self._runner.prepare()

    @property
    def mode(self) -> Mode:
        """What is asked about: plan, ask, auto-edit or auto."""
        return self._policy.mode

    def set_mode(self, mode: Mode) -> None:
        """Ask about more or less from now on. SafetyViolationError for auto where nothing holds the commands."""
        if mode == "auto":
            self._refuse_unheld()
        self._policy.mode = mode

    def _refuse_unheld(self) -> None:
        if self._runner.level == "none" and not self._accept_no_sandbox:
            raise SafetyViolationError("mode_needs_sandbox", reason=self._runner.reason)

    def rules(self) -> Sequence[Remembered]:
        """What answers have allowed, for this session or this project."""
        return self._remembered.all

    def forget_rule(self, remembered: Remembered) -> None:
        """Ask about it again."""
        self._remembered.remove(remembered)

    @property
    def context_window(self) -> int:
        """Tokens the model can read."""
        return self.llm_client.context_window

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a guess: neither the settings nor the server tell."""
        return self.llm_client.assumes_window

    def tools(self) -> Sequence[ToolInfo]:
        """Every tool, and whether the rules let the model have it."""
        offered = {spec.name for spec in self.tool_system.specs()}
        return [
            ToolInfo(tool.name, tool.spec.description, tool.risk.name.lower(), tool.name in offered)
            for tool in tools_for(self.settings)
        ]

    @property
    def servers(self) -> Sequence[Server]:
        """What was found when last looked for."""
        return self._selection.servers

    async def look_for_servers(self) -> Sequence[Server]:
        """Every address a model server may be at, and what is there now."""
        return await self._selection.look()

    @property
    def server(self) -> Server | None:
        """The one in use, as it was found; None where it was not looked for."""
        return next(filter(self._selection.in_use, self.servers), None)

    async def use_model(self, name: str) -> None:
        """Ask `name` from now on, of whatever server offers it. LLMConnectionError where none does."""
        await self._selection.use_model(name)
        self._introduced = self.llm_client.provider

    async def use_provider(self, name: ProviderName) -> None:
        """Ask this provider from now on. LLMConnectionError where it cannot be reached, and nothing is changed."""
        await self._selection.use_provider(name)
        self._introduced = self.llm_client.provider

    def offer(self, command: str, output: str, return_code: int) -> None:
        """Let the model read, with the next request, what a command of the person's own printed."""
        self.react_agent.offer(tr("own_command.for_model", command=command, code=return_code, output=output.rstrip()))
        entry = JournalEntry(
            tool="!",
            target=command,
            arguments=digest({"command": command}),
            outcome="ok" if return_code == 0 else "failed",
            approval="user",
            sandbox="none",
        )
        try:
            Journal(state_folder() / "journal.jsonl", self.session_id).write(entry)
        except OSError as error:
            logs.of("TOOL").warning("the journal cannot be written: %s", error)

    def undo(self, *, turn: bool = False) -> list[str]:
        """Take back the last change, or all of the last turn; a line for each file. If that was a rewind, the
        conversation comes back as well."""
        return self._checkpoints.undo(turn=turn)

    def checkpoint(self, name: str) -> int:
        """Remember this point under a number and a name (which may be empty); the number."""
        return self._checkpoints.add(name).number

    def checkpoints(self) -> Sequence[Point]:
        """The points of this session, the newest last: one before each request, and those made by hand."""
        return self._checkpoints.points()

    def rewind(self, which: str) -> list[str]:
        """Bring files and conversation back to the point of this number or name; a line for each thing done."""
        lines = self._checkpoints.rewind(which)
        self.context_used = 0
        return lines

    def clear(self) -> None:
        """Begin a new conversation, in a session of its own. Commands in the background end with the old one."""
        self._background.kill_all()
        self._session.close()
        self.session_id = new_session_id()
        self.context_used = 0
        self._start_session()

    def background(self) -> Sequence[BackgroundCommand]:
        """The commands of the session that run in the background or did, the oldest first."""
        return self._background.all()

    def notices(self) -> list[str]:
        """What the person should know at the start, whoever answers."""
        withheld = [tr("start.withheld", keys=", ".join(self.config.withheld))] if self.config.withheld else []
        recovered = [tr("undo.recovered", count=self._recovered)] if self._recovered else []
        return [*withheld, *recovered, *self.config.warnings]

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
        self._checkpoints = Checkpoints(self.tool_system, self.react_agent.history, self._session.append)

    def _make_tools(self) -> ToolSystem:
        journal = Journal(state_folder() / "journal.jsonl", self.session_id)
        self._background = BackgroundCommands(partial(note_end, journal))
        context = ToolContext(
            root=ProjectRoot(self.root),
            settings=self.settings,
            runner=self._runner,
            output_limit=self._output_limit(),
            overflow_folder=self._project_folder / "tool-output",
            background=self._background,
            sees=self._sees,
            web=open_web(self.settings.web) if self.settings.web.enabled else None,
        )
        return ToolSystem(
            tools_for(self.settings),
            context,
            policy=self._policy,
            confirmer=self._front_end.confirmer,
            snapshots=Snapshots.of_project(self.root),
            journal=journal,
            remembered=self._remembered,
        )

    def _sees(self) -> bool | None:
        """Whether the model can see pictures, as far as its server tells."""
        abilities = self.model_info.abilities
        return None if abilities is None else "vision" in abilities

    def _output_limit(self) -> int:
        """Characters of one tool's output the model is given."""
        room = int(self.context_window * _CHARACTERS_PER_TOKEN * _SHARE_OF_WINDOW)
        return min(MAX_TOOL_OUTPUT, max(MIN_TOOL_OUTPUT, room))

    def _tell(self, event: AgentEvent) -> None:
        """Every event of every run, whether or not anybody iterates."""
        self._session.append(event)
        match event:
            case MessageCompleted(usage=usage):
                self.usage += usage
                self.context_used = usage.prompt_tokens + usage.completion_tokens or self.context_used
                self.tool_system.limit_output(self._output_limit())  # the first answer has told the model's window
            case RunFinished():
                self._finished = event
                logs.of("AGENT").info("run ended: %s after %d steps", event.status, event.steps)
            case RunStarted():
                logs.of("AGENT").info("run started: %s %s", event.provider, event.model)
            case Notice(text=text, level="warning"):
                logs.of("AGENT").warning("%s", text)
            case _:
                pass


def _failed(error: LocalLLMError) -> RunFinished:
    return RunFinished(status="error", answer="", error_code=error.code, error=error.lines())
