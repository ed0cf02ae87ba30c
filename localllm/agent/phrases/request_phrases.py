"""Recognise phrases in requests, in English and Japanese: what is to be changed, committed or answered."""

import re

from localllm.agent.phrases.open_requests import waits_for_user
from localllm.agent.phrases.phrase_search import ends_of, has_any, search_ja, sentences_in

# Changes of files.

_WORDS_MADE = (
    r"(?:an? |the |some )?(?:[\w-]+ )?(?:summary|overview|explanation|list|description|example|snippet"
    r"|regex|regular expression|query|poem|haiku|answer|command|one-liner|plan|outline|proposal|checklist"
    r"|roadmap|comparison)\b(?!\.\w| (?:to|in|into) )"
)
"""Matches what is made of words, for the answer."""
_CHANGE = (
    r"(?:fix|repair|correct|set(?! up)|change|edit|modify|update|rename|refactor|rewrite|replace|implement|remove"
    r"|delete|convert|migrate|port|split|merge|simplify|extract|extend|adapt|adjust|move|reorder|swap|apply|bump"
    r"|upgrade|clean up|inline|turn (?=[^\n]* into\b)|insert|patch|solve|resolve|finish|complete|support"
    r"|translate (?=[^\n]{0,60}\b(?:comments?|docstrings?|strings?|messages|labels|save|in place"
    r"|(?:to|into) \S{1,60}\.\w))"
    rf"|make (?!sure\b|suggestions\b|(?:me )?{_WORDS_MADE})|(?:add|create|write|generate|build|develop)\b"
    rf"(?! (?:me )?{_WORDS_MADE})(?:(?<=add)|(?! (?:me )?(?:an? |the )?(?:[\w-]+ )?"
    r"(?:message|reply|letter|e-?mail|story|invitation|announcement|release notes?|tweet)(?:[.,;:!]?$"
    r"| (?:about|for|of|that|which|from|saying|telling|with|to my|to our|to your|to all|to everyone"
    r"|to them|to him|to her|to the boss|to the team|to the customers?|to the clients?|to the members)\b))))"
)
_CHANGE_BEGINS = (
    *("fix", "repair", "correct", "set", "chang", "edit", "modif", "updat", "renam", "refactor", "rewrit", "replac"),
    *("implement", "remov", "delet", "convert", "migrat", "port", "split", "merg", "simplif", "extract", "exten"),
    *("adapt", "adjust", "mov", "reorder", "swap", "appl", "bump", "upgrad", "clean", "inline", "translat", "turn"),
    *("insert", "patch", "solv", "resolv", "finish", "complet", "support", "mak", "add", "creat", "writ", "generat"),
    *("build", "develop"),
)
"""Every match of _CHANGE contains one of these."""
_ASKED = (
    rf"(?i)^(?:(?:please|now|then|and|also|next|first|ok(?:ay)?|hi|hello|so|finally|could you|can you|would you"
    rf"|will you"
    r"|you should|you must|i (?:want|need|would like|'d like) you to|i'd like you to|let's|go ahead and"
    r"|help me(?: to)?|try to"
    rf"|just|kindly|using \S++|in `?[\w./-]+`?)[,:]?\s+)*{_CHANGE}\b(?!\s*:)"
)
_ORDERED = (
    r"(?i)^(?:(?:please|now|then|and|also|next|just|could you|can you)[,:]?\s+)*"
    r"(?:(?:have|let) (?!(?:you|we|i|me|us|there|any|it|them|this|that|an?|git|python3?|pytest|ruff|npm)\b)(?:the )?"
    r"[\w.`()-]{1,60} (?!(?:be|been|run|look|show|list|check|tell|find|report|explain|compute)\b)[a-z]"
    r"|get (?:all )?(?:the )?(?:\w{1,30} )?tests? (?:to )?pass\b"
    r"|use (?![^\n]*\b(?:english|japanese|web|internet|search|words?|terms|tools?|run|explain|answer)\b)[^\n]{1,60} "
    r"instead of\b|sort (?:the|all)(?: the)? (?:imports|[^\n]{1,60} in `?[\w/-]+\.\w)"
    r"|(?:handle|undo|document|annotate|reformat|type-hint|switch to (?!(?:english|japanese|main|master)\b"
    r"|[^\n]*\b(?:branch|mode|model|language)\b)) ?[^\n:?]{1,200}$)"
)
"""Other ways to order a change: have f return 9, use a set instead of a list."""
_ORDER_BEGINS = (
    *("have ", "let ", "get ", "use ", "sort ", "handle ", "undo ", "document ", "annotate ", "reformat "),
    *("type-hint ", "switch to "),
)
_ASKED_LATER = rf"(?i)(?:,| and| then)\s+(?:please |then |also )*{_CHANGE}\b"
_TO_KNOW = (
    r"(?i)\b(?:how|what|where|when|which|why|steps?|ways?|commands?|needs?|needed)\b (?:\w+ ){0,4}?to \w[^,;\n]{0,60}$"
)
"""Comes before a verb that is no order: how to create a user and update it."""
_ASKED_LAST = (
    r"(?i)[,;] (?:so |please |and |then ){0,2}(?:fix|repair|correct|solve) (?:it|this|that|them|these)\b[^?]{0,40}$"
    r"|[,;] (?:can|could|will|would) you (?:please )?(?:fix|repair|correct|solve) (?:it|this|that|them|these)\?$"
    r"|(?:^|[,;] )(?:so |and |then )?please (?:fix|repair|correct|solve):$"
)
"""Orders after what is wrong, or before it: the build is broken, fix it; I get this, please fix: …"""
_WANTED = (
    r"(?i)\bshould(?: now| also)? (?!i\b|we\b)[a-z]|\bneeds? (?:an?|to) \w"
    r"|\b(?:i|we) (?:want|need) (?!(?:you|to|me|us|some(?:one|body)|help|time|answers?|users|people)\b)[\w.`()-]{1,60} "
    r"to (?!(?:be|know|understand|think|explain|tell|see|show|help)\b)[a-z]"
    r"|^[`'\"]?(?:[\w./-]{0,99}\w\.[a-z]\w{0,7}|(?:Docker|Make)file)[`'\"]? must (?:not |never |also |now )?[a-z]"
    r"|\b(?:i|we) (?:want|need) (?:an?|the) .{0,60}"
    r"(?:\b(?:script|program|tool|file|tests?|module|class|function)\b|\w\.\w)"
)
_IS_IT = r"(?i)[.!;]\s{1,3}(?:so |but |and )?(?:is|are|does|do|has|have|did) (?:it|they)\b[^?\n]{0,60}\?\s{0,3}$"
"""Matches the question whether what should be so is so: a.py must not import b.py. Does it?"""
_ABOUT = (
    r"(?i)^(?:(?:please|now|and|ok(?:ay)?|can you|could you|would you|hi|hello)[,:]?\s+)*(?:how|what|why|where|when"
    r"|which|who|is|are|does|do(?! (?:it|that|this)\b)|did|was|were|has|have|should (?:i|we)|explain|describe|show"
    r"|tell|list|summari[sz]e|find|look|search|review|suggest|propose|recommend|compare|give|print|read|analy[sz]e"
    r"|count|check|run|discuss|think|plan|draft|sketch|outline|answer|write (?:a |the |one )?(?:shell )?command)\b"
)
_HOW = r"(?i)(?:and |so |please )?(?:how|what|which|where|when|why|explain|describe|show|tell)\b"
_END_JA = r"(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け|おい|、|$)"
_GIVEN_JA = rf"て{_END_JA}|て[。！!\s]*$|とい?て|たい|なさい"
_EDITED_JA = (
    rf"(?:足し|伸ばし|延ばし|増やし|減らし|外し|差し替え|切り出し|揃え|分け|絞っ)(?:{_GIVEN_JA})"
    rf"|(?:囲ん|挟ん)で(?:{_END_JA}|[。！!\s]*$)|抜い(?:{_GIVEN_JA})|(?<!の)ように(?:し|変え)(?:{_GIVEN_JA})"
    rf"|[0-9A-Za-z秒分] ?に(?:し|変え)(?:{_GIVEN_JA})"
)
"""Orders of an edit in other words: 変数を引用符で囲んで, 失敗したら止まるようにして, ポートを9000にしといて."""
_CHANGE_JA = (
    r"(?:直し|治し|修正し|変更し|変え|追加し|書き換え|書き直し|書い|実装し|作っ|作成し|リネームし|改名し|置き換え"
    r"|置換し|削除し|消し|更新し|移動し|対応し|改善し|整理し|分割し|統合し|移行し|リファクタリングし|対応させ|つけ"
    r"|付け|入れ|仕上げ|完成させ|生成し|保存し|(?:コメント|文字列|メッセージ|表示)[^。\n]{0,12}翻訳し)(?:て(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け|おい"
    r"|、|$)|て[。！!\s]*$|たい|なさい)"
)
_MADE_JA = (
    r"を[^。\n]{1,30}(?<!確認)(?<!質問)(?<!相談)(?<!実行)(?<!理解)(?<!説明)(?:(?<!参考)(?<!大切)(?<!大事)(?<![気元基例])"
    r"(?:に|よう|く)し|させ)て(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け)?[。！!\s]*$"
)
"""Orders that something be otherwise: fの戻り値を9にして."""
_TEXT_JA = (
    "文|回答|答え|返事|説明|要約|内容|結果|報告|日本語|英語|敬語|箇条書き|表に|図に|グラフに|一覧|リストに|行に"
    "|以後|今後|これから"
)
_CHANGE_NOUN_JA = r"(?:修正|変更|追加|実装|作成|改名|置換|削除|更新|対応)(?:を(?:お願い|頼)|お願い|せよ|すること|して)"
_ABOUT_JA = (
    r"(?:方法|やり方|書き方|使い方|手順|理由|原因|例|案|コマンド|一覧|概要|要約|説明|計画)(?:だけ)?(?:を|が|は"
    r"|について)?[^。\n]{0,12}(?:教え|説明|示し|見せ|提案|出し|書い|挙げ|考え|まとめ|知り)|教えて|説明して"
    r"|(?:メール|手紙|返信|文面|案内文|挨拶文|お知らせ|リリースノート|計画|チェックリスト)文?(?:だけ)?[をも][^。、\n]{0,12}(?:書い|作っ|作成し|立て)て"
)
_SAVE_BEGINS = (
    *("write", "save", "put", "store", "export", "dump", "summari", "collect", "list", "record"),
    *("書い", "作", "生成し", "保存し", "出力し", "まとめ"),
)
"""Every order to save something in a file contains one of these."""


