"""Find the places that an answer claims to have changed, or a request orders to, other than by "changed FILE": a second
place of a change ("added to a.c and declared in a.h"), documents without an ending ("the README"), items of a list."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from localllm.agent.phrases.claimed_files import file_names, paths_in
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.agent.phrases.request_phrases import asks_for_change
from localllm.base.lazy_patterns import late_pattern

_DONE = (
    r"(?:added|implemented|declared|defined|documented|exported|exposed|registered|described|mentioned|listed|inserted"
    r"|put|wired|noted)"
)
_HAS_DONE = late_pattern(rf"\b{_DONE}\b", re.IGNORECASE)
_FURTHER = late_pattern(
    rf"(?:^|[,;] |\band )(?:(?:i|we|also|then|have|has|is|was|are|were|been|it|and) ){{0,4}}{_DONE}\b"
    r"(?: (?!(?:to|in|into|through|from)\b)[^\s,;]{1,40}){0,6}? (?:to|in|into|through|from) (?:the )?(?:file )?$",
    re.IGNORECASE,
)
"""Matches what leads to the place of a deed of its own: … and declared in ring.h."""
_WITH_IT = late_pattern(
    r"(?:,(?: and)?| and) (?:also )?(?:its|an?|the|two|three|\d) (?:(?!(?:to|in|into|that|which)\b)[^\s,;]{1,30} ){1,4}"
    r"(?:to|in|into) (?:the )?$",
    re.IGNORECASE,
)
"""Matches what leads to the place of a second thing that was added: …, its declaration to ring.h."""
_HAS_NOW = late_pattern(
    r"(?:,? and)? (?:now (?:has|holds|declares|exports) (?:the|an?|its)\b"
    r"|(?:has|holds) (?:the|an?|its) (?:[^\s,;]{1,30} ){1,4}(?:now|too|as well)\b)",
    re.IGNORECASE,
)
_PUT_JA = late_pattern(
    r"[`」*]{0,3} ?[にへ](?:も|は|それぞれ)?(?!従|基づ|合わせ|ある|沿|倣|なら|関|対|よ[りっ]|つい|記載|定義され|あった)"
    r"[^。、\n]{1,40}?を[^。、をに\n]{0,6}?(?:追加|実装|宣言|定義|記述|記載|追記|用意|作成)"
    r"(?:し(?:まし|、|てあり|ており|ています)|済)"
)
_OPEN = late_pattern(
    r"\b(?:if|when|once|until|unless|should|would|will|could|can|may|must|might|not|cannot|never|neither|nor|no|none"
    r"|without|failed|instead|example|e\.g|before|earlier|already|previously|still|only|need\w*|unchanged|left|want)\b"
    r"|n't\b|\?$|場合|れば|たら|なら|ません|ない|なかった|ください|下さい|失敗|以前|すでに|既に|例えば|まだ|不要|未|か[。？]?$",
    re.IGNORECASE,
)
"""Matches a sentence that may tell of something as not done by this run."""
_IDENTIFIER = late_pattern(r"`([^`\n]{2,60})`|\b([A-Za-z]\w{0,40}_\w{1,40}|[a-z]{2,20}[A-Z]\w{1,30})\b")

_README, _CHANGES = r"\bREADME\b(?!\.\w|/|_)", r"(?:\bchange ?log\b(?!\.\w|/|_)|変更履歴)"
_BUILD = r"(?:\b(?:Makefile|Dockerfile)\b(?![.\w/]))"
_DOCS = r"(?:\b(?:documentation|docs)\b(?!/|\.\w| (?:of|for|string|comment)|strings?)|ドキュメント)"
_DOCUMENT = rf"[`*\"「]{{0,3}}(?P<doc>{_README}|{_CHANGES}|{_BUILD}|{_DOCS})(?: file)?[`*\"」]{{0,3}}"
_CHANGED = r"(?:updated|adjusted|extended|edited|revised|changed|rewrote|rewritten|amended|expanded)"
_ARTICLE = r"(?:(?:the|my|your|our|also|both|project's|existing) ){0,3}"
_CLAIMED = late_pattern(
    rf"\b{_CHANGED} {_ARTICLE}{_DOCUMENT}"
    rf"|\b(?:added|documented|described|mentioned|noted)\b (?:[^\s,;.]{{1,40}} ){{0,8}}?(?:to|in|into) {_ARTICLE}"
    + _DOCUMENT.replace("<doc>", "<doc2>")
    + "|"
    + _DOCUMENT.replace("<doc>", "<doc3>")
    + rf"(?: and [^\s,]{{1,40}}| too| as well)? (?:has|have|is|was|were|are) (?:now |also |both )?"
    rf"(?:been )?(?:also )?{_CHANGED}\b"
    + "|"
    + _DOCUMENT.replace("<doc>", "<doc4>")
    + r" ?(?:も|を|の[^。、\n]{1,20}?を|に(?:も)?[^。、\n]{0,20}?) ?[^。、\n]{0,6}?"
    r"(?:更新|修正|変更|追記|加筆|記載|反映|追加|書き換え|直)し?(?:まし|、|てあり|ており|ています|済)",
    re.IGNORECASE,
)
_BEGINS = r"(?:^|[,;:] |\b(?:and|then|please|also|to|\d[.)]) )"
_ORDERED = late_pattern(
    rf"{_BEGINS}(?:also )?(?:update|adjust|extend|edit|revise|amend|rewrite|expand) {_ARTICLE}{_DOCUMENT}"
    rf"|{_BEGINS}(?:also )?(?:document|describe|mention|note)\b (?:[^\s,;.]{{1,40}} ){{0,8}}?in {_ARTICLE}"
    + _DOCUMENT.replace("<doc>", "<doc2>")
    + "|"
    + _DOCUMENT.replace("<doc>", "<doc3>")
    + r" ?(?:も|を|に(?:も)?[^。、\n]{0,20}?) ?(?:更新|修正|追記|加筆|記載|反映)"
    r"(?:し(?:て(?![あいお])|、|$)|する|を?お願|$|、| \d)",
    re.IGNORECASE,
)
_NO_ORDER = late_pattern(
    r"\b(?:if|unless|when|don't|do not|not|or|without|except|should|how|what|why)\b|\?$"
    r"|場合|なら|れば|たら|ない|必要|か[。？?]?$",
    re.IGNORECASE,
)
_ITEM = late_pattern(r"(?:^|[\s。:：、])\(?\d{1,2}(?:[.)）．](?!\d)|番目)\s*|\n\s*[-*・]\s+")
_ONLY_READS = late_pattern(
    r"\b(?:read|check|look|run|review|compare|explain|tell|list|show|see|find|delete|remove|like|as in|from|use)\b"
    r"|読|確認|実行|見て|比較|説明|教え|調べ|一覧|削除|消|参考|から|同じ|ように|使",
    re.IGNORECASE,
)

_PAPER = r"(?:設計|仕様|手順|説明)書"
_PAPER_CLAIMED = late_pattern(
    rf"{_PAPER}[もを] ?(?:更新|修正|変更|加筆|追記|書き換え|直)し?(?:まし|、|てあり|ており|ています|済)"
)
_PAPER_ORDERED = late_pattern(
    rf"{_PAPER}も ?(?:更新|修正|変更|加筆|追記|書き換え|直)し?て(?:$|[。、！!]|くだ|下|ほし|欲し)"
)
"""Match a paper that is changed itself: most others are consulted (設計書に従って修正して)."""
_MIGRATED = late_pattern(
    r"マイグレーション(?:ファイル)?(?:も|を) ?(?:作成し|生成し|追加し|作り)(?:まし|、|てあり|ており|ています)"
    r"|\b(?:created|added|generated|wrote) (?:the|an?|its) (?:[\w-]{1,20} ){0,2}migration\b"
    r"(?! (?:guide|plan|path|notes?))"
    r"|\bmigration (?:is|was|has been) (?:also |now )?(?:created|added|generated|written)\b",
    re.IGNORECASE,
)
"""Matches a claim of a migration of a database that was made."""

Kind = Literal["README", "changelog", "Makefile", "Dockerfile", "documentation", "migration"]


class ClaimedPlace(msgspec.Struct, frozen=True):
    """A file in which an answer claims to have put something, and the names of the sentence that says so."""

    path: str
    names: tuple[str, ...] = ()


def further_places(answer: str) -> list[ClaimedPlace]:
    """Return the files in which an answer claims to have put something, too."""
    found: dict[str, ClaimedPlace] = {}
    for said in sentences_in(answer):
        if "." not in said or _OPEN.search(said):
            continue
        has_done, end = bool(_HAS_DONE.search(said)), 0
        for match in file_names(said):
            start, before = match.start(), said[end : match.start()]
            lead = f", {before.lstrip()}" if end and before.startswith(", ") else before
            is_put = _FURTHER.search(lead) or (end and has_done and _WITH_IT.search(lead))
            end = match.end()
            if is_put or _HAS_NOW.match(said, end) or (not said.isascii() and _PUT_JA.match(said, end)):
                names = tuple(one[1] or one[2] for one in _IDENTIFIER.finditer(said[:start] + said[end:]))
                found.setdefault(match["path"], ClaimedPlace(match["path"], names))
    return list(found.values())


def claimed_documents(answer: str) -> list[Kind]:
    """Return the kinds of documents that an answer claims to have changed, and does not name by their path."""
    has_migrated = any(_MIGRATED.search(one) and not _OPEN.search(one) for one in sentences_in(answer))
    kinds: list[Kind] = [*_kinds(answer, is_order=False), *_papers(answer, is_order=False)]
    return list(dict.fromkeys([*kinds, *(["migration"] if has_migrated else [])]))


def ordered_documents(request: str, answer: str) -> list[Kind]:
    """Return those that a request orders to be changed; not if the answer tells of one as left."""
    left = {_kind(one[0]) for said in sentences_in(answer) if _OPEN.search(said) for one in _ANY.finditer(said)}
    kinds = dict.fromkeys(_kinds(ends_of(request), is_order=True))
    papers = (
        [] if any(_OPEN.search(one) and re.search(_PAPER, one) for one in sentences_in(answer)) else _papers(request)
    )
    return list(dict.fromkeys([*(kind for kind in kinds if kind not in left), *papers]))


_ANY = late_pattern(f"{_README}|{_CHANGES}|{_BUILD}|{_DOCS}", re.IGNORECASE)


def _papers(text: str, *, is_order: bool = True) -> list[Kind]:
    pattern, no_pattern = (_PAPER_ORDERED, _NO_ORDER) if is_order else (_PAPER_CLAIMED, _OPEN)
    said = sentences_in(text) if "書" in text else ()
    return ["documentation"] if any(pattern.search(one) and not no_pattern.search(one) for one in said) else []


def _kinds(text: str, *, is_order: bool) -> Iterator[Kind]:
    pattern, no_pattern = (_ORDERED, _NO_ORDER) if is_order else (_CLAIMED, _OPEN)
    for said in sentences_in(text):
        if _ANY.search(said) and not no_pattern.search(said):
            for match in pattern.finditer(said):
                yield _kind(next(filter(None, match.groups())))


def _kind(name: str) -> Kind:
    low = name.lower()
    if "readme" in low:
        return "README"
    if "change" in low or "変更" in low:
        return "changelog"
    return "Makefile" if "make" in low else "Dockerfile" if "docker" in low else "documentation"


def is_of_kind(path: str, kind: Kind) -> bool:
    """Return whether a file is one of those that such a word means."""
    name = path.rpartition("/")[2].lower()
    match kind:
        case "changelog":
            return name.startswith(("change", "history", "news", "release"))
        case "Makefile":
            return "makefile" in name or name.endswith(".mk")
        case "migration":
            return "migrat" in path.lower() or "versions/" in path or name.endswith(".sql")
        case "documentation":
            is_text = name.endswith(
                (".md", ".mdx", ".rst", ".txt", ".adoc", ".html", ".tex", ".org", ".1", ".docx", ".xlsx")
            )
            return is_text or "docs/" in path or "doc/" in path or name.startswith("readme")
        case _:
            return kind.lower() in name


def item_files(request: str) -> list[str]:
    """Return the files that the items of a list order to be changed or written."""
    items = _ITEM.split(ends_of(request))[1:]
    found = (
        path
        for item in (items if len(items) > 1 else ())
        if not _ONLY_READS.search(item) and not _NO_ORDER.search(item.strip())
        for path in paths_in(" ".join(_spaced(item)))[:1]
    )
    return list(dict.fromkeys(found))


def orders_work(request: str) -> bool:
    """Return whether a request orders changes, in one sentence or in a Japanese row of verbs or list."""
    return asks_for_change(request) or orders_several(request)


def orders_several(request: str) -> bool:
    """Return whether a Japanese request orders changes in a row of verbs or a list, whose end alone is a wish."""
    text = ends_of(request).strip()
    if text.isascii() or _NO_ORDER.search(text):
        return False
    return bool(_ROW_JA.search(text)) or (len(_ITEM.split(text)) > 2 and bool(_LIST_JA.search(text)))


_ROW_JA = late_pattern(
    r"(?:直し|(?:追加|更新|修正|変更|作成|削除|実装|改名)し|書き|作り|付け|加え|消し|変え)、[^。\n]{1,200}"
    r"(?:て|ください|下さい|お願いします|ほしい|欲しい)[。！!]?$"
)
_LIST_JA = late_pattern(
    r"(?:やって|対応して|進めて|お願い|(?:次|以下)の[^。、\n]{0,16}して)[^。\n]{0,12}?[:：。、\s]"
    r"|(?:直|更新|修正|追加|変更|書)[^。\n]{0,6}(?:して|ください)"
)


def _spaced(text: str) -> list[str]:
    return _ASCII.findall(text)


_ASCII = late_pattern(r"[!-~]+|[^!-~]+")
