"""Convert terminal output of a program to plain text."""

from localllm.base.lazy_patterns import late_pattern

_CONTROL = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEQUENCE = late_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, …: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
"""ECMA-48, and xterm's control sequences."""


def plain_output(text: str) -> str:
    """Remove control sequences; of an overwritten line, such as a progress bar, keep the last state."""
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
    """Replace consecutive repetitions of a block of up to three lines by one and a count.

    Savings of less than 200 characters are not made: short tables, runs of blank lines.
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
    """Return the size in lines of the block at `at`, and its repetitions; (1, 1) if not worth folding."""
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
    """Apply the backspaces in a line."""
    if "\b" not in line:
        return line
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
