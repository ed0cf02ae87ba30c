"""Recognise in requests, in English and Japanese, when, and whether at all, something is to be changed."""

import re

from localllm.agent.phrases.phrase_search import ends_of, has_any, search_ja, sentences_in

_WAIT_WORDS = ("before", "first", "wait", "前に", "から", "たら", "まで", "後", "ないで", "ない", "don't", "do not")
"""Every match of _WAIT or _WAIT_JA contains one of these."""
_DOING = r"(?:you |i )?(?:sav|chang|writ|edit|apply|overwrit|touch|do|mak|start|begin|go)"
_WAIT = (
    rf"(?i)\b(?:show|ask|tell|check with|let me (?:see|know|read|check|approve))\b[^.\n]{{0,60}}\bbefore {_DOING}"
    r"|(?:\A|[.;:!,\n(–—]\s{0,3}|\b(?:but|and|please|just|yet)\s)"
    r"(?:don't|do not) (?:write|save|apply|change|commit) (?:it|them|this|that|anything)"
    r"(?: yet| to (?:the )?(?:files?|disk))"
    r"|\bask me first\b|\bfirst,? (?:please )?(?:(?:show|tell|ask) me|propose|suggest)\b(?![^.\n]{0,120}\bthen\b)"
    r"|\b(?:show|tell) me\b[^.\n]{1,40} first(?=[.!;,]|\s*$)(?![^.\n]{0,80}\bthen\b)"
    r"|\bbefore (?:you |any)[^,.\n]{1,40}, (?:please )?(?:show|tell|ask) me\b"
    r"|\bwait (?:for|until) (?:my|i)\b"
)
_WAIT_JA = (
    r"(?:保存|変更|修正|上書き|反映|編集|作業|適用|実行|書き換え)(?:する|を始める)?前に[^。\n]{0,16}"
    r"(?:見せ|確認させ|聞い|相談し|知らせ|教え)"
    r"|(?:まだ|(?<![一-龠ァ-ヶー\w])(?:ファイル|ディスク)に(?:は)?)(?:書き込ま|書か|書き換え|(?:保存|反映|適用)し)ない"
    r"(?:で(?=[。、！!）)\s]|$|ください|下さい|ほしい|欲しい|おいて|ね|見せ|表示|出力|出して|画面|教え|案)|(?:こと)?(?:[。、]|$))"
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
    r"|\b(?:fix|change|correct|update|adjust|repair|remove) (?:it|that|this|them|those) (?:only )?if\b"
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


_ONLY_WORDS = (
    r"(?i)^(?:(?:please|can you|could you|now)[,:]? )?"
    r"(?:review|explain|describe|summari[sz]e|analy[sz]e|assess|critique)\b"
)
_ONLY_WORDS_JA = (
    r"(?:レビュー|説明|解説|要約|分析|評価)(?:を)?(?:し(?:て|てください|てほしい|てくれ)|お願い(?:します)?)[。！!]?$"
)
_BESIDE_WORDS = (
    r"(?i)^(?:(?:please|also|just|now)[,:]? )?"
    r"(?:focus|be|keep|tell|list|say|answer|name|look|check|what|why|how|which|where|who|is|are|does?|don't|this|these|it"
    r"|i|we|my|the|here|thanks?|no|only|use|in|with)\b"
)
"""How a sentence beside such an order begins that orders nothing else; any other may be an order."""
_ORDER_JA = r"(?:[てで]|(?:くだ|下)さい|ほしい|欲しい|くれ|お願い(?:します)?|こと)[。！!]?$"
_MORE_THAN_WORDS = (
    r"(?i)\b(?:fix|improv|appl|updat|chang|refactor|add|mak|correct|writ|sav|edit|creat|remov|mend|clean|put|implement"
    r"|resolv|address|rewrit|simplif|optimi[sz]|into|delet|drop|mov(?:e|ing)|renam|reformat|bump|rebas|commit|migrat"
    r"|convert|translat|solv|generat|insert|append|replac|docstring|patch|tid(?:y|i)|polish|upgrad|revert|annotat)\w*\b"
    r"|(?:\b(?:and|then)|[&,;:–—]) (?:then |also |please |to )*(?:comment|document|extend|extract|format|get|lint|merge"
    r"|output|plot|draw|port|produce|pull|push|run|set|split|turn|build|install|undo|restore|store|mark|rework|let|give"
    r" it|do it)\b"
    r"|\b(?:in|with|as) (?:\w+ ){0,2}comments?\b|\bas (?:an? )?(?:\w+ ){0,2}(?:file|table|chart|report|html|json|csv)\b"
    r"|\b(?:as|in|to) [`'\"]?[\w./-]{1,80}\.[a-z]{2,5}\b|\.(?:md|txt|rst|html)[`」』]? ?[にへ]"
    r"|直|修正|改善|適用|追加|書|反映|保存|整理|変え|変更|対応|作|解消|解決|出力|生成|削除|消し|消す|移動|移し|置換|置き換"
    r"|リネーム|コメント[でにを]|入れ|コミット|プッシュ|グラフ|実装|整形|フォーマット|マージ|ファイルに"
)


def wants_words_only(request: str) -> bool:
    """Return whether it orders a review, an explanation or the like, and nothing else that could mean a change."""
    said = sentences_in(ends_of(request))
    orders = [_orders_words(one) for one in said]
    is_for_words = True in orders and False not in orders
    return is_for_words and not any(re.search(_MORE_THAN_WORDS, one) for one in said)


def _orders_words(sentence: str) -> bool | None:
    """Return whether a sentence orders words, or something else; None for neither."""
    if re.search(_ONLY_WORDS, sentence) or search_ja(_ONLY_WORDS_JA, sentence):
        return True
    if not sentence.isascii():
        return False if search_ja(_ORDER_JA, sentence) else None
    return None if re.search(_BESIDE_WORDS, sentence) or sentence.endswith("?") else False
