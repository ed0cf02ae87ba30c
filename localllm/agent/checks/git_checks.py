"""Check the end of a run against git: new commits, a merge or rebase that has not ended, a bisect, a detached HEAD or a
stash that was left behind, files that it has restored."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from localllm.agent.checks.run_facts import RunFacts
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import open_regular, read_regular
from localllm.safety.path_names import some_of
from localllm.sandbox.protect.repositories.repository import find_place
from localllm.tools.change_history import ChangeHistory

_LONGEST_LOG = 1_000_000
_MOVES = late_pattern(r"(?m)^(?P<before>[0-9a-f]{40,64}) (?P<after>[0-9a-f]{40,64}) [^\n\t]*\t(?P<why>[^\n]*)")
"""Matches the entries of the log. Others, which a command may have written, would be options for git."""

_OPEN = late_pattern(
    r"\bin progress\b|--(?:continue|abort|skip|quit)\b|\b(?:still|remain\w*|unresolved|unmerged|unfinished|paused"
    r"|stop\w*|pending|incomplete|uncommitted|could ?n[o']t|cannot|can't)\b|\bnot (?:yet )?(?:been )?(?:fully )?"
    r"(?:finish|complete|done|resolve|commit|conclude|merged)|\b(?:needs?|has|have) to be \w+|\byou (?:need|have) to\b"
    r"|\b(?:before|without|until) (?:you )?(?:commit|conclud|continu)"
    r"|途中|未完了|未解決|残って|残る|残り|中断|止ま|停止|(?:完了|解決|解消|コミット)(?:して|できて|は完了して)?(?:いません|いない"
    r"|できません|できない|できなかった)|まだ|失敗",
    re.IGNORECASE,
)
"""Matches words by which an answer says that something has not ended."""

_CONFLICTS = late_pattern(r"\bconflict|競合|コンフリクト|衝突", re.IGNORECASE)
_SETTLED = late_pattern(
    r"resolv|fix|settl|solv|clean|handl|without|\bno\b|解決|解消|修正|なし|ありません", re.IGNORECASE
)
_SENTENCE_ENDS = late_pattern(r"(?<=[.!?。！？])\s*|\n")
_NOT_TO_END = late_pattern(
    r"--no-commit|(?:not|n't|without|no|before) (?:yet )?(?:a )?commit|コミット(?:せず|しない)", re.IGNORECASE
)

_BISECT_LEFT = late_pattern(r"bisect reset|in progress|\bstill\b|途中|リセット", re.IGNORECASE)
_BISECT_ORDERED = late_pattern(r"\b(?:start|begin)\b|始め|開始", re.IGNORECASE)
_DETACHED_LEFT = late_pattern(
    r"detach|check(?:ed)? ?out|\bHEAD\b|\b(?:now|still) (?:at|on)\b|チェックアウト|切り離|切り替え", re.IGNORECASE
)
_CHECKOUT_ORDERED = late_pattern(
    r"check(?:ed)? ?out|\bswitch|detach|\b(?:go|jump|move) (?:back )?to\b|チェックアウト|切り替え|切替|移動|戻[しっ]",
    re.IGNORECASE,
)
_STASH = late_pattern(r"stash|スタッシュ|退避", re.IGNORECASE)
_LARGEST_HEAD = 10_000


class CommitLog:
    """Git's log of the commits that were checked out in the repository around `root`, as it was at first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._size = _size(_log_of(root))

    def has_new(self) -> bool:
        """Return whether it has another commit now, whatever program made it."""
        log = _log_of(self._root)
        size = _size(log)
        if log is None or size <= self._size:
            return size < self._size
        try:
            with open_regular(log) as file:
                file.seek(self._size)
                new = file.read(_LONGEST_LOG)
        except OSError:
            return True
        return any(not line.rpartition(b"\t")[2].startswith((b"checkout:", b"reset:")) for line in new.splitlines())

    def committed_between(self) -> tuple[str, str]:
        """Return the commit before the first that was made since, and the one that is checked out now; "" for both if
        none was made by `git commit`."""
        first = last = ""
        if log := _log_of(self._root):
            with suppress(OSError), open_regular(log) as file:
                file.seek(self._size)
                for move in _MOVES.finditer(file.read(_LONGEST_LOG).decode(errors="replace")):
                    first = first or (move["before"] if move["why"].startswith("commit") else "")
                    last = move["after"]
        return (first, last) if first else ("", "")


def _log_of(root: Path) -> Path | None:
    with suppress(LocalLLMError, OSError):
        if place := find_place(root):
            return place.folder / "logs" / "HEAD"
    return None


