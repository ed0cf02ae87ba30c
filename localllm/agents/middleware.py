"""Policies around the loop: asked before each step, each answers go on, stop, or tell the model something.

The loop itself knows none of them, and grows with none of them.
"""

from typing import Literal, Protocol

import msgspec

from localllm.agents.loop_detector import LoopDetector
from localllm.base.i18n import tr


class RunState(msgspec.Struct):
    """What a policy may look at."""

    query: str
    step: int = 0


class Inject(msgspec.Struct, frozen=True):
    """Add `text` to the newest tool result, where the model reads it next."""

    text: str


class Stop(msgspec.Struct, frozen=True):
    """End the run as `status`, because of `reason`, which a person reads."""

    status: Literal["limit", "stuck"]
    reason: str


Decision = Inject | Stop | None


class Middleware(Protocol):
    """A policy."""

    def before_step(self, state: RunState) -> Decision:
        """What to do before the model is asked again; None to go on."""
        ...


class Limits:
    """Stops a run after so many steps. (Its time is limited by the agent: a step itself may take too long.)"""

    def __init__(self, max_iterations: int) -> None:
        self._max_iterations = max_iterations

    def before_step(self, state: RunState) -> Decision:
        """Stop at the limit."""
        if state.step >= self._max_iterations:
            return Stop("limit", tr("agent.limit.steps", count=self._max_iterations))
        return None


class Repetition:
    """Tells the model that it repeats itself, then stops it."""

    def __init__(self, detector: LoopDetector) -> None:
        self._detector = detector

    def before_step(self, state: RunState) -> Decision:
        """A notice at the threshold, a stop two repetitions later."""
        del state
        count = self._detector.repetitions()
        if count >= self._detector.threshold + 2:
            return Stop("stuck", tr("agent.stuck", count=count))
        if count >= self._detector.threshold:
            return Inject(tr("agent.repeats", count=count))
        return None
