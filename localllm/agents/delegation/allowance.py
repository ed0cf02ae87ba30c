"""What a task of several agents may take together: the limits of one run, shared out over them."""

import time
from collections.abc import Callable

import msgspec

from localllm.base.config.schema import AgentSettings
from localllm.base.events import Usage
from localllm.base.i18n import tr

TIMES_THE_STEPS = 2
"""All agents together may ask the model so many times as often as one run may: each looks around for itself first."""


class Allowance:
    """The tokens, seconds and steps that are left of what `settings` allow one run, from now on. A limit of 0 is none.

    Each agent is given a share of what is left, so that the first cannot use up what the last needs; what one leaves
    goes to those that begin later. `clock` gives seconds.
    """

    def __init__(self, settings: AgentSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._until = clock() + settings.time_limit
        self._tokens = 0
        self._steps = 0

    def note(self, usage: Usage) -> None:
        """The model was asked once, by whichever of them."""
        self._steps += 1
        self._tokens += usage.prompt_tokens + usage.completion_tokens

    @property
    def reached(self) -> str:
        """Which limit is reached, for a person; "" while none is."""
        limits = self._settings
        if self._steps_left <= 0:
            return tr("coordinate.limit.steps", count=self._most_steps)
        if limits.token_limit and self._tokens >= limits.token_limit:
            return tr("agent.limit.tokens", count=self._tokens, limit=limits.token_limit)
        if limits.time_limit and self._clock() >= self._until:
            return tr("agent.limit.time", seconds=f"{limits.time_limit:g}")
        return ""

    @property
    def seconds(self) -> float | None:
        """The seconds left, None for no limit."""
        return max(0.0, self._until - self._clock()) if self._settings.time_limit else None

    def share(self, parts: int, at_once: int) -> AgentSettings:
        """The limits of an agent that begins now, where `parts` are not done yet, its own among them, and `at_once` of
        them are worked on at the same time. Only while nothing is reached."""
        limits, seconds = self._settings, self.seconds
        return msgspec.structs.replace(
            limits,
            max_iterations=min(limits.max_iterations, max(1, self._steps_left // parts)),
            token_limit=max(1, (limits.token_limit - self._tokens) // parts) if limits.token_limit else 0,
            time_limit=max(0.001, seconds * min(1.0, at_once / parts)) if seconds is not None else 0.0,
        )

    @property
    def _most_steps(self) -> int:
        return TIMES_THE_STEPS * self._settings.max_iterations

    @property
    def _steps_left(self) -> int:
        return self._most_steps - self._steps
