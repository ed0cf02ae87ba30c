"""Recognise in requests, in English and Japanese, when, and whether at all, something is to be changed."""

import re

from localllm.agent.phrases.phrase_search import ends_of, has_any, search_ja, sentences_in

_WAIT_WORDS = ("before", "first", "wait", "前に", "から", "たら", "まで", "後", "ないで", "ない", "don't", "do not")
"""Every match of _WAIT or _WAIT_JA contains one of these."""
_DOING = r"(?:you |i )?(?:sav|chang|writ|edit|apply|overwrit|touch|do|mak|start|begin|go)"
_WAIT = (
    rf"(?i)\b(?:show|ask|tell|check with|let me (?:see|know|read|check|approve))\b[^.\n]{{0,60}}\bbefore {_DOING}"
    r"|\b(?:don't|do not) (?:write|save|apply|change|commit) (?:it|them|this|that|anything)"
    r"(?: yet| to (?:the )?(?:files?|disk))"
    r"|\bask me first\b|\bwait (?:for|until) (?:my|i)\b"
)
_WAIT_JA = (
    r"(?:保存|変更|修正|上書き|反映|編集|作業|適用|実行|書き換え)(?:する|を始める)?前に[^。\n]{0,16}"
    r"(?:見せ|確認させ|聞い|相談し|知らせ|教え)"
    r"|(?:まだ|(?<![一-龠ァ-ヶー\w])(?:ファイル|ディスク)に(?:は)?)(?:書き込ま|書か|書き換え|(?:保存|反映|適用)し)ない"
    r"(?:で|こと|[。、]|$)"
    r"|(?:私|僕|こちら)[がの][^。\n]{0,12}(?:言って|許可|確認|承認|了承|返事)[^。\n]{0,8}(?:から|たら|まで|後)"
)


def waits_for_user(request: str) -> bool:
    """Return whether the user wants to see or to decide something before anything is changed."""
    if not has_any(request, _WAIT_WORDS):
        return False
    request = ends_of(request)
    return bool(re.search(_WAIT, request)) or search_ja(_WAIT_JA, request)


_LEAVE = r"(?:leave|keep|skip|do nothing|say (?:so|no)|(?:just )?tell me|let me know|it(?:'s| is) (?:fine|ok(?:ay)?))"
_CONDITION = (
    rf"(?i)\b(?:otherwise|else|if (?:not|(?:it|they|that|this|there|everything|all)\b[^.,\n]{{1,40}})),? "
    rf"(?:just |please |then )?{_LEAVE}\b"
    r"|\b(?:leave|keep|skip)\b[^.;\n]{1,40}\b(?:if|unless)\b|(?:^|[,;] )only (?:do (?:it|that|so) )?(?:if|when|where)\b"
    r"|\bunless (?:it|they|that|there)\b"
    r"|\bif (?:so\b|needed|necessary|required|any\b|(?:it|that) (?:exists|makes sense))"
    r"|\bwhere (?:needed|necessary|it makes sense)\b|\b(?:fine|ok(?:ay)?) to (?:say|leave|change nothing)\b"
)
_CONDITION_JA = (
    r"(?:なければ|無ければ|ない(?:場合|とき|なら)|あれば|ある(?:場合|なら)|必要(?:そう)?なら|必要に応じ|不要なら|未使用なら"
    r"|(?:場合|とき|時)(?:だけ|のみ|に限り))[^。\n]{0,40}(?:て|ください|そのまま|無し|なし|いい)"
    r"|(?:なら|れば|たら)[^。\n]{0,8}(?:そのまま|何もし|触ら|無し|なし)"
)


def may_need_nothing(request: str) -> bool:
    """Return whether it orders a change only on a condition, so that all may be right as it is."""
    return any(re.search(_CONDITION, one) or search_ja(_CONDITION_JA, one) for one in sentences_in(request))
