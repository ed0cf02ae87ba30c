"""What the user's words forbid: for the judge of calls, and so that what they name to forbid it opens nothing."""

from collections.abc import Callable

from localllm.agent.phrases.agreements import is_agreement
from localllm.agent.phrases.phrase_search import has_any
from localllm.agent.phrases.request_phrases import (
    asks_for_commit,
    banned_files,
    banned_runs,
    forbids_change,
    forbids_commit,
)
from localllm.agent.plan_mode import ACCEPTED
from localllm.base.i18n import Phrase, _
from localllm.tools.call_judge import NO_BANS, Bans
from localllm.tools.results import ToolResult

_PROHIBITIONS = (
    *("no", "n't", "n’t", "dont", "never", "forbid", "prohibit", "banned", "taboo", "without", "avoid", "refrain"),
    *("stop", "instead", "rather", "leave", "leaving", "keep", "hands", "off", "ignor", "skip", "exclud", "block"),
    *("away", "except", "other", "apart", "ない", "ず", "ません", "ては", "な", "禁", "不可", "そのまま", "以外"),
)


def bans_of(words: str) -> Bans:
    """Return what the words forbid."""
    files, addresses = banned_files(words), shunned_addresses(words)
    changes = forbids_change(words)
    records = changes and not asks_for_commit(words)
    discards = has_any(words, ("chang", "edit", "modif", "work", "diff", "変更", "編集", "修正", "作業", "差分"))
    if discards:
        from localllm.agent.phrases.kept_changes import keeps_changes  # few requests speak of changes

        discards = keeps_changes(words)
    return Bans(files, forbids_commit(words), *banned_runs(words), addresses, changes, records, discards)


def bans_after(earlier: Bans, words: str, is_planned: Callable[[], bool] = lambda: False) -> Bans:
    """Return what a request forbids: with what was forbidden earlier, if it only goes on with that, or if that is what
    was planned. What it names itself as wanted, and changes as such, are not forbidden any longer."""
    bans = bans_of(words)
    goes_on = earlier and (is_planned() or words == _(ACCEPTED) or is_agreement(words))  # whose pattern compiles long
    if not goes_on:
        return bans
    wanted = wanted_part(words)
    files, runs, dry = (
        [name for name in names if name.removeprefix("./") not in wanted]
        for names in (earlier.files, earlier.runs, earlier.dry_runs)
    )
    commits = earlier.commits and not asks_for_commit(words)
    return bans | Bans(files, commits, runs, dry, discards=earlier.discards)


def bans_of_refusal(result: ToolResult) -> Bans:
    """Return what the user forbids in words that refused a call."""
    said = result.error.params.get("feedback") if result.error and result.error.key == "denied_with_words" else None
    return bans_of(str(said.params["words"])) if isinstance(said, Phrase) else NO_BANS


def _may_forbid_name(words: str) -> bool:
    return any(mark in words for mark in "./@＠") and has_any(words, _PROHIBITIONS)


def heard_part(words: str) -> str:
    """Return the wanted part of the words, in which an address opens only itself and not its host if anything in them
    may be a prohibition: not all its forms are known."""
    wanted = wanted_part(words)
    if "://" not in wanted or not has_any(words, _PROHIBITIONS):
        return wanted
    from localllm.agent.phrases.forbidden_names import without_schemes

    return without_schemes(wanted)


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
