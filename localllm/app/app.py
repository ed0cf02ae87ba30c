"""LocalLLMCode: construct and connect the parts of the program."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from localllm.agent.advice import Panel
from localllm.agent.memory_editor import Remembering
from localllm.agent.react_agent import ReActAgent
from localllm.agent.subagents import Explorer
from localllm.app.deep_research import can_research, research_tool
from localllm.app.late_sandbox import late_runner
from localllm.app.model_session import Answerer, names_model
from localllm.app.open_project import OpenProject
from localllm.app.private_log import start_log
from localllm.app.recovery import Recovery
from localllm.app.request import Requests
from localllm.app.session import Conversation, ToolInfo
from localllm.app.session_changes import SessionChanges
from localllm.app.settings_news import SettingsNews
from localllm.app.start_notices import place_notices, settings_notices
from localllm.app.work_folder import work_folder
from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.events import AgentEvent, Emit, Notice, RunFinished, Usage
from localllm.base.paths import open_storage, project_folder, session_key_file
from localllm.config.loader import Loaded, left_out_notice, run_with
from localllm.config.schema import Mode
from localllm.llm.model_profiles import Profile
from localllm.llm.offline_servers import go_offline
from localllm.memory.project_memory import ProjectMemory
from localllm.rag.locations import has_collections
from localllm.repo_map.repo_map import RepoMap
from localllm.repo_map.request import RepoMapText
from localllm.safety.closed_files import closed_files, closed_patterns, closed_to_memory
from localllm.safety.confirmation import Confirmer
from localllm.safety.hard_links import close_other_names
from localllm.safety.home_folder import guard_home
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy
from localllm.safety.rules import closed_to_reading, usable_rules
from localllm.safety.saved_rules import Remembered, RememberedRules
from localllm.safety.tool_definition import Tool
from localllm.sandbox.background import BackgroundCommand
from localllm.sessions.log import Seal
from localllm.tools.builtin import all_tools
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agent.panel.multi_agent import MultiAgentSystem
    from localllm.app.chat_ensemble import ChatEnsemble
    from localllm.app.chat_market import ChatMarket
    from localllm.app.chat_research import ChatResearch
    from localllm.app.session_manager import Keeping
    from localllm.base.cache import CacheManager
    from localllm.context.context_manager import SmartContextManager
    from localllm.context.usage import WindowUse
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.project.analyzer import ProjectAnalyzer
    from localllm.project.facts import ProjectAnalysis
    from localllm.rag.knowledge_base import KnowledgeBase


class FrontEnd(Protocol):
    """A user interface for runs: the chat's terminal, or the printer of a one-shot run."""

    @property
    def confirmer(self) -> Confirmer:
        """The confirmer that answers confirmation requests."""
        ...

    @property
    def shows_pieces(self) -> bool:
        """Whether answers are streamed to the display."""
        ...

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> None:
        """Show all events of one run."""
        ...

    async def notify(self, text: str) -> None:
        """Show the user a message outside of a run."""
        ...

    async def interact(self, chat: "LocalLLMCode") -> int:
        """Run the chat until the user exits; return the exit code."""
        ...


