"""Shorten old tool results and texts: prune, truncate, or move to files.

Deterministic and without a model. The user's words, the model's answers and the newest results are not touched.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from localllm.base.events import ToolCall
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken
from localllm.llm.messages import (
    BEGINNING,
    NOW,
    RECORD,
    STATE_BEGINS,
    STATE_ENDS,
    AssistantMessage,
    Message,
    ToolMessage,
    UserMessage,
    is_summed_up,
    with_arguments,
)
from localllm.llm.tokens import estimate_tokens
from localllm.text.error_lines import telling_lines

_LEFT_OUT = "[left out to make room: "

_SAID = "[Not of the tool: the user said here:]\n"
"""Precedes the user's words in such a result, whose other text is data, not instructions."""

_KEPT_FILE = re.compile(r"tool-output/[\w.-]+\.txt")
_LONGEST_FOLDER = 400
"""Characters before it that may belong to its path."""

_WORTH_IT = 1.5
"""Minimum ratio of a pruned result's length to its replacement's."""

_CHANGING = frozenset({"create_file", "write_file", "edit_file", "git_commit", "run_command", "todo"})
"""Tools that must not be called again just to see their results."""

_NO_CALL = ToolCall("", "", "{}")

Compress = Callable[[ToolCall, str], str]
"""Returns the compressed replacement of a pruned result's content, or ""."""


def nothing(_call: ToolCall, _text: str) -> str:
    """Return no compressed form."""
    return ""


def prune(conversation: Conversation, keep_from: int, compress: Compress = nothing) -> Conversation:
    """Prune every result before message `keep_from` that is longer than its replacement.
    Images are kept: see `prune_pictures`."""
    messages = [
        _pruned(message, call, conversation.words_in(number), compress)
        if isinstance(message, ToolMessage) and number < keep_from
        else message
        for number, (message, call) in enumerate(with_calls(conversation.messages))
    ]
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def prune_pictures(conversation: Conversation, keep_from: int, spare: int = -1) -> Conversation:
    """Remove the images before message `keep_from`, except those of message `spare`, with a note how to see them
    again."""
    messages = [
        _without_pictures(message, call) if number < keep_from and number != spare else message
        for number, (message, call) in enumerate(with_calls(conversation.messages))
    ]
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def _without_pictures(message: Message, call: ToolCall) -> Message:
    if not isinstance(message, UserMessage | ToolMessage) or not message.images:
        return message
    how = with_arguments(call) if isinstance(message, ToolMessage) else "read_file"
    which = "the picture" if len(message.images) == 1 else f"the {len(message.images)} pictures"
    note = f"[{which} that came with this left out to make room: {how} shows it again]"
    return msgspec.structs.replace(message, text=f"{message.text}\n\n{note}", images=())


