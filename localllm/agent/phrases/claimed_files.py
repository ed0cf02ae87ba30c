"""Find the files that an answer claims to have written or changed, or that a request orders, and look for them."""

import re
from collections.abc import Collection, Iterator
from typing import Literal

import msgspec

from localllm.agent.phrases.phrase_search import ends_of, has_any, sentences_in, without_code
from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern

_ENDINGS = (
    "bat|c|cc|cfg|cjs|clj|conf|cpp|cs|css|csv|cxx|dart|db|env|erl|ex|exs|go|gradle|graphql|h|hpp|hs|html?|ini|ipynb|java|jl"
    "|jsonl?|jsx?|kts?|less|lock|lua|md|mdx|mjs|ml|mm|php|pl|properties|proto|ps1|pyi?|rb|rs|rst|sass|scala|scss|sh|sql|sqlite3?"
    "|svelte|svg|swift|tex|tf|toml|tsv|tsx?|txt|vue|xml|ya?ml|zig"
)
_PATH = rf"(?:[\w-][\w.@+-]{{0,99}}/){{0,9}}[\w.-]{{0,99}}[\w-]\.(?:{_ENDINGS})(?![\w/(]|\.\w)"
_QUOTED = rf"[`*_\"'(「『]{{0,4}}(?<![\w/.:~@])(?:\./)?(?P<path>{_PATH})[`*_\"')」』]{{0,4}}"
_LIST = (
    r"(?P<more>(?:(?:, ?(?:and )?| and | & | ?(?:と|、|や|および|及び) ?)(?:also |the )?"
    rf"[`*\"']{{0,3}}(?:\./)?{_PATH}[`*\"']{{0,3}}){{0,9}})"
)
_ANY = late_pattern(_QUOTED, re.ASCII)
_BARE_JA = late_pattern(
    rf"(?:(?<=[はがをにのとでもやて、。：（])|(?<=ファイル)|(?<![^\x00-\x7f]))((?a:(?<![\w/.:~@-])(?:\./)?{_PATH}))(?=[^\x00-\x7f])"
)
"""A path in ASCII without blanks around it in Japanese text, where it is not the rest of a longer name."""
_AND_SO_ON = late_pattern(rf"(?:\./)?({_PATH})", re.ASCII)

