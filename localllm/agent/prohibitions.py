"""What the user's words forbid: for the judge of calls, and so that what they name to forbid it opens nothing."""

from localllm.agent.phrases.phrase_search import has_any
from localllm.agent.phrases.request_phrases import banned_files, banned_runs, forbids_commit
from localllm.tools.call_judge import Bans

_PROHIBITIONS = (
    *("no", "n't", "n’t", "dont", "never", "forbid", "prohibit", "banned", "taboo", "without", "avoid", "refrain"),
    *("stop", "instead", "rather", "leave", "leaving", "keep", "hands", "off", "ignor", "skip", "exclud", "block"),
    *("away", "except", "other", "apart", "ない", "ず", "ません", "ては", "な", "禁", "不可", "そのまま", "以外"),
)


def bans_of(words: str) -> Bans:
    """Return what the words forbid, besides every change."""
    return Bans(banned_files(words), forbids_commit(words), *banned_runs(words), shunned_addresses(words))


def _may_forbid_name(words: str) -> bool:
    return any(mark in words for mark in "./@＠") and has_any(words, _PROHIBITIONS)


def wanted_part(words: str, *, reading: bool = False) -> str:
    """Return the words without the files and addresses that they name only to forbid them; `reading`: those that they
    forbid to read."""
    if not _may_forbid_name(words):
        return words
    from localllm.agent.phrases.forbidden_names import without_forbidden  # few requests forbid one

    return without_forbidden(words, reading=reading)


def shunned_addresses(words: str) -> list[str]:
    """Return the words that may be addresses, and that it is forbidden to read."""
    if not _may_forbid_name(words):
        return []
    from localllm.agent.phrases.forbidden_names import forbidden_addresses  # few requests forbid one

    return forbidden_addresses(words)
