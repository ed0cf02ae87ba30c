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
