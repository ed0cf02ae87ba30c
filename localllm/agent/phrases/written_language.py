"""Recognise text that was written into a file in a language that the user does not want."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from localllm.agent.phrases.answer_language import is_chinese_unwanted
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.text.scripts import is_chinese, is_in_language

Kind = Literal["comment", "string", "document"]

_NAMES = {"ja": "Japanese", "en": "English"}
_SHOWN = 60
"""Characters of a line that are quoted."""

# What a request wants.

_COMMENT = r"(?:docstrings?|ドックストリング|doc ?comments?|コメント|comments?(?![A-Za-z0-9_]))"
_STRING = r"(?:(?<!コミット)(?<!コミット )メッセージ|(?<!commit )messages?\b|文言|ラベル|labels?\b|文字列|\bstrings\b)"
_DOCUMENT = (
    r"(?:README(?![A-Za-z0-9_])|ドキュメント|マニュアル|手順書|\bdocumentation\b|\bmanual\b"
    r"|[\w/-]{1,60}\.(?:md|txt|rst|adoc)(?![A-Za-z0-9_]))"
)
_OBJECT = rf"(?:(?P<comment>{_COMMENT})|(?P<string>{_STRING})|(?P<document>{_DOCUMENT}))"
_LANGUAGE = r"(?P<language>日本語|英語|\b(?:Japanese|English)\b(?![./_-]\w))"
_INTO = (
    rf"{_OBJECT}[^。、\n]{{0,12}}?{_LANGUAGE}(?:に|へ)(?:して|し[、て]|直|訳|変|翻訳|統一|置|書き換|書き直|差し替)",
    rf"(?:translat\w+|chang\w+|convert\w*|turn\w*)\b[^\n]{{0,60}}?{_OBJECT}[^\n]{{0,40}}?\b(?:in)?to {_LANGUAGE}",
    rf"replac\w+\b[^\n]{{0,60}}?{_OBJECT}[^\n]{{0,40}}?\b(?:with|by) {_LANGUAGE}",
)
_IN = (
    rf"{_LANGUAGE}(?:の|で)(?!説明|答|回答|返|教え|報告|要約)[^。、\n]{{0,8}}?{_OBJECT}",
    rf"{_OBJECT}[^。、\n]{{0,12}}?{_LANGUAGE}で(?:書|付|追加|記述|記載|作|統一|入れ)",
    rf"{_OBJECT}は、?{_LANGUAGE}で(?=[。、]|$)",
    rf"{_OBJECT}\s?に{_LANGUAGE}で[^。、\n]{{0,12}}?(?:書|付|追加|足|記|載)",
    rf"{_LANGUAGE} (?:[\w-]{{1,20}} )?{_OBJECT}",
    rf"{_OBJECT}[^.\n]{{0,40}}?\bin {_LANGUAGE}(?![ -](?:format|style|text|input|locale|notation))",
)
_ELSE = (
    r"(?i)\b(?:explain|summari[sz]e|tell|answer|reply|respond|describe|review|why)\b[^\n]{0,60}"
    r"\bin (?:Japanese|English)\b|\bcommit\b[^\n]{0,30}\bmessages?\b"
    r"|日本語(?:版)?[とや、・/]英語|英語(?:版)?[とや、・/]日本語|(?:English|Japanese) (?:and|or|&) (?:English|Japanese)"
)
"""Matches sentences about the language of the answer, or of a commit, and about two languages."""
_NO_ORDER = (
    r"(?i)\b(?:remov|delet|eras|strip|drop|find|search|replac)\w*\b|\b(?:read|get rid)\b"
    r"|削除|消し|消す|除[いきくけ]|除去|読んで|読み|探し|検索|置き換え|置換|書き換え|差し替え"
)
"""Matches sentences that may name the language of what is there, and not of what is to be written."""


class Wanted(NamedTuple):
    """The language, "ja" or "en", in which a request wants texts of a kind."""

    language: str
    kind: Kind


def wanted_language(request: str) -> Wanted | None:
    """Return the language in which a request orders comments, messages or documents; None if it names none, or two."""
    sentences = [one for one in sentences_in(ends_of(request)) if not re.search(_ELSE, one)]
    for patterns in (_INTO, _IN):
        found = {one for sentence in sentences for one in _wanted(patterns, sentence)}
        sentences = [one for one in sentences if not re.search(_NO_ORDER, one)]
        if found:
            return found.pop() if len({one.language for one in found}) == len(found) == 1 else None
    return None


def _wanted(patterns: Sequence[str], sentence: str) -> Iterator[Wanted]:
    for pattern in patterns:
        for found in re.finditer(pattern, sentence, re.IGNORECASE):
            language = "ja" if found["language"].casefold() in ("日本語", "japanese") else "en"
            kind: Kind = "comment" if found["comment"] else "string" if found["string"] else "document"
            yield Wanted(language, kind)


# What was written.

_DOCUMENTS = (".md", ".markdown", ".txt", ".rst", ".adoc")
_IN_COMMENT = (
    r"(?:^|\s)(?:#+|//+!?|/\*+|--|<!--|\*)\s+(?P<a>[^\n]+)|[\"']{3}(?P<b>[^\n]*)"
    r"|^\s*(?P<c>[A-Z][\w'-]*(?: [\w'-]+){2,}[.:]?|[^\x00-\x7f][^\n=(){}\[\];\"']*)$"
)
"""Matches comments, docstrings, and lines that may be within one."""
_IN_STRING = r"[\"'`](?P<a>[^\"'`\n]{4,})[\"'`]"
_NO_PROSE = r"(?i)\b(?:noqa|type: ?ignore|pylint|pragma|eslint|coding[:=]|spdx|copyright|https?)\b|^!"
_WORD = r"[A-Za-z][a-z]*"
_ENGLISH = rf"{_WORD}(?:\W{{1,2}}{_WORD}){{2}}"
_JAPANESE = r"[\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
_CHINESE_ONLY = (
    r"[读开关设这处实现输获检计测试错误认类应对为过传结变]|返回|函数|参数|如果|用于|加一|的值|一个|是否|没有|可以|以及|即可|然后|初始化"
    r"|运行|将[^来棋軍校官\x00-\x7f]?[^\x00-\x7f]{0,8} ?.{0,8}并"
)
"""Characters that Japanese does not have, and words of Chinese in such as it has."""
_FEWEST_IDEOGRAPHS = 4
_OF_CHARACTERS = (
    r"(?i)unicode|utf-?8|\bcjk\b|i18n|l10n|locali[sz]|multiling|languages?\b|encoding|emoji|font"
    r"|文字コード|文字化け|多言語|国際化|言語|漢字|フォント"
)
"""Matches requests for which a text in any language may be written."""


class Wrong(NamedTuple):
    """A text in the wrong language: a line of it, its language, and that which is wanted, with the reason."""

    line: str
    found: str
    why: str
    wanted: str


def wrong_language(
    path: str, added: Sequence[str], request: str, given: Iterable[str], wanted: Wanted | None
) -> Wrong | None:
    """Return what of the lines `added` to a file is in the wrong language: Chinese that neither the request nor
    a text that was `given` has, or another language than is `wanted`."""
    chinese = next((line for line in added if is_chinese_line(line)), "")
    if chinese and not re.search(_OF_CHARACTERS, request) and not re.search(r"(?i)zh|chin", path):
        texts = list(given)
        is_japanese = is_in_language(request, "ja")
        if is_chinese_unwanted(request, texts) and not (is_japanese and any(map(_has_chinese, texts))):
            why = "the user writes Japanese" if is_japanese else "the request is in another language"
            meant = _NAMES[wanted.language] if wanted else "Japanese" if is_japanese else "the user's language"
            return Wrong(_quoted(chinese), "Chinese", why, meant)
    if wanted is None:
        return None
    prose = list(_prose(path, added, wanted.kind))
    japanese = [one for one in prose if re.search(_JAPANESE, one)]
    english = [one for one in prose if re.search(_ENGLISH, one)]
    right, wrong = (japanese, english) if wanted.language == "ja" else (english, japanese)
    if right or not wrong or (wanted.language == "ja" and any(re.search(_JAPANESE, line) for line in added)):
        return None
    found, asked = _NAMES["en" if wanted.language == "ja" else "ja"], _NAMES[wanted.language]
    return Wrong(_quoted(wrong[0]), found, f"the user asked for {asked}", asked)


def has_language(path: str, added: Sequence[str], wanted: Wanted) -> bool:
    """Return whether lines added to a file hold text of the kind and in the language that are wanted."""
    pattern = _JAPANESE if wanted.language == "ja" else _ENGLISH
    return any(re.search(pattern, one) for one in _prose(path, added, wanted.kind))


def is_chinese_line(line: str) -> bool:
    """Return whether a line holds text in Chinese, which may be of few words."""
    if line.isascii() or re.search(r"[\u3041-\u309f\u30a1-\u30ff]", line):
        return False
    few = len(re.findall(r"[\u4e00-\u9fff]", line)) >= _FEWEST_IDEOGRAPHS
    return few and (is_chinese(line.replace("`", "")) or bool(re.search(_CHINESE_ONLY, line)))


def _has_chinese(text: str) -> bool:
    return any(map(is_chinese_line, text.splitlines()))


def _prose(path: str, added: Sequence[str], kind: Kind) -> Iterator[str]:
    """Yield the texts of a kind in lines: of a document each line, of other files comments or strings."""
    is_document = path.lower().endswith(_DOCUMENTS)
    if is_document != (kind == "document"):
        return
    if is_document:
        yield from (line for line in added if not re.search(_NO_PROSE, line))
        return
    pattern = _IN_STRING if kind == "string" else _IN_COMMENT
    for line in added:
        for found in re.finditer(pattern, line):
            text = next(filter(None, found.groups()), "")
            if not re.search(_NO_PROSE, text):
                yield text


def _quoted(line: str) -> str:
    line = " ".join(line.split()).strip("\"'#/* ")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
