"""What the messages themselves tell of the work, whatever a model says of it: the files that were changed, how the
newest command and the newest change ended, and which question a short answer of the person's was an answer to."""

import re
from collections.abc import Iterator, Sequence

from localllm.context.conversation import Conversation
from localllm.context.pruning import was_pruned, with_calls
from localllm.llm.messages import AssistantMessage, Message, ToolMessage
from localllm.llm.tool_calls import path_of, with_arguments
from localllm.text.error_lines import telling_lines

HEADING = "## Record (kept by the program)"

_CHANGES = frozenset({"create_file", "write_file", "edit_file"})
_COMMANDS = frozenset({"run_command", "command_output"})

_MOST_FILES = 20
_LONGEST_RESULT = 600
_SHORT_ANSWER = 60
_LONGEST_QUESTION = 240
_MOST_ANSWERS = 5

_CHANGED_LINE = re.compile(r"^changed: (.+?)(?: \(… \d+ more\))?$", re.MULTILINE)
_RESULT = re.compile(r"^newest (change|command): (.*?)(?=^newest (?:change|command): |\Z)", re.MULTILINE | re.DOTALL)
_ANSWER_LINE = re.compile(r"^asked: .* → the user: .*$", re.MULTILINE)


def record(conversation: Conversation, earlier: str = "") -> str:
    """The record of a conversation, and of the state `earlier` that was handed over before it; "" where nothing was
    done."""
    lines = [
        listed("changed", _with_earlier(files(conversation.messages)[1], earlier)),
        *[*_ANSWER_LINE.findall(earlier), *_answers(conversation)][-_MOST_ANSWERS:],
        *_newest_results(conversation.messages, earlier),
    ]
    told = "\n".join(filter(None, lines))
    return f"{HEADING}\n{told}" if told else ""


def files(messages: Sequence[Message]) -> tuple[list[str], list[str]]:
    """The files that were read, and those that were changed, the newest first."""
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    for message in reversed(messages):
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            if path := path_of(call):
                (changed if call.name in _CHANGES else read)[path] = None
    return [path for path in read if path not in changed], list(changed)


def listed(what: str, paths: Sequence[str]) -> str:
    """The paths in one line, "" where there are none."""
    more = f" (… {len(paths) - _MOST_FILES} more)" if len(paths) > _MOST_FILES else ""
    return f"{what}: {', '.join(paths[:_MOST_FILES])}{more}" if paths else ""


def _with_earlier(changed: Sequence[str], earlier: str) -> list[str]:
    before = [path for line in _CHANGED_LINE.findall(earlier) for path in line.split(", ")]
    return list(dict.fromkeys([*changed, *before]))


def _answers(conversation: Conversation) -> Iterator[str]:
    """What the model asked and the person answered in a few words, which say nothing without the question."""
    for number, before in enumerate(conversation.messages[:-1]):
        said = " ".join(" ".join(conversation.words_in(number + 1)).split())
        question = _question(before.text) if isinstance(before, AssistantMessage) and not before.tool_calls else ""
        if question and 0 < len(said) <= _SHORT_ANSWER:
            yield f"asked: {question} → the user: {said}"


def _question(text: str) -> str:
    """The last paragraph of a text, if it asks something."""
    last = " ".join(text.strip().split("\n\n")[-1].split())
    return last[-_LONGEST_QUESTION:] if "?" in last or "？" in last else ""


def _newest_results(messages: Sequence[Message], earlier: str) -> Iterator[str]:
    results = [(m, call) for m, call in with_calls(messages) if isinstance(m, ToolMessage) and not was_pruned(m)]
    before = dict(_RESULT.findall(earlier.partition(HEADING)[2]))
    for what, names in (("change", _CHANGES), ("command", _COMMANDS)):
        if newest := next(((m, call) for m, call in reversed(results) if call.name in names), None):
            message, call = newest
            yield f"newest {what}: {with_arguments(call)} →\n{_shortened(message.text)}"
        elif what in before:
            yield f"newest {what}: {before[what].strip()}"


def _shortened(text: str) -> str:
    """Its beginning, what in it tells of a fault, and its end."""
    text = text.strip()
    if len(text) <= _LONGEST_RESULT:
        return text
    part = _LONGEST_RESULT // 3
    return "\n".join(filter(None, [text[:part], telling_lines(text[part:-part], part), f"…{text[-part:]}"]))
