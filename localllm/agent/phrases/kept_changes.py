"""Recognise a request by which changes are to be kept, in English and Japanese."""

import re

from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in
from localllm.base.lazy_patterns import late_pattern

_MARKS = ("keep", "preserv", "retain", "los", "throw", "discard", "stay", "leav", "残", "保", "維持", "失", "消", "捨")
_WHOSE = (
    r"(?:all |of |the |my |our |its |their |those |these |any |every |local |uncommitted |working |file |own ){0,4}"
)
_WORK = (
    r"(?:changes?|edits?|modifications?|work|diff)(?![\w-])(?! (?:small|minimal|short|simple|focused|separate|brief))"
)
_UNDONE = r"(?:los(?:e|ing)|throw(?:ing)? (?:away )?|discard(?:ing)?|delet(?:e|ing)|revert(?:ing)?|touch(?:ing)?)"
_KEPT = late_pattern(
    rf"\b(?:keep|preserve|retain)(?:ing)? {_WHOSE}{_WORK}"
    rf"|\bleav(?:e|ing) {_WHOSE}{_WORK} (?:staged|unstaged|uncommitted|in|there|alone|as|where|intact|on)\b"
    rf"|\b(?:without|do not|don't|never|not) (?:to )?{_UNDONE} ?{_WHOSE}{_WORK}"
    rf"|\b{_WORK} (?:should|must|shall|are to|is to|has to|have to) (?:stay|remain|be (?:kept|preserved))\b",
    re.IGNORECASE,
)
_KEPT_JA = late_pattern(
    r"(?:変更|編集|修正|作業|差分)(?:した?)?(?:内容|箇所|点|分|中)?(?:の?ファイル)?(?:は|を|も|だけ(?:は|を)?|自体は|、)"
    r"(?:そのまま|手元に|作業(?:ツリー|コピー)に|ワーク(?:ツリー|スペース)に|ステージ(?:に|した)|すべて|全部|ちゃんと|必ず|、){0,3}"
    r"(?:残(?:し|す(?!か)|る|って|せ)|保持|維持|保存|キープ|(?:失わ|消さ|捨て|なくさ|破棄し|破棄せ|戻さ)(?:な|ず|ま(?:せ|ま)))"
)
_DISCARDED = late_pattern(
    r"\bhard\b|(?<!not )(?<!n't )(?<!never )\b(?:discard|throw (?:\w+ ){0,3}away|get rid of|drop|wipe)\b"
    r"|(?:破棄|捨て)(?!ない|ず|ません|せず|しない)",
    re.IGNORECASE,
)
"""Matches an order to lose others, or these after all."""


def keeps_changes(request: str) -> bool:
    """Return whether it orders that changes be kept, and none to be discarded."""
    if not has_any(request, _MARKS):
        return False
    said = sentences_in(ends_of(request))
    is_kept = any(_KEPT.search(one) or (not one.isascii() and _KEPT_JA.search(one)) for one in said)
    return is_kept and not any(map(_DISCARDED.search, said))
