"""What happens in a run, as events. Screen, headless printer, session log and tests are equal consumers.

Events are immutable and serialise to one JSON object each, tagged with `type`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec

from localllm.base.i18n import N_
from localllm.base.jsontext import encode_json

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of them."""


_LEAST_TOKENS, _LEAST_SECONDS = 5, 0.1
_FASTEST = 5000
"""Tokens a second: about twice what the fastest hardware writes. More means that a finished answer was handed over."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and times of one completion, or summed over a run.

    `cached_tokens` is the part of `prompt_tokens` the server did not have to read again. `estimated` is true
    where the server reported nothing and the counts are ours. Times are seconds; 0 where unknown. `generation_seconds`
    are those in which the completion's tokens came, after the prompt had been read.
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
        """How fast the model writes; 0 where unknown, or where too little was written, or too much at once, to tell."""
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
    """A model's wish to have a tool run. `arguments` is JSON text, exactly as the model wrote it. `written`: the name
    the model gave the tool, where that is another assistant's."""

    id: str
    name: str
    arguments: str
    written: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The base of all events."""


class RunStarted(Event, frozen=True):
    """The user spoke and the agent takes up the work."""

    session_id: str
    query: str
    provider: str
    model: str


class ThinkingDelta(Event, frozen=True):
    """A piece of the model's thinking, as it arrives."""

    text: str


class TextDelta(Event, frozen=True):
    """A piece of what the model says, as it arrives."""

    text: str


BROKEN_OFF = "[broken off: it repeated itself]"
"""What stands for the rest of an answer that repeated itself."""


class MessageCompleted(Event, frozen=True):
    """One whole answer of the model: what the history keeps. `provider` and `model` are those that have answered, which
    may have stood in for those the run began with."""

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
    """A person must decide. `detail` is the whole command, or the change as a unified diff.

    `lasting`: the answer may be remembered, for `scope`: this command, the folder of this file, the host of this
    address or, where it is empty, the tool. `agent` is the sub-agent that asks, empty for the agent itself.
    `needs_person`: --yes does not answer it.
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
    """What was decided. `by` is "user", "flag", "unattended" or "interrupt".

    `always`: for how long the like is not to be asked about again; `scope` is what that is, as in the request, or the
    beginning of it that the person has left.
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


class ToolFinished(Event, frozen=True):
    """The outcome of a call. `payload` has the fields of the tool's answer; `summary` is one line for a person."""

    call_id: str
    name: str
    success: bool
    summary: str
    payload: dict[str, Json]
    error_code: str = ""


class Notice(Event, frozen=True):
    """Something a person should know that is not part of the answer: a retry, a repetition, a limit near."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class Rewound(Event, frozen=True):
    """The conversation went back: of what was said so far only the first `messages` count (the system message is one
    of them). With `taken_back`, an earlier Rewound is undone: as many count again as before it. `generation`: they are
    what the Compacted of that number in the session began (from 1; one that is logged counts, undone or not), and what
    was said after it; 0, what the session began with."""

    messages: int
    checkpoint: str = ""
    taken_back: bool = False
    generation: int = 0


class Steered(Event, frozen=True):
    """The person spoke in the middle of the run; the model reads it with its next request."""

    text: str


class Compacted(Event, frozen=True):
    """The conversation was written anew to make room: it consists of `messages` now, as JSON, the system message first.
    `before` and `after` are estimated tokens. `how`: old output of tools was left out, or all was summed up; `usage` is
    what a summary cost."""

    how: Literal["pruned", "summarised"]
    before: int
    after: int
    messages: tuple[Json, ...]
    usage: Usage = Usage()


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What one member of the panel said, and who that was."""

    role: str
    text: str
    provider: str = ""
    model: str = ""


class Consulted(Event, frozen=True):
    """Others were asked for advice: the three wise, or the boss.

    `plan` is what was made of it and given to the agent; empty where nobody could answer. `left_out` names each member
    that could not, and why. `by_hand`: the person asked, not the agent. `usage` of all members together. `verdict`: the
    parts of the plan by name, where it was given in parts; `plan` is them in English.
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

    `status`: done; limit and stuck (the work is not finished); incomplete (what happened in the run contradicts its
    answer); refused (safety); error; interrupted. `error` has what, why and the fix, on a line each. `unverified`: what
    of the work was not checked, or is known to be not as the answer says.
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
    "incomplete": N_("The work is not finished, whatever the answer says."),
    "refused": N_("Something was refused; the work may be incomplete."),
    "interrupted": N_("Interrupted."),
}
"""What is said of a run that has not come to its end."""


class Delegated(Event, frozen=True):
    """What a sub-agent does, in the run of the agent it works for: its run, with its own calls and answers, and what
    summing up its conversation cost (no messages then). Its questions to the person are events of their own, and name
    it."""

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
"""Where a part of a run puts its events, without waiting for anyone to read them."""


def encode(event: AgentEvent) -> bytes:
    """The event as one line of JSON, without the newline."""
    return encode_json(event)


def decode(line: bytes | str) -> AgentEvent:
    """The event in a line of JSON; msgspec.DecodeError (or its ValidationError) where it is none."""
    return msgspec.json.decode(line, type=AgentEvent)


def join_deltas(events: Iterable[AgentEvent]) -> Iterator[AgentEvent]:
    """The same events with each run of text (or thinking) pieces joined into one piece."""
    held: TextDelta | ThinkingDelta | None = None
    for event in events:
        match held, event:
            case (TextDelta(), TextDelta()) | (ThinkingDelta(), ThinkingDelta()):
                held = type(held)(text=held.text + event.text)
                continue
            case None, _:
                pass
            case _:
                yield held
                held = None
        if isinstance(event, TextDelta | ThinkingDelta):
            held = event
        else:
            yield event
    if held is not None:
        yield held