def asks_for_change(request: str) -> bool:
    """Return whether files are to be changed: not for a question, or if an explanation or a plan is wanted, but in a
    file that is named."""
    request = ends_of(request)
    is_ordered = (_orders_change(request) and not wants_words_ja(request)) or saves_file(request)
    return is_ordered and not (re.search(_HANDS_OFF, request) or waits_for_user(request))


def saves_file(request: str) -> bool:
    """Return whether something is to be saved in a named file: clean the data and save them to clean.csv."""
    if "." not in request or not has_any(request, _SAVE_BEGINS):
        return False
    from localllm.agent.phrases.claimed_files import saved_files  # few requests name a file

    return bool(saved_files(request))


def _orders_change(request: str) -> bool:
    wishes = "" if request.isascii() else wishes_in(request)
    if search_ja(_CHANGE_JA, wishes, re.MULTILINE) or search_ja(_CHANGE_NOUN_JA, wishes):
        return True
    if any(search_ja(f"{_MADE_JA}|{_EDITED_JA}", said) and not re.search(_TEXT_JA, said) for said in _lines_ja(wishes)):
        return True
    has_verb, has_wish = has_any(request, _CHANGE_BEGINS), has_any(request, ("should", "need", "want", "must"))
    if has_any(request, _ORDER_BEGINS) and any(re.match(_ORDERED, one) for one in sentences_in(request)):
        return True
    has_wish = has_wish and not re.search(_IS_IT, request)
    for sentence in sentences_in(request) if has_verb or has_wish else ():
        if has_verb and (re.match(_ASKED, sentence) or re.search(_ASKED_LAST, sentence)):
            return True
        if re.match(_ABOUT, sentence):
            if has_verb and not sentence.endswith("?") and _asked_later(sentence):
                return True
        elif has_wish and not sentence.endswith("?") and re.search(_WANTED, sentence):
            return True
    return False


