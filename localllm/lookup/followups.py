"""Questions that point back: "and who calls it?", 「そのクラスは何をする？」"""

import re

import msgspec

from localllm.lookup.conversation import Talk
from localllm.lookup.entities import name_in, path_in, quoted_in
from localllm.lookup.terms import terms_of

_POINTS_BACK = re.compile(
    r"\b(?:it|its|that|this|they|them|these|those)\b(?! (?:project|repo|repository|codebase|code base|package|app|"
    r"application|program|tool|library|folder|directory|file\b.*\.\w))|"
    r"(?:それ|これ|あれ|その|この|そこ|ここ)(?!の?(?:プロジェクト|リポジトリ|フォルダ|アプリ))",
    re.IGNORECASE,
)
_CATEGORY = r"(?:\s?(?:class|function|method|file|module|constant|クラス|関数|メソッド|ファイル|モジュール|定数|設定))?"
_WITH_CATEGORY = re.compile(_POINTS_BACK.pattern + _CATEGORY, re.IGNORECASE)
_FILE = re.compile(r"\b(?:that|this|the same) file\b|(?:その|この)ファイル", re.IGNORECASE)
_NAME = re.compile(r"`([A-Za-z_$][\w$.]*)`")
_PLACE = re.compile(r"((?:[\w.@+-]+/)*[\w.@+-]+\.\w+):(\d+)")


def resolved(talk: Talk) -> Talk:
    """The talk, its question with the name of what the last answer was about where it only points there.

    A file that came with the question is what "this" is about, where no other is named.
    """
    text = talk.question
    if path_in(text) or name_in(text) or any(len(quoted) > 2 for quoted in quoted_in(text)):
        return talk
    match = _POINTS_BACK.search(text)
    if match and any(not term.soft for term in terms_of(_WITH_CATEGORY.sub(" ", text))):
        return talk  # it is about something else: "what licence is it under?"
    if match and (subject := _subject(talk, text)):
        return msgspec.structs.replace(talk, question=_WITH_CATEGORY.sub(f"`{subject}`", text, count=1))
    return talk


def _subject(talk: Talk, text: str) -> str:
    if talk.attached:
        return talk.attached[0].path
    if _FILE.search(text):
        place = _PLACE.search(talk.earlier)
        return place[1] if place else ""
    name = _NAME.search(talk.earlier)
    if name:
        return name[1]
    place = _PLACE.search(talk.earlier)
    return place[1] if place else ""
