"""Recognise questions about the content of a named file, in English and Japanese."""

import re

from localllm.base.lazy_patterns import late_pattern

_FILE = r"(?a:[\w/-]\.[a-z]\w{0,7}(?![\w.]))[`'\"」』]? ?"
_PATH = rf"(?:the )?[`'\"]?[^\s?]{{0,99}}{_FILE}"
_QUESTION = late_pattern(
    rf"\b(?:how many|which|are there|is there|where)\b[^?\n]{{1,100}} (?:in|of|from|does|do|has) {_PATH}"
    r"[^?\n]{0,60}\?$"
    rf"|^does {_PATH}(?:already |really |ever |also )?(?:have|contain|use|call|import|define|handle|check|close|read"
    r"|write|return|quote|log|set|include|end|begin|start|stop)\b[^?\n]{0,100}\?$"
    rf"|^what(?:'s| (?:\w{{1,20}} )?(?:is|are|stands)) (?:in|inside) {_PATH}(?:now)?\?$"
    rf"|^what does {_PATH}(?:say|contain|hold|define|list)\b[^?\n]{{0,60}}\?$",
    re.IGNORECASE,
)
_QUESTION_JA = late_pattern(
    rf"{_FILE}(?:(?:の|は|に|が|で)[^。\n]{{0,30}}?(?:何[行件個人種回列名文語章]|[0-9０-９] ?[行列]目)[^。\n]{{0,30}}"
    r"(?:[?？か。何]|$)"
    r"|(?:の|には?|では?)[^。\n]{1,60}(?:(?:何|なに|いくつ|いくら|いつ|誰|どれ)(?:です|なん)?か?"
    r"|(?:あ|い)(?:る|ります|ます)(?:の|か)?|(?:ない|ありません)(?:の|です)?か?|って(?:る|いる|います)(?:の|か)?)[?？]$)",
    re.IGNORECASE,
)
_OF_ANY_JA = late_pattern(
    r"とは|って何|書けば|すれば|べき|必要|一般|普通|方法|やり方|違い|場所|どこに|意味|役割|いい|良い|よい"
)
"""Matches what may be asked of any file of that name."""


def is_about_file(said: str) -> bool:
    """Return whether a sentence asks for a line or a number of a file that it names, or what or whether something is in
    it."""
    if said.isascii():
        return said.endswith("?") and "." in said and bool(_QUESTION.search(said))
    return "." in said and bool(_QUESTION_JA.search(said)) and not _OF_ANY_JA.search(said)