_MADE = r"(?:wrote|written|created|added|generated|saved|made)"
_CHANGED = r"(?:updated|edited|modified|changed|rewrote|rewritten|adjusted|extended)"
_MOVED_IN = r"(?:renamed|replaced|removed|updated|changed|inserted)"
_PLAIN_JA = r"(?:(?![むるすくうつぬぶぐた][一-龯ァ-ヶ])[^。、\n])"
"""What stands between a file and a verb of what was done, but no verb before a noun: the file of 保存する関数 is one
that the program writes when it runs."""
_DONE_JA = r"(?!する|され|でき|る|く|かれ|き込む|き出す)"
_MADE_ONE = late_pattern(
    rf"\b{_MADE}\b (?:(?!(?:that|which|from|using|with|like|instead|without|for|about|if|by|support|of)\b"
    r"|to (?!(?:the|an?|file|my|your)\b)[a-z]{1,20} )"
    r"[^\s`]{1,30} ){0,4}?" + _QUOTED + _LIST + r"(?! (?:support|handling|parsing|loading|badges?|metadata)\b)",
    re.ASCII | re.IGNORECASE,
)
_CHANGED_ONE = late_pattern(
    rf"(?:\b{_CHANGED}(?: (?:the|my|file|also|both|files)){{0,3}} "
    rf"|\b{_MOVED_IN} (?:(?!(?:that|which|from|for|by|in)\b)[^\s,;]{{1,60}} ){{1,8}}in (?:both |the file )?)"
    + _QUOTED
    + _LIST,
    re.ASCII | re.IGNORECASE,
)
_BEEN = late_pattern(
    _QUOTED
    + _LIST
    + rf" (?:(?:has|have|was|were)(?: now)?(?: been)?|(?:is|are)(?: now)?(?= \w+[.!]?$)) (?P<how>{_MADE}|{_CHANGED})\b",
    re.ASCII | re.IGNORECASE,
)
_APPLIED = late_pattern(
    r"(?:^|\b(?:was|were|been|and|i|we|have|has|now|also|successfully) )applied (?:\S{1,60} ){0,6}?to (?:the )?"
    + _QUOTED
    + _LIST,
    re.ASCII | re.IGNORECASE,
)
_APPLIED_JA = late_pattern(_QUOTED + _LIST + rf" ?[にへ](?:も|は)?{_PLAIN_JA}{{0,20}}適用{_DONE_JA}")
_NOW = late_pattern(
    r"(?:^|[.,;:] |\b(?:and|while|the|both) )"
    + _QUOTED
    + _LIST
    + r" now (?:also |both |all )?(?:(?:quote|use|import|include|mention|document|declare|define|list)s?|contains?)\b"
    r"(?![^\n]{0,120}\b(?:through|via|thanks to|indirectly)\b)",
    re.ASCII | re.IGNORECASE,
)
"""Says what stands in a file, not what a program does, which may be due to another file."""
_NOW_JA = late_pattern(
    _QUOTED + _LIST + rf" ?[はも](?:(?!ので|ため|から|て)(?:{_PLAIN_JA}|、)){{1,40}}"
    r"(?:囲み|囲んで|直し|修正し|変更し|更新し|書き換え|追加し)(?:ました|ています|てあります|済みです)"
)
_MADE_JA = late_pattern(
    _QUOTED
    + _LIST
    + rf"(?: ?という\w{{1,8}}| ?の(?:両方|2つ))? ?[をにへも](?:{_PLAIN_JA}{{0,16}}[をに])?{_PLAIN_JA}{{0,6}}"
    rf"(?:作成|作り|書|追加|生成|保存|用意|新規|出力|まとめ){_DONE_JA}"
)
_PUT_INTO = late_pattern(r" (?:to|into) (?:the |your )?[`*\"']{0,3}(?=[\w/-]{0,99}\.\w)", re.ASCII)
_PUT_INTO_JA = late_pattern(r"\.\w{1,12}[`」*]{0,3} ?[にへ](?:も|は)? ?$", re.ASCII)
_CHANGED_JA = late_pattern(
    _QUOTED + _LIST + rf" ?(?:[をも]|の{_PLAIN_JA}{{1,30}}を)(?:(?![てで]|確認|実行){_PLAIN_JA}){{0,8}}"
    rf"(?:更新|修正|変更|編集|書き換え|書き直|リネーム|改名|置換|置き換え){_DONE_JA}"
)
_ADDED_JA = late_pattern(
    _QUOTED + _LIST + rf" ?[にへ](?:も|は|それぞれ)?(?:{_PLAIN_JA}{{1,24}}を)?{_PLAIN_JA}{{0,6}}"
    r"(?:付け|つけ|入れ|加え|足し|載せ|反映し|追記し|記載し|挿入し|設定し)(?:まし|、|済|て(?:、|い?ます))"
)
_REMOVED_ONE = late_pattern(
    r"\b(?:deleted|removed|got rid of) (?:the )?(?:(?:old|unused|obsolete) )?(?:files? )?"
    + rf"(?>{_QUOTED}{_LIST})(?= and\b|[.,;:!]|$)(?!,? (?:and )?[^.,;\n]{{1,40}} from\b)",
    re.ASCII | re.IGNORECASE,
)
_IS_REMOVED = late_pattern(
    _QUOTED
    + _LIST
    + r" (?:is|are|was|were|has been|have been)(?: now)? (?:deleted|removed|gone)\b(?! (?:from|as|in) )",
    re.ASCII | re.IGNORECASE,
)
_REMOVED_JA = late_pattern(
    _QUOTED
    + _LIST
    + r" ?(?:を|は)(?:(?:すべて|全て|完全に|すでに)?(?:削除|消去)(?:し(?:まし|、|て[、い])|され(?:まし|、)|済み)"
    r"|消し(?:まし|、|て、))"
)
_OUT_OF_TEXT = late_pattern(r"\b(?:in|from|of)\b|から|(?:の|にある) ?[`「]?$", re.IGNORECASE)
"""Matches, before the name of a file, what the name alone was taken out of."""
_NOT_REMOVED = late_pattern(
    r"\b(?:if|when|once|until|unless|should|would|will|could|can|may|must|not|cannot|never|no)\b|n't\b|\?$"
    r"|場合|れば|たら|なら|ません|ない|なかった|ください|下さい|か[。？]?$",
    re.IGNORECASE,
)
_ONE = rf"[`*\"']{{0,3}}(?:\./)?{_PATH}[`*\"']{{0,3}}"
_ALL_PATHS = rf"(?P<paths>{_ONE}(?:(?:, ?(?:and )?| and | & | ?[、・と] ?){_ONE}){{0,19}})"
_PLACE_WORDS = (
    "everywhere",
    "throughout",
    "files",
    "places",
    "modules",
    "sites",
    "callers",
    "uses",
    "usages",
    "ences",
    "imports",
)
_PLACES = (
    r"(?:everywhere|throughout|(?:in |across )?(?:all|both|every|the|these|those|its|two|three|four|five|six|\d{1,2}) "
    r"(?:[\w-]{1,20} ){0,2}(?:files|places|modules|call(?:er| site)s|us(?:es|ages)|references|occurrences|imports))"
)
_LISTED = late_pattern(
    rf"\b(?:{_CHANGED}|{_MOVED_IN}|{_MADE}) (?:(?!(?:that|which|for|by|if)\b)[^\s();]{{1,60}} ){{0,10}}?{_PLACES}"
    r"(?: (?:it is|they are) used| in the (?:project|code))?(?:,? namely| \(| ?[:—–]|,) ?"
    rf"{_ALL_PATHS}(?:\)|[.,;]?(?:\s|$))",
    re.ASCII | re.IGNORECASE,
)
"""Matches changes whose files are listed: everywhere (a.py, b.py and README.md)."""
_LISTED_JA = late_pattern(
    rf"(?:すべて|全て|全部|全体|全?ファイル|箇所|か所)[^（(。\n]{{0,16}}[（(]{_ALL_PATHS} ?[)）][^。\n]{{0,40}}"
    r"(?:更新|修正|変更|編集|書き換え|書き直|リネーム|改名|置換|置き換え)(?:し|え)?(?:ました|た。)",
    re.ASCII,
)
_CLAUSE = (
    r"(?:(?!\b(?:that|which|(?:it|they) (?:is|are|was|were|has|have)(?! used$)|uses?|using|imports?"
    r"|imported|affects?|reads?|because|so|as|where|for|by|and (?:are|is)|but)\b|; )[^\n])"
)
"""Stands between the words of one statement."""
_LIST_HEAD = late_pattern(
    rf"\b(?:{_CHANGED}|renamed|replaced|{_MADE})\b{_CLAUSE}{{0,120}}?"
    rf"\b(?:files?|everywhere|places|modules)\b{_CLAUSE}{{0,40}}$"
    rf"|\bfiles?\b (?:(?:i|we|that|were|have|been|now) ){{0,4}}(?:{_CHANGED}|renamed|{_MADE})\b"
    r"|^(?!(?:if|when|once)\b)[^\n,]{1,60}\b(?:is|are|were|was|been|i|and|successfully) (?:now )?"
    r"(?:saved|written|created)(?: (?:in|to|as|under))?$"
    r"|^(?:summary of )?(?:the )?(?:changes|edits)(?: made)?$"
    r"|(?:次|以下)の[^。\n]{0,20}(?:ファイル|箇所)[^。\n]{0,20}(?:更新|修正|変更|編集|書き換え|改名|リネーム|置換|置き換え|作成|追加)"
    r"(?:し|え)(?:ました|た)|^(?:更新|修正|変更|編集|作成|追加)(?:し|され)?(?:た|済みの?)?(?:ファイル|箇所|内容|点)(?:一覧)?$",
    re.IGNORECASE,
)
"""Matches the line above a list of changed files, without its colon and markup."""
_OF_OTHERS = late_pattern(
    r"\b(?:commits?|branch(?:es)?|HEAD|diff|pull request|PR|upstream|release|stash|git|working tree|by (?!me\b)\w{1,40}"
    r"|since|between|you|left|unchanged|untouched|alone)\b|コミット|ブランチ|リリース|差分|プルリク",
    re.IGNORECASE,
)
"""Matches what a list is of that tells of the history, or of what stays, not of the answer's author."""
_LIST_ITEM = late_pattern(
    rf"[ \t]*(?:[-*•・]|\d{{1,2}}[.)])[ \t]*[`*\"'(]{{0,4}}(?:\./)?(?P<path>{_PATH})[`*\"')]{{0,4}}"
    r"(?P<rest>$|[ \t]*[:(（—–-].*|：.*)",
    re.ASCII,
)
_IN_LIST = late_pattern(r"[ \t]*(?:[-*•・]|\d{1,2}[.)])[ \t]|[ \t]+\S")
_PATHS_ALONE = late_pattern(rf"{_ALL_PATHS}[.。]?\Z", re.ASCII)
_NO_ITEM = late_pattern(
    r"\b(?:unchanged|untouched|no|not|never|should|would|could|can|as (?:it )?(?:was|is))\b|n't\b"
    r"|変更なし|そのまま|ません|ない|ください",
    re.IGNORECASE,
)
_ITEM_NEW = late_pattern(r"\b(?:new|added|created|wrote|written)\b|新規|新しい|作成|追加", re.IGNORECASE)
_MINE = late_pattern(
    r"\b(?:i|we)(?:'ve| have)?\b|^done\b"
    rf"|^(?:also |successfully |then |now |and )?(?:{_MADE}|{_CHANGED}|{_MOVED_IN}|fixed)\b"
    r"|(?:ました|ております|ています|済み(?:です)?|完了)(?:。|$)",
    re.IGNORECASE,
)
_NOT_MADE = late_pattern(
    r"\b(?:if|when|once|until|unless|should|would|will|could|can|may|must|not|cannot|never|neither|nor|no|none"
    r"|nothing(?! else)|without|failed|instead|example|e\.g|before|earlier|already|previously|deleted|moved)\b"
    r"|n't\b|\?$"
    r"|場合|れば|たら|なら|ません|ない|なかった|ください|下さい|失敗|前回|以前|すでに|既に|例えば|か[。？]?$",
    re.IGNORECASE,
)
_ORDERED = late_pattern(
    r"(?:^|[,;:] |\b(?:and|then|please|also|you|to) )(?:write|create|add|generate|make|save)\b"
    r" (?:(?!(?:that|which|from|using|with|like|instead|without|for|about|if|by|to|in|into|of)\b)[^\s`]{1,30} ){0,3}?"
    + _QUOTED
    + _LIST,
    re.ASCII | re.IGNORECASE,
)
_BEGINS = r"(?:^|[,;:] |\b(?:and|then|please|also|just|you|(?:you|want|like|need) to) )"
_NO_PROGRAM = (
    r"(?!\b(?:that|which)\b|\b(?:an?|some) (?:[\w-]{1,20} ){0,2}(?:script|program|function|method|class|command|tool"
    r"|option|feature|module|helper|handler|endpoint|test)\b|\b(?:code|logic|functions|tests) (?:to|for)\b)"
)
"""Looks ahead to what is no program: the files that one is to write when it runs are not ordered themselves."""
_SAVE = "write|save|put|store|export|dump|summari[sz]e"
_TARGET = " (?:an? |the )?(?:new )?(?:file )?(?:called |named )?" + _QUOTED
_ORDERED_INTO = late_pattern(
    rf"{_BEGINS}(?:{_SAVE}|document|describe)\b (?:{_NO_PROGRAM}[^.\n]){{0,80}}?(?:\bto|\binto|\bin|\bas){_TARGET}",
    re.ASCII | re.IGNORECASE,
)
_ORDERED_JA = late_pattern(
    _QUOTED + _LIST + r" ?(?:という\w{1,8}|の(?:\w{1,2} ?つの)?ファイル)?"
    rf"[をにへ](?:{_PLAIN_JA}{{0,16}}[をに])?{_PLAIN_JA}{{0,6}}"
    r"(?:作成し|作っ|書い|生成し|保存し|新規作成|出力し|まとめ)(?:て(?![あい])|、)"
)
_SAVED_TO = late_pattern(
    rf"{_BEGINS}(?:{_SAVE}|collect|list|record)\b (?:{_NO_PROGRAM}(?:[^.\n]|\.\w)){{0,80}}?"
    rf"(?:\bto|\binto|\bas|(?<=\bit )in|(?<=\bthem )in){_TARGET}",
    re.ASCII | re.IGNORECASE,
)
"""Orders in which nothing but a file to be written can be meant."""
_SEVERAL = late_pattern(_QUOTED + _LIST, re.ASCII)
_NO_PART = late_pattern(
    r"\b(?:like|as in|see|except|but|based on|according to|compare\w*|between|look\w*|either|instead|only|same as"
    r"|used? (?:in|by)|imported)\b|以外|ように|同じ|参考|比較|見て|だけ|のみ|使われ",
    re.IGNORECASE,
)
"""Matches a request in which a file may be named for another reason than to be worked on."""
_CONDITION = late_pattern(r"\b(?:if|unless|when|don't|do not|not|or|without)\b|場合|なら|れば|たら|ない", re.IGNORECASE)
_QUESTION = late_pattern(
    r"^(?:how|what|where|why|which|when|who|is|are|does|do (?:i|we|you|they|these|those)|did|was|were|has|have"
    r"|should (?:i|we)|(?:show|give|tell|explain|describe|suggest|find)\b(?!.{0,200}\band (?:save|write|put|store)\b))"
    r"\b|^(?!(?:can|could|will|would) you\b).*\?$|か[。？?]?$",
    re.IGNORECASE,
)
_WISH_JA = late_pattern(
    r"て(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け|おい)|て[。！!\s]*$|たい(?:です)?[。！!\s]*$|なさい|お願い|頼"
)
_ENDS_IN_KANA = late_pattern(r"[をにへがはのとでもやて、]\Z")
_PRODUCT = late_pattern(r"[A-Z]\w{1,20}\.(?:js|ts)")
"""Matches names such as Node.js."""


