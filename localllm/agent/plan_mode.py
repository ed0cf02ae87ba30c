"""Plan mode: tell the model of it, and tell whether a run has ended with a plan.

The model is told at the end of what it reads next, never in the frozen system prompt.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from localllm.agent.history import History
from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.base.events import RunFinished
from localllm.base.lazy_patterns import late_pattern
from localllm.config.schema import Mode
from localllm.llm.messages import ToolMessage, UserMessage

_STEP = late_pattern(r"^[^\S\n]*+(?:\d+\s*[.)．）、:]|[-*・]\s)", re.MULTILINE)


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def plan_note() -> str:
    """That nothing can be changed, and that a plan is wanted."""
    return _text("plan")


def plan_over_note() -> str:
    """That plan mode is off."""
    return _text("plan_over")


class PlanMode(Middleware):
    """Tells the model with each request in plan mode that it plans, and once that it no longer does.

    What it was told last stands in the conversation: a rewind or a compaction may have taken that away again.
    """

    def __init__(self, is_planning: Callable[[], bool]) -> None:
        """`is_planning`: whether the mode is plan now; it may change in the middle of a run."""
        self._is_planning = is_planning

    async def before_step(self, state: RunState) -> Decision:
        """A note with the first step, and where the mode has changed since."""
        was_planning = is_told_to_plan(state.history)
        if self._is_planning():
            return None if was_planning and state.step else Inject(plan_note())
        return Inject(plan_over_note()) if was_planning else None


def is_told_to_plan(history: History) -> bool:
    """Whether the conversation says, as it stands, that this is plan mode."""
    for message in reversed(history.messages):
        if isinstance(message, UserMessage | ToolMessage):
            on, off = message.text.rfind(plan_note()), message.text.rfind(plan_over_note())
            if on != off:
                return on > off
    return False


def has_plan(finished: RunFinished, mode: Mode) -> bool:
    """Whether a run has ended in plan mode with a plan the user can accept. An answer that is empty or only asks
    something back is none."""
    answer = finished.answer
    asks = answer.rstrip().endswith(("?", "？"))
    is_plan = bool(answer.strip()) and not (asks and len(_STEP.findall(answer)) < 2)
    return mode == "plan" and finished.status == "done" and is_plan
