"""Shorten what old tool results and texts take: prune, truncate, or move to files.

Deterministic, and asks nobody. What the person said and what the model wrote is not touched, nor what came newest.
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
"""Before the person's words in such a result: whatever else stands there is data, and no orders."""

_KEPT_FILE = re.compile(r"tool-output/[\w.-]+\.txt")
_LONGEST_FOLDER = 400
"""Characters before it that may belong to its path."""

_WORTH_IT = 1.5
"""A result is left out only where it is so many times as long as what would stand for it."""

_CHANGING = frozenset({"create_file", "write_file", "edit_file", "git_commit", "run_command", "todo"})
"""Tools that must not be called again only to see what they said."""

_NO_CALL = ToolCall("", "", "{}")

Compress = Callable[[ToolCall, str], str]
"""What stands for the content of a result that is left out: a compressed form, or nothing."""


def nothing(_call: ToolCall, _text: str) -> str:
    """No compressed form."""
    return ""


def prune(conversation: Conversation, keep_from: int, compress: Compress = nothing) -> Conversation:
    """The conversation with every result before message `keep_from` replaced that is longer than what stands for it.
    Pictures stay: see `prune_pictures`."""
    messages = [
        _pruned(message, call, conversation.words_in(number), compress)
        if isinstance(message, ToolMessage) and number < keep_from
        else message
        for number, (message, call) in enumerate(with_calls(conversation.messages))
    ]
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def prune_pictures(conversation: Conversation, keep_from: int, spare: int = -1) -> Conversation:
    """The conversation without the pictures that came before message `keep_from`, but for those of message `spare`:
    each message that had some says so, and how they can be seen again."""
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
    """Each message, and with a result the call it answers. Servers use ids again: the last call before it is meant."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {call.id: call for call in message.tool_calls}
        if isinstance(message, ToolMessage):
            yield message, calls.get(message.call_id, ToolCall(message.call_id, message.name, "{}"))
        else:
            yield message, _NO_CALL


def was_pruned(message: Message) -> bool:
    """Whether the result was left out already."""
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
"""The tokens of a text."""

_SHRINK = 0.85
"""A text that is still too long is tried again so many times as long."""

_TELLING = 0.35
"""The share of what is left, at most, for lines in between that tell of a fault."""

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
    """`text` in at most so many tokens: as it is where it fits, else `head` of it from its beginning, the rest from its
    end, and `note` between them, which may tell the `count` of characters left out. Where not even the note has room,
    the beginning alone. `faults`: of what is left out, the lines that tell of one stay."""
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
"""What may be cut: the program's record alone; what tools and files say too; the model's summary as well."""


def longest_gap(conversation: Conversation, number: int, estimate: Estimate, what: Cuttable = "all") -> int:
    """The tokens of the longest part of a message that may be cut: of what tools and files say, not of what the person
    or the model did."""
    return max(map(estimate, _pieces(conversation, number, what)[::2]), default=0)


def cut_message(
    conversation: Conversation, number: int, tokens: int, estimate: Estimate, what: Cuttable = "all"
) -> Conversation:
    """The conversation with the parts of message `number` that may be cut in so many tokens each, the person's words in
    it where they were."""
    messages = list(conversation.messages)
    message = messages[number]
    faults = isinstance(message, ToolMessage) and message.name in _COMMANDS
    pieces = _pieces(conversation, number, what)
    pieces[::2] = [cut(piece, tokens, CUT, estimate, faults=faults) for piece in pieces[::2]]
    messages[number] = msgspec.structs.replace(message, text="".join(pieces))
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def _pieces(conversation: Conversation, number: int, what: Cuttable) -> list[str]:
    """The text of a result or of what came with a user's words, what must stay of it at every odd place: those words,
    and the form of a message that stands for an older part. Nothing of others."""
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
    """A piece of such a message beside the words, what must stay at every odd place: how it begins, with where the
    words are that were put aside; where the state is in it, and where the newest request begins."""
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
"""Writes a text where the model can read it, and gives the name it is read by. The same text has the same name. Raises
OSError."""

LONGEST_LINE = 600
"""Characters of a line in the file: of a longer one read_file shows only the beginning in the smallest window."""

_LONGEST_BEGINNING = 200
"""Characters of a first request that was put aside."""

_GOES_ON = "…"


def put_aside(
    conversation: Conversation, until: int, room: int, tokens: Callable[[str], int]
) -> tuple[Conversation, int]:
    """The conversation with so many of the older words marked as put aside that the rest has at most `room` tokens,
    as far as they are in messages before `until`. The newest stay, and so does the first request, for it is what the
    work is for, unless it alone takes most of the room. And the first message after all those that held them, which
    what is kept of the conversation must not begin before."""
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
    """Whether the file of these words can be written."""
    try:
        keep(file_of(words))
    except OSError:
        return False
    return True


def told_of(conversation: Conversation, keep: Keep) -> str:
    """The line that says where the words are that were put aside, with how the first request begins where that is one
    of them; "" where none were."""
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
    """The text of the file: the words, the oldest first, each under its number."""
    first = (
        f'What the user said, verbatim, the oldest first. A line that begins with "{_GOES_ON}" goes on the one before.'
    )
    return "\n\n".join([first, *(f"[{number}]\n{_broken(text)}" for number, text in enumerate(words, 1))]) + "\n"


def _broken(text: str) -> str:
    """The text with its long lines broken, after a space where there is one."""
    return "\n".join(f"\n{_GOES_ON}".join(_word_pieces(line)) for line in text.split("\n"))


def _word_pieces(line: str) -> list[str]:
    pieces: list[str] = []
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]