def _size(file: Path | None) -> int:
    try:
        return file.stat().st_size if file else 0
    except OSError:
        return 0


class Unfinished(NamedTuple):
    """What has not ended: the `reason` for the user, `what` for the model; `is_denied` unless the answer says so."""

    reason: Phrase
    what: str
    is_denied: bool


def unfinished_merge(root: Path, request: str, answer: str) -> Unfinished | None:
    """Return what is not finished of a merge, rebase, cherry-pick or revert in the repository that `root` is in, and
    which files are in conflict; None if nothing is. A merge that is requested without a commit may be in progress."""
    from localllm.tools.merge_state import read_merge_state  # most runs merge nothing

    state = read_merge_state(root)
    operation = "" if state.operation == "bisect" else state.operation
    if not state.unmerged and (not operation or _NOT_TO_END.search(request)):
        return None
    files = some_of(state.unmerged) if state.unmerged else ""
    if not operation:
        reason = Phrase("{paths} still in conflict", paths=files)
    elif files:
        reason = Phrase("a {operation} is in progress, with {paths} in conflict", operation=operation, paths=files)
    else:
        reason = Phrase("a {operation} is in progress", operation=operation)
    what = reason.english if state.unmerged and not operation else f"A{reason.english[1:]}"
    return Unfinished(reason, what, not says_that_it_is_open(answer))


def says_that_it_is_open(answer: str) -> bool:
    """Return whether the answer says that something has not ended, or is in conflict."""
    return any(
        _OPEN.search(said) or (_CONFLICTS.search(said) and not _SETTLED.search(said))
        for said in _SENTENCE_ENDS.split(answer)
    )


class HeadState(NamedTuple):
    """What is checked out: `branch`, "" if HEAD is detached at a `commit`; whether a bisect is in progress; the size of
    the log of the stash."""

    branch: str = ""
    commit: str = ""
    is_bisecting: bool = False
    stashed: int = 0


_IN_PROGRESS = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer")
"""What is in the folder of a repository while an operation is in progress; `merge_state` is not loaded at the start."""


def head_of(root: Path) -> HeadState | None:
    """Return the state of the repository around `root`; None if there is none, or another operation is in progress."""
    with suppress(LocalLLMError, OSError, UnicodeDecodeError):
        if place := find_place(root):
            name = read_regular(place.folder / "HEAD", _LARGEST_HEAD).decode().strip()
            is_branch = name.startswith("ref:")
            if not any((place.folder / file).exists() for file in _IN_PROGRESS):
                branch = name.partition("refs/heads/")[2] if is_branch else ""
                is_bisecting = (place.folder / "BISECT_LOG").exists()
                return HeadState(
                    branch, "" if is_branch else name, is_bisecting, _size(place.common / "logs/refs/stash")
                )
    return None


class Left(NamedTuple):
    """What a run has left behind in the repository: the `reason` for the user, `what` it is and the way `back`."""

    reason: Phrase
    what: str
    back: str


def left_behind(before: HeadState | None, after: HeadState | None, request: str, answer: str) -> list[Left]:
    """Return what is not as before in the repository, that the request does not ask for and the answer does not say: a
    bisect, a detached HEAD, the user's changes in the stash."""
    if before is None or after is None or after == before:
        return []
    found: list[Left] = []
    has_left = bool(before.branch) and not after.branch
    if after.is_bisecting and not before.is_bisecting:
        if not (_BISECT_LEFT.search(answer) or _BISECT_ORDERED.search(request)):
            reason = Phrase("a {operation} is in progress", operation="bisect")
            found.append(Left(reason, "A bisect is in progress", "git bisect reset"))
    elif has_left and not (_DETACHED_LEFT.search(answer) or _CHECKOUT_ORDERED.search(request)):
        reason = Phrase("HEAD is detached at {commit}, not on {branch}", commit=after.commit[:8], branch=before.branch)
        found.append(Left(reason, reason.english, f"git checkout {before.branch}"))
    if after.stashed > before.stashed and not (_STASH.search(answer) or _STASH.search(request)):
        reason = Phrase("changes are in git's stash")
        found.append(Left(reason, "Changes of the user are in the stash", "git stash pop"))
    return found


async def brought_back(changes: ChangeHistory, facts: RunFacts, position: int) -> frozenset[str]:
    """Return the unchecked files in which a run, begun at `position`, has changed no code: those that are again as they
    were then, and those that only git has changed and that are as in the last commit."""
    made = {one.path for one in changes.made_since(position)}
    differ = made & {*await asyncio.to_thread(changes.changed_since, position)}
    of_git = [path for path in facts.unchecked if path in facts.by_git & differ]
    return frozenset(made - differ) | await changes.committed(of_git)