def _asked_later(said: str) -> re.Match[str] | None:
    """Return what orders a change behind another clause; None if there is nothing."""
    found = re.finditer(_ASKED_LATER, said)
    return next((one for one in found if one[0][0] == "," or not re.search(_TO_KNOW, said[: one.start()])), None)


def wants_words_ja(request: str) -> bool:
    """Return whether a Japanese request begins by asking for words, or forbids changes."""
    if request.isascii():
        return False
    first = next(iter(_lines_ja(request)), "")
    return bool(re.search(_HANDS_OFF_JA, request) or re.search(_ABOUT_JA, first))


def wishes_in(request: str) -> str:
    """Return the request without the Japanese sentences that ask for words."""
    return "\n".join(said for said in _lines_ja(request) if not search_ja(_ABOUT_JA, said))


def _lines_ja(request: str) -> list[str]:
    return [said for said in re.split(r"(?<=[。！？])|\n", request) if said.strip()]


def asks_about(said: str) -> bool:
    """Return whether it begins as a question, or as an order of words."""
    return bool(re.match(_ABOUT, said))


def asks_how(said: str) -> bool:
    """Return whether a sentence asks how, what or where, or for an explanation."""
    return bool(re.match(_HOW, said))


def may_rename(request: str) -> bool:
    """Return whether it has a word of an order to rename something, or to replace it by another."""
    words = (
        "renam",
        "replac",
        "change the name",
        "call ",
        "be called",
        "be named",
        "改名",
        "リネーム",
        "置き換え",
        "置換",
        "名前",
    )
    return has_any(request, words) or (not request.isascii() and has_any(request, ("変え", "変更し", "直し", "にし")))