class ClaimedFile(msgspec.Struct, frozen=True):
    """A file that an answer claims was `made`, or that it claims was changed."""

    path: str
    how: Literal["made", "changed"]


def claimed_files(answer: str) -> list[ClaimedFile]:
    """Return the files that an answer claims its author has written or changed."""
    found: dict[str, ClaimedFile] = {}
    for said in _sentences(answer):
        if "." not in said or _NOT_MADE.search(said):
            continue
        has_been = [(match, _how(match["how"])) for match in _BEEN.finditer(said)]
        is_mine = bool(_MINE.search(said))
        made = [
            (match, "made")
            for one in (_MADE_ONE, _MADE_JA)
            for match in one.finditer(said)
            if is_mine and not _is_put_into_other(said, match)
        ]
        changed = [
            (match, "changed")
            for one in (_CHANGED_ONE, _CHANGED_JA, _ADDED_JA)
            for match in one.finditer(said)
            if is_mine
        ]
        others = (_APPLIED, _APPLIED_JA, _NOW, _NOW_JA)
        stated = [(match, "changed") for one in others for match in one.finditer(said)]
        for match, how in (*made, *changed, *has_been, *stated):
            for path in _paths(match):
                found.setdefault(path, ClaimedFile(path, "made" if how == "made" else "changed"))
    for one in _listed(without_code(ends_of(answer))) if "." in answer else ():
        found.setdefault(one.path, one)
    return list(found.values())


