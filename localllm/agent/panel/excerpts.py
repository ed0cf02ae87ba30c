"""Long results cut down to what they say is wrong: the lines that tell an error stay letter by letter."""

import re
from collections.abc import Iterator, Sequence

from localllm.llm.tokens import BYTES_PER_TOKEN, estimate_tokens

_TELLS_ERROR = (
    r"error|exception|fail|fatal|panic|traceback|assert|abort|undefined|unexpected|invalid|not found|no such"
    r"|cannot|can't|could not|denied|refused|timed? ?out|exit code|expected|^E\s"
    r"|エラー|例外|失敗|見つか|できません|ありません|終了コード|タイムアウト"
)
_LAST_LINES = 6
_NEIGHBOURS = 2
_NOTE_TOKENS = 12
"""What the note on a gap takes."""


def excerpt(text: str, most: int) -> str:
    """`text` in about `most` tokens. Of a longer one the first line, the lines that tell an error (equal ones once) and
    the last lines are kept, in this order of importance; a note stands wherever lines were left out."""
    if estimate_tokens(text) <= most:
        return text
    lines = [cut_middle(line, max(most // 2, 1)) for line in text.rstrip().split("\n")]
    kept: set[int] = set()
    room = most
    for number in _by_importance(lines):
        cost = estimate_tokens(lines[number]) + (0 if {number - 1, number + 1} & kept else _NOTE_TOKENS)
        if number not in kept and cost <= room:
            kept.add(number)
            room -= cost
    return "\n".join(_with_notes(lines, sorted(kept)))


def cut_middle(text: str, most: int) -> str:
    """`text` in about `most` tokens: its beginning and its end, with a note between them."""
    if estimate_tokens(text) <= most:
        return text
    room = max(int(len(text) * most / estimate_tokens(text)) - int(_NOTE_TOKENS * BYTES_PER_TOKEN), 3)
    head, tail = _ends(text, room)
    while room > 3 and estimate_tokens(head) + estimate_tokens(tail) + _NOTE_TOKENS > most:
        room = room * 9 // 10  # wide characters may be anywhere in it
        head, tail = _ends(text, room)
    return f"{head} [… {len(text) - len(head) - len(tail)} characters left out …] {tail}"


def cut_end(text: str, most: int) -> str:
    """`text` in about `most` tokens: its beginning, up to where a sentence or a line ends if one does late enough."""
    if (size := estimate_tokens(text)) <= most:
        return text
    head = text[: int(len(text) * most / size) - 2]
    while head and estimate_tokens(head) >= most:  # wide characters may be anywhere in it
        head = head[: len(head) * 9 // 10]
    end = max(head.rfind(mark) for mark in (". ", "。", "\n")) + 1
    return (head[:end] if end > len(head) // 2 else head).rstrip() + " …"


def _ends(text: str, room: int) -> tuple[str, str]:
    return text[: room * 2 // 3], text[len(text) - room // 3 :]


def _by_importance(lines: Sequence[str]) -> Iterator[int]:
    """The lines' numbers, some more than once: the errors from both ends, for compilers tell the cause first and
    tracebacks last."""
    first_of: dict[str, int] = {}
    for number, line in enumerate(lines):
        if re.search(_TELLS_ERROR, line, re.IGNORECASE):
            first_of.setdefault(line.strip(), number)
    errors = list(first_of.values())
    yield 0
    for early, late in zip(errors, reversed(errors), strict=True):
        yield from (late, early)
    yield from range(len(lines) - 1, max(len(lines) - 1 - _LAST_LINES, 0), -1)
    for number in errors:
        yield from range(max(number - _NEIGHBOURS, 0), min(number + _NEIGHBOURS + 1, len(lines)))


def _with_notes(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    before = -1
    for number in (*kept, len(lines)):
        if gap := number - before - 1:
            yield f"[… {gap} lines left out …]"
        if number < len(lines):
            yield lines[number]
        before = number
