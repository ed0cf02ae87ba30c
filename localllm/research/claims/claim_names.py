"""Find the names of a claim that none of its passages mentions."""

import re
from collections.abc import Sequence

from localllm.base.lazy_patterns import late_pattern
from localllm.text.numerals import fold
from localllm.text.quantities import quantities
from localllm.text.units import units

_CODE = late_pattern(r"(?<![A-Za-z\d])(?:[A-Za-z]+-?\d+(?:\.\d+)*|\d+(?:\.\d+){2,})(?![\d])")
_LATIN_NAME = late_pattern(r"(?<![\w'])[A-Z][A-Za-z\u00c0-\u024f]+(?:['-][A-Z]?[a-z]+)*")
_JAPANESE = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")
_LATIN = late_pattern(r"[A-Za-z]{3}")
_JA_NAME = late_pattern(
    r"[\u30a1-\u30fa\u30fc]{2,}(?:・[\u30a1-\u30fa\u30fc]+)+"
    r"|(?:[\u30a1-\u30fa\u30fc]{2,}|[\u4e00-\u9fff]{1,6})(?=大学|氏|さん|県|市(?!場|民|内)|州|府|島(?!民)|教授|首相|大統領|社長|自動車|銀行|製薬|電力)"
)
_GENERIC = frozenset(
    """
    同 当 各 両 他 自 本 全 新 旧 元 前 現 都 大 小 同大 国立 私立 地方 都道 政 副 名誉 准 海外 消費 再生可能 使用 総
    余剰 中央 民間 電気
    """.split()
)
_ORDINARY = frozenset(
    """
    The A An It Its In On At He She They We This That These Those But And As His Her Their There Our By For From With
    To If After Before When While Since Both All Some Most Many More Less About Over Under Only Every Each No Not
    Nearly Almost Around Approximately Half One Two Three Four Five Six Seven Eight Nine Ten During According Under
    Unlike Because Although However Between Among Sales Prices People Workers Researchers Scientists Residents January
    February March April May June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sept Oct
    Nov Dec Monday Tuesday Wednesday Thursday Friday Saturday Sunday FY
    """.split()
)


_BODIES = frozenset(
    ("Agency", "Association", "Bank", "Board", "Commission", "Committee", "Company", "Council", "Court", "Department",
     "Federation", "Foundation", "Fund", "Government", "Group", "Institute", "Institution", "Ministry", "Minister",
     "Organisation", "Organization", "Parliament", "President", "University")
)  # fmt: skip
"""Words a name may be shortened to once introduced: the Organisation."""
_WORD_AND_NUMBER = late_pattern(r"[A-Z]?[a-z]{3,}-?\d")


def missing_code(claim: str, passages: Sequence[str]) -> str:
    """Return a name with digits or a version number that no passage has; "" for none. These are equal in all
    languages."""
    everything = _squeezed("\n".join(passages))
    is_translated = is_japanese(claim) != is_japanese("\n".join(passages))
    for found in _CODE.finditer(fold(claim)):
        written = found[0]
        if is_translated and _WORD_AND_NUMBER.match(written):
            continue  # a name written in the other script: Hibari-3
        if quantities(written) or written[:2] in ("FY", "US", "Q1", "Q2", "Q3", "Q4"):
            continue
        if _squeezed(written) not in everything and not _is_abbreviated(written, passages):
            return written
    return ""


def _is_abbreviated(code: str, passages: Sequence[str]) -> bool:
    """Whether a letter with a number abbreviates a word with it: M6.4, magnitude 6.4 or マグニチュード6.4."""
    letter, number = code[0], code[1:]
    if not (letter.isalpha() and number.replace(".", "", 1).isdigit()):
        return False
    spelled = re.compile(
        rf"(?<![\d.])(?:\b{letter}[a-z]+\.?\s(?:of\s)?|[\u30a1-\u30fc]){re.escape(number)}(?!\.?\d)", re.IGNORECASE
    )
    return any(spelled.search(fold(one)) for one in passages)


def _squeezed(text: str) -> str:
    return fold(text).lower().replace("-", "").replace(" ", "").replace("‑", "")


def missing_name(claim: str, passages: Sequence[str]) -> str:
    """Return a name of the claim that no passage has; across languages, only names spelled alike are compared."""
    everything = "\n".join(passages)
    if _LATIN.search(everything) and _share_of_latin(everything) > 0.5:
        plain = _squeezed(everything)
        for found in _LATIN_NAME.finditer(claim):
            if not _is_known(found[0], claim, found.start(), plain, everything):
                return found[0]
    elif _JAPANESE.search(claim):
        for found in _JA_NAME.finditer(claim):
            name = found[0]
            if name not in _GENERIC and name not in everything and name[:2] not in everything:
                return name
    return ""


def _share_of_latin(text: str) -> float:
    return sum(one.isascii() for one in text) / max(1, len(text))


def _is_known(name: str, claim: str, start: int, plain: str, everything: str) -> bool:
    begins = start == 0 or claim[:start].rstrip()[-1:] in '.!?:"“'
    if (
        {name, name.removesuffix("s")} & _ORDINARY
        or name in _BODIES
        or name.lower() in units()
        or (begins and name.lower().endswith(("s", "ing", "ed", "ly", "ion")) and name[1:].islower())
    ):
        return True
    if begins and name[1:].islower() and not _LATIN_NAME.match(claim[start + len(name) + 1 : start + len(name) + 20]):
        return True  # probably a common word at the start of the sentence
    lowered = _squeezed(name.removesuffix("'s"))
    if lowered in plain or lowered[: max(4, len(lowered) - 3)] in plain:
        return True
    return name.isupper() and (len(name) <= 2 or _is_initials(name, everything))


def _is_initials(name: str, text: str) -> bool:
    initials = "".join(one[0] for one in _WORD_START.findall(text))
    return name in initials


_WORD_START = late_pattern(r"\b[A-Z]")


def is_japanese(text: str) -> bool:
    """Whether a text has few Latin letters."""
    return _share_of_latin(text) < 0.6
