"""Finish discipline: who says what it will do now, and does not do it, is asked to; then made to; then let be."""

from collections.abc import Sequence

from localllm.agents.announcing import announces
from localllm.agents.middleware import Decision, Inject, Middleware, RunState
from localllm.agents.planning import is_told_to_plan
from localllm.agents.prompting import remark
from localllm.base.events import Notice
from localllm.base.i18n import tr
from localllm.llm.messages import Completion
from localllm.tools.results import ToolResult

_BROKEN_OFF = frozenset({"length", "content_filter", "chanting", "interrupted"})

_LONGEST_BEFORE_PLAN = 200


def has_announced(state: RunState, answer: Completion) -> bool:
    """Whether the answer is an announcement, and there are tools to do it with. In plan mode only a short one is: a
    plan ends with what will be done."""
    text = answer.message.text
    is_plan = len(text) > _LONGEST_BEFORE_PLAN and is_told_to_plan(state.history)
    return bool(state.tools) and answer.finish_reason not in _BROKEN_OFF and not is_plan and announces(text)


class Finishing(Middleware):
    """Asks for an announced call, then requires one, then lets the run end with what was said."""

    def __init__(self) -> None:
        self._asked = 0

    def begin(self) -> None:
        """Nothing has been announced."""
        self._asked = 0

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """A call has come."""
        self._asked = 0

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Ask for the call, where one was announced and there are tools."""
        if not has_announced(state, answer):
            return None
        self._asked += 1
        match self._asked:
            case 1:
                state.emit(Notice(text=tr("agent.announced_asked")))
                return Inject(remark("announced"))
            case 2:
                state.emit(Notice(text=tr("agent.announced_required")))
                return Inject(remark("call_required"), require_call=True)
            case _:
                state.emit(Notice(text=tr("agent.announced"), level="warning"))
                return None