# Bans on changes.

_BAN = (
    r"\b(?:do not|don't|without|never) (?:\w+ ){0,2}(?:chang|edit|modif|writ|touch)\w*"
    r"(?: (?!(?:other|tests?|existing|unrelated)\b)\w+){0,2} ?(?:files?|anything|code|nothing|it)\b"
    r"(?=\W{0,3}$|[ \t]?[^\w \t]|\s+(?:yet|now|please|at all|for now|here|and|or|just|only|while|during"
    r"|in (?:the|this|my) (?:project|repo\w*))\b)"
    r"|\b(?:no|(?:do not|don't|without) mak(?:e|ing) any) (?:changes|edits)\b"
    r"(?! (?:to|in|of|outside|beyond|elsewhere)\b)"
    r"|\bleave (?:all |the |my |every){0,2}(?:files?|code|everything)(?: exactly)? as (?:they are|it is|is)"
    r"(?=\W{0,3}$|[,;.]| and (?:just |only )?(?:tell|explain|show|answer|list|describe|suggest|report|review)\b)"
    r"|^read[- ]only\s{0,2}[:,.]"
)
"""What is behind the thing may limit the ban to some of it: the code style, files in vendor, anything else."""
_BAN_WORDS = (
    *("do not", "don't", "without", "never", "no changes", "no edits", "leave", "read-only", "read only"),
    *("変更", "修正", "編集", "変え", "いじ", "触", "さわ", "書き換え", "直さな", "だけ"),
)
"""Every match of _BAN, _HANDS_OFF_JA or _LEFT_JA contains one of these."""
_HANDS_OFF = (
    rf"(?i){_BAN}|\b(?:only|just) (?:explain|answer|tell|show|(?:the |a )?plan)\b"
    r"|(?:^|[.;:!?(,-]\s{0,3}|\b(?:stay|remain|strictly|keep it|this is|treat \w{1,9} as) )read[- ]only\b(?! [a-z])"
)
"""Matches what forbids every change. One that forbids some of them limits an order: don't change anything else."""
_HANDS_OFF_JA = (
    r"(?:[何に]も|(?<![のはをも外])|(?<![他外のト])(?:コード|ファイル)[のはを])"
    r"(?:変更|修正|編集)(?:は)?(?:せず(?!に使)|しない|するな(?=[。、！]|$)|なしで)"
)
_LEFT_JA = (
    r"(?:何も|(?<![一-龠ァ-ヶー\w])(?:コード|ファイル)(?:は|を|に|には))(?:一切|絶対に)?"
    r"(?:変え|書き換え|いじら?|触[られ]?|さわら?)(?:ない(?=で|こと|よう|[。、]|$)|ず(?=に|[。、]|$)|るな(?=[。、！]|$))"
    r"|(?:直さ|変更し|修正し|変え)なくて(?:も)?(?:いい|良い|よい|構|大丈夫|結構)|(?:読む|見る|読み取り)だけ(?:で|に)(?!な|は)"
)
"""Matches what forbids every change in other words: only beside what asks for words."""
_NO_WORDS = r"(?i)(?:(?:please|now|and)[,:]?\s+)*(?:do|give (?!(?:me|us|an?|your)\b))\b[^?]*$"
"""Matches what `_ABOUT` takes for a question or an order of words: do the second item, give each a docstring."""
_ONLY_WORDS = (
    r"(?i)(?:(?:please|only|just)[,:]?\s+){0,2}(?:tell|explain|show|answer|list|describe|give|suggest)\b"
    r"|.{0,40}\bonly ideas\b"
)
_WORDS_JA = (
    "レビュー|調べ|調査|確認|確かめ|チェック|見て|読んで|探|挙げ|教え|説明|要約|まとめ|分析|評価|検討|提案|指摘|考え"
    "|答え|案|方法|実行|比較|計画|列挙|洗い出|診断|解説"
)
"""Matches what is asked for in a request that changes nothing."""


