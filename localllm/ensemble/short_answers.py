r"""Extract the checkable value of an answer: a number with its unit, yes or no, a choice letter, or a short phrase.

It is the whole of a short answer; in a long one it follows "The answer is", is in LaTeX's \boxed{}, after ####, or is a
bold last line, in English and Japanese. Values are compared by meaning, not by notation.
"""

import math
import re
import unicodedata
from functools import lru_cache
from typing import Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees as says_the_same

Kind = Literal["number", "yes_no", "choice", "phrase", "sentence"]
"""A sentence is no value, but may state one: "The capital of Peru is Lima"."""


class ShortAnswer(msgspec.Struct, frozen=True):
    """The value of an answer. `text`: as written. `key`: normalised, equal for the same wording. `quantity`: of a
    number, with its unit; `value`: as written."""

    kind: Kind
    text: str
    key: str
    quantity: Quantity | None = None
    value: float | None = None


_LONGEST_PHRASE = 60
"""Characters of a phrase."""

_MOST_WORDS = 8
_LONGEST_SENTENCE = 160
"""Characters of a sentence that states a value."""

_SEARCHED = 1_000
"""Characters at the end of a long answer that are searched for its conclusion."""

_LEADING = 400

_YES = frozenset(
    """
    yes yeah yep true correct right affirmative はい ええ 真 正 正しい 正しいです その通り その通りです そうです 可能
    可能です できます ○ ◯ 〇 ✓ ✔ ✅
    """.split()
)
_NO = frozenset(
    """
    no nope false incorrect wrong negative いいえ いや 偽 誤 誤り 誤りです 間違い 正しくない 正しくありません 違います
    違う 不可能 不可能です できません × ✗ ✘ ❌
    """.split()
)

_ANSWER_IS = late_pattern(
    r"\b(?:answer|result)\b(?:\s++(?:to\b[^.:\n]{1,60}?|here))?\s*+(?:\*\*\s*+)?(?:is|would\s++be|should\s++be|=|:)"
    r"\s*+(?:\*\*\s*+)?(?::\s*+)?(?P<en>[^\n]{1,120}?)(?=[^\S\n]*+(?:[.!](?:\s|$)|\n|$))"
    r"|(?:答え|解答|正解|回答|結論|解)(?:\*\*)?\s*+(?:は、?|[:：=])\s*+(?:\*\*\s*+)?(?P<ja>[^\n。]{1,120})",
    re.IGNORECASE,
)
_CONCLUDING = ("answer", "result", "答", "解", "結論")
"""Every match of `_ANSWER_IS` contains one of these."""

