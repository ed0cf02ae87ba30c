"""What a program wrote for a terminal, as plain text."""

from localllm.base.lazy_patterns import late_pattern

_CONTROL = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEQUENCE = late_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, …: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
"""ECMA-48, and xterm's control sequences."""


def plain_output(text: str) -> str:
    """The text without control sequences; of a line that was written over, as a progress bar is, its last state."""
    if not _CONTROL.search(text):
        return text
    text = _SEQUENCE.sub("", text.replace("\r\n", "\n"))
    if "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    if "\b" in text:
        text = "\n".join(map(_corrected, text.split("\n")))
    return _CONTROL.sub("", text)


_LONGEST_BLOCK = 3  # lines
_WORTH_FOLDING = 200  # characters


def fold_repeats(text: str) -> str:
    """The text with each block of up to three lines that comes again and again written once, and how often it came.

    What saves less than 200 characters stays as it is: short tables, runs of blank lines.
    """
    lines = text.split("\n")
    kept: list[str] = []
    at = 0
    while at < len(lines):
        size, times = _repeated_block(lines, at)
        kept += lines[at : at + size]
        if times > 1:
            kept.append(f"[{'the line' if size == 1 else f'these {size} lines'} above {times:,} times in a row]")
        at += size * times
    return "\n".join(kept)


def _repeated_block(lines: list[str], at: int) -> tuple[int, int]:
    """Size in lines of the block that begins at `at`, and how often it comes in a row; (1, 1) if not worth folding."""
    for size in range(1, _LONGEST_BLOCK + 1):
        block = lines[at : at + size]
        end = at + size
        while lines[end : end + size] == block:
            end += size
        times = (end - at) // size
        if (times - 1) * sum(len(line) + 1 for line in block) >= _WORTH_FOLDING and times > 2:
            return size, times
    return 1, 1


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "") if "\r" in line else line


def _corrected(line: str) -> str:
    """The line with each backspace, and the character before it, taken away."""
    if "\b" not in line:
        return line
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
