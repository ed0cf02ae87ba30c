"""Cut texts to a number of tokens."""

from collections.abc import Callable

import msgspec

from localllm.context.conversation import Conversation
from localllm.llm.framed_texts import BEGINNING, NOW, STATE_BEGINS, STATE_ENDS, is_summed_up
from localllm.llm.messages import ToolMessage, UserMessage
from localllm.llm.tokens import estimate_tokens
from localllm.text.error_lines import telling_lines

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


def longest_gap(conversation: Conversation, number: int, estimate: Estimate) -> int:
    """The tokens of the longest part of a message that may be cut: of what tools and files say, not of what the person
    or the model did."""
    return max(map(estimate, _pieces(conversation, number)[::2]), default=0)


def cut_message(conversation: Conversation, number: int, tokens: int, estimate: Estimate) -> Conversation:
    """The conversation with the parts of message `number` that may be cut in so many tokens each, the person's words in
    it where they were."""
    messages = list(conversation.messages)
    message = messages[number]
    faults = isinstance(message, ToolMessage) and message.name in _COMMANDS
    pieces = _pieces(conversation, number)
    pieces[::2] = [cut(piece, tokens, CUT, estimate, faults=faults) for piece in pieces[::2]]
    messages[number] = msgspec.structs.replace(message, text="".join(pieces))
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def _pieces(conversation: Conversation, number: int) -> list[str]:
    """The text of a result or of what came with a user's words, what must stay of it at every odd place: those words,
    and the form of a message that stands for an older part. Nothing of others."""
    message = conversation.messages[number]
    if not isinstance(message, UserMessage | ToolMessage):
        return []
    pieces, rest = list[str](), message.text
    for said in conversation.words_in(number):
        before, found, rest = rest.partition(said)
        pieces += [before, found]
    pieces.append(rest)
    if not is_summed_up(message.text):
        return pieces
    return [part for place, piece in enumerate(pieces) for part in ([piece] if place % 2 else _of_head(piece))]


def _of_head(piece: str) -> list[str]:
    """A piece of such a message beside the words, what must stay at every odd place: how it begins, with where the
    words are that were put aside; where the state is in it, and where the newest request begins."""
    before, begins, rest = piece.partition(STATE_BEGINS)
    if not begins:
        return ["", piece, ""] if piece.startswith(BEGINNING) else [piece]
    state, ends, rest = rest.partition(STATE_ENDS)
    return ["", before + begins, state, ends, *rest.partition(NOW)]
