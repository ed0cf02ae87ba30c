"""Recognise the files and addresses that a text names only to forbid them, in English and Japanese.

What is typed opens what it names: an address is read, @path attached. What is named in a prohibition opens nothing, so
these patterns match more than those of orders: where they err, the user is asked.
"""

import re
from collections.abc import Iterator

import msgspec

from localllm.base.lazy_patterns import late_pattern

_NAME = late_pattern(
    r"[`\"'「『<(]{0,2}(?P<name>https?://[!-;=?-~]{1,2000}(?<![.,;:!?)\]}\"'`])"
    r"|[@＠](?:\"[^\"\n]{1,300}\"|[!-~]{1,300}(?<![.,;:!?)\]}\"'`])|\w{1,300}?(?=[をはがにのとでもへや\s]|$))"
    r"|(?<![A-Za-z0-9_.@:/-])(?:[~/.]{0,3}/)?(?:[A-Za-z0-9_.+-]{1,100}/){0,9}"
    r"(?:(?:[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,99})?\.[A-Za-z][A-Za-z0-9_-]{0,40}(?::[0-9]{1,5})?"
    r"(?:/[!-~]{0,2000}(?<![.,;:!?)\]}\"'`]))?"
    r"|(?:Make|Docker|Gem|Rake|Proc)file(?![A-Za-z0-9_])"
    r"|(?<=/)[A-Za-z0-9_.+-]{0,100}))[`\"'」』>)]{0,2}"
)
_S = "\ufffc"
"""Stands for a name."""
_MORE = rf"(?:,? ?(?:or|and|nor|&) (?:the |my )?|, ?(?:the |my )?|[、・]| ?[とや] ?|及び|および){_S}"
_NAMES = rf"(?P<names>{_S}(?:{_MORE}){{0,30}})"
_CHANGES = r"(?:touch|chang|edit|modif|alter|rewrit|overwrit|writ|updat|delet|remov|renam|mov|creat|add|append)"
_READS = (
    r"(?:touch|read|re-?read|open|load|look|peek|visit|fetch|download|access|brows|go|click|follow|request|contact|call"
    r"|query|get|use|sen[dt]|post|put|hit|reach|curl|wget|upload|submit|show|print|attach|includ|cat|connect|crawl|scrap|search|check|consult|view"
    r"|trust|cite|see|ping|try)"
)
_VERB = rf"(?:{_CHANGES}|{_READS})(?:e|s|es|ed|ies|y|ing|ying|ting|ning)?"
_FILL = (
    r"(?:(?:ever,?|under any circumstances|in any case|at any time|in any way|even|also|please|try(?:ing)? to|to"
    r"|want you to|like you to|actually|dare(?: to)?|again|be|need to|have to|go and|attempt(?:ing)? to|you) ){0,3}"
)
_NOT = (
    r"(?<!why )(?<!they )(?<!\bwe )(?<!\bit )(?<!which )(?<!that )(?<!who )"
    r"(?:(?<!\bi )|(?=\S{1,5} (?:not )?(?:want|need) you))"
    r"\b(?:(?:do not|don't)(?: you dare)?(?: let any\w{3,5})?|dont|under no circumstances(?: should you)?"
    r"|(?:nobody|no one|nothing|none) (?:should|must|may|is to|shall)"
    r"|forbidden to|never|must not|mustn't"
    r"|should not|shouldn't|may not|not allowed to|not supposed to|without|avoid|refrain from|stop|instead of"
    r"|rather than|no need to|not to|no) "
)
_STOP = (
    r"(?:but|except|besides|other|else|rest|unless|until|if|when|while|because|so|before|after|then|only|than"
    r"|and|or|nor"
    r"|outside|beyond|without|as|since|where|whether|how|just)"
)
_LISTED = rf"(?:,|,? (?:and|or|nor))(?= (?:the |my )?{_S}(?:\W{{0,3}}$|[,.;:!)]| (?:and|or)\b))"
_OBJECT = rf"(?:(?:{_LISTED})? (?!{_STOP}\b)[\w'’-]{{1,30}}){{0,8}}(?:{_LISTED})?:? ?"
_ORDERS = rf"(?P<verbs>{_VERB}(?:(?: ?/ ?|,? (?:or|and|nor) |, ){_FILL}{_VERB}){{0,4}})\b"
_FORBIDS = (
    late_pattern(rf"{_NOT}{_FILL}{_ORDERS}{_OBJECT}{_NAMES}", re.IGNORECASE),
    late_pattern(
        rf"\b(?:leave|leaving|keep|keeping)(?: (?!{_STOP}\b)[\w'-]{{1,30}}){{0,4}} ?{_NAMES}(?: [\w'-]{{1,30}}){{0,3}}?"
        r" (?:alone|untouched|unchanged|unmodified|unopened|unread|closed|out|be|private|secret|as (?:it|they"
        r"|is|was))\b",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"{_NAMES}(?: (?!{_STOP}\b)[\w'-]{{1,30}}){{0,2}}? (?:(?:must|should|may|has to|have to|needs? to"
        r"|(?:is|are) to) (?:stay|remain|be left|be kept)\b|(?:(?:must|should|may|is to|are to)(?: not| never|n't)"
        r"|(?:is|are)(?: not| never|n't) to) (?:be|get|change)\b|off[ -]limits|hands off"
        r"|(?:is |are )?(?:forbidden|banned|prohibited|taboo)\b)",
        re.IGNORECASE,
    ),
    late_pattern(
        rf"\b(?:hands off|ignore|ignoring|skip|skipping|exclude|excluding|avoid|avoiding|block|stay away from"
        rf"|nothing (?:in|to|from)|keep (?:away|out|off|clear)(?: (?:of|from))?|(?:and|but) not(?: (?:in|to|on"
        rf"|from))?) (?:the |my )?{_NAMES}"
        rf"|, not (?:the |my )?{_NAMES.replace('names', 'others')}",
        re.IGNORECASE,
    ),
    late_pattern(rf"{_NAMES}\W{{1,4}}{_NOT}{_FILL}{_ORDERS}(?=\W{{0,3}}$)", re.IGNORECASE),
)
_NOT_JA = (
    r"(?:(?<![てで])(?<![てで]い)ない(?=で|こと|よう|まま|[。、！）」!\s]|$)|(?<![てで])(?<![てで]い)ず(?=に|[、。!！\s]|$)"
    r"|ません(?=よう)|ては(?=いけ|なら|だめ|ダメ|駄目)|[るむくすぐうつ]な(?=[。、！）」!\s]|$)|禁止|厳禁|不可|なし(?=で|[、。\s]|$))"
)
_DOES_JA = (
    r"(?:触|さわ|読|開|ひら|変|編集|修正|更新|書|いじ|消|削除|アクセス|見|使|取得|送|参照|閲覧|ダウンロード|訪|添付|手を|クリック|つな|接続"
    r"|追加|移動|実行|のぞ|覗|行|飛|踏)"
)
_CHANGES_JA = late_pattern(r"変|編集|修正|更新|書|いじ|消|削除|追加|移動|実行")
_FORBIDS_JA = late_pattern(
    rf"{_NAMES}(?! ?以外)(?P<verbs>[^。！？!?\n、{_S}]{{0,12}}(?:は|を|に|も|へ|から|には|へは|からは|、)?[、 ]?"
    rf"[^。！？!?\n、{_S}]{{0,10}}?{_DOES_JA}(?:(?!ない)[^。！？!?\n、{_S}]){{0,8}}?{_NOT_JA}"
    rf"|[^。！？!?\n、{_S}]{{0,8}}そのまま(?:に(?!コピー)|で|残|[。、]|$))"
)
_FAILS_JA = late_pattern(
    r"(?:(?:でき|読め|込め|取れ|開け|使え|書け|消せ|見られ|見れ|見え|され|行け|送れ|見つから)ない(?![でこよま])"
    r"|(?:でき|読め|込め|取れ|使え|見られ|され|見つから)ず"
    r"|^ ?が ?(?:開[かけ]|見つから|つながら|接続でき)(?:ない(?![でこよま])|ず)).?\Z",
    re.DOTALL,
)
"""Matches what cannot be done, or does not happen: no prohibition, but for what comes of it (読めないように)."""
_EXCEPT = (
    late_pattern(
        rf"\b(?:except(?: for)?|excluding|other than|apart from|but not) (?:the |my )?{_NAMES}", re.IGNORECASE
    ),
    late_pattern(rf"{_NAMES} ?以外"),
)
_NEGATES = late_pattern(rf"{_NOT}|\b(?:only|nothing|no)\b|n't\b|ない|ず(?:に|、)|禁止|だけ|な[。！]", re.IGNORECASE)
_IT = late_pattern(
    rf"{_NOT}{_FILL}{_ORDERS}(?: (?:at|in|into|on|to|from))? (?:it|them"
    r"|(?:the|this|that|these|those)(?: (?:link|page|site|host|server|address|url|file)(?:es|s)?)?)"
    rf"(?=[^\w{_S}]{{0,3}}$|[,.;!)]| (?:and|or|because|at all|yet|please|under)\b)"
    rf"|^\W*(?:(?:please|but),? )?{_NOT}{_FILL}{_ORDERS.replace('verbs', 'alone')}(?=[^\w{_S}]{{0,3}}$)"
    rf"|(?:^|[、。]|(?:それ|これ|そこ|ここ|リンク先?)(?:に|へ)?(?:は|を|も|に|へ)){_DOES_JA}(?:(?!ない)[^。！？!?\n、]){{0,8}}?{_NOT_JA}",
    re.IGNORECASE,
)
"""Matches a prohibition of what was named before it."""
_IS_READING = late_pattern(rf"(?:^|\W){_READS}(?:s|es|e|ed|y|ing|ting)?(?!\w)", re.IGNORECASE)
_SENTENCE = late_pattern(r"[^\n]{1,2000}?(?:[.!?…;]{1,3}(?=\s|$)|[。！？]|(?=\n)|$)|[^\n]{1,2000}|\n", re.ASCII)
_BEGINS_LIST = late_pattern(rf"{_NOT}{_FILL}{_ORDERS}[^.!?\n]{{0,80}}:\s*$", re.IGNORECASE)
_ITEM = late_pattern(rf"\s*+(?:(?:[-*•・]|\d{{1,2}}[.)])\s*+)?{_S}")
_MAY_FORBID = late_pattern(
    r"\b(?:not|no|never|dont|nothing|nobody|without|avoid|only|cannot|stop|rather|instead)\b|n't\b"
    r"|ない|ません|ず|禁止|不可|だけ|な[。！]",
    re.IGNORECASE,
)
_SITE = late_pattern(r"https?://([\w.:@-]{1,300}+)/?", re.ASCII | re.IGNORECASE)
_LONGEST = 8_000
"""Characters of a text in which prohibitions are looked for, at its beginning."""


