"""An agent over real tools in a real folder, asking a model that plays a script or answers over the wire."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from localllm.agent.react_agent import ReActAgent
from localllm.base.events import AgentEvent, ConfirmationAnswered, ConfirmationRequested
from localllm.config.schema import AgentSettings, SafetySettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.providers.base import Provider
from localllm.llm.providers.scripted import Script, Scripted
from localllm.memory.project_memory import ProjectMemory
from localllm.safety.confirmation import Answers, Confirmer
from localllm.safety.journal import Journal
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Tool
from localllm.sandbox.runner import SandboxRunner
from localllm.snapshots.store import Snapshots
from localllm.tools.builtin import TOOLS
from localllm.tools.context import ToolContext
from localllm.tools.tool_system import ToolSystem


class Answering:
    """A person who gives the same answer to every confirmation, and remembers what was asked."""

    answers: Answers = "person"

    def __init__(self, *, approve: bool, feedback: str = "", by: str = "user") -> None:
        self.approve = approve
        self.by = by
        self.feedback = feedback
        self.asked: list[ConfirmationRequested] = []

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        self.asked.append(request)
        return ConfirmationAnswered(
            request_id=request.request_id, approved=self.approve, by=self.by, feedback=self.feedback
        )


class Lasting(Answering):
    """A person who says yes for good."""

    def __init__(self, *, always: Literal["session", "project"], scope: str) -> None:
        super().__init__(approve=True)
        self._always: Literal["session", "project"] = always
        self._scope = scope

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        given = await super().confirm(request)
        return msgspec.structs.replace(given, always=self._always, scope=self._scope)


def make_tools(
    root: Path,
    *,
    remembered: RememberedRules | None = None,
    confirmer: Confirmer | None = None,
    safety: SafetySettings | None = None,
    output_limit: int = 30_000,
    tools: Sequence[Tool] = TOOLS,
    runner: SandboxRunner | None = None,
    memory: ProjectMemory | None = None,
    sees: bool | None = None,
) -> ToolSystem:
    """The built-in tools over `root`, with their state beside it."""
    state = root.parent / f"{root.name}-state"
    state.mkdir(exist_ok=True)
    settings = Settings(safety=safety or SafetySettings())
    context = ToolContext(
        root=ProjectRoot(root),
        settings=settings,
        runner=runner or SandboxRunner(root, state_folder=state),
        output_limit=output_limit,
        overflow_folder=root / ".localllm" / "tool-output",
        memory=memory,
        sees=lambda: sees,
    )
    return ToolSystem(
        tools,
        context,
        policy=Policy(settings.safety, remembered.rules if remembered else tuple),
        confirmer=confirmer or Answering(approve=True),
        snapshots=Snapshots(state / "snapshots"),
        journal=Journal(state / "journal.jsonl", "test"),
        remembered=remembered,
    )


def make_agent(
    provider: Provider,
    root: Path,
    *,
    tools: ToolSystem | None = None,
    settings: AgentSettings | None = None,
    listener: Callable[[AgentEvent], None] | None = None,
    max_retries: int = 0,
    client: LLMClient | None = None,
) -> ReActAgent:
    """An agent in `root`, which asks `client` where there is one."""
    return ReActAgent(
        client or LLMClient(provider, model="m", max_retries=max_retries),
        tools or make_tools(root),
        settings=settings or AgentSettings(),
        session_id="test",
        listeners=[listener] if listener else [],
    )


def scripted(*turns: dict[str, Any] | str) -> Scripted:
    """A model that plays `turns`; a string is a turn of text."""
    entries = [{"text": turn} if isinstance(turn, str) else turn for turn in turns]
    return Scripted(msgspec.convert({"turn": entries}, Script))


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A turn with one call."""
    return {"calls": [{"name": name, "arguments": arguments}]}


async def play(agent: ReActAgent, query: str) -> list[AgentEvent]:
    """All events of a run."""
    return [event async for event in agent.run(query)]
