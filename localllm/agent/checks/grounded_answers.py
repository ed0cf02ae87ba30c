"""The policy of an agent that answers from collections alone: require a search before an answer."""

from collections.abc import Awaitable, Callable, Sequence

from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.agent.system_prompt import remark
from localllm.base.events import Notice
from localllm.base.i18n import _
from localllm.llm.messages import Completion
from localllm.tools.results import ToolResult

Search = Callable[[str], Awaitable[str]]
"""Returns the passages found for a question, as the model is to read them; "" if there are none."""


class GroundedAnswers(Middleware):
    """Rejects an answer once if nothing was searched in this run, and then searches in the model's place."""

    def __init__(self, tool: str, search: Search) -> None:
        """`tool`: the name of the search tool; `search`: the search for the user's own words."""
        self._tool = tool
        self._search = search
        self.begin()

    def begin(self) -> None:
        """Reset the state for a new run."""
        self.has_searched = False
        self._has_reminded = False

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Record whether something was searched: a call that failed has searched nothing."""
        self.has_searched = self.has_searched or any(
            result.call.name == self._tool and result.success for result in results
        )

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Send a remark after the first answer without a search, and what is found for the question after the next."""
        if self.has_searched:
            return None
        if not self._has_reminded:
            self._has_reminded = True
            return Inject(remark("search_first"), require_call=True)
        self.has_searched = True
        if not (passages := await self._search(state.query)):
            return None
        state.emit(Notice(text=_("The model did not search. The collections were searched for your question instead.")))
        return Inject(remark("searched_instead", passages=passages))
