"""Plan mode: inform the model, and detect whether a run has ended with a plan.

The note is added at the end of the model's input, never to the fixed system prompt.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from localllm.agent.history import History
from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.base.events import RunFinished
from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.config.schema import Mode
from localllm.llm.messages import ToolMessage, UserMessage

ACCEPTED = N_("The plan is accepted. Carry it out step by step and check the result.")
"""The request that follows a plan the user has accepted."""

_STEP = late_pattern(r"^[^\S\n]*+(?:\d+\s*[.)．）、:]|[-*・]\s)", re.MULTILINE)


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def plan_note() -> str:
    """Return the note that nothing can be changed, and that a plan is wanted."""
    return _text("plan")


def plan_over_note() -> str:
    """Return the note that plan mode is off."""
    return _text("plan_over")


class PlanMode(Middleware):
    """Tells the model with each request in plan mode that it plans, and once that it no longer does.

    The last note is read from the conversation, as a rewind or a compaction may have removed it.
    """

    def __init__(self, is_planning: Callable[[], bool]) -> None:
        """`is_planning`: whether plan mode is on now; it may change during a run."""
        self._is_planning = is_planning

    async def before_step(self, state: RunState) -> Decision:
        """Inject a note with the first step, and when the mode has changed."""
        was_planning = is_told_to_plan(state.history)
        if self._is_planning():
            return None if was_planning and state.step else Inject(plan_note())
        return Inject(plan_over_note()) if was_planning else None


def is_told_to_plan(history: History) -> bool:
    """Return whether the last note in the conversation says that this is plan mode."""
    for message in reversed(history.messages):
        if isinstance(message, UserMessage | ToolMessage):
            on, off = message.text.rfind(plan_note()), message.text.rfind(plan_over_note())
            if on != off:
                return on > off
    return False


def has_plan(finished: RunFinished, mode: Mode) -> bool:
    """Return whether a run in plan mode has ended with a plan the user can accept.
    An empty answer, or just a question, is none."""
    answer = finished.answer
    asks = answer.rstrip().endswith(("?", "？"))
    is_plan = bool(answer.strip()) and not (asks and len(_STEP.findall(answer)) < 2)
    return mode == "plan" and finished.status == "done" and is_plan