_HASHES = late_pattern(r"^#### ?([^\n#]{1,80})$", re.MULTILINE)
_BOXED = late_pattern(r"\\boxed\s?\{|\\fbox\s?\{")
_BOLD_LINE = late_pattern(r"\s*+(?:[-*>]\s++)?(?:\*\*|__)(?P<bold>[^*_\n]{1,80})(?:\*\*|__)\s*+(?:[.。!]\s*+)?")
_LABEL = late_pattern(
    r"(?:the\s++)?(?:(?:final|correct|right|short)\s++){0,4}(?:answer|result|最終回答|答え|解答|正解|回答|結論)\s*+(?:is\b|は|[:：=])\s*+",
    re.IGNORECASE,
)
_LATEX = (
    (late_pattern(r"\\[dt]?frac\s?\{([^{}]{1,20})\}\s?\{([^{}]{1,20})\}"), r"\1/\2"),
    (late_pattern(r"\\(?:text|textbf|mathrm|mathbf|operatorname)\s?\{([^{}]{0,60})\}"), r"\1"),
    (late_pattern(r"\^?\{?\\(?:circ|degree)\}?"), "°"),
    (late_pattern(r"\\(?:left|right|displaystyle|[,;!: ])"), ""),
    (late_pattern(r"\\([%$€£#&_])"), r"\1"),
    (late_pattern(r"\\(?:times|cdot)"), "×"),
    (late_pattern(r"\\[()\[\]]|\$(?![\d])|(?<=\d)\$|[`]|\*\*|__"), ""),
)
_CHOICE = late_pattern(
    r"(?i:(?:option|choice|alternative|statement|選択肢|選択)\s*)?[(\[「]?(?P<letter>[A-Ja-jア-オ①-⑨])[)\]」]?(?:が正解|が正しい)?"
    r"(?P<more>[).:、,]\s*\S.*)?"
)
_VARIABLE = late_pattern(r"[a-zA-Z]\w{0,12}\s*(?:=|≈|≒)\s*")
_PLAIN_NUMBER = late_pattern(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FRACTION = late_pattern(r"([-+−]?\d{1,9})\s?/\s?(\d{1,9})")
_ENDING = late_pattern(r"(?:です|となります|になります|である|でした|だ)?[\s.。．!！]*\Z")
_FIRST_WORD = late_pattern(
    r"\s*[*_「\"]{0,3}(?P<word>[A-Za-z]{2,4}|はい|いいえ|ええ)[*_」\"]{0,3}(?:[,.!、。:;]|\s[-–—]|\s*\n|\s*\Z)"
)
_SENTENCES = late_pattern(r"[.!?](?:\s|\Z)|[。！？]|\n\s*\S")
_COPULAS = frozenset(("is", "was", "are", "were", "be", "equals", "called", "="))
_JAPANESE_COPULA = late_pattern(r"[ぁ-んァ-ヶー一-龠][はが][ぁ-んァ-ヶー一-龠0-9]")
_HEDGE = late_pattern(r"[\W\d_]|about|approximately|around|roughly|約|およそ|ほぼ")
_MOST_LETTERS_BESIDE = 12
"""Letters beside a number and its unit that are treated as the rest of the unit, or the counted noun."""

_DENIALS = frozenset(("not", "no", "never", "isn't", "n't"))


def short_answer(text: str) -> ShortAnswer | None:
    """Extract the value of an answer; None for prose without a checkable conclusion."""
    return _short_answer(text if len(text) <= _LEADING + _SEARCHED else f"{text[:_LEADING]}\n…\n{text[-_SEARCHED:]}")


def agree(one: ShortAnswer, other: ShortAnswer) -> bool:
    """Whether two answers are equal: numbers in any unit, to the digits of the coarser one; phrases in any case; a
    sentence that ends with the other value."""
    if one.kind == other.kind and one.key == other.key:
        return True
    value, sentence = (other, one) if one.kind == "sentence" else (one, other)
    match value.kind, sentence.kind:
        case "number", "sentence":
            stated = _stated_number(sentence)
            return stated is not None and _same_number(value, stated)
        case "phrase", "sentence":
            return _concludes_with(sentence.key, value.key)
        case _:
            return _same_number(one, other)


@lru_cache(maxsize=512)
def _short_answer(text: str) -> ShortAnswer | None:
    for concluded in (_in_box(text), _behind_hashes(text), _stated(text), _bold_at_end(text)):
        if concluded and (read := _read(concluded)):
            return read
    if word := _FIRST_WORD.match(text):
        said = word["word"].lower()
        if said in _YES or said in _NO:
            return ShortAnswer("yes_no", word["word"], "yes" if said in _YES else "no")
    whole = text.strip()
    if len(whole) > _LONGEST_SENTENCE or _SENTENCES.search(whole.rstrip(".。!！?？ ")):
        return None
    return _read(_LABEL.sub("", whole, count=1)) or _sentence(whole)


def _in_box(text: str) -> str:
    r"""Return the content of the last \boxed{}."""
    opened = list(_BOXED.finditer(text)) if "box" in text else []
    if not opened:
        return ""
    start, depth = opened[-1].end(), 1
    for at in range(start, min(len(text), start + 200)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[start:at]
    return ""


def _behind_hashes(text: str) -> str:
    found = _HASHES.findall(text[-_SEARCHED:]) if "####" in text else []
    return str(found[-1]) if found else ""


def _stated(text: str) -> str:
    """Return the text after the last "the answer is"."""
    end = text[-_SEARCHED:].lower()
    if not any(word in end for word in _CONCLUDING):  # a cheap prefilter: the pattern takes ten times as long
        return ""
    found = list(_ANSWER_IS.finditer(text[-_SEARCHED:]))
    return (found[-1]["en"] or found[-1]["ja"] or "").strip() if found else ""


def _bold_at_end(text: str) -> str:
    last = text.rstrip().rpartition("\n")[2]
    found = _BOLD_LINE.fullmatch(last)
    return _LABEL.sub("", found["bold"], count=1) if found and not found["bold"].rstrip().endswith((":", "：")) else ""


def _read(written: str) -> ShortAnswer | None:
    """Parse a value; None for a sentence or a text that is too long."""
    text = _folded(written)
    bare = _ENDING.sub("", _VARIABLE.sub("", text, count=1)).strip("\"'「」『』()（） ")
    if not text or len(text) > _LONGEST_SENTENCE:
        return None
    key = " ".join(bare.casefold().split())
    if key in _YES or key in _NO:
        return ShortAnswer("yes_no", written.strip(), "yes" if key in _YES else "no")
    choice = _CHOICE.fullmatch(_ENDING.sub("", text).strip())
    if choice and (choice["letter"].isupper() or not choice["letter"].isascii() or "(" in text or choice["more"]):
        return ShortAnswer("choice", written.strip(), choice["letter"].upper())
    if len(key) > _LONGEST_PHRASE or len(key.split()) > _MOST_WORDS or _is_sentence(key):
        return None
    if number := _number(written.strip(), bare, key):
        return number
    return ShortAnswer("phrase", written.strip(), key) if key else None


def _folded(written: str) -> str:
    text = unicodedata.normalize("NFKC", written)
    for pattern, by in _LATEX:
        text = pattern.sub(by, text)
    return text.strip().strip("*_ ")


def _number(written: str, bare: str, key: str) -> ShortAnswer | None:
    """Parse a number, alone or with its unit; None with other words beside it."""
    found = quantities(bare)
    quantity = found[0] if len(found) == 1 else None
    if fraction := _FRACTION.fullmatch(bare):
        value = _float(fraction[1]) / (float(fraction[2]) or math.nan)
        return ShortAnswer("number", written, key, quantity=quantity, value=value)
    if _PLAIN_NUMBER.fullmatch(bare):
        return ShortAnswer("number", written, key, quantity=quantity, value=_float(bare))
    if quantity is None:
        return None
    rest = bare[: quantity.span.start] + bare[quantity.span.end :]
    if len(_HEDGE.sub("", rest)) > _MOST_LETTERS_BESIDE:
        return None
    return ShortAnswer("number", written, key, quantity=quantity, value=_first_number(bare))


def _float(written: str) -> float:
    return float(written.replace(",", "").replace("−", "-"))


def _first_number(text: str) -> float | None:
    found = _PLAIN_NUMBER.search(text)
    return _float(found[0]) if found else None


def _sentence(whole: str) -> ShortAnswer | None:
    key = " ".join(_ENDING.sub("", _folded(whole)).casefold().split())
    return ShortAnswer("sentence", whole, key) if key else None


@lru_cache(maxsize=256)
def _stated_number(sentence: ShortAnswer) -> ShortAnswer | None:
    """Return the number of a sentence with only one."""
    text = _folded(sentence.text)
    found = quantities(text)
    return ShortAnswer("number", text, "", found[0], _first_number(text)) if len(found) == 1 else None


def _is_sentence(key: str) -> bool:
    """Whether a phrase is a statement and not a mere value."""
    return not _COPULAS.isdisjoint(key.split()) or _JAPANESE_COPULA.search(key) is not None


def _concludes_with(sentence: str, value: str) -> bool:
    """Whether a sentence ends with "is" and the value, without a negation."""
    before = sentence.removesuffix(value)
    if before == sentence or not value or _DENIALS & set(before.replace("'", " '").split()):
        return False
    words = before.split()
    words = words[:-1] if words[-1:] in (["the"], ["a"], ["an"]) else words
    return before.endswith(("は", "が", ":", "、")) or not _COPULAS.isdisjoint(words[-1:])


def _same_number(one: ShortAnswer, other: ShortAnswer) -> bool:
    first, second = one.quantity, other.quantity
    if first is None or second is None:
        return False
    if not SOFT.isdisjoint((first.kind, second.kind)) and _close(one.value, other.value):
        return True  # a unit may be left out
    kinds = {first.kind, second.kind}
    if kinds == {"percent", "number"}:
        percent, share = (first, second) if first.kind == "percent" else (second, first)
        return _close(percent.value, share.value * 100)
    if first.kind != second.kind:
        return says_the_same(first, second) and says_the_same(second, first)
    if first.kind not in SOFT and first.unit != second.unit:
        return False
    return _close(first.value, second.value) or _rounds(one, first, second) or _rounds(other, second, first)


def _rounds(coarse: ShortAnswer, quantity: Quantity, finer: Quantity) -> bool:
    """Whether a decimal number is the rounding of another: 3.14 and 3.1416."""
    return (
        "." in coarse.text
        and 0 < finer.step < quantity.step
        and abs(quantity.value - finer.value) <= quantity.step / 2 * (1 + 1e-9)
    )


def _close(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1e-9)
