"""Distinguish Japanese text from Chinese and Latin text by its characters, and English by its commonest words."""

import re

from localllm.base.lazy_patterns import late_pattern

_KANA = late_pattern(r"[\u3041-\u309f\u30a1-\u30ff]")
_IDEOGRAPH = late_pattern(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_CHINESE = late_pattern(r"[这們们吗呢请請您你我了是没沒还還从從为該该对说說时间问题个個]")
"""Ideographs of which a Chinese sentence has several, and a Japanese text without kana hardly two."""
_CODE = late_pattern(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LETTER = late_pattern(r"[^\W\d_]")

_ENGLISH = late_pattern(r"(?i)\b(?:the|an?|is|are|was|it|this|that|of|to|and|in|on|with|for|by|has|have|not)\b")
_LEAST_ENGLISH = 5
"""Such words, in a text of sentences and not only of names."""

_LEAST_IDEOGRAPHS, _FEW_IDEOGRAPHS = 10, 4
_LEAST_SIMPLIFIED = 3
"""Simplified ideographs in a text that has kana too; a Japanese text may quote a name."""
_MOST_KANA_OF_CHINESE = 0.25
"""Share of kana in a Chinese text that begins with これは or the like."""
_LEAST_KANA = 0.15
_MOST_FOREIGN = 0.3
"""Shares of a text's letters. More than a third of Japanese prose is kana, even with many foreign names."""


def is_in_language(text: str, language: str) -> bool:
    """Return whether a text is in the script of `language` ("ja" or "en"). True for a text without letters."""
    letters = len(_LETTER.findall(text))
    if not letters:
        return True
    kana = len(_KANA.findall(text))
    if language == "ja":
        return kana / letters >= _LEAST_KANA or (letters <= 12 and bool(_IDEOGRAPH.search(text) or kana))
    others = kana + len(_IDEOGRAPH.findall(text)) + sum(_is_foreign(letter) for letter in text)
    return others / letters <= _MOST_FOREIGN


def is_chinese(text: str) -> bool:
    """Return whether a text, without code, is Chinese: ideographs that only Chinese has, and no kana, or no more than a
    Japanese first word before them."""
    if text.isascii():
        return False
    prose = _CODE.sub("", text)
    ideographs = _IDEOGRAPH.findall(prose)
    kana = len(_KANA.findall(prose))
    if len(ideographs) < _FEW_IDEOGRAPHS or kana > _MOST_KANA_OF_CHINESE * (kana + len(ideographs)):
        return False
    simplified = sum(map(_is_simplified, ideographs))
    if kana:
        return simplified >= _LEAST_SIMPLIFIED
    is_long = len(ideographs) >= _LEAST_IDEOGRAPHS
    return simplified >= 2 or (is_long and simplified + len(set(_CHINESE.findall(prose))) >= 2)


def is_english(text: str) -> bool:
    """Return whether a text, without code, is English, without a Japanese letter."""
    prose = _CODE.sub("", text)
    if _KANA.search(prose) or _IDEOGRAPH.search(prose):
        return False
    return len(_ENGLISH.findall(prose)) >= _LEAST_ENGLISH


def _is_simplified(ideograph: str) -> bool:
    """Return whether Chinese writes it and Japanese does not, by their character sets (GB 2312, JIS X 0208)."""
    return _is_in(ideograph, "gb2312") and not _is_in(ideograph, "cp932")


def _is_in(letter: str, charset: str) -> bool:
    try:
        letter.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def _is_foreign(letter: str) -> bool:
    """Return whether it is neither a Latin nor a Japanese letter: Cyrillic, Hangul, Arabic …"""
    code = ord(letter)
    return letter.isalpha() and (0x370 <= code < 0x1E00 or 0xAC00 <= code < 0xD7B0)
