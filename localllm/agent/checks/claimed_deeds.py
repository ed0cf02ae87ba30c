"""Compare an answer with what can be looked at: files that it calls deleted, git commands that have failed, or that
were ordered and never run."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from localllm.agent.checks.findings import Finding, short_command
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.history import History
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.claimed_files import is_touched, removed_files
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, arguments_in
from localllm.safety.path_names import some_of

_DONE = {
    "merge": late_pattern(r"(?i)\bmerged\b|(?:マージ|merge) ?(?:し(?:ま|た)|が?完了|済)"),
    "pull": late_pattern(r"(?i)\b(?:merged|pulled)\b|(?:プル|マージ)(?:し(?:ま|た)|が?完了|済)"),
    "rebase": late_pattern(r"(?i)\brebased\b|(?:リベース|rebase) ?(?:し(?:ま|た)|が?完了|済)"),
    "cherry-pick": late_pattern(r"(?i)\bcherry-?picked\b|チェリーピック(?:し(?:ま|た)|が?完了|済)|取り込み?ました"),
    "revert": late_pattern(r"(?i)\breverted\b|リバート(?:し(?:ま|た)|が?完了|済)|(?:取り消|打ち消)しました"),
    "tag": late_pattern(
        r"(?i)\btagged\b|\b(?:created|added|set) (?:an? |the )?(?:\w+ )?tag\b"
        r"|\btag\b[^.\n]{0,40}\b(?:created|added|set)\b|タグ[^。\n]{0,16}(?:付け|打ち|作成し|追加し|作り)ました"
    ),
    "push": late_pattern(r"(?i)\bpushed\b|(?:プッシュ|push) ?(?:し(?:ま|た)|が?完了|済)"),
    "stash": late_pattern(r"(?i)\bstashed\b|(?:スタッシュ|退避)(?:し(?:ま|た)|済)"),
    "branch": late_pattern(r"(?i)\bcreated\b[^.\n]{0,30}\bbranch\b|ブランチ[^。\n]{0,20}(?:作成し|作り|切り)ました"),
    "checkout": late_pattern(
        r"(?i)\b(?:switched|checked out)\b|\bcreated\b[^.\n]{0,30}\bbranch\b"
        r"|ブランチ[^。\n]{0,20}(?:作成し|作り|切り|切り替え)ました|チェックアウトしました"
    ),
}
_IT = r"(?:it|this|that|them|these|all|everything|my|our|the)"
_ORDERED = {
    "push": late_pattern(
        rf"(?i)(?:^|\band |\bthen |[,;.] )push (?:{_IT}(?! \w{{0,12}} ?(?:notif|button|messag|event))\b|to\b)"
        r"|(?:\band|\bthen|,) push\W*$|プッシュして|push ?して"
    ),
    "stash": late_pattern(rf"(?i)\bstash {_IT}\b|(?:スタッシュ|退避)して"),
    "cherry-pick": late_pattern(r"(?i)\bcherry-?pick (?:\w|`)|チェリーピックして"),
    "rebase": late_pattern(r"(?i)\brebase (?:\w|`)|リベースして"),
    "tag": late_pattern(r"(?i)\btag (?:this|it|the (?:commit|release|version)|v?\d)|タグを(?:付け|つけ|打)"),
}
"""Matches an order for what git alone does."""
_ASKS = late_pattern(r"[?？]|^(?i:what|how|why|when|which|does|do|is|are|explain|tell)\b|とは|教えて|ですか")
_MAY_RUN_GIT = late_pattern(r"(?:^|[;&|(]\s*)(?!git\b|cd\b|echo\b|ls\b|cat\b|pwd\b)[\w./~$]", re.MULTILINE)
"""Matches a command in which another program runs, which may run git."""
_NOT_DONE = late_pattern(
    r"(?i)\b(?:if|when|once|after|before|would|could|should|can|not|never|fail\w*)\b|n't\b|\?$|[？か]$|ません|ない|れば|たら|失敗"
)


_OUT_OF = late_pattern(
    r"(?i)\b(?:remov|delet|drop|tak|strik|cut)\w*\b(?:[^.\n]|\.\w){0,80}? (?:from|out of)\b"
    r"|から[^。\n]{0,60}(?:消|削除|除|外)"
)
"""Matches a request in which a name, perhaps that of a file, is to go from somewhere."""


def commands_in(history: History) -> list[str] | None:
    """Return all commands of a conversation; None if some are not known any more."""
    if history.generation:
        return None
    calls = [call for one in history.messages if isinstance(one, AssistantMessage) for call in one.tool_calls]
    return [str(arguments_in(call.arguments).get("command") or "") for call in calls if call.name == "run_command"]


def never_run(request: str, text: str, commands: Sequence[str] | None) -> str:
    """Return the operation of git that the request orders, the answer claims and none of the commands of the session
    has run; "" if there is none, or they may have run it in a script."""
    if commands is None or _ASKS.search(request) or any(map(_MAY_RUN_GIT.search, commands)):
        return ""
    claimed = (one for one, ordered in _ORDERED.items() if ordered.search(request) and _is_claimed(one, text))
    return next((one for one in claimed if not any(one in command for command in commands)), "")


def findings(
    facts: RunFacts,
    root: Path,
    request: str,
    text: str,
    is_older: Callable[[str], bool],
    commands: Sequence[str] | None,
) -> Iterator[Finding]:
    """Yield the deeds that the answer claims and that were not done. `is_older` returns whether a file is there since
    before the run; `commands`: those of the session; None if they are not known."""
    if facts.has_changed and not phrases.admits_failure(text) and not _OUT_OF.search(request):
        there = [
            path
            for path in removed_files(text)
            if is_older(path) and (root / path).is_file() and not is_touched(facts.changed, path)
        ]
        if there:
            reason = Phrase("{path} is still there", path=some_of(there))
            yield Finding("still_there", reason, contradicts=True, params={"path": some_of(there)})
    if not facts.was_refused and not phrases.admits_failure(text) and (left := never_run(request, text, commands)):
        reason = Phrase("git {operation} was not run", operation=left)
        yield Finding("git_not_run", reason, contradicts=True, params={"operation": left})
    for operation, failed in facts.failed_git.items():
        by_hand = operation == "revert" and any(at > failed.at for at in facts.changed.values())
        if by_hand or phrases.admits_failure(text) or not _is_claimed(operation, text):
            continue
        command = short_command(failed.command)
        reason = Phrase("the last run ended by an error ({command})", command=command)
        params = {"command": command, "error": f": {failed.error}" if failed.error else ""}
        yield Finding("crashed", reason, contradicts=True, params=params)
        return


def _is_claimed(operation: str, text: str) -> bool:
    done = _DONE["checkout" if operation == "switch" else operation]
    return any(done.search(said) and not _NOT_DONE.search(said) for said in sentences_in(text))
