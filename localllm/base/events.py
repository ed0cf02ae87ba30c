"""The events of a run, consumed alike by screen, headless printer, session log and tests.

Events are immutable and serialise to one JSON object each, tagged with `type`.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from localllm.base.i18n import N_
from localllm.base.jsontext import encode_json

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of them."""


_LEAST_TOKENS, _LEAST_SECONDS = 5, 0.1
_FASTEST = 5000
"""Maximum tokens per second, about twice the fastest hardware. More means that a finished answer was delivered."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and times of one completion, or summed over a run.

    `cached_tokens` is the part of `prompt_tokens` served from the cache. `estimated`: the server reported nothing and
    the counts are estimates. Times are seconds; 0 if unknown. `generation_seconds`: duration of the completion after
    the prompt was processed.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    first_token_seconds: float = 0.0
    total_seconds: float = 0.0
    generation_seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float:
        """Generation speed; 0 if unknown, or if too little was written, or too much at once, to measure it."""
        if self.completion_tokens < _LEAST_TOKENS or self.generation_seconds < _LEAST_SECONDS:
            return 0.0
        rate = self.completion_tokens / self.generation_seconds
        return rate if rate <= _FASTEST else 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
            first_token_seconds=self.first_token_seconds or other.first_token_seconds,
            total_seconds=self.total_seconds + other.total_seconds,
            generation_seconds=self.generation_seconds + other.generation_seconds,
        )


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call requested by the model. `arguments` is JSON text exactly as the model wrote it. `written`: the
    model's name of the tool, if that is another assistant's."""

    id: str
    name: str
    arguments: str
    written: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The base of all events."""


class RunStarted(Event, frozen=True):
    """A run has started with the user's request."""

    session_id: str
    query: str
    provider: str
    model: str


class ThinkingDelta(Event, frozen=True):
    """A streamed piece of the model's thinking."""

    text: str


class TextDelta(Event, frozen=True):
    """A streamed piece of the model's text."""

    text: str


BROKEN_OFF = "[broken off: it repeated itself]"
"""Replaces the rest of an answer that repeated itself."""


class MessageCompleted(Event, frozen=True):
    """One complete answer of the model, as kept in the history.
    `provider` and `model` are those that answered, possibly fallbacks of the run's."""

    text: str
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    model: str = ""
    usage: Usage = Usage()
    provider: str = ""


class ToolStarted(Event, frozen=True):
    """A call has passed validation and will be judged and run. `arguments`: the parsed ones, without defaults."""

    call_id: str
    name: str
    arguments: dict[str, Json]


class ConfirmationRequested(Event, frozen=True):
    """The user must decide. `detail` is the whole command, or the change as a unified diff.

    `lasting`: the answer may be remembered, for `scope`: this command, the folder of this file, the host of this
    address or, if empty, the tool. `agent` is the sub-agent that asks, empty for the agent itself. `needs_person`:
    --yes does not answer it.
    """

    request_id: str
    call_id: str
    tool: str
    risk: str
    summary: str
    detail: str
    detail_kind: Literal["diff", "command", "text"] = "text"
    reason: str = ""
    lasting: bool = False
    scope: str = ""
    agent: str = ""
    needs_person: bool = False


class ConfirmationAnswered(Event, frozen=True):
    """The decision. `by` is "user", "flag", "unattended" or "interrupt".

    `always`: how long similar calls are not asked about again; `scope` limits them, as in the request, or to the prefix
    of it that the user kept.
    """

    request_id: str
    approved: bool
    by: str
    feedback: str = ""
    always: Literal["", "session", "project"] = ""
    scope: str = ""


class CommandOutput(Event, frozen=True):
    """The last lines that a running command has written so far, as plain text, in place of those before. For a screen
    alone: no log keeps them, and no program reads them."""

    lines: tuple[str, ...]


class Consulting(Event, frozen=True):
    """The members of the panel that are being asked now, by role, in place of those before. For a screen alone, like
    CommandOutput."""

    roles: tuple[str, ...]


