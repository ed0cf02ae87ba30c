"""Policies around the loop. The loop itself knows none of them, and grows with none of them.

Each is asked before the model is (`before_step`), shown the results of an answer's calls (`after_results`), and asked
about an answer without a call (`after_answer`), which ends the run unless one of them has something to say to it.
"""

import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from localllm.agent.history import History
from localllm.base.events import Emit, Usage
from localllm.base.i18n import N_, Phrase
from localllm.llm.messages import Completion, Image, ToolSpec
from localllm.tools.results import ToolResult


class RunState(msgspec.Struct):
    """What a policy may look at. `tools` are those the model is offered; `started` is time.monotonic()'s."""

    query: str
    history: History
    emit: Emit
    tools: tuple[ToolSpec, ...] = ()
    step: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    started: float = msgspec.field(default_factory=time.monotonic)


def goal_of(state: RunState) -> str:
    """What the person wants: the request, and what was said since, in the middle of the run."""
    words = list(state.history.words)
    if state.query not in words:
        return state.query
    return "\n".join(words[len(words) - 1 - words[::-1].index(state.query) :])


class Inject(msgspec.Struct, frozen=True):
    """Tell the model `text` with the next request: at the end of the newest tool result or user message, or, after an
    answer of its own, as a message. `require_call`: it must answer that request with a call; `thinking` False: without
    thinking, where the server can. `words` of it are the person's own, and `images` what they name."""

    text: str
    require_call: bool = False
    words: str = ""
    images: tuple[Image, ...] = ()
    thinking: bool = True


class Stop(msgspec.Struct, frozen=True):
    """End the run as `status`, because of `reason`, which a person reads."""

    status: Literal["limit", "stuck"]
    reason: str | Phrase


Decision = Inject | Stop | None


class Middleware:
    """A policy. Its methods do nothing unless overridden."""

    def begin(self) -> None:
        """The user spoke: a new run begins."""

    async def before_step(self, state: RunState) -> Decision:
        """What to do before the model is asked again; None to go on."""
        return None

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """The calls of an answer have been run."""

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """What to say to an answer without a call; None to let it be the last word."""
        return None


class Policies(Middleware):
    """Several policies as one, each asked in its turn. What one has to say to the model goes to `tell` at once."""

    def __init__(self, policies: Sequence[Middleware], tell: Callable[[Inject], None]) -> None:
        self._policies = tuple(policies)
        self._tell = tell

    def begin(self) -> None:
        """The user spoke."""
        for policy in self._policies:
            policy.begin()

    async def before_step(self, state: RunState) -> Stop | None:
        """Ask every policy; the first that stops the run ends the asking."""
        for policy in self._policies:
            match await policy.before_step(state):
                case Stop() as stop:
                    return stop
                case Inject() as said:
                    self._tell(said)
                case None:
                    pass
        return None

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Show every policy the results."""
        for policy in self._policies:
            policy.after_results(state, results)

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """What the first policy that has something to say decides of an answer without a call."""
        for policy in self._policies:
            if decision := await policy.after_answer(state, answer):
                if isinstance(decision, Inject):
                    self._tell(decision)
                return decision
        return None


class Limits(Middleware):
    """Stops a run that has taken too much. (Its time is limited by the agent: a step itself may take too long.) 0 means
    no limit."""

    def __init__(self, max_iterations: int, *, max_tool_calls: int = 0, token_limit: int = 0) -> None:
        self._max_iterations = max_iterations
        self._max_tool_calls = max_tool_calls
        self._token_limit = token_limit

    async def before_step(self, state: RunState) -> Decision:
        """Stop at a limit."""
        tokens = state.usage.prompt_tokens + state.usage.completion_tokens
        if state.step >= self._max_iterations:
            return Stop(
                "limit",
                Phrase(
                    N_(
                        "Stopped after {count} step, the limit of a run (agent.max_iterations).",
                        "Stopped after {count} steps, the limit of a run (agent.max_iterations).",
                    ),
                    count=self._max_iterations,
                ),
            )
        if 0 < self._max_tool_calls <= state.tool_calls:
            return Stop(
                "limit",
                Phrase(
                    N_(
                        "Stopped after {count} tool call, the limit of a run (agent.max_tool_calls).",
                        "Stopped after {count} tool calls, the limit of a run (agent.max_tool_calls).",
                    ),
                    count=state.tool_calls,
                ),
            )
        if 0 < self._token_limit <= tokens:
            return Stop(
                "limit",
                Phrase(
                    N_(
                        "Stopped after {count:,} token, more than the {limit:,} of a run (agent.token_limit).",
                        ("Stopped after {count:,} tokens, more than the {limit:,} of a run (agent.token_limit)."),
                    ),
                    count=tokens,
                    limit=self._token_limit,
                ),
            )
        return None
