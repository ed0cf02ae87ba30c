"""The form in which what a project says of itself stands in a request: whoever writes or reads it asks here."""

import re
from typing import Literal

from localllm.base.patterns import late_pattern

Tag = Literal["project-instructions", "project-notes"]

LINKED = (".md", ".mdc", ".mdx", ".markdown", ".txt")
"""How a file must end for a link in the place of such a text to be followed: what a project one has been given links to
could be its user's secrets, or a program."""

_FRAMED = late_pattern(r"(?<!\n)\n*+^<(project-instructions|project-notes)>\n.*?\n</\1>$\n*", re.DOTALL | re.MULTILINE)
_CLOSING = late_pattern(r"<\s{0,9}/\s{0,9}(?=project-(?:instructions|notes)\b)", re.IGNORECASE)


def framed(tag: Tag, about: str, text: str) -> str:
    """The text with what is said `about` it before it; nothing in it ends the frame."""
    harmless = _CLOSING.sub("< /", text)
    return f"<{tag}>\n{about}\n{harmless}\n</{tag}>"


def framed_in(text: str) -> str:
    """What of a message is such a text, frames included."""
    return "\n\n".join(found[0].strip("\n") for found in _FRAMED.finditer(text))


def without_framed(text: str) -> str:
    """The message without such texts."""
    return _FRAMED.sub("\n\n", text).strip("\n")