def removed_files(answer: str) -> list[str]:
    """Return the files that an answer claims are deleted."""
    found = (
        path
        for said in _sentences(answer)
        if "." in said and not _NOT_REMOVED.search(said)
        for pattern in (_REMOVED_ONE, _IS_REMOVED, _REMOVED_JA)
        for match in pattern.finditer(said)
        if not _OUT_OF_TEXT.search(said[: match.start()])
        for path in _paths(match)
    )
    return list(dict.fromkeys(found))


def _listed(answer: str) -> Iterator[ClaimedFile]:
    """Yield the files of the lists of an answer: in a sentence, or below a line that says what was done to them."""
    is_in_list = False
    for line in answer.splitlines():
        if is_in_list and (item := _LIST_ITEM.match(line)):
            if not _NO_ITEM.search(item["rest"]):
                yield ClaimedFile(item["path"], "made" if _ITEM_NEW.search(item["rest"]) else "changed")
            continue
        said = line.strip(" \t*_#>-•・")
        if not said:
            continue
        head, *behind = re.split("[:：]", said, maxsplit=1)
        is_head = bool(behind) or line.lstrip().startswith(("#", "**"))
        names = is_head and bool(_LIST_HEAD.search(head)) and not (_NOT_MADE.search(head) or _OF_OTHERS.search(head))
        tail = "".join(behind).strip(" *_`")
        if names and tail and (match := _PATHS_ALONE.match(tail)):
            yield from (ClaimedFile(path, "changed") for path in _AND_SO_ON.findall(match["paths"]))
        is_in_list = not tail and (names or (is_in_list and not behind and bool(_IN_LIST.match(line))))
        pattern = _LISTED if has_any(said, _PLACE_WORDS) else None if said.isascii() else _LISTED_JA
        if pattern and "." in said and not _NOT_MADE.search(said):
            for match in pattern.finditer(said):
                yield from (ClaimedFile(path, "changed") for path in _AND_SO_ON.findall(match["paths"]))