class Forbidden(msgspec.Struct, frozen=True):
    """A name in a prohibition: where it stands, and whether reading it is forbidden, too."""

    name: str
    start: int
    end: int
    reading: bool


def forbidden_names(text: str) -> list[Forbidden]:
    """Return the names that the text forbids to read, to open or to change, in order."""
    head = text[:_LONGEST].replace("’", "'").replace(_S, " ")  # which stands for a picture in copied text
    named = list(_NAME.finditer(head))
    if not named:
        return []
    found: dict[int, bool] = {}
    for first, reading in _found(_NAME.sub(_S, head)):
        found[first] = reading or found.get(first, False)
    return [Forbidden(named[at]["name"], *named[at].span("name"), reading) for at, reading in sorted(found.items())]


def without_forbidden(text: str, *, reading: bool = False) -> str:
    """Return the text without the names that it forbids; `reading`: only those that it forbids to read."""
    for one in reversed(forbidden_names(text)):
        if one.reading or not (reading or "://" in one.name):
            text = f"{text[: one.start]}…{text[one.end :]}"
    return text


def without_schemes(text: str) -> str:
    """Return the text with its addresses as those of a page alone, if anything is forbidden in it."""
    return _SITE.sub(r"\1/", text) if _MAY_FORBID.search(text) else text