def with_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, ToolCall]]:
    """Yield each message, and with a result its call. Servers reuse ids: the last preceding call counts."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {call.id: call for call in message.tool_calls}
        if isinstance(message, ToolMessage):
            yield message, calls.get(message.call_id, ToolCall(message.call_id, message.name, "{}"))
        else:
            yield message, _NO_CALL


def was_pruned(message: Message) -> bool:
    """Return whether the result was already pruned."""
    return isinstance(message, ToolMessage) and message.text.startswith(_LEFT_OUT)


def _pruned(message: ToolMessage, asked: ToolCall, words: Sequence[str], compress: Compress) -> ToolMessage:
    if was_pruned(message):
        return message
    stands = f"{_LEFT_OUT}{with_arguments(asked)}, {len(message.text):,} characters. {_again(asked, message.text)}]"
    stands = "\n".join(filter(None, [stands, compress(asked, message.text)]))
    text = "\n\n".join([stands, *(f"{_SAID}{said}" for said in words)])
    if len(text) * _WORTH_IT >= len(message.text):
        return message
    return msgspec.structs.replace(message, text=text)


def _again(call: ToolCall, text: str) -> str:
    if kept := _KEPT_FILE.search(text):
        folder = re.split(r"\s", text[max(0, kept.start() - _LONGEST_FOLDER) : kept.start()])[-1]
        return f"The whole is in {folder}{kept[0]}: read_file shows it"
    if call.name in _CHANGING:
        return "It was done; do not repeat it only to see this"
    return "Call it again to see it"


Estimate = Callable[[str], int]
"""Returns the tokens of a text."""

_SHRINK = 0.85
"""Factor on the length for each further attempt at a text that is still too long."""

_TELLING = 0.35
"""Maximum share of the kept text for error lines between the ends."""

_COMMANDS = frozenset({"run_command", "command_output"})

CUT = "[… {count:,} characters left out to make room; read or run it again for them]"


def cut(
    text: str,
    tokens: int,
    note: str,
    estimate: Estimate = estimate_tokens,
    *,
    head: float = 0.2,
    faults: bool = False,
) -> str:
    """Truncate `text` to `tokens`: `head` of it from its beginning, the rest from its end, and `note` between them,
    which may contain the `count` of removed characters. If not even the note fits, only the beginning. `faults`: keep
    the error lines of the removed part."""
    whole = estimate(text)
    if whole <= tokens:
        return text
    length = int(len(text) * max(0, tokens) / max(1, whole))
    while length > 0:
        shorter = _ends(text, length, head, note, int(_TELLING * length) if faults else 0)
        if estimate(shorter) <= tokens:
            return shorter
        length = int(length * _SHRINK)
    alone = note.format(count=len(text))
    return alone if estimate(alone) <= tokens else _beginning(text, tokens, estimate)


def _ends(text: str, length: int, head: float, note: str, most_telling: int) -> str:
    first = int(length * head)
    telling = telling_lines(text[first : len(text) - (length - first)], most_telling) if most_telling else ""
    last = length - first - len(telling)
    told = note.format(count=len(text) - length)
    return "\n".join(filter(None, [text[:first].rstrip(), told, telling, text[len(text) - last :].lstrip()]))


def _beginning(text: str, tokens: int, estimate: Estimate) -> str:
    length = int(len(text) * max(0, tokens) / max(1, estimate(text)))
    while length > 0 and estimate(text[:length]) > tokens:
        length = int(length * _SHRINK)
    return text[:length]


Cuttable = Literal["record", "most", "all"]
"""What may be truncated: only the program's record; also tool results and files; also the model's summary."""


def longest_gap(conversation: Conversation, number: int, estimate: Estimate, what: Cuttable = "all") -> int:
    """Return the tokens of the longest part of a message that may be truncated: text of tools and files, not of the
    user or model."""
    return max(map(estimate, _pieces(conversation, number, what)[::2]), default=0)


def cut_message(
    conversation: Conversation, number: int, tokens: int, estimate: Estimate, what: Cuttable = "all"
) -> Conversation:
    """Truncate the parts of message `number` that may be to `tokens` each, keeping the user's words in place."""
    messages = list(conversation.messages)
    message = messages[number]
    faults = isinstance(message, ToolMessage) and message.name in _COMMANDS
    pieces = _pieces(conversation, number, what)
    pieces[::2] = [cut(piece, tokens, CUT, estimate, faults=faults) for piece in pieces[::2]]
    messages[number] = msgspec.structs.replace(message, text="".join(pieces))
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def _pieces(conversation: Conversation, number: int, what: Cuttable) -> list[str]:
    """Split a result, or the text that accompanies a user's words, into pieces.
    Those at odd indexes must be kept: the words, and the frame of a summary message. Empty for others."""
    message = conversation.messages[number]
    if not isinstance(message, UserMessage | ToolMessage) or (what == "record" and not is_summed_up(message.text)):
        return []
    pieces, rest = list[str](), message.text
    for said in conversation.words_in(number):
        before, found, rest = rest.partition(said)
        pieces += [before, found]
    pieces.append(rest)
    if not is_summed_up(message.text):
        return pieces
    return [part for place, piece in enumerate(pieces) for part in ([piece] if place % 2 else _of_head(piece, what))]