class LocalLLMCode(Answerer):
    """The program without its user interface: settings in, events out.

    `root` is the project, `here` the current folder in it; `environ` has the keys of model servers; `accept_no_sandbox`
    allows commands on a machine without a sandbox; `recovery`: what was restored before the settings were read.
    Raises ConfigurationError if the settings cannot be applied.
    """

    def __init__(
        self,
        root: Path,
        loaded: Loaded,
        front_end: FrontEnd,
        *,
        environ: Mapping[str, str],
        here: Path | None = None,
        accept_no_sandbox: bool = False,
        recovery: Recovery | None = None,
    ) -> None:
        go_offline(loaded, environ)
        super().__init__(root, loaded.settings.llm, loaded.allowed_environ(environ), is_named=names_model(loaded))
        self.root = root
        self.here = here or root
        self.config = loaded
        self._explore = Explorer(self.llm_client, lambda: self.tool_system, loaded.settings.agent).tool()
        self._deep_research = research_tool(lambda: self.research, self.llm_client.estimate_tokens)
        tools = (*all_tools(), self._explore, self._deep_research)
        safety, self._faulty_rules = usable_rules(loaded.settings.safety, loaded.unchecked, tools, root)
        safety = close_other_names(guard_home(safety, root), root)
        self.settings = msgspec.structs.replace(loaded.settings, safety=safety)
        run_with(self.settings, root)
        self._remembered = RememberedRules.of_user(root, environ)
        self._policy = Policy(self.settings.safety, self._remembered.rules)
        self._front_end = front_end
        self._accept_no_sandbox = accept_no_sandbox
        self._environ = environ
        self._sandbox_level = ""
        self._recovery = recovery or Recovery()
        self._panel = Panel(self._make_panel)
        self._requests = Requests(self, lambda: self._conversation)
        self._settings_news = SettingsNews(root, environ, loaded)
        self._earlier_usage = Usage()
        self._keeping: Keeping | None = None

    async def initialize(self) -> bool:
        """Create the tools and the agent, without waiting for a server: `settled` and the first request do that."""
        start_log(self.settings.logging, work_folder(self.settings))
        self._project = self._open_project()
        self._conversation = Conversation(self._project)
        self._recovery.run(self.root, self._project.runner, self.tool_system.changes)
        return True

    async def ready(self) -> None:
        """See ModelSession; auto also requires a sandbox. Raises SafetyViolationError if there is none."""
        if self.mode == "auto":
            await asyncio.to_thread(self._refuse_unheld)
        await super().ready()

    async def run_oneshot(self, prompt: str, piped: str = "") -> RunFinished:
        """Run one request in the front end; return how it ended. `piped`: see `run`."""
        if not (prompt.strip() or piped):
            raise ConfigurationError("usage_no_prompt")
        if (project_folder(self.root) / "sessions").is_dir():
            await self.keeping.adopt()
        self._conversation.mark_one_shot()
        await self._front_end.consume(self.run(prompt, piped))
        return self._conversation.finished

    async def run_interactive(self) -> int:
        """Run the chat until the user exits."""
        self.keeping.tidy_soon()
        return await self._front_end.interact(self)

    async def cleanup(self) -> None:
        """End background commands; close the session and the connections."""
        await self._conversation.background.end()
        self._project.runner.close()
        await self.keeping.end(self._conversation.finish())
        await self._panel.aclose()
        await self.aclose()

    @property
    def session_id(self) -> str:
        """The id of the session, in the log and the journal."""
        return self._conversation.id

    @property
    def react_agent(self) -> ReActAgent:
        """The agent of the current conversation."""
        return self._conversation.agent

    @property
    def tool_system(self) -> ToolSystem:
        """The agent's tools."""
        return self._conversation.tool_system

    @property
    def memory(self) -> Remembering:
        """The project's memory, as the user edits it."""
        return self._conversation.memory

    @property
    def external_memory(self) -> "ExternalMemorySystem":
        """The project's memory."""
        return self.memory.system

    @property
    def context_manager(self) -> "SmartContextManager":
        """The manager that fits the conversation into the model's window."""
        return self.react_agent.context_manager

    @property
    def multi_agent_system(self) -> "MultiAgentSystem":
        """The advisers of a stuck agent, and of the user with /panel and /boss."""
        return self._panel.system

    @property
    def is_running(self) -> bool:
        """Whether a request is in progress."""
        return self._requests.is_running

    # --- what the chat and its commands use

    @property
    def usage(self) -> Usage:
        """Tokens of all conversations since the start."""
        return self._earlier_usage + self._conversation.usage

    @property
    def last_answer(self) -> str:
        """The last answer of this conversation, as Markdown; "" for none."""
        return self._conversation.last_answer

    @property
    def context_used(self) -> int:
        """Tokens of the conversation as last sent; 0 if unknown."""
        return self._conversation.context_used

    def run(self, query: str, piped: str = "", *, typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """Stream the events of one request. An internal error ends the run, not the program: it is logged and shown.
        `piped` follows the query and was not typed by the user; `typed`: the typed part of it, if not all was."""
        return self._requests.events(query, piped, typed)

    def steer(self, text: str, *, typed: str | None = None) -> bool:
        """Send `text` to the model during the run; false if no run accepts it. `typed`: as for `run`."""
        return self.react_agent.steer(text, typed=typed)

    @property
    def listens(self) -> bool:
        """Whether a run accepts `steer`."""
        return self.react_agent.listens

    @property
    def unread(self) -> Sequence[str]:
        """Steering messages the model has not read yet, oldest first."""
        return self.react_agent.unread

    def unsteer(self) -> str:
        """Withdraw the newest of `unread`; empty if there is none."""
        return self.react_agent.unsteer()

    def interrupt(self) -> None:
        """Interrupt the current run."""
        self._requests.interrupt()

    def news(self) -> list[Notice]:
        """Return notices before a request: a changed model, and changed settings."""
        return [*super().news(), *(Notice(text=text) for text in self.settings_news())]

    def settings_news(self) -> Sequence[str]:
        """Return a notice of the settings files changed since the start or the last notice, if any."""
        return self._settings_news.take()

    def apply_setting(self, key: str) -> bool:
        """Use the user's own value of `key`, just saved, from now on. False if it takes effect at the next start."""
        if (loaded := self._settings_news.applied(self.config, key)) is None:
            return False
        self.config = loaded
        self.settings = msgspec.structs.replace(loaded.settings, safety=self.settings.safety)
        run_with(self.settings, self.root)
        self._project = msgspec.structs.replace(self._project, settings=self.settings, own_tools=self._own_tools())
        self._conversation.change_project(self._project)
        self.keeping.change_project(self._project)
        return True

    @property
    def sandbox_level(self) -> str:
        """The sandbox's strength; empty before `probe_sandbox`."""
        return self._sandbox_level

    async def probe_sandbox(self) -> None:
        """Probe the sandbox's strength. The first call runs a command, which takes some 30 ms."""
        self._sandbox_level = await asyncio.to_thread(lambda: self._project.runner.level)
        self._project.runner.prepare()

    @property
    def mode(self) -> Mode:
        """The permission mode: plan, ask, auto-edit or auto."""
        return self._policy.mode

    def set_mode(self, mode: Mode) -> None:
        """Set the permission mode. Raises SafetyViolationError for auto without a sandbox."""
        if mode == "auto":
            self._refuse_unheld()
        self._policy.mode = mode

    def _refuse_unheld(self) -> None:
        runner = self._project.runner
        if runner.level == "none" and not self._accept_no_sandbox:
            raise SafetyViolationError("mode_needs_sandbox", reason=runner.reason)

    def rules(self) -> Sequence[Remembered]:
        """The permissions granted by answers, for this session or this project."""
        return self._remembered.all

    def forget_rule(self, remembered: Remembered) -> None:
        """Revoke a permission."""
        self._remembered.remove(remembered)

    @property
    def profile(self) -> Profile:
        """The model's profile in this conversation; before the first answer, the one that would be chosen now."""
        return self._conversation.profile

    def tools(self) -> Sequence[ToolInfo]:
        """List every tool, whether rules allow it, and whether it is offered to the model."""
        return self._conversation.tools()

    async def consult(self, kind: Literal["panel", "boss"], question: str, emit: Emit) -> None:
        """Ask the panel or the boss for the user; the model reads the plan with the next request. Raises
        LLMConnectionError if no role has a model."""
        await self.ready()
        await self._panel.consult(kind, question, self.react_agent, self._telling(emit))

    def offer(self, command: str, output: str, return_code: int) -> None:
        """Add the output of a user's command to the next request."""
        self._conversation.offer_output(command, output, return_code)

    def offer_passages(self, query: str, text: str, *, is_research: bool = False) -> None:
        """Add passages the user searched for in collections, or findings of research, to the next request."""
        self._conversation.offer_passages(query, text, is_research=is_research)

    def offer_answer(self, query: str, answer: str) -> None:
        """Add the ensemble's answer to the user to the next request."""
        self._conversation.offer_answer(query, answer, is_here=self.ensemble.is_here)

    @property
    def changes(self) -> SessionChanges:
        """The session's changes in the project, to show and undo."""
        return SessionChanges(self._conversation, self._panel)

    def clear(self) -> None:
        """Start a new conversation in a new session. Background commands of the old one are ended."""
        self._earlier_usage += self._conversation.usage
        self._change_to(Conversation(self._project))

    def _change_to(self, conversation: Conversation) -> None:
        self._conversation.background.kill_all()
        self._remembered.forget_session()
        self.keeping.close_soon(self._conversation.finish())
        self._panel.forget()
        self._conversation = conversation

    def _go_on_with(self, conversation: Conversation) -> None:
        """Switch to a resumed conversation, which has its own token usage."""
        self._change_to(conversation)
        self._earlier_usage = Usage()

    @property
    def keeping(self) -> "Keeping":
        """The manager of this project's sessions."""
        if self._keeping is None:
            from localllm.app.session_manager import Keeping  # the first request comes before it

            notify, current = self._front_end.notify, lambda: self._conversation
            self._keeping = Keeping(self._project, current, self._go_on_with, notify, self.use_again)
        return self._keeping

    def window_use(self) -> "WindowUse":
        """The use of the model's context window."""
        return self.react_agent.compaction.use()

    async def compact(self, wish: str, emit: Emit) -> None:
        """Compact the conversation, preserving above all what `wish` names; a Notice reports the result."""
        await self.settled()
        with self._conversation.checkpoints.before("/compact"):
            await self.react_agent.compaction.by_hand(self._telling(emit), wish)

    def _telling(self, emit: Emit) -> Emit:
        """Wrap `emit` to log events first, since manual actions are outside of runs."""

        def tell(event: AgentEvent) -> None:
            self._conversation.tell(event)
            emit(event)

        return tell

    def background(self) -> Sequence[BackgroundCommand]:
        """The session's background commands, running or ended, oldest first."""
        return self._conversation.background.all()

    async def draw_map(self, words: str, lines: int) -> RepoMapText:
        """Draw the repository map in so many lines, ranked by `words`, or by the last topics."""
        return await self._project.repo_map.draw_lines(lines, words=words or self._conversation.focus.words)

    async def analyze(self) -> "ProjectAnalysis":
        """Analyse the project from its files; a valid cached analysis is reused."""
        return await self.project_analyzer.analyze()

    def knowledge(self) -> "KnowledgeBase | None":
        """Open the knowledge base with the current settings; None if there is none."""
        environ = self.config.allowed_environ(self._environ)
        if not has_collections(self.settings, self.root, environ):
            return None
        from localllm.rag.chat_model import ChatModel
        from localllm.rag.knowledge_base import KnowledgeBase

        closed = closed_files(self.settings.safety, self.root, self.config.own.safety)
        return KnowledgeBase(self.settings, self.root, environ, ChatModel(self.llm_client), closed)

    @cached_property
    def project_analyzer(self) -> "ProjectAnalyzer":
        """The project analyser."""
        from localllm.project.analyzer import ProjectAnalyzer  # few sessions use it

        store = self._project.storage.cache_file("analysis.msgpack")
        exclude = (*self.settings.project.exclude_patterns, *closed_patterns(self.settings.safety, self.root))
        return ProjectAnalyzer(self.root, store, exclude, caches=self.caches)

    @property
    def research(self) -> "ChatResearch":
        """Research with this chat's model."""
        from localllm.app.chat_research import ChatResearch  # few sessions use it

        environ = self.config.allowed_environ(self._environ)
        return ChatResearch(self.settings, self.root, environ, self.llm_client, self.ready)

    @property
    def market(self) -> "ChatMarket":
        """Market scans with this chat's model."""
        from localllm.app.chat_market import ChatMarket  # few sessions use it

        environ = self.config.allowed_environ(self._environ)
        return ChatMarket(self.settings, self.root, environ, self.llm_client, self.ready)

    @property
    def ensemble(self) -> "ChatEnsemble":
        """The configured ensemble."""
        return self._ensemble

    @cached_property
    def _ensemble(self) -> "ChatEnsemble":
        from localllm.app.chat_ensemble import ChatEnsemble  # few sessions use it

        return ChatEnsemble(self.settings, self.root, self.config.allowed_environ(self._environ))

    @cached_property
    def caches(self) -> "CacheManager":
        """The caches of computed results, for the life of the program."""
        from localllm.base.cache import CacheManager

        return CacheManager()

    def notices(self) -> list[str]:
        """Return the notices shown at start-up, independent of the model."""
        of_settings = settings_notices(self.config.withheld, self.config.unsent_keys(self._environ))
        told = [*place_notices(self.root, self._project.storage), *of_settings, *self._recovery.notices()]
        return [*told, *self.config.warnings, *map(left_out_notice, self._faulty_rules)]

    def _open_project(self) -> OpenProject:
        """Create the parts shared by all conversations."""
        storage = open_storage(self.root)
        closed = closed_to_reading(self.settings.safety, ProjectRoot(self.root).relative)
        is_strange = self.config.has_strange_server
        earlier = tuple if is_strange else lambda: self.keeping.sessions.entries(but=self.session_id)
        name, shut = self.settings.project.memory_file, closed_to_memory(self.settings, self.root, closed)
        memory = ProjectMemory(self.root, name, sessions=earlier, closed=shut)
        return OpenProject(
            root=self.root,
            here=self.here,
            storage=storage,
            settings=self.settings,
            client=self.llm_client,
            policy=self._policy,
            remembered=self._remembered,
            confirmer=self._front_end.confirmer,
            shows_pieces=self._front_end.shows_pieces,
            runner=late_runner(self.settings, self.root, accept_no_sandbox=self._accept_no_sandbox),
            repo_map=RepoMap(self.root, storage.cache_file("repomap.msgpack"), self.settings.project.exclude_patterns),
            own_tools=self._own_tools(),
            advisers=self._panel if self.settings.agents.panel.enabled else None,
            seal=Seal(session_key_file()),
            memory=memory,
            closed=closed,
            knowledge=lambda: None if is_strange else self.knowledge(),
            chosen_model=lambda: self.chosen_model,
            notify=self._front_end.notify,
        )

    def _own_tools(self) -> tuple[Tool, ...]:
        return (self._explore, self._deep_research) if can_research(self.settings) else (self._explore,)

    def _make_panel(self) -> "MultiAgentSystem":
        from localllm.agent.panel.multi_agent import MultiAgentSystem  # few sessions use it

        return MultiAgentSystem(self.llm_client, self.settings, self.root, self.config.allowed_environ(self._environ))
