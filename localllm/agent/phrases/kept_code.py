"""Recognise in answers, in English and Japanese, that code was left as something uses it, and where that is."""

import re

from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.lazy_patterns import late_pattern

_USED = late_pattern(
    r"\b(?:uses?|used|using|calls?|called|imports?|imported|references?|referenced|needs?|needed|depends?|relies|rely"
    r"|in use|breaks?)\b"
    r"|使(?:って|われ|用)|利用され|呼び出|呼ばれ|参照|依存|必要|壊れ|インポート",
    re.IGNORECASE,
)
_LEFT = late_pattern(
    r"\b(?:I|we)(?:'ve| have)? (?:therefore |thus |so )?(?:left|kept"
    r"|(?:did|do|have|would|will)(?: not|n't) (?:remov|delet|chang|drop|touch|renam|mov|tak|mak|edit)\w*)\b"
    r"|\b(?:was|were|is|are) (?:not (?:removed|deleted|changed|renamed|moved)|kept|left)\b|\b(?:stays?|stayed)\b"
    r"|(?:消し|外し|(?:削除|変更|移動|改名|修正)(?:は)?し)(?:て(?:い)?)?ませ|残し(?:ました|てあり|ておき|てい)"
    r"|そのままにし(?:ました|てあり|ておき|てい)",
    re.IGNORECASE,
)
_NO_REASON = late_pattern(
    r"\b(?:left|leave|leaving) (?:\S{1,40} ){0,5}(?:to|for|up to) you\b|\b(?:permission|access|not sure|unsure)\b"
    r"|権限|許可",
    re.IGNORECASE,
)
_PLACE = late_pattern(r"`[^`\n]{1,200}`|[\w/-]\.[A-Za-z]\w{0,7}\b|\blines? \d|:\d|\d ?行目|\w\(\)")


def says_it_is_used(answer: str) -> bool:
    """Return whether it says that something was left as it is used, in this sentence or the one before, and where."""
    if not _PLACE.search(ends_of(answer)):
        return False
    before = ""
    for said in sentences_in(answer):
        if _LEFT.search(said) and _USED.search(before + said) and not _NO_REASON.search(said):
            return not said.endswith(("?", "？"))
        before = said
    return False
