"""Where the window goes: what of it the system prompt, the tools, the person, files, commands and the model take."""

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
"""In the order they are shown in. `project`: its AGENTS.md, and what is remembered of it; `summary`: what stands for
the older part of the conversation; `results`: what tools gave besides files and the output of commands; `model`: its
words and its calls."""

_FILES = frozenset({"read_file", "analyze_code"})
_COMMANDS = frozenset({"run_command", "command_output"})


class WindowUse(msgspec.Struct, frozen=True):
    """Tokens of each part, as estimated from what the server has counted; `reserve` is kept free for the answer."""

    window: int
    assumed: bool
    reserve: int
    parts: dict[PartName, int]

    @property
    def used(self) -> int:
        """All parts together."""
        return sum(self.parts.values())

    @property
    def free(self) -> int:
        """What is left for the conversation."""
        return max(0, self.window - self.reserve - self.used)


def window_use(conversation: Conversation, scale: Scale, *, assumed: bool) -> WindowUse:
    """Where the window goes in the next request."""
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
    """Whose the borders of a message are."""
    if isinstance(message, ToolMessage):
        return _part_of(tool)
    return "model" if isinstance(message, AssistantMessage) else "words"
