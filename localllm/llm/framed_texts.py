"""Framed texts in requests: what the project says of itself, and the summary of older turns."""

import re
from collections.abc import Iterator
from typing import Literal

from localllm.base.lazy_patterns import late_pattern

BEGINNING = "[Summed up to make room: the conversation until here.]"
NOW = "[Now the user says:]"
STATE_BEGINS, STATE_ENDS = "<state>\n", "\n</state>"

_STATE = re.compile(r"<state>\n(.*?)(?:\n</state>|\Z)", re.DOTALL)
_SAID = re.compile(r"<said>\n(.*?)\n</said>", re.DOTALL)
_SITUATION = re.compile(r"^\[Project [^\n]*\]$", re.MULTILINE)


def is_summed_up(text: str) -> bool:
    """Whether this is such a message."""
    return text.startswith(BEGINNING)


def state_in(text: str) -> str:
    """The state of the work it tells of."""
    found = _STATE.search(text)
    return found[1] if found else ""


def newest_request(text: str) -> str:
    """What is to be answered, with where and when that is: the new request in it, else what the user said last."""
    before, now, request = text.partition(f"{NOW}\n\n")
    said = _SAID.findall(before)
    asked = request if now else said[-1] if said else ""
    found = _SITUATION.search(before)
    return f"{asked}\n\n{found[0]}" if found else asked


Tag = Literal["project-instructions", "project-notes"]

LINKED = (".md", ".mdc", ".mdx", ".markdown", ".txt")
"""How a file must end for a link in the place of such a text to be followed: what a project one has been given links to
could be its user's secrets, or a program."""

_MARK = late_pattern(r"^<(?P<end>/?)(?P<tag>project-instructions|project-notes)>$", re.MULTILINE)
_CLOSING = late_pattern(r"<\s{0,9}/\s{0,9}(?=project-(?:instructions|notes)\b)", re.IGNORECASE)


def framed(tag: Tag, about: str, text: str) -> str:
    """The text with what is said `about` it before it; nothing in it ends the frame."""
    harmless = _CLOSING.sub("< /", text)
    return f"<{tag}>\n{about}\n{harmless}\n</{tag}>"


def framed_in(text: str) -> str:
    """What of a message is such a text, frames included."""
    return "\n\n".join(text[start:end] for start, end in _frames(text))


def without_framed(text: str) -> str:
    """The message without such texts."""
    edges = [0, *(edge for frame in _frames(text) for edge in frame), len(text)]
    kept = (text[start:end].strip("\n") for start, end in zip(edges[::2], edges[1::2], strict=True))
    return "\n\n".join(filter(None, kept))


def _frames(text: str) -> Iterator[tuple[int, int]]:
    """From where to where such texts stand, each up to the first end of its kind."""
    marks = list(_MARK.finditer(text))
    last = {mark["tag"]: mark.start() for mark in marks if mark["end"]}
    opening: re.Match[str] | None = None
    for mark in marks:
        if opening is None and not mark["end"] and last.get(mark["tag"], -1) > mark.start():
            opening = mark
        elif opening is not None and mark["end"] and mark["tag"] == opening["tag"]:
            yield opening.start(), mark.end()
            opening = None
