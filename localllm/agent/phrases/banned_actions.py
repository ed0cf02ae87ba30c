"""Recognise what a request forbids to do with commands, in English and Japanese: commits, and runs of files."""

import re
from collections.abc import Callable

from localllm.agent.phrases.banned_files import FILES, NOT_JA, OF_PROGRAM_JA, PATH, THE, named_by
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
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
    r"|ては(?:いけ|なら|だめ|ダメ|駄目)|ちゃ(?:だめ|ダメ|駄目))|するな(?=[。、！）」]|$)|せ?ず(?=に|[、。]|$)"
    r"|(?:不要|禁止|無用|やめて|控えて|いらな|いりません"
    r"|要らな|要りません)|なし(?=で|[、。！）]|$))"
    r"|コミットは(?:私|僕|俺|自分|こちら|後で|あとで)(?:が|で|の方で)?[^、。]{0,6}(?:する|し(?:ます|ておき|とき)|行い|やり)",
    re.IGNORECASE,
)
_OPEN = late_pattern(
    rf"{OF_PROGRAM_JA}|"
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


_RUN = r"(?:run|execut|start|launch)(?:e|ning|ing)?"
_NOT = r"\b(?:do not|don't|never|without|(?:you|we) must not) (?:(?:actually|ever|even|please|try to) )?"
_NO_RUN = (
    late_pattern(
        rf"{_NOT}{_RUN} {THE}{FILES}(?: (?:itself|script|program|at all|please|for now|yet|either|though)){{0,2}}"
        r"(?=\W{0,3}$|[,;:.!)]| (?:and|or|but|just|only|while)\b| [-–—(])",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"{FILES} (?:(?:must|should|may) not|mustn't|is not to) be (?:run|executed|started)\b", re.IGNORECASE
    ),
)
_NO_RUN_JA = late_pattern(
    rf"{FILES} ?(?:だけ)?(?:は|を|も)(?:絶対に|一切|決して|まだ|実際に(?:は)?|[、 ]){{0,2}}"
    rf"(?:(?:実行|起動)(?:は|を)?(?:[しす]{NOT_JA}|せ?ず(?=に|[、。]|$)|なし(?=で|[、。]|$)|禁止|不可)"
    rf"|(?:動かさ|走らせ){NOT_JA}|動かすな(?=[。、！）」]|$))"
)
_NOT_IT = late_pattern(
    rf"{_NOT}{_RUN} (?:it|them|the (?:script|program|code|file))(?: (?:at all|please|for now|yet))?"
    r"(?=\W{0,3}$|[,;:.!)]"
    r"| (?:and|but|just|only)\b| [-–—(])"
    r"|(?:^|[、。（(]) ?(?:まだ|実際に(?:は)?|プログラムは|スクリプトは){0,2}"
    rf"実行(?:は|を)?(?:[しす]{NOT_JA}|せず(?=に|[、。]|$))",
    re.IGNORECASE,
)
_CHECK = r"(?:tests?(?![a-z])|pytest|checks?(?![a-z])|shellcheck|lint|テスト|チェック)"
_LATER = late_pattern(
    rf"\bthen (?:please )?(?:run|execute|start|launch|try)\b(?! (?:[\w-]+ ){{0,3}}{_CHECK})"
    rf"|(?:てから|た(?:後|あと)|最後)に?(?:(?!{_CHECK})[^。\n]){{0,20}}(?:実行し|動かし)て",
    re.IGNORECASE,
)
"""Matches an order to run it in the end, but not one to run its tests."""
_DRY = r"(?:--)?dry[-_ ]?run"
_ONLY_DRY = (
    late_pattern(
        rf"\b(?:run|execute|start|try|test) {THE}{FILES} (?:only )?(?:in|as|with) (?:an? )?{_DRY}\b", re.IGNORECASE
    ),
    late_pattern(rf"\b(?:only|just) {_DRY} {THE}{FILES}", re.IGNORECASE),
)
_ONLY_DRY_JA = late_pattern(rf"{FILES} ?[はを]、? ?(?:{_DRY}|ドライ ?ラン) ?(?:モード)?(?:だけ|のみ|で)", re.IGNORECASE)
_FOR_REAL = late_pattern(
    rf"\b(?:{_DRY} first|first,? (?:run|execute|start|try|test|do|just|only)|for real|both)\b"
    rf"|\bwithout (?:it|that|{_DRY})\b"
    r"|\bthen,? (?!(?:please )?(?:tell|show|explain|report|summari[sz]e|list|describe|say|give|read|let)\b)"
    r"|\bafter(?:wards|(?: that)?,)?,? (?:please )?(?:run|execute|start|do|deploy)\b"
    rf"|まず[^。\n]{{0,40}}(?:{_DRY}|ドライ)|問題なければ"
    r"|(?:その後|それから|次に|続けて|本番)[^。\n]{0,12}(?:実行|デプロイ|動か|走ら)[^。、\n]{0,3}て",
    re.IGNORECASE,
)
"""Matches words beside an order of a dry run by which another run may follow."""


def banned_runs(request: str) -> list[str]:
    """Return the files that it orders not to run; "it" is the only file that it names."""
    said = sentences_in(ends_of(request))
    if any(map(_LATER.search, said)):
        return []
    if found := named_by(request, _NO_RUN, _NO_RUN_JA):
        return found
    if any(_NOT_IT.search(one) and not _OPEN.search(one) for one in said):
        named = {match["path"] for one in said for match in PATH.finditer(one)}
        return [*named] if len(named) == 1 else []
    return []


def only_dry_runs(request: str) -> list[str]:
    """Return the files that it orders to run only as a dry run."""
    return [] if _FOR_REAL.search(ends_of(request)) else named_by(request, _ONLY_DRY, _ONLY_DRY_JA)
