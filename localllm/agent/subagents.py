"""Sub-agents: `explore` runs another agent with its own conversation, tools and limits.

Only its finding is returned to the calling agent. Its steps are shown as they happen.
"""

from collections.abc import Callable

import msgspec

from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.react_agent import ReActAgent
from localllm.agent.system_prompt import system_prompt
from localllm.base import logs
from localllm.base.events import (
    AgentEvent,
    Compacted,
    ConfirmationAnswered,
    ConfirmationRequested,
    Delegated,
    Emit,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from localllm.base.i18n import N_, Phrase, plural
from localllm.config.schema import AgentSettings
from localllm.llm.client import LLMClient
from localllm.safety.tool_definition import Risk, Tool, ToolOutput
from localllm.tools.builtin import analyze_code
from localllm.tools.context import ToolContext
from localllm.tools.files import list_files, read_file
from localllm.tools.git import git_diff, git_log, git_status
from localllm.tools.registry import tool
from localllm.tools.search import search_files
from localllm.tools.tool_system import ToolSystem

READING_TOOLS: tuple[Tool, ...] = (analyze_code, git_diff, git_log, git_status, list_files, read_file, search_files)
"""Tools of a sub-agent."""

STEPS = 12
"""Maximum requests of a sub-agent to the model."""

FINDING_TOKENS = 600
"""Maximum tokens of a finding."""

_NAME = "explore"

_OUTPUT = 10_000
"""Maximum characters of one tool's output for a sub-agent, whose window has to hold all of its steps."""

_MOST_SEEN = 12
_LONGEST_SEEN = 160


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a sub-agent's run, which ended with `status`.
    `seen` is what it looked at, a line each; `reason` why it did not finish."""

    status: str
    answer: str
    steps: int
    seen: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether it has answered the question."""
        return self.status == "done"

    def report(self) -> str:
        """Return the finding, or a note that there is none and what was seen instead."""
        if self.is_done:
            return self.answer
        lines = [
            (f"Not finished after {self.steps} {plural(self.steps, 'step', 'steps')} ({self.reason}). What was seen:")
        ]
        lines += [f"- {line}" for line in self.seen] or ["- nothing"]
        return "\n".join([*lines, *([self.answer] if self.answer else [])])


class SubAgent:
    """A ReActAgent that answers one question for another one. `emit` receives its events; `tools` are made by
    `ToolSystem.part`. `settings` apply as usual, but with at most STEPS."""

    def __init__(self, llm_client: LLMClient, tools: ToolSystem, emit: Emit, settings: AgentSettings) -> None:
        self._emit = emit
        self._seen: dict[str, None] = {}
        self._said = ""
        steps = min(STEPS, settings.max_iterations)
        self._agent = ReActAgent(
            llm_client,
            tools,
            settings=msgspec.structs.replace(settings, max_iterations=steps),
            listeners=[self._pass_on],
            middleware=[LastStep(steps)],
            shows_pieces=False,
        )
        self._agent.history.begin_with(system_prompt("explorer"))

    async def run(self, question: str) -> Finding:
        """Return the finding, including any error; cancelling ends it at once."""
        try:
            ended = await self._agent.execute_query(question)
        except Exception as error:  # noqa: BLE001 - a fault in a sub-agent must not end its parent agent
            logs.of("AGENT").exception("a sub-agent failed")
            return self._finding("error", self._said, repr(error))
        if ended.success:
            return self._finding(ended.status, ended.answer)
        return self._finding(ended.status, self._said, ended.error_code or ended.status)

    def _finding(self, status: str, answer: str, reason: str = "") -> Finding:
        return Finding(
            status=status,
            answer=answer.strip(),
            steps=self._agent.current_iteration,
            seen=tuple(self._seen)[-_MOST_SEEN:],
            reason=reason,
        )

    def _pass_on(self, event: AgentEvent) -> None:
        """Record the material of a finding without an answer, and emit relevant events as this sub-agent's."""
        match event:
            case MessageCompleted(text=text):
                self._said = text or self._said
            case ToolFinished(success=True, name=name, summary=summary):
                self._seen[f"{name}: {summary}"[:_LONGEST_SEEN]] = None
            case _:
                pass
        match event:
            case ConfirmationRequested() | ConfirmationAnswered():  # the request names it
                self._emit(event)
            case RunStarted() | MessageCompleted() | ToolStarted() | ToolFinished() | Notice() | RunFinished():
                self._emit(Delegated(agent=_NAME, event=event))
            case Compacted(how="summarised"):
                self._emit(Delegated(agent=_NAME, event=msgspec.structs.replace(event, messages=())))
            case _:
                pass


class LastStep(Middleware):
    """Tells the model that one step is left, so that it answers with what it has."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    async def before_step(self, state: RunState) -> Decision:
        """Inject a remark before the last step."""
        return (
            Inject("[This is your last step. Do not call a tool: answer now with what you have found.]")
            if 0 < state.step == self._steps - 1
            else None
        )


class Explorer:
    """Answers questions about the project with read-only sub-agents.
    `tools` returns those of the calling agent; `settings` are its own."""

    def __init__(
        self,
        llm_client: LLMClient,
        tools: Callable[[], ToolSystem],
        settings: AgentSettings = AgentSettings(),  # noqa: B008 - immutable
    ) -> None:
        self._llm_client = llm_client
        self._tools = tools
        self._settings = settings

    def tool(self) -> Tool:
        """Return the tool `explore` for the calling agent."""

        @tool(risk=Risk.SAFE)
        async def explore(context: ToolContext, question: str) -> ToolOutput:
            """Ask a helper to search broadly; only its answer comes back."""
            return await self.explore(question, context.emit)

        return explore

    async def explore(self, question: str, emit: Emit) -> ToolOutput:
        """Return the finding on `question`, at most FINDING_TOKENS long."""
        tools = self._tools().part(_NAME, READING_TOOLS, output_limit=_OUTPUT)
        finding = await SubAgent(self._llm_client, tools, emit, self._settings).run(question)
        text = capped(finding.report(), FINDING_TOKENS, self._llm_client.estimate_tokens)
        ended = (
            N_("found an answer in {count} step", "found an answer in {count} steps")
            if finding.is_done
            else N_("not found within {count} step", "not found within {count} steps")
        )
        return ToolOutput(
            payload={"finding": text, "status": finding.status, "steps": finding.steps},
            for_model=text,
            summary=Phrase(ended, count=finding.steps),
            success=finding.is_done,
            untrusted=tools.tainted,
        )


def capped(text: str, tokens: int, estimate: Callable[[str], int]) -> str:
    """Truncate `text` to `tokens` tokens, with a note."""
    if estimate(text) <= tokens:
        return text
    note = "\n" + "[… the rest of the finding is left out]"
    room = tokens - estimate(note)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle]) <= room else (low, middle - 1)
    whole_lines = text[:low].rpartition("\n")[0]
    return (whole_lines if len(whole_lines) > low // 2 else text[:low]) + note
