"""Tell what the user's words keep out of LOCALLLM.md when a session ends."""

from collections.abc import Sequence

from localllm.base.events import ConfirmationAnswered, RunStarted
from localllm.sessions.entries import Entry


def leaves_file(entries: Sequence[Entry], names: Sequence[str]) -> bool:
    """Return whether a request, or the user's words to a refused call, forbids to change a file of one of the names."""
    from localllm.agent.phrases.request_phrases import banned_files
    from localllm.tools.call_judge import is_among

    files = [name for words in _said(entries) for name in banned_files(words)]
    return any(is_among(name, files) for name in names)


def ends_without_changes(entries: Sequence[Entry]) -> bool:
    """Return whether the last request forbids all changes."""
    from localllm.agent.phrases.request_phrases import forbids_change

    last = next((entry.query for entry in reversed(entries) if isinstance(entry, RunStarted)), "")
    return bool(last) and forbids_change(last)


def _said(entries: Sequence[Entry]) -> list[str]:
    asked = [entry.query for entry in entries if isinstance(entry, RunStarted)]
    return asked + [entry.feedback for entry in entries if isinstance(entry, ConfirmationAnswered) and entry.feedback]