class ToolFinished(Event, frozen=True):
    """The result of a call. `payload` has the fields of the tool's output; `summary` is one line for the user."""

    call_id: str
    name: str
    success: bool
    summary: str
    payload: dict[str, Json]
    error_code: str = ""


class Notice(Event, frozen=True):
    """A message for the user that is not part of the answer: a retry, a repetition, a limit that is near."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class Rewound(Event, frozen=True):
    """The conversation was rewound to its first `messages` (including the system message).
    With `taken_back`, an earlier Rewound is undone: the count from before it applies again. `generation`: the
    messages are those of the session's Compacted of that number and what followed it (from 1; every logged one counts,
    undone or not); 0: those the session began with."""

    messages: int
    checkpoint: str = ""
    taken_back: bool = False
    generation: int = 0


class Steered(Event, frozen=True):
    """The user sent a message during the run; the model reads it with its next request."""

    text: str


class Compacted(Event, frozen=True):
    """The conversation was compacted to `messages`, as JSON, the system message first. `before` and `after` are
    estimated tokens. `how`: old tool output was pruned, or everything summarised; `usage` is that of a summary."""

    how: Literal["pruned", "summarised"]
    before: int
    after: int
    messages: tuple[Json, ...]
    usage: Usage = Usage()


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of one panel member, and who that was."""

    role: str
    text: str
    provider: str = ""
    model: str = ""


class Consulted(Event, frozen=True):
    """Others were asked for advice: the panel, or the boss.

    `plan` is the combined result given to the agent; empty if nobody could answer. `left_out` names each member that
    failed, and why. `by_hand`: the user asked, not the agent. `usage` of all members together. `verdict`: the parts of
    the plan by name, if it has parts; `plan` is them in English.
    """

    kind: Literal["panel", "boss"]
    question: str
    opinions: tuple[Opinion, ...]
    plan: str
    confidence: float = 0.0
    left_out: tuple[str, ...] = ()
    by_hand: bool = False
    usage: Usage = Usage()
    verdict: dict[str, str] = {}


class RunFinished(Event, frozen=True):
    """The end of the run.

    `status`: done; limit and stuck (the work is not finished); incomplete (events of the run contradict its answer, or
    what was requested); refused (safety); error; interrupted. `error` has what, why and the fix, on a line each.
    `unverified`: what of the work was not checked, or is known to contradict the answer.
    """

    status: Literal["done", "limit", "stuck", "incomplete", "refused", "error", "interrupted"]
    answer: str
    steps: int = 0
    usage: Usage = Usage()
    error_code: str = ""
    error: str = ""
    refused: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()


ENDS = {
    "limit": N_("A limit was reached; the work is not finished."),
    "stuck": N_("Stuck; the work is not finished."),
    "incomplete": N_("The work is not finished."),
    "refused": N_("Something was refused; the work may be incomplete."),
    "interrupted": N_("Interrupted."),
}
"""Messages for the end statuses of unfinished runs."""


class Delegated(Event, frozen=True):
    """An event of a sub-agent, within the run of its parent agent: its run, calls and answers, and the usage of
    compacting its conversation (without messages). Its questions to the user are separate events that name it."""

    agent: str
    event: RunStarted | MessageCompleted | Compacted | ToolStarted | ToolFinished | Notice | RunFinished


AgentEvent = (
    RunStarted
    | ThinkingDelta
    | TextDelta
    | MessageCompleted
    | ToolStarted
    | ConfirmationRequested
    | ConfirmationAnswered
    | CommandOutput
    | Consulting
    | ToolFinished
    | Notice
    | Rewound
    | Steered
    | Compacted
    | Consulted
    | Delegated
    | RunFinished
)

Emit = Callable[[AgentEvent], None]
"""Emits an event of a run, without waiting for consumers."""


def encode(event: AgentEvent) -> bytes:
    """Encode the event as one line of JSON, without the newline."""
    return encode_json(event)


def decode(line: bytes | str) -> AgentEvent:
    """Decode an event from a line of JSON. Raises msgspec.DecodeError (or its ValidationError)."""
    return msgspec.json.decode(line, type=AgentEvent)
