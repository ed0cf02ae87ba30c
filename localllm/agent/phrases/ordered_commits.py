"""Recognise the files that a request orders to commit by their names, and so no others, in English and Japanese."""

import re
from collections.abc import Sequence

from localllm.agent.phrases.banned_files import FILES, THE, named_by
from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.lazy_patterns import late_pattern
from localllm.tools.call_judge import is_among

_CHANGES = r"(?:(?:the |my )?(?:changes?|edits?|fix) (?:to|in|of) )?"
_ONLY = (
    late_pattern(
        rf"(?<!not )(?<!n't )(?<!never )\bcommit (?:(?:only|just|solely|nothing but) )?{_CHANGES}{THE}{FILES}"
        r"(?: (?:only|alone|itself|files?|folder|directory)){0,2}"
        r"(?=\W{0,3}$|[,;:.!)](?: |$)| (?:with|as|using|under|now|please|first|but|in (?:a|one)"
        r"|on (?:the|a|main|master)|to (?:main|master)|and (?:leave|nothing|not|push|then|tell|show|report|keep|say))\b"
        r"| [-–—(])",
        re.IGNORECASE,
    ),
)
_ONLY_JA = late_pattern(
    rf"{FILES} ?(?:の(?:変更|修正|差分|編集))?(?:だけ|のみ)?(?:を|は|、)? ?(?:git ?に)?(?:コミット|commit)"
    r"(?!メッセージ|は?し(?:ない|ません|なく)|せず|するな|不要|禁止)"
)
_MENTIONED = late_pattern(
    r"\bcommit(?:s|ting)?\b(?! (?:message|hash|id|log)\b)|コミット(?!メッセージ|ログ)", re.IGNORECASE
)


_DOCUMENT = late_pattern(r"(?<![\w./-])(README|CHANGELOG|CONTRIBUTING)(?: ?(?:file|ファイル))?(?![\w./-])", re.ASCII)
"""Matches a document that is named without its ending: commit just the README."""


def files_to_commit(request: str) -> list[str]:
    """Return the files that it orders to commit; none if it speaks of another commit as well. A document without an
    ending has that of Markdown."""
    if len(_MENTIONED.findall(ends_of(request))) != 1:
        return []
    return named_by(_DOCUMENT.sub(r"\1.md", request), _ONLY, _ONLY_JA)


def is_ordered(path: str, ordered: Sequence[str]) -> bool:
    """Return whether a file is one of those that were ordered, or such a document with another ending."""
    name = path.rpartition("/")[2].partition(".")[0]
    return is_among(path, ordered) or (f"{name}.md" in ordered and bool(_DOCUMENT.fullmatch(name)))
