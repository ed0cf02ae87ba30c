"""Policies around the loop, which does not know any of them.

Each is called before the model is asked (`before_step`), with the results of an answer's calls (`after_results`), and
with an answer without a call (`after_answer`), which ends the run unless a policy responds to it.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, Literal, TypeVar

import msgspec

from localllm.agent.history import History
from localllm.agent.phrases.agreements import is_agreement
from localllm.base.events import Emit, Usage
from localllm.base.i18n import N_, Phrase
from localllm.llm.messages import Completion, Image, ToolMessage, ToolSpec
from localllm.tools.results import ToolResult


class RunState(msgspec.Struct):
    """The state policies may read. `tools` are those offered to the model; `started` is time.monotonic()'s."""

    query: str
    history: History
    emit: Emit
    tools: tuple[ToolSpec, ...] = ()
    step: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    started: float = msgspec.field(default_factory=time.monotonic)

    @property
    def goal(self) -> str:
        """The user's goal in this run."""
        return goal_of(self.query, self.history)


def goal_of(query: str, history: History) -> str:
    """Return the user's goal in a run: the `query`, and what the user added since. Before a query that only says to
    continue, it begins with the request that is continued."""
    spoken, messages = history.conversation.spoken, history.messages
    words = [one.text for one in spoken]
    if query not in words:
        return query
    asked = len(words) - 1 - words[::-1].index(query)
    requests = [number for number in range(asked) if not isinstance(messages[spoken[number].message], ToolMessage)]
    earlier = (number for number in reversed(requests) if not is_agreement(words[number]))
    begun = next(earlier, asked) if is_agreement(query) else asked
    return "\n".join(dict.fromkeys(words[begun:]))


class Inject(msgspec.Struct, frozen=True):
    """Send `text` to the model with the next request: at the end of the latest tool result or user message, or, after
    an answer, as a new message. `require_call`: the model must respond with a call; `thinking` False: without thinking,
    where supported. `words` of it are the user's own, and `images` what they name; `typed`: see Kept."""

    text: str
    require_call: bool = False
    words: str = ""
    typed: str | None = None
    images: tuple[Image, ...] = ()
    thinking: bool = True


class Stop(msgspec.Struct, frozen=True):
    """End the run as `status`, with a `reason` for the user."""

    status: Literal["limit", "stuck"]
    reason: str | Phrase


Decision = Inject | Stop | None


class Middleware:
    """A policy. Its methods do nothing unless overridden."""

    def begin(self) -> None:
        """Start a new run: the user spoke."""

    async def before_step(self, state: RunState) -> Decision:
        """Decide what to do before the model is asked again; None to continue."""
        return None

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Take note of the results of an answer's calls."""

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Decide how to respond to an answer without a call; None to accept it as the last."""
        return None


Policy = TypeVar("Policy", bound=Middleware)


class Late(Middleware, Generic[Policy]):
    """A policy for answers, made with the first one: the first request does not wait for its modules."""

    def __init__(self, make: Callable[[], Policy]) -> None:
        self._make = make

    @cached_property
    def policy(self) -> Policy:
        """The policy."""
        return self._make()

    def begin(self) -> None:
        """Start a new run."""
        if "policy" in vars(self):
            self.policy.begin()

    async def before_step(self, state: RunState) -> Decision:
        """Return the policy's decision, none before the first answer."""
        return await self.policy.before_step(state) if "policy" in vars(self) else None

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        """Pass the results to the policy."""
        self.policy.after_results(state, results)

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Return the policy's response."""
        return await self.policy.after_answer(state, answer)


class Policies(Middleware):
    """Several policies combined, called in order. Their messages for the model are passed to `tell` at once."""

    def __init__(self, policies: Sequence[Middleware], tell: Callable[[Inject], None]) -> None:
        self._policies = tuple(policies)
        self._tell = tell

    def begin(self) -> None:
        """Start a new run."""
        for policy in self._policies:
            policy.begin()

    async def before_step(self, state: RunState) -> Stop | None:
        """Call every policy, up to the first that stops the run."""
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
        """Pass the results to every policy."""
        for policy in self._policies:
            policy.after_results(state, results)

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Return the first policy's response to an answer without a call."""
        for policy in self._policies:
            if decision := await policy.after_answer(state, answer):
                if isinstance(decision, Inject):
                    self._tell(decision)
                return decision
        return None


class Limits(Middleware):
    """Stops a run that exceeds its limits.
    (The time limit is enforced by the agent, as a single step may exceed it.) 0 means no limit."""

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