def forbids_change(request: str) -> bool:
    """Return whether it says that nothing is to be changed, and orders no change and no file, but words or a run: with
    an order in other words, as to speed something up, it limits what is done for that."""
    request = ends_of(request)
    if not has_any(request, _BAN_WORDS):
        return False
    is_ban = re.search(rf"(?i){_BAN}", request) or search_ja(rf"{_HANDS_OFF_JA}|{_LEFT_JA}", request, re.MULTILINE)
    if not is_ban or _orders_change(request) or saves_file(request):
        return False
    said = sentences_in(request)
    alone = rf"(?i)(?:please )?(?:{_BAN})|(?:まだ|今は|ただし、?)?(?:{_HANDS_OFF_JA}|{_LEFT_JA})[^、。]{{0,8}}。?$"
    is_alone = all(re.match(alone, one) for one in said)
    return is_alone or any(
        (re.match(_ABOUT, one) and not re.match(_NO_WORDS, one))
        or one.endswith(("?", "？"))
        or re.search(_WORDS_JA, one)
        or re.match(_ONLY_WORDS, one)
        for one in said
    )


_LEFT_WORDS = (
    *(*_BAN_WORDS, "leave", "leaving", "keep", "untouched", "unchanged", "alone", "not be", "itself", " not "),
    *("触", "さわ", "いじ", "変え", "書き換え", "手を", "そのまま"),
)


_PLACES = (".", "/", "folder", "directory", "フォルダ", "ディレクトリ")


def banned_files(request: str) -> list[str]:
    """Return the files, and the folders with their `/`, that it orders to leave as they are."""
    if not has_any(ends_of(request), _LEFT_WORDS) or not has_any(request, _PLACES):
        return []
    from localllm.agent.phrases import banned_files as files  # few requests name one

    return files.banned_files(request)


# Edits of code or files, not of a text in the answer.

_EDITS = frozenset(
    "fix repair correct change edit modify update rename refactor replace implement remove delete migrate port split"
    " merge simplify extract extend adapt adjust move reorder swap apply bump upgrade up inline insert patch resolve"
    " add set handle undo document annotate reformat type-hint".split()
)
"""The last words of orders to edit what there is; what is to be written, translated or made may be only a text."""
_OF_CODE = (
    r"(?i)^[^\w-]{0,9}(?:(?!(?:for|about|of|from|in|on|to|with|that|which|names?)\b)[\w-]{1,40} ){0,4}?"
    r"(?:tests?|functions?|methods?|class(?:es)?|modules?|docstrings?|endpoints?|readme|type hints?|fixtures?"
    r"|migrations?)\b"
)
_EDIT_NOUN = (
    r"(?i)^\W*(?:me|us|on|forward|along)\b|^\W*(?:summary|summaries|suggestions?|ideas?|lists?|logs?|plans?|history"
    r"|proposals?|options?|review|report|status|notes?|requests?|impact|candidates)\b"
)
_OUT_OF_CODE = (
    r"(?i)\b(?:in)?to\b|\b(?:functions?|methods?|class(?:es)?|helpers?|modules?|constants?|variables?|components?"
    r"|interfaces?|types?|hooks?|mixins?|logic|code|duplicat\w+)\b(?! (?:names?|calls?|definitions?)\b)"
)
"""What is extracted of a file without these is data for the answer, such as the dates in it."""
_TO_RECKON = r"(?i)^\W*(?:up|together)\b(?! to\b)"
"""Matches what follows "add" where it means a sum."""
_EDIT_JA = (
    r"(?:直し|治し|修正し|変更し|変え|追加し|書き換え|書き直し|実装し|リネームし|改名し|置き換え|置換し|削除し|消し"
    r"|更新し|移動し|対応し|改善し|整理し|分割し|統合し|移行し|リファクタリングし|対応させ|つけ|付け|入れ)"
    rf"(?:{_GIVEN_JA})|(?:修正|変更|追加|実装|改名|置換|削除|更新|対応)(?:を(?:お願い|頼)|お願い|せよ|すること)"
    r"|(?:テスト|関数|メソッド|クラス|README)[^。\n]{0,12}(?:書い|作っ|作成し|実装し)て"
)


