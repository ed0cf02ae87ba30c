"""What stands for the older part of a conversation: the person's words, verbatim, and the state of the work."""

from collections.abc import Iterable, Sequence

from localllm.context.conversation import Conversation
from localllm.context.pruning import was_pruned, with_calls
from localllm.context.work_record import HEADING, files, listed, record
from localllm.llm.framed_texts import BEGINNING, NOW, is_summed_up, state_in
from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage
from localllm.llm.tool_calls import with_arguments

_READING = frozenset({"read_file"})

_LONGEST_OUTCOME = 110
_LONGEST_SAID = 500


def head_text(words: Sequence[str], state: str, surroundings: str = "", request: str = "", *, aside: str = "") -> str:
    """The text of the message that stands for the older part. `words` are what the person said in it, `aside` tells
    where what was said before them is; `request` is what is to be answered now, if it is new."""
    said = [f"<said>\n{text}\n</said>" for text in words]
    parts = [
        BEGINNING,
        aside,
        *(["The user said, verbatim, the oldest first:", *said] if said else []),
        f"The work so far:\n<state>\n{state}\n</state>",
        surroundings,
        f"{NOW}\n\n{request}" if request else "",
    ]
    return "\n\n".join(filter(None, parts))


def earlier_state(messages: Sequence[Message]) -> str:
    """The state that an earlier hand-off told of, "" where there was none."""
    first = next((message for message in messages if isinstance(message, UserMessage)), None)
    return state_in(first.text) if first is not None and is_head(first) else ""


def is_head(message: Message) -> bool:
    """Whether this is a message that stands for an older part."""
    return isinstance(message, UserMessage) and is_summed_up(message.text)


def plain_state(conversation: Conversation, most_lines: int = 40) -> str:
    """The state of the work as the messages themselves tell it, without any model: what was called and what came of it,
    the newest last, the files that were read, what was said last, and the record of the work."""
    messages = conversation.messages
    done = list(_joined(_outcomes(messages)))
    dropped = len(done) - most_lines
    lines = [f"- (… {dropped} earlier steps)", *done[-most_lines:]] if dropped > 0 else done
    read, _ = files(messages)
    earlier = earlier_state(messages)
    said = next((m.text for m in reversed(messages) if isinstance(m, AssistantMessage) and m.text.strip()), "")
    parts = [
        earlier.partition(HEADING)[0].strip(),
        "## Goal\nWhat the user said.",
        "## Done\n" + "\n".join(lines) if lines else "",
        f"## Files\n{listed('read', read)}" if read else "",
        f"## Said last\n{_short(said, _LONGEST_SAID)}" if said else "",
        "## Next\nGo on with what the user asked for last.",
        record(conversation, earlier),
    ]
    return "\n\n".join(filter(None, parts))


def transcript(conversation: Conversation, most: int) -> str:
    """The messages as a text, each result and each argument in at most `most` characters."""
    lines: list[str] = []
    for number, (message, call) in enumerate(with_calls(conversation.messages)):
        match message:
            case UserMessage(text):
                words = conversation.words_in(number)
                said = "\n\n".join(words) if words else earlier_state((message,)) or text
                lines.append(f"USER: {_ends(said, 4 * most)}")
            case AssistantMessage(text, calls):
                lines += [f"ASSISTANT: {_ends(text, 4 * most)}"] if text.strip() else []
                lines += [f"CALL {asked.name} {_ends(asked.arguments, most)}" for asked in calls]
            case ToolMessage(text=text):
                lines.append(f"RESULT of {call.name}: {_ends(text, most)}")
            case _:
                pass
    return "\n".join(lines)


def _outcomes(messages: Sequence[Message]) -> Iterable[str]:
    for message, call in with_calls(messages):
        if isinstance(message, ToolMessage):
            outcome = "" if was_pruned(message) else f" → {_outcome(call.name, message.text)}"
            yield f"- {with_arguments(call)}{outcome}"


def _outcome(tool: str, text: str) -> str:
    """What came of a call, in a line. The beginning of a file says nothing: of one that was read, its lines count."""
    lines = text.count("\n") + 1
    return f"{lines} lines" if tool in _READING and lines > 1 else _short(text, _LONGEST_OUTCOME)


def _joined(lines: Iterable[str]) -> Iterable[str]:
    """The lines, each that comes several times in a row once."""
    before, count = "", 0
    for line in (*lines, ""):
        if line == before:
            count += 1
            continue
        if before:
            yield before if count == 1 else f"{before} (×{count})"
        before, count = line, 1


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _ends(text: str, most: int) -> str:
    """The beginning and the end: errors and results stand there."""
    text = text.strip()
    if len(text) <= most:
        return text
    first = most // 3
    return f"{text[:first]} … {text[len(text) - (most - first) :]}"
