"""Lines that stand for text a model did not write out: "… rest of the code unchanged"."""

import re

from localllm.base.lazy_patterns import late_pattern

_SIGN = r"(?:\#+|//+|/\*+|\*+|<!--|--+|;+|%+|\{/\*|\"\"\"|''')"
_DOTS = r"(?:\.{3,}|…+|‥+)"
_WHAT = (
    r"(?:code|file|files?|function|functions|class|classes|method|methods|implementation|content|contents|module|script"
    r"|document|section|sections|body|logic|imports?|tests?|text|lines?|part|parts|fields|cases|config|configuration"
    r"|component|components|items|entries|styles|rules|routes|handlers|properties)"
)
_SAME = r"(?:unchanged|the same|as (?:is|before|above|it was)|omitted|unmodified|untouched|not changed|here|goes here)"
_PHRASE = (
    rf"(?:(?:the )?(?:rest|remainder) (?:of (?:the |your |this |my )?(?:\w+ )?{_WHAT}|(?:is |remains |stays )?{_SAME})"
    r"|(?:your |the |all |keep (?:the |all )?)?(?:existing|remaining|previous|other|original|unchanged)"
    rf" (?:\w+ )?{_WHAT}"
    rf"|same as (?:before|above)|(?:no changes?|unchanged)(?: here| below| above)?|{_WHAT} (?:unchanged|omitted))"
)
_TAIL = rf"(?:[ ,(]*(?:remains?|stays?|is|are|kept|continues?|goes|left)?[ ]*{_SAME}?[ )]*)"
_JAPANESE = (
    r"(?:(?:以下|以降|残り|その他|他|あと)(?:の\S{0,12})?(?:は|も)?(?:すべて)?(?:同じ|同様|省略|変更なし|そのまま|略)"
    r"|(?:既存|残り|元)の(?:コード|処理|内容|実装|部分|関数|メソッド)(?:は|が)?(?:そのまま|変更なし|同じ|続く|ここ(?:に入る)?|省略)?"
    r"|(?:中|後|前|以下)略|変更なし|省略)"
)
_CLOSING = r"(?:\*/\}?|-->|\"\"\"|'''|\))?"

_LINE = (  # compiled when first asked for: that takes 10 ms, and the program is to start at once
    rf"\s*(?:"
    rf"{_SIGN}\s*[\[(<]?{_DOTS}?\s*[\[(<]?(?:{_PHRASE}{_TAIL}|{_JAPANESE})[\])>]?\s*{_DOTS}?[。.]?[\])>]?\s*{_CLOSING}"
    rf"|[\[(<{{]?{_DOTS}\s*(?:{_PHRASE}{_TAIL}|{_JAPANESE})\s*{_DOTS}?[。.]?[\])>}}]?"
    rf"|[\[(<（]{_DOTS}?\s*(?:{_PHRASE}{_TAIL}|{_JAPANESE})\s*{_DOTS}?[\])>）]"
    rf")\s*"
)
_CANDIDATE = late_pattern(r"^[ \t\u3000]*(?:[#/*<\-;%{\"'\[(（]|\.\.|…|‥)[^\n]{2,160}$", re.MULTILINE)
_LONGEST = 2_000_000  # characters: what is longer no model has written


def placeholder(new: str, old: str) -> str:
    """A line of `new` that only says that text goes on, unless `old` has it too; "" where there is none."""
    candidates = (found[0] for found in _CANDIDATE.finditer(new, 0, _LONGEST))
    lines = [line.strip() for line in candidates if re.fullmatch(_LINE, line, re.IGNORECASE)]
    known = {line.strip() for line in old.split("\n")} if lines else set[str]()
    return next((line for line in lines if line not in known), "")