_FILE = r"(?a:[\w./-]{0,99}\w\.[a-z]\w{0,7}|(?:Docker|Make)file)(?![\w.])"


def orders_edit(request: str) -> bool:
    """Return whether it orders an edit of code or files, in words that hardly mean a text of the answer."""
    return asks_for_change(request) and any(map(_orders_edit, sentences_in(wishes_in(request))))


def _orders_edit(said: str) -> bool:
    if search_ja(f"{_EDIT_JA}|{_EDITED_JA}", said) or (search_ja(_MADE_JA, said) and re.search(_FILE, said)):
        return not re.search(_TEXT_JA, said)
    if re.match(rf"(?i)[`'\"]?{_FILE}[`'\"]? (?:should|must|needs? to) (?:not |never |also |now )?[a-z]", said):
        return not said.endswith("?")
    if re.search(_ASKED_LAST, said):
        return True
    found = re.match(_ASKED, said) or re.match(_ORDERED, said) or _asked_later(said)
    if not found or said.endswith("?") or asks_how(said):
        return False
    verb, rest = re.split(r"[\s,]+", found[0].strip().lower())[-1], said[found.end() :]
    if (verb == "extract" and not re.search(_OUT_OF_CODE, rest)) or (verb == "add" and re.match(_TO_RECKON, rest)):
        return False
    if verb in _EDITS or not re.match(_ASKED, said):
        return not re.search(_EDIT_NOUN, rest)
    if verb == "make" and re.match(rf"(?i) ?(?:the )?[`'\"]?{_FILE}[`'\"]? [a-z]", rest):
        return True
    return bool(re.search(_OF_CODE, rest))


# Commits.

_A_COMMIT = (
    r"(?:(?:git )?commit\b(?!s\b| (?:messages?|hash(?:es)?|logs?|history|hooks?|ids?|counts?|titles?|authors?|graphs?"
    r"|styles?|conventions?|ranges?|templates?|dates?|[0-9a-f]{7,40})(?![0-9A-Za-z_])|[-_./]\w"
    r"|\s*[^\x00-\x7f])"
    r"|(?:make|create|do) (?:an?|the|one|two|three|separate|\d) (?:[\w-]+ ){0,2}commits?\b"
    r"(?! (?:message|hook|script|template|log|title)))"
)
_COMMIT = (
    r"(?i)^(?:(?:please|now|then|and|also|next|first|ok(?:ay)?|so|finally|could you|can you|would you|will you"
    r"|you should|you must|i (?:want|need|would like|'d like) you to|i'd like you to|let's|go ahead and|just|run)"
    rf"[,:]?\s+)*{_A_COMMIT}"
)
_COMMIT_LATER = (
    rf"(?i)(?:[,;:]| and| then)\s+(?:please |then |also |finally |and ){{0,2}}{_A_COMMIT}(?! (?:or|and|do|is|are)\b)"
)
_COMMIT_JA = (
    r"(?:コミット|[Cc]ommit) ?(?:も|まで|を|して)?(?:し)?"
    r"(?:て(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け|おい|、|[。！!\s]*$)"
    r"|お願い|せよ|すること|し、)"
)
_NO_COMMIT = (
    r"(?i)\b(?:do not|don't|never|without|no need to|not|no) (?:\w+ ){0,3}commit"
    r"|(?:コミット|commit) ?(?:は|を|も)?(?:まだ|勝手に|絶対に)?(?:しない|せず|不要|しなくて|禁止|なし|いら|要ら)"
)


def asks_for_commit(request: str) -> bool:
    """Return whether it orders a commit."""
    if not has_any(request, ("commit", "コミット")) or re.search(_NO_COMMIT, ends_of(request)):
        return False
    return any(map(_orders_commit, sentences_in(request)))