def ordered_files(request: str) -> list[str]:
    """Return the files that a request orders to be written, unless it depends on something."""
    return _found_in_orders(request, (_ORDERED, _ORDERED_INTO, _SAVED_TO, _ORDERED_JA))


def saved_files(request: str) -> list[str]:
    """Return the files into which a request orders to save something, in words that can mean nothing else."""
    return _found_in_orders(request, (_SAVED_TO, _ORDERED_JA))


def listed_files(request: str) -> list[str]:
    """Return the files that a request orders to do something with, in lists of several, unless it depends on
    something: add hints to a.py and b.py."""
    found: dict[str, None] = {}
    for said in _sentences(ends_of(request)):
        if "." not in said or _CONDITION.search(said) or _QUESTION.search(said) or _NO_PART.search(said):
            continue
        for match in _SEVERAL.finditer(said):
            found |= dict.fromkeys(_paths(match) if match["more"] else ())
    return list(found)


def _found_in_orders(request: str, patterns: tuple[re.Pattern[str], ...]) -> list[str]:
    found = (
        path
        for one in _sentences(ends_of(request))
        if "." in one and not _CONDITION.search(one) and not _QUESTION.search(one)
        for pattern in patterns
        if pattern is not _ORDERED_JA or _WISH_JA.search(one)
        for match in pattern.finditer(one)
        for path in _paths(match)
    )
    return list(dict.fromkeys(found))


