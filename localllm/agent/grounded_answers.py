"""The policy of an agent that answers from collections alone: require a search before an answer."""

from collections.abc import Sequence

from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.system_prompt import remark
from localllm.llm.messages import Completion
from localllm.tools.results import ToolResult


class GroundedAnswers(Middleware):
    """Rejects an answer once if nothing was searched in this run."""

    def __init__(self, tool: str) -> None:
        """`tool`: the name of the search tool."""
        self._tool = tool
        self.begin()

    def begin(self) -> None:
        """Reset the state for a new run."""
        self.has_searched = False
        self._has_reminded = False

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Record whether something was searched."""
        self.has_searched = self.has_searched or any(result.call.name == self._tool for result in results)

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Send a remark after the first answer without a search."""
        if self.has_searched or self._has_reminded:
            return None
        self._has_reminded = True
        return Inject(remark("search_first"), require_call=True)