def forbidden_addresses(text: str) -> list[str]:
    """Return the words that may be addresses, and that the text forbids to read."""
    return [one.name for one in forbidden_names(text) if one.reading and one.name[0] not in "@＠"]


def _found(text: str) -> Iterator[tuple[int, bool]]:
    """Yield the number of each name that is forbidden, and whether reading it is."""
    before, at, is_list = range(0), 0, None
    for sentence in _SENTENCE.finditer(text):
        said = sentence[0]
        if not said.strip():
            continue
        here = range(at, at + said.count(_S))
        at = here.stop
        if is_list is not None and _ITEM.match(said):
            yield from ((one, is_list) for one in here)
            continue
        is_list = None
        if begins := _BEGINS_LIST.search(said):
            is_list = _reads(begins["verbs"])
        patterns = _FORBIDS if said.isascii() or not _JA.search(said) else (*_FORBIDS, _FORBIDS_JA)
        for pattern in patterns:
            for match in pattern.finditer(said):
                if match[0][:7].lower() == "without" and _NEGATES.search(said[: match.start()]):
                    continue  # Do not finish without updating AGENTS.md
                if pattern is _FORBIDS_JA and _FAILS_JA.search(said[match.start("verbs") : match.end() + 1]):
                    continue
                yield from _numbers(match, said, here.start)
        for match in (match for pattern in _EXCEPT for match in pattern.finditer(said)):
            if not _NEGATES.search(said.replace(match[0], "")):
                yield from _numbers(match, said, here.start)
        for match in _IT.finditer(said):
            count = said.count(_S, 0, match.start())
            reading = _reads(match["verbs"] or match["alone"])
            earlier = range(here.start, here.start + count) or (before if reading else range(0))
            yield from ((one, reading) for one in earlier)
        before = here or before


def _numbers(match: re.Match[str], said: str, first: int) -> Iterator[tuple[int, bool]]:
    groups = match.groupdict()
    name, verbs = "names" if groups["names"] else "others", groups.get("verbs")
    number = first + said.count(_S, 0, match.start(name))
    for one in range(number, number + match[name].count(_S)):
        yield one, verbs is None or _reads(verbs)


_JA = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _reads(verbs: str | None) -> bool:
    """Return whether one of the verbs of a prohibition forbids reading."""
    if verbs is None or _JA.search(verbs):
        return verbs is None or not _CHANGES_JA.search(verbs)
    return bool(_IS_READING.search(verbs))
