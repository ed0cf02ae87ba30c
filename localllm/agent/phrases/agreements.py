"""Recognise requests that only go on with the one before, in English and Japanese."""

import re

from localllm.agent.phrases.phrase_search import ends_of, search_ja
from localllm.agent.phrases.request_phrases import asks_about, asks_for_change, wants_words_ja

_AGREED = (
    r"(?i)^\W*(?:(?:please|then|now|and|but|so|just|では|じゃあ|それでは)[,、\s]*)*"
    r"(?:yes|yep|ok(?:ay)?|sure|go(?: on| ahead)?|continue|proceed"
    r"|carry on|keep (?:on|going)|retry|(?:try )?(?:it |that )?again|do (?:it|that|so)|please do"
    r"|sounds good|right|good|use (?:the|your) tools?"
    r"|はい|続けて|続きを|お願い|それで|了解|進めて|どうぞ|いいです|その通り|もう一度|やり直して|やって|実行して)[^\n]{0,30}$"
)
_ANOTHER = (
    r"(?i)^\W*(?:yes|ok(?:ay)?|right|good|sure|go on)[,.!]?\s+(?:now |then |please |but |so ){0,2}"
    r"(?:explain|describe|show|tell)\b|[をも] ?(?:もう一度|再度)?(?:見て|見せて|読んで|説明して|教えて)"
    r"|^(?![^\n]*(?:\b(?:can|could|will|would) you\b|もらえ|くれ|いただけ|頂け|お願い|ください))[^\n]{0,80}[?？]\s*$"
)
"""Matches a request of its own after such a word: OK, what does b.py do? もう一度 b.py を見て"""
_NOT_DONE = (
    r"(?i)\b(?:nothing (?:was|has been|is|got) (?:changed|done|written|edited|saved)|nothing (?:has )?changed"
    r"|you(?:'ve| have)? (?:changed|did|done|edited|written|wrote) nothing"
    r"|you (?:did not|didn't|have not|haven't) (?:\w+ )?(?:changed?|do|done|edit(?:ed)?|make|made|write|written"
    r"|appl(?:y|ied)|saved?|touch(?:ed)?)\b"
    r"|(?:files?|it|they|code) (?:was|were|is|are|has|have)(?: not|n't) (?:yet |been )*(?:changed|edited|there|written"
    r"|saved|updated|done)\b)"
)
_NOT_JA = r"ない(?=よ(?!う)|[ねぞ]|です|ので|から|けど|みたい|[\s、。！!…]|$)"
"""Ends what is said, and is not of the noun behind it as in 保存できないバグ."""
_NOT_DONE_JA = (
    r"(?:変更|修正|編集|反映|適用|更新|追加|作成|実装|保存)(?:は|が)?(?:まだ)?(?:され|でき|出来|して)(?:てい|て)?"
    rf"(?:ません|{_NOT_JA})|変わっ(?:てい|て)?(?:ません|{_NOT_JA})"
)
_ASKS_WHY = r"[?？]\s*$|なぜ|何故|どうして|理由|か[。\s]*$"
_LONGEST_COMPLAINT = 120


def is_agreement(request: str) -> bool:
    """Return whether it only agrees to continue with the earlier request, or complains that nothing was done."""
    request = ends_of(request.strip())
    if re.match(_AGREED, request):
        return not re.search(_ANOTHER, request)
    if len(request) > _LONGEST_COMPLAINT or asks_about(request) or re.search(_ASKS_WHY, request):
        return False
    is_complaint = re.search(_NOT_DONE, request) or search_ja(_NOT_DONE_JA, request)
    return bool(is_complaint) and not wants_words_ja(request) and not asks_for_change(request)
