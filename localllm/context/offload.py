"""Move the user's oldest texts into a file the model can read, where they would fill the window."""

from collections.abc import Callable, Sequence

import msgspec

from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken

Keep = Callable[[str], str]
"""Writes a text where the model can read it, and gives the name it is read by. The same text has the same name. Raises
OSError."""

LONGEST_LINE = 600
"""Characters of a line in the file: of a longer one read_file shows only the beginning in the smallest window."""

_GOES_ON = "…"


def put_aside(
    conversation: Conversation, until: int, room: int, tokens: Callable[[str], int]
) -> tuple[Conversation, int]:
    """The conversation with so many of the oldest words marked as put aside that the rest has at most `room` tokens,
    as far as they are in messages before `until`; the newest stay. And the first message after all those that held
    them, which what is kept of the conversation must not begin before."""
    left = sum(tokens(spoken.text) for spoken in conversation.said)
    spoken, first = list(conversation.spoken), 0
    for number, one in enumerate(spoken[:-1]):
        if one.message == PUT_ASIDE:
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


def told_of(words: Sequence[str], keep: Keep) -> str:
    """The line that says where `words` are, which were put aside; "" where none were."""
    if not words:
        return ""
    which = f"The first {len(words):,} messages of the user" if len(words) > 1 else "The first message of the user"
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
    return "\n".join(f"\n{_GOES_ON}".join(_pieces(line)) for line in text.split("\n"))


def _pieces(line: str) -> list[str]:
    pieces: list[str] = []
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]
