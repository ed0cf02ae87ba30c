"""Recognise an answer in a language that the user does not write: Chinese, or English after a Japanese request."""

import re
from collections.abc import Iterable
from typing import Literal

from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.i18n import _
from localllm.text.scripts import is_chinese, is_english, is_in_language

_LEAST_REQUEST = 20
"""A shorter one, such as "why?", is written in English by who speaks another language, too."""
_OF_CHINESE = r"(?i)chin(?:ese|esisch|ois|o)\b|mandarin|(?<![a-z])zh(?![a-z])|translat|[\u3400-\u4dbf\u4e00-\u9fff]"
_OF_ENGLISH = r"(?i)英|訳|english"
_WANTS_TEXT = (
    r"(?i)見せ|表示|出力|引用(?!符)|そのまま|原文|全文|中身|条文|貼って|\bcat\b|最[初後]の\s?\d|先頭|末尾|読み上げ|文面|文案|メッセージ|コメント|プロンプト|タイトル|コミット"
    r"|(?:文章|文|説明|題|名前)を?(?:書|作|考|付)|ドキュメント|readme|docstring|changelog|issue|リリース"
)
"""Matches a request for a text that may be in English in itself."""

Remark = Literal["", "language", "language_of_request", "in_english"]


def unwanted_language(answer: str, request: str, given: Iterable[str]) -> Remark:
    """Return the name of the remark on an answer in Chinese, or in English to a Japanese request; empty if it is in
    another language, or may be wanted: a Japanese request mentions it, or one in Latin letters is short, or any text
    that was `given` mentions or has some.
    """
    is_japanese = is_in_language(request, "ja")
    if is_chinese(answer):
        name: Remark = "language" if is_japanese else "language_of_request"
        return name if is_chinese_unwanted(request, given) else ""
    if not is_japanese or request.isascii() or not is_english(answer) or len(sentences_in(answer)) < 2:
        return ""
    is_wanted = re.search(_WANTS_TEXT, request) or any(re.search(_OF_ENGLISH, one) for one in (request, *given))
    return "" if is_wanted else "in_english"


def language_notice(name: Remark) -> str:
    """Return the line for the user about an answer on which this remark was made."""
    match name:
        case "language":
            return _("The model answered in Chinese and was asked to answer in Japanese.")
        case "in_english":
            return _("The model answered in English and was asked to answer in Japanese.")
        case _:
            return _("The model answered in Chinese and was asked for your language.")


def is_chinese_unwanted(request: str, given: Iterable[str]) -> bool:
    """Return whether nothing in a request explains a text in Chinese, nor, where it is in another language than
    Japanese, in any text that was `given`."""
    if is_in_language(request, "ja"):
        return not re.search("中国|中文|漢文|訳", request)
    return len(request) >= _LEAST_REQUEST and not any(re.search(_OF_CHINESE, one) for one in (request, *given))
