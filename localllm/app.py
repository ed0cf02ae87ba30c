"""LocalLLMCode: the one place where the parts are built and put together."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from localllm.agents.checkpoints import Point
from localllm.agents.delegation.sub_agents import Explorer
from localllm.agents.panel.dossier import Deferred
from localllm.agents.react_agent import ReActAgent
from localllm.agents.remembering import Remembering
from localllm.answerer import Answerer
from localllm.base import logs
from localllm.base.config.loading import Loaded
from localllm.base.config.schema import Mode, Settings
from localllm.base.errors import (
    ConfigurationError,
    InternalError,
    LocalLLMError,
    SafetyViolationError,
)
from localllm.base.events import (
    AgentEvent,
    Emit,
    Notice,
    RunFinished,
    RunStarted,
    Usage,
)
from localllm.base.i18n import tr
from localllm.base.paths import ensure_project_folder, session_key_file, state_folder
from localllm.conversation import Conversation, Project, ToolInfo
from localllm.core.repomap import RepoMap, RepoMapText
from localllm.llm.profiles import Profile
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_seal import Seal
from localllm.sandbox.background import BackgroundCommand
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.builtin import ALL_TOOLS
from localllm.tools.guard.confirmer import Confirmer
from localllm.tools.guard.policy import Policy
from localllm.tools.guard.remembered import Remembered, RememberedRules
from localllm.tools.guard.rules import check_rules, closed_to_commands
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agents.multi_agent import MultiAgentSystem
    from localllm.core.window_use import WindowUse
    from localllm.keeping import Keeping
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.recall import MemoryEntry


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


class LocalLLMCode(Answerer):
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
        super().__init__(root, loaded.settings.llm, environ)
        self.root = root
        self.config = loaded
        self.settings: Settings = loaded.settings
        self._remembered = RememberedRules.of_user(root, environ)
        self._policy = Policy(self.settings.safety, self._remembered.rules)
        self._front_end = front_end
        self._accept_no_sandbox = accept_no_sandbox
        self._environ = environ
        self._explore = Explorer(self.llm_client, lambda: self.tool_system, self.settings.agent).tool()
        check_rules(loaded.settings.safety, (*ALL_TOOLS, self._explore))
        self._waiting: asyncio.Future[None] | None = None
        self._sandbox_level = ""
        self._recovered = 0
        self._panel: MultiAgentSystem | None = None
        self._earlier_usage = Usage()
        self._keeping: Keeping | None = None

    async def initialize(self) -> bool:
        """Build the tools and the agent. Waits for no server: `settled` and the first request do."""
        logs.start(state_folder() / "logs", self.settings.logging.level)
        self._project = self._open_project()
        self._conversation = Conversation(self._project)
        self._recovered = self.tool_system.recover()
        if self.mode == "auto":
            await asyncio.to_thread(self._refuse_unheld)
        return True

    async def run_oneshot(self, prompt: str) -> RunFinished:
        """One request, shown by the front end; how it ended."""
        if not prompt.strip():
            raise ConfigurationError("usage_no_prompt")
        await self._front_end.consume(self.run(prompt))
        return self._conversation.finished

    async def run_interactive(self) -> int:
        """The chat, until the person leaves."""
        self.keeping.tidy_soon()
        return await self._front_end.interact(self)

    async def cleanup(self) -> None:
        """End the commands in the background, and close the session, and the connections."""
        await self._conversation.background.end()
        self._project.runner.close()
        await self.keeping.end(self._conversation.finish())
        if self._panel is not None:
            await self._panel.aclose()
        await self.aclose()

    @property
    def session_id(self) -> str:
        """The name of the session, in the log and the journal."""
        return self._conversation.id

    @property
    def react_agent(self) -> ReActAgent:
        """The agent of the conversation that is going on."""
        return self._conversation.agent

    @property
    def tool_system(self) -> ToolSystem:
        """Its tools."""
        return self._conversation.tool_system

    @property
    def memory(self) -> Remembering:
        """What is remembered of the project, in the person's hands."""
        return self._conversation.memory

    @property
    def external_memory(self) -> "ExternalMemorySystem":
        """What is remembered of the project."""
        return self.memory.system

    # --- what the chat and its commands use

    @property
    def usage(self) -> Usage:
        """Tokens of all conversations since the start."""
        return self._earlier_usage + self._conversation.usage

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as last sent; 0 where unknown."""
        return self._conversation.context_used

    async def run(self, query: str) -> AsyncGenerator[AgentEvent]:
        """The events of one request. A fault of ours ends the run, not the program: it is logged, and told."""
        async with aclosing(self._guarded(query, self.react_agent.run)) as events:
            async for event in events:
                yield event

    async def coordinate(self, task: str) -> AsyncGenerator[AgentEvent]:
        """The events of a task that several agents do; what came of it the model reads with the next request."""
        finished = RunFinished(status="interrupted", answer="")
        async with aclosing(self._guarded(task, self._conversation.orchestrator().run)) as events:
            async for event in events:
                finished = event if isinstance(event, RunFinished) else finished
                yield event
        if finished.answer:
            self.react_agent.offer(tr("coordinate.for_model", task=task, answer=finished.answer))

    async def _guarded(
        self, query: str, run: Callable[[str], AsyncGenerator[AgentEvent]]
    ) -> AsyncGenerator[AgentEvent]:
        """The events of `run`, once it is known who answers."""
        try:
            if finished := await self._connect():
                started = RunStarted(
                    session_id=self.session_id, query=query, provider=self.provider_name, model=self.model
                )
                for event in self._told(started, finished):
                    yield event
                return
            for event in self._told(*self.news()):
                yield event
            self._conversation.checkpoints.add(query, by_hand=False)
            async with aclosing(run(query)) as events:
                async for event in events:
                    for text in self._conversation.take_failures():
                        yield Notice(text=text, level="warning")
                    yield event
        except Exception as error:  # noqa: BLE001 - the app boundary
            logs.of("APP").exception("a run failed")
            for event in self._told(_failed(InternalError("internal", reason=repr(error), log=logs.file()))):
                yield event

    async def _connect(self) -> RunFinished | None:
        """Know whom to ask, or how the run ends where that is not to be had, or the person would not wait for it."""
        waiting = self._waiting = asyncio.ensure_future(self._meet())
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

    async def _meet(self) -> None:
        """Know whom to ask and, before a conversation's first answer, what that is: it decides what it is told."""
        await self.ready()
        await self._conversation.prepare()

    def _told(self, *events: AgentEvent) -> Sequence[AgentEvent]:
        """The events, once the log has them."""
        for event in events:
            self._conversation.tell(event)
        return events

    def steer(self, text: str) -> bool:
        """Let the model read `text` in the middle of the run; false where no run goes on that could take it."""
        return self.react_agent.steer(text)

    @property
    def unread(self) -> Sequence[str]:
        """What `steer` took and the model has not read yet, the oldest first."""
        return self.react_agent.unread

    def unsteer(self) -> str:
        """Take the newest of `unread` back; empty where there is none."""
        return self.react_agent.unsteer()

    def interrupt(self) -> None:
        """Break off the run that is going on."""
        if self._waiting is not None:
            self._waiting.cancel()
        else:
            self._conversation.interrupt()

    @property
    def sandbox_level(self) -> str:
        """How strongly commands are held; empty until `probe_sandbox` has found out."""
        return self._sandbox_level

    async def probe_sandbox(self) -> None:
        """Find out how strongly commands are held. The first time this runs one, which takes some 30 ms."""
        self._sandbox_level = await asyncio.to_thread(lambda: self._project.runner.level)
        self._project.runner.prepare()

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
        runner = self._project.runner
        if runner.level == "none" and not self._accept_no_sandbox:
            raise SafetyViolationError("mode_needs_sandbox", reason=runner.reason)

    def rules(self) -> Sequence[Remembered]:
        """What answers have allowed, for this session or this project."""
        return self._remembered.all

    def forget_rule(self, remembered: Remembered) -> None:
        """Ask about it again."""
        self._remembered.remove(remembered)

    @property
    def profile(self) -> Profile:
        """What the model is told in this conversation; before its first answer, what it would be by what is known."""
        return self._conversation.profile

    def tools(self) -> Sequence[ToolInfo]:
        """Every tool, whether the rules let the model have it, and whether it is told of it."""
        return self._conversation.tools()

    @property
    def panel(self) -> "MultiAgentSystem":
        """Whom a stuck agent asks, and the person with /panel and /boss."""
        if self._panel is None:
            from localllm.agents.multi_agent import MultiAgentSystem  # few sessions ever ask

            self._panel = MultiAgentSystem(self.llm_client, self.settings, self.root, self._environ)
        return self._panel

    async def consult(self, kind: Literal["panel", "boss"], question: str, emit: Emit) -> None:
        """Ask the panel or the boss, as the person wants; the model reads the plan with the next request. Raises
        LLMConnectionError where no role has a model."""
        from localllm.agents.panel.by_hand import consult  # few sessions ever ask

        def tell(event: AgentEvent) -> None:
            self._conversation.tell(event)
            emit(event)

        await self.ready()
        await consult(self.panel, kind, question, self.react_agent, tell)

    def offer(self, command: str, output: str, return_code: int) -> None:
        """Let the model read, with the next request, what a command of the person's own printed."""
        self._conversation.offer_output(command, output, return_code)

    def undo(self, *, turn: bool = False) -> list[str]:
        """Take back the last change, or all of the last turn; a line for each file. If that was a rewind, the
        conversation comes back as well."""
        return self._conversation.checkpoints.undo(turn=turn)

    def checkpoint(self, name: str) -> int:
        """Remember this point under a number and a name (which may be empty); the number."""
        return self._conversation.checkpoints.add(name).number

    def checkpoints(self) -> Sequence[Point]:
        """The points of this session, the newest last: one before each request, and those made by hand."""
        return self._conversation.checkpoints.points()

    def rewind(self, which: str) -> list[str]:
        """Bring files and conversation back to the point of this number or name; a line for each thing done."""
        lines = self._conversation.checkpoints.rewind(which)
        self._conversation.context_used = 0
        self.react_agent.ladder.begin()
        if self._panel is not None:
            self._panel.consultation_history.clear()  # nobody knows which of it was before
        return lines

    def clear(self) -> None:
        """Begin a new conversation, in a session of its own. Commands in the background end with the old one."""
        self._earlier_usage += self._conversation.usage
        self._change_to(Conversation(self._project))

    def _change_to(self, conversation: Conversation) -> None:
        self._conversation.background.kill_all()
        self.keeping.close_soon(self._conversation.finish())
        if self._panel is not None:
            self._panel.consultation_history.clear()
        self._conversation = conversation

    def _go_on_with(self, conversation: Conversation) -> None:
        """As `_change_to`, with one that has its own past."""
        self._change_to(conversation)
        self._earlier_usage = Usage()

    @property
    def keeping(self) -> "Keeping":
        """What becomes of the sessions of this project."""
        if self._keeping is None:
            from localllm.keeping import Keeping  # the first request comes before it

            self._keeping = Keeping(self._project, lambda: self._conversation, self._go_on_with)
        return self._keeping

    def window_use(self) -> "WindowUse":
        """Where the model's window goes."""
        return self.react_agent.compaction.use()

    async def compact(self, wish: str, emit: Emit) -> None:
        """Sum the conversation up to make room, and keep above all what `wish` says; a Notice tells what was done."""

        def tell(event: AgentEvent) -> None:
            self._conversation.tell(event)
            emit(event)

        await self.settled()
        with self._conversation.checkpoints.before("/compact"):
            await self.react_agent.compaction.by_hand(tell, wish)

    def background(self) -> Sequence[BackgroundCommand]:
        """The commands of the session that run in the background or did, the oldest first."""
        return self._conversation.background.all()

    async def draw_map(self, words: str, lines: int) -> RepoMapText:
        """What matters most in the project, in so many lines; to `words`, or to what was talked about last."""
        return await self._project.repo_map.draw_lines(lines, words=words or self._conversation.focus.words)

    def notices(self) -> list[str]:
        """What the person should know at the start, whoever answers."""
        withheld = [tr("start.withheld", keys=", ".join(self.config.withheld))] if self.config.withheld else []
        recovered = [tr("undo.recovered", count=self._recovered)] if self._recovered else []
        return [*withheld, *recovered, *self.config.warnings]

    def _open_project(self) -> Project:
        """What all conversations here share."""
        folder = ensure_project_folder(self.root)
        return Project(
            root=self.root,
            folder=folder,
            settings=self.settings,
            client=self.llm_client,
            policy=self._policy,
            remembered=self._remembered,
            confirmer=self._front_end.confirmer,
            make_runner=self._make_runner,
            runner=self._make_runner(self.root),
            repo_map=RepoMap(self.root, folder / "repomap.msgpack", self.settings.project.exclude_patterns),
            explore=self._explore,
            advisers=Deferred(lambda: self.panel) if self.settings.agents.panel.enabled else None,
            seal=Seal(session_key_file()),
            memory=ProjectMemory(self.root, self.settings.project.memory_file, sessions=self._past_sessions),
        )

    def _past_sessions(self) -> "list[MemoryEntry]":
        """What can be found of all sessions but the one that is going on."""
        return [entry for entry in self.keeping.sessions.entries() if entry.id != self.session_id]

    def _make_runner(self, root: Path) -> SandboxRunner:
        """What runs commands in the project, or in a copy of it."""
        unreadable, unwritable = closed_to_commands(self.settings.safety)
        return SandboxRunner(
            root,
            state_folder=state_folder(),
            accept_no_sandbox=self._accept_no_sandbox,
            unreadable=[root / path for path in unreadable],
            unwritable=[root / path for path in unwritable],
            network_hosts=self.settings.safety.network_hosts,
        )


def _failed(error: LocalLLMError) -> RunFinished:
    return RunFinished(status="error", answer="", error_code=error.code, error=error.lines())