def paths_in(text: str) -> list[str]:
    """Return the files that a text names."""
    found = (match["path"] for match in _ANY.finditer(text))
    return list(dict.fromkeys(path for path in found if not _PRODUCT.fullmatch(path)))


def file_names(said: str) -> Iterator[re.Match[str]]:
    """Yield the names of files in a sentence, as the group `path`."""
    return _ANY.finditer(said)


def _sentences(text: str) -> list[str]:
    """Return the sentences, with blanks around the paths in Japanese ones."""
    return [one if one.isascii() else _BARE_JA.sub(r" \1 ", one).strip() for one in sentences_in(text)]


def is_missing(listing: ProjectListing, path: str) -> bool:
    """Return whether there is neither this file nor another of its name in the project; in Japanese, the name may
    follow other words."""
    name = path.rpartition("/")[2]
    try:
        if (listing.root / path).exists():
            return False
        entries = listing.entries
    except OSError:  # in a folder that is closed to the user, it may be there
        return False
    return listing.is_complete and not any(_is_named(name, entry.path) for entry in entries)


def is_touched(paths: Collection[str], path: str) -> bool:
    """Return whether a file of that name is among those changed."""
    name = path.rpartition("/")[2]
    return any(_is_named(name, one) for one in paths)


def _is_named(said: str, path: str) -> bool:
    """Return whether words without blanks end with the name of a file: の要点を要約.md."""
    name = path.rpartition("/")[2]
    before = said.removesuffix(name)
    return said == name or (before != said and bool(_ENDS_IN_KANA.search(before)))


def _is_put_into_other(said: str, match: re.Match[str]) -> bool:
    """Return whether only the name of a file goes into another one: added x.txt to .gitignore."""
    behind = said[match.end("more") : match.end()]
    before = said[: match.start()]
    return "." in behind or bool(_PUT_INTO.match(said, match.end()) or _PUT_INTO_JA.search(before))


def _how(verb: str) -> str:
    return "made" if re.fullmatch(_MADE, verb, re.IGNORECASE) else "changed"


def _paths(match: re.Match[str]) -> Iterator[str]:
    more = match.groupdict().get("more") or ""
    for path in (match["path"], *_AND_SO_ON.findall(more)):
        if not _PRODUCT.fullmatch(path):
            yield path