def _orders_commit(said: str) -> bool:
    """Return whether a sentence that does not forbid commits orders one."""
    return bool(
        re.search(_COMMIT, said)
        or (re.search(_COMMIT_LATER, said) and not asks_how(said) and not said.endswith("?"))
        or search_ja(_COMMIT_JA, said)
    )


def forbids_commit(request: str) -> bool:
    """Return whether it orders that nothing be committed."""
    if not has_any(request, ("commit", "コミット")):
        return False
    from localllm.agent.phrases import banned_actions as banned  # few requests are about commits

    return banned.forbids_commit(request, _orders_commit)


_NOT_WORDS = (
    "not",
    "don't",
    "never",
    "without",
    "ない",
    "ず",
    "なし",
    "ません",
    "禁止",
    "不可",
    "ては",
    "るな",
    "すな",
)
_RUN_WORDS = ("run", "execut", "start", "launch", "実行", "起動", "動か", "走ら", "ドライ")


def banned_runs(request: str) -> tuple[list[str], list[str]]:
    """Return the files that it orders not to run, and those to run only as a dry run."""
    if not has_any(ends_of(request), _RUN_WORDS) or ("." not in request and "/" not in request):
        return [], []
    if not has_any(ends_of(request), (*_NOT_WORDS, "dry", "ドライ")):
        return [], []
    from localllm.agent.phrases import banned_actions as banned  # few requests forbid a run

    return banned.banned_runs(request), banned.only_dry_runs(request)


# Questions, and texts for the answer.

_CONTENT = (
    r"(?i)\b(?:summar\w*|explain\w*|describ\w*|review\w*|outlin\w*|analy[sz]e\w*|overview|walk me through|tell me about"
    r"|what (?:is|are|does|do)\b|how (?:does|do|is|are)\b(?! (?:i|we|you|one)\b)"
    r"|find (?:\w+ ){0,2}(?:bugs?|errors?|problems?)"
    r"|(?:any|are there) (?:bugs?|errors?|problems?))"
    r"|要約|まとめ|説明|解説|レビュー|概要|分析|教えて|何をす|何をして|どう(?:動|なって|やって)"
)
_TEXT = (
    r"(?i)\b(?:message|changelog|notes?|e?mail|letter|post|text|sentence|story|poem|paragraph|reply|translat\w+|say"
    r"|examples?|summar\w+)\b|文|メール|メッセージ|翻訳|訳し|例|要約|まとめ|か[。？?]?$"
)
_COMMAND_WANTED = (
    r"(?i)\b(?:how|commands?|shell|bash|terminal|script|one-liner|run)\b|コマンド|方法|やり方|手順|どう(?:や|す|し)"
    r"|ワンライナー|スクリプト|シェル"
)


def asks_about_content(request: str) -> bool:
    """Return whether it asks what stands in a text: for a summary, an explanation, a review, a line or a number of a
    file."""
    text = ends_of(request)
    if "```" in text or re.search(_CONTENT, text):
        return "```" not in text
    from localllm.agent.phrases.file_questions import (
        is_about_file,  # most requests name no file, or ask for an explanation
    )

    return any(map(is_about_file, sentences_in(text)))


def asks_for_words(request: str) -> bool:
    """Return whether it asks a question, or for a text that is no file."""
    text = ends_of(request)
    is_question = any(re.match(_ABOUT, one) or one.endswith(("?", "？")) for one in sentences_in(text))
    return is_question or "```" in text or wants_words_ja(text) or bool(re.search(_TEXT, text))


def may_order_change(request: str) -> bool:
    """Return whether it may be an order for a change in words that are not known: no question, nor one for words."""
    return not (asks_for_change(request) or asks_for_words(request) or search_ja(_WORDS_JA, ends_of(request)))


def asks_for_command(request: str) -> bool:
    """Return whether it may ask for a command, or how something is done."""
    return bool(re.search(_COMMAND_WANTED, ends_of(request)))


def may_order_keeping(request: str) -> bool:
    """Return whether it has a word of an order to remember something, or to note it as to be done."""
    return has_any(
        request,
        ("remember", "memori", "覚えて", "記憶して", "忘れないで", "todo", "to-do", "task", "タスク", "やること"),
    )
