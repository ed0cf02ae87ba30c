"""Recognise commands that do what a request forbids: commit."""

from collections.abc import Sequence

from localllm.safety.command_line import Line
from localllm.safety.nested_commands import program_of

_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
"""Options of git whose value is the next word."""


def commits(line: Line) -> bool:
    """Return whether a part of it is `git commit`."""
    return "commit" in line.text and any(
        program_of(words[0]) == "git" and _verb([word.text for word in words]) == "commit"
        for words in line.commands
        if words
    )


def _verb(words: Sequence[str]) -> str:
    """Return the command of git, behind its options."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""
