"""The use of the context window by system prompt, tools, user, files, commands and model."""

from collections import Counter
from typing import Literal

import msgspec

from localllm.context.budget import Scale
from localllm.context.conversation import Conversation
from localllm.context.pruning import with_calls
from localllm.context.summary import is_head
from localllm.llm.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage, framed_in
from localllm.llm.tokens import TOKENS_PER_MESSAGE

PartName = Literal["system", "project", "tools", "words", "summary", "files", "commands", "results", "model"]

PARTS: tuple[PartName, ...] = (
    *("system", "project", "tools", "words", "summary"),
    *("files", "commands", "results", "model"),
)
"""In display order. `project`: its AGENTS.md and remembered notes; `summary`: the replacement of the older part of the
conversation; `results`: tool results besides files and command output; `model`: its words and calls."""

_FILES = frozenset({"read_file", "analyze_code"})
_COMMANDS = frozenset({"run_command", "command_output"})


class WindowUse(msgspec.Struct, frozen=True):
    """Tokens of each part, estimated from the server's counts; `reserve` is reserved for the answer."""

    window: int
    assumed: bool
    reserve: int
    parts: dict[PartName, int]

    @property
    def used(self) -> int:
        """The sum of all parts."""
        return sum(self.parts.values())

    @property
    def free(self) -> int:
        """What is free for the conversation."""
        return max(0, self.window - self.reserve - self.used)


def window_use(conversation: Conversation, scale: Scale, *, assumed: bool) -> WindowUse:
    """Return the use of the window by the next request."""
    budget = scale.budget(conversation.messages[0])
    system = scale.messages(conversation.messages[:1])
    own = scale.text(framed_in(conversation.messages[0].text))
    parts: Counter[PartName] = Counter({"system": max(0, system - own), "project": own, "tools": budget.fixed - system})
    for number, (message, call) in enumerate(with_calls(conversation.messages)):
        match message:
            case UserMessage(text):
                words = sum(map(scale.text, conversation.words_in(number)))
                noted = scale.text(framed_in(text))
                rest = max(0, scale.text(text) - words - noted)
                parts["words"] += words
                parts["project"] += noted
                parts["summary" if is_head(message) else "files"] += rest
                parts["files"] += scale.pictures(message)
            case AssistantMessage(text, calls):
                parts["model"] += scale.text(text) + sum(scale.text(made.name + made.arguments) for made in calls)
            case ToolMessage():
                words = sum(map(scale.text, conversation.words_in(number)))
                parts["words"] += words
                parts[_part_of(call.name)] += max(0, scale.text(message.text) - words) + scale.pictures(message)
            case SystemMessage():  # counted above
                continue
        parts[_owner(message, call.name)] += TOKENS_PER_MESSAGE
    factor = scale.expected(conversation.messages) / max(1, scale.request(conversation.messages))
    return WindowUse(budget.window, assumed, budget.reserve, {name: int(parts[name] * factor) for name in PARTS})


def _part_of(tool: str) -> PartName:
    return "files" if tool in _FILES else "commands" if tool in _COMMANDS else "results"


def _owner(message: UserMessage | AssistantMessage | ToolMessage, tool: str) -> PartName:
    """Return the part to which a message's delimiters belong."""
    if isinstance(message, ToolMessage):
        return _part_of(tool)
    return "model" if isinstance(message, AssistantMessage) else "words"
