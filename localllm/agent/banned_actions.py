"""Recognise what a request forbids to do with commands, in English and Japanese: commits."""

import re
from collections.abc import Callable

from localllm.agent.phrase_search import ends_of, sentences_in
from localllm.base.lazy_patterns import late_pattern

_BEGINS = r"(?:^|[,;:.(–—-] ?|\b(?:and|but|please|then|also|just|now|only|so) )"
"""Precedes an order; what follows other words is said of something: threads that do not commit."""
_ALL = (
    r"(?:it|this|that|them|anything|everything"
    r"|(?:the |your |my |any )?(?:changes?|edits?|results?|work|fix(?:es)?|files?))"
)
_ENDS = (
    r"(?=\W{0,3}$|[,;.!)]| [-–—(]| (?:yet|please|for (?:now|me)|at all|now|here|and|or|but|though|either|just|only"
    r"|unless i|(?:until|before) (?:i|we)\b)(?!\w))"
)
_NO_COMMIT = (
    late_pattern(
        rf"(?:{_BEGINS}(?:please )?(?:do not|don't|never|no need to)|\bwithout)"
        r" (?:(?:yet|ever|please|even|actually|git|make|create|do|making|creating|doing|add|stage|push|or|and|a|any|the"
        rf"|new) ){{0,4}}commit(?:s|ting)?(?: {_ALL})?{_ENDS}",
        re.IGNORECASE,
    ),
    late_pattern(rf"{_BEGINS}no (?:git |new |auto-?)?commits?{_ENDS}", re.IGNORECASE),
    late_pattern(rf"\b(?:leave|keep) {_ALL} uncommitted\b", re.IGNORECASE),
    late_pattern(
        rf"\b(?:nothing|no changes?) (?:should|must|may|is to) be committed\b|\b{_ALL} (?:should|must|may) not be "
        rf"committed{_ENDS}",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"\bi(?:'ll| will| want to| would like to|'d like to) (?:do |make )?(?:the )?commit(?: {_ALL})?"
        r" (?:myself|later|by hand|on my own)\b",
        re.IGNORECASE,
    ),
)
_NO_COMMIT_JA = late_pattern(
    r"(?<![にへ])(?<![にへ]は)(?<!(?<!変更)(?<!修正)(?<!結果)(?<!差分)(?<!これ)(?<!今)[はをも])"
    r"(?:コミット|\bcommit) ?(?:[や・と、]プッシュ|/ ?push)? ?(?:だけ)?(?:は|を|も)?"
    r"(?:まだ|勝手に|自動で|絶対に|決して|、){0,2}"
    r"(?:し(?:ない(?=で(?!き)|こと|よう|まま|[。、！）」]|$)|なくて(?:も)?(?:いい|良い|よい|結構|大丈夫|構)|ません(?=よう)"
    r"|ては(?:いけ|なら|だめ|ダメ|駄目)|ちゃ(?:だめ|ダメ|駄目))|せ?ず(?=に|[、。]|$)"
    r"|(?:不要|禁止|無用|やめて|控えて|いらな|いりません"
    r"|要らな|要りません)|なし(?=で|[、。！）]|$))"
    r"|コミットは(?:私|僕|俺|自分|こちら|後で|あとで)(?:が|で|の方で)?[^、。]{0,6}(?:する|し(?:ます|ておき|とき)|行い|やり)",
    re.IGNORECASE,
)
_OPEN = late_pattern(
    r"\b(?:if|why|when|whether|until (?!i\b|we\b)|before (?!i\b|we\b)|unless (?!i\b))\b|\?$|場合|なら(?!な)|たら|れば"
    r"|なぜ|(?<!言う)(?<!指示する)(?<!確認する)(?<!いいと言う)まで|か[。？?]?$|？$",
    re.IGNORECASE,
)
"""Matches what is no plain order, as it depends on something other than the user's word."""


def forbids_commit(request: str, orders_commit: Callable[[str], bool]) -> bool:
    """Return whether it orders that nothing be committed, and no commit beside, as one of its sentences may."""
    is_forbidden = False
    for said in sentences_in(ends_of(request)):
        rest = said
        for pattern in _NO_COMMIT if said.isascii() else (*_NO_COMMIT, _NO_COMMIT_JA):
            rest = pattern.sub(" ", rest)
        if orders_commit(rest):
            return False
        is_forbidden = is_forbidden or (rest != said and not _OPEN.search(said))
    return is_forbidden