def _of_head(piece: str, what: Cuttable) -> list[str]:
    """Split a piece of a summary message beside the words, likewise: kept are its beginning, with the place of words
    moved to a file, the frame of the state, and the beginning of the newest request."""
    before, begins, rest = piece.partition(STATE_BEGINS)
    if not begins:
        return ["", piece, ""] if what == "record" or piece.startswith(BEGINNING) else [piece]
    state, ends, rest = rest.partition(STATE_ENDS)
    summary, heading, record = state.partition(RECORD)
    match what:
        case "record":
            return ["", f"{before}{begins}{summary}{heading}", record, f"{ends}{rest}", ""]
        case "most":
            return ["", f"{before}{begins}{summary}{heading}", record, ends, *rest.partition(NOW)]
        case "all":
            return ["", before + begins, summary, heading, record, ends, *rest.partition(NOW)]


Keep = Callable[[str], str]
"""Stores a text where the model can read it, and returns its name, the same for the same text. Raises OSError."""

LONGEST_LINE = 600
"""Maximum characters of a line in the file: the smallest window shows only the start of a longer one."""

_LONGEST_BEGINNING = 200
"""Characters shown of a first request that was moved to a file."""

_GOES_ON = "…"


def put_aside(
    conversation: Conversation, until: int, room: int, tokens: Callable[[str], int]
) -> tuple[Conversation, int]:
    """Mark older words as moved to a file, until the rest has at most `room` tokens, limited to messages before
    `until`. The newest are kept, and so is the first request, the purpose of the work, unless it alone takes most of
    the room. Also return the first message after those that contained them, before which the kept part must not
    begin."""
    left = sum(tokens(spoken.text) for spoken in conversation.said)
    spoken, first = list(conversation.spoken), 0
    for number, one in enumerate(spoken[:-1]):
        if one.message == PUT_ASIDE or (number == 0 and tokens(one.text) <= room // 2):
            continue
        if left <= room or one.message >= until:
            break
        left -= tokens(one.text)
        first = one.message + 1
        spoken[number] = Spoken(one.text, PUT_ASIDE)
    return msgspec.structs.replace(conversation, spoken=tuple(spoken)), first


def can_keep(words: Sequence[str], keep: Keep) -> bool:
    """Return whether the file of these words can be written."""
    try:
        keep(file_of(words))
    except OSError:
        return False
    return True


def told_of(conversation: Conversation, keep: Keep) -> str:
    """Return the line with the place of the words moved to a file, and the beginning of the first request if included.
    "" if there are none."""
    words = conversation.aside
    if not words:
        return ""
    which = f"{len(words):,} older messages of the user" if len(words) > 1 else "An older message of the user"
    if conversation.spoken[0].message == PUT_ASIDE:
        begins = " ".join(words[0][:_LONGEST_BEGINNING].split())
        which += f", the first of which begins “{begins} …”"
    try:
        name = keep(file_of(words))
    except OSError as error:
        return f"[{which} could not be kept ({error.strerror}): ask the user for what you need of them.]"
    return f"[{which}, verbatim: {name} (read_file shows it, search_files with this path searches it)]"


def file_of(words: Sequence[str]) -> str:
    """Return the file's text: the words, oldest first, each under its number."""
    first = (
        f'What the user said, verbatim, the oldest first. A line that begins with "{_GOES_ON}" goes on the one before.'
    )
    return "\n\n".join([first, *(f"[{number}]\n{_broken(text)}" for number, text in enumerate(words, 1))]) + "\n"


def _broken(text: str) -> str:
    """Wrap long lines, after a space if there is one."""
    return "\n".join(f"\n{_GOES_ON}".join(_word_pieces(line)) for line in text.split("\n"))


def _word_pieces(line: str) -> list[str]:
    pieces: list[str] = []
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]
