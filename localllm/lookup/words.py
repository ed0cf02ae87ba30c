"""Words of identifiers and of English: cutting them apart, and bringing them to a stem that their forms share."""

import re
from functools import lru_cache

_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IRREGULAR = {
    "settings": "setting",
    "strings": "string",
    "used": "use",
    "using": "use",
    "uses": "use",
    "ran": "run",
    "sent": "send",
    "written": "writ",
    "wrote": "writ",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
    "children": "child",
    "people": "person",
    "chosen": "choos",
    "chose": "choos",
    "hidden": "hid",
    "broken": "break",
    "built": "build",
    "found": "find",
    "kept": "keep",
    "thrown": "throw",
    "drawn": "draw",
    "drew": "draw",
    "made": "mak",
    "embedded": "embed",
    "statuses": "status",
}
_WHOLE = frozenset(
    [
        "anchor",
        "author",
        "border",
        "center",
        "character",
        "cluster",
        "computer",
        "corner",
        "cursor",
        "data",
        "embed",
        "factor",
        "filter",
        "folder",
        "header",
        "integer",
        "layer",
        "letter",
        "master",
        "matter",
        "media",
        "member",
        "meter",
        "monitor",
        "news",
        "number",
        "order",
        "parameter",
        "pointer",
        "poster",
        "register",
        "setting",
        "spring",
        "status",
        "string",
        "super",
        "thing",
        "trigger",
        "user",
        "vector",
        "water",
    ]
)
"""Words whose last letters are no ending: an author is nobody who auths."""
_FORMS = (
    (re.compile(r"i[sz](?:ations?|ers?|ing|e[sd]?)$"), "iz", 3),
    (re.compile(r"at(?:ions?|ors?|ing|e[sd]?)$"), "at", 3),
    (re.compile(r"(?<=[st])ions?$"), "", 3),
    (re.compile(r"(?:ie|ied|ying|y)$"), "y", 2),
    (re.compile(r"(?:ers?|ors?)$"), "", 4),
    (re.compile(r"ings?$"), "", 3),
    (re.compile(r"(?<!e)ed$"), "", 3),
    (re.compile(r"e$"), "", 3),
)
_ADVERB = re.compile(r"(?<=al|nt|us|ed|ve|te|le|ic|om|ct|se|re)ly$")
_PLURAL = re.compile(r"(?<=ss|.x|zz|ch|sh)es$|(?<![sui])s$")
_DOUBLE = re.compile(r"([bdgkmnprt])\1$")
_AGAIN = 3


def split_identifier(text: str) -> list[str]:
    """The words of an identifier or path, in lower case: `HTTPServer.do_GET2` → http server do get 2."""
    return [part.lower() for part in _HUMP.findall(text)]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The stem of an English word in lower case, the same for its forms: retry, retries, retried → retry."""
    word = _PLURAL.sub("", word) if len(word) > 3 and word not in _IRREGULAR and word not in _WHOLE else word
    word = _ADVERB.sub("", word)
    for _ in range(_AGAIN):
        shorter = _shorter(word)
        if shorter == word:
            break
        word = shorter
    return word


def _shorter(word: str) -> str:
    if known := _IRREGULAR.get(word):
        return known
    if word in _WHOLE or len(word) <= 3 or not word.isascii():
        return word
    for pattern, ending, least in _FORMS:
        rest = pattern.sub("", word)
        if rest == word:
            continue
        if len(rest) < least:
            continue
        return _DOUBLE.sub(r"\1", rest) if not ending else rest + ending
    return word


def japanese_in(text: str) -> bool:
    """Whether there is Japanese in `text`."""
    return re.search(r"[ぁ-ゖァ-ヺ一-鿿々]", text) is not None
