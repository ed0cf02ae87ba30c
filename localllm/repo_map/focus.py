"""What a conversation is about: the person's last words."""

import re
from collections import deque

_TURNS = 3
_MOST_CHARACTERS = 4_000  # of one message; a pasted log names everything and so nothing


class Focus:
    """The last things the person said."""

    def __init__(self) -> None:
        self._said: deque[str] = deque(maxlen=_TURNS)

    def heard(self, text: str) -> None:
        """The person said this."""
        if text.strip():
            self._said.append(text[:_MOST_CHARACTERS])

    @property
    def words(self) -> str:
        """What was said last, a message a line."""
        return "\n".join(self._said)


def paths_in(text: str) -> set[str]:
    """The words of a text that may be paths or names of files."""
    found = re.findall(r"[\w$./-]{0,250}[\w$]\.\w+|[\w$.-]{1,250}/[\w$./-]*[\w$]", text)
    return {word.removeprefix("./") for word in found}


def identifiers_in(text: str) -> set[str]:
    """The words of a text that may be identifiers: those that are put together (fetch_page, fetchPage), begin with a
    capital inside a sentence or not, or stand between backticks."""
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text))
    words = re.findall(r"[A-Za-z_$][\w$]{2,}", text)
    return set(re.findall(r"[A-Za-z_$][\w$]*", quoted)) | {word for word in words if not word.islower() or "_" in word}
