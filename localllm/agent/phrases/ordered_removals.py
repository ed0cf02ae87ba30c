"""Recognise what a request orders by name to be removed, or moved to another file, in English and Japanese."""

import re
from collections.abc import Iterator

import msgspec

from localllm.agent.phrases.open_requests import may_need_nothing
from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in
from localllm.base.lazy_patterns import late_pattern

_BEGINS = (
    *("remov", "delet", "drop", "eras", "get rid", "move", "extract"),
    *("消し", "消す", "削除", "除い", "除去", "移し", "移動", "切り出"),
)
"""Every order that is known contains one of these."""
_KIND = r"(?:method|function|class|constant|struct|enum|interface|trait|component|helper|definition)"
_NAME = r"`?(?P<name>(?a:[A-Za-z_]\w{2,60}))`?(?:\(\))?"
_TEXT = r"(?:\"(?P<a>[^\"\n]{3,200})\"|“(?P<b>[^”\n]{3,200})”|'(?P<c>[^'\n]{3,200})'(?!\w)|`(?P<d>[^`\n]{3,200})`)"
_OF_TEXT = (
    r"(?:(?:the|this|line|sentence|paragraph|text|words?|phrase|heading|section|item|row|entry|button|link) ){0,3}"
)
_TAKE = r"\b(?:remove|delete|drop|erase|get rid of)"
_ENDS = r"\W{0,3}$|[,;:.!](?: |$)| (?:and|as|since|because|completely|entirely|too|please|now)\b"
_PATH = r"`?(?P<path>(?a:[\w./-]{0,200}[\w-]\.[A-Za-z]\w{0,9}))`?"
_NAMED = (
    rf"(?:(?:the|that|my|our|unused|old|whole) ){{0,2}}"
    rf"(?:{_KIND} {_NAME}|(?P<plain>{_NAME.replace('<name>', '<name2>')})(?: {_KIND})?)"
)
_REMOVED_NAME = late_pattern(rf"{_TAKE} {_NAMED}(?={_ENDS})", re.IGNORECASE)
_REMOVED_TEXT = late_pattern(rf"{_TAKE} {_OF_TEXT}{_TEXT}(?={_ENDS}| (?:from|in|out of)\b)", re.IGNORECASE)
_MOVED = late_pattern(
    rf"\b(?:move|extract) {_NAMED}(?: (?:from|out of) \S{{1,200}})? "
    rf"(?:to|into) (?:(?:an?|the|its|own|new|separate|file|module) ){{0,4}}{_PATH}",
    re.IGNORECASE,
)
_KIND_JA = r"(?:(?:と?いう)?(?:の)?(?:メソッド|関数|クラス|定数|構造体|ヘルパー))"
_GOES_JA = r"(?:削除し|消し|消去し|取り除い|除去し|外し)(?:て|たい|といて|とい)"
_REMOVED_NAME_JA = late_pattern(
    rf"(?:(?:メソッド|関数|クラス|定数)(?:の)? ?)?(?<![\w./-]){_NAME} ?{_KIND_JA}?を ?(?:すべて|全部)?{_GOES_JA}"
)
_REMOVED_TEXT_JA = late_pattern(
    r"[「『](?P<a>[^「」『』\n]{2,200})[」』](?:と?いう)?(?:の?(?:行|文|段落|節|項目|見出し|ボタン|リンク|文字列|文言|記述))?"
    rf"を ?(?:[^。「」\n]{{0,40}}から ?)?{_GOES_JA}"
)
_MOVED_JA = late_pattern(
    rf"(?<![\w./-]){_NAME} ?{_KIND_JA}?を ?(?:[^。\n]{{0,60}}から ?)?{_PATH} ?[にへ] ?"
    r"(?:移動し|移し|切り出し|分け)(?:て|たい|とい)"
)
_KEPT = late_pattern(
    r"\b(?:copy|alias|keep|leave|deprecat\w*|comment out|if|unless)\b|残し|互換|コピー|コメントアウト|場合|なら|れば",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    "all any code comments everything file files import imports it lines logic some that the them these this those"
    " tests test unused whatever".split()
)


class OrderedRemoval(msgspec.Struct, frozen=True):
    """What is to go: a text, or the definition of a name, and the file it is to be moved `to`, "" for nowhere."""

    what: str
    is_text: bool = False
    to: str = ""


def ordered_removals(request: str) -> list[OrderedRemoval]:
    """Return what a request orders by name to be removed or moved; nothing on a condition, or if something stays."""
    if not has_any(request, _BEGINS) or may_need_nothing(request):
        return []
    found: dict[OrderedRemoval, None] = {}
    for said in re.split(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+", ends_of(request)):
        if not _KEPT.search(said):
            found |= dict.fromkeys(_in_sentence(said.strip()))
    return list(found)


def _in_sentence(said: str) -> Iterator[OrderedRemoval]:
    is_ja = not said.isascii()
    for pattern in (_REMOVED_TEXT, *((_REMOVED_TEXT_JA,) if is_ja else ())):
        for match in pattern.finditer(said):
            yield OrderedRemoval(next(filter(None, match.groups())), is_text=True)
    moved = [*_MOVED.finditer(said), *(_MOVED_JA.finditer(said) if is_ja else ())]
    for match in moved:
        yield from _named(match, match["path"].removeprefix("./"))
    for match in (*_REMOVED_NAME.finditer(said), *(_REMOVED_NAME_JA.finditer(said) if is_ja else ())):
        yield from _named(match, "")


def _named(match: re.Match[str], path: str) -> Iterator[OrderedRemoval]:
    names = match.groupdict()
    name = names["name"] or names.get("name2") or ""
    if name and name.lower() not in _NO_NAMES:
        yield OrderedRemoval(name, to=path)


_LEFT = late_pattern(
    r"\b(?:stays?|stayed|kept|keep|left|leave|remains?|still|not|never|cannot|unchanged|untouched|already|alias|wrapper"
    r"|delegat\w*|re-?export\w*|stub|deprecated|overload\w*|commented|only|instead|other|another|copied)\b|n't\b"
    r"|残[しっりる]|そのまま|ません|ない|まま|別の|だけ|のみ|委譲|互換|コピー",
    re.IGNORECASE,
)


def says_it_stays(answer: str) -> bool:
    """Return whether an answer tells of something as left, or done in another way."""
    return any(map(_LEFT.search, sentences_in(answer)))
