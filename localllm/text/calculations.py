"""Check calculations that a sentence writes out: 450,000円 × 14.6% × 30 ÷ 365 = 5,400円."""

from collections.abc import Sequence

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quantity import Quantity
from localllm.text.quantity_agreement import near

_EQUALS = late_pattern(r"[^\d=＝×÷]{0,12}[=＝≒≈]\s*")
_OPERATOR = late_pattern(r"[^\d=＝×÷*+/−-]{0,12}(?P<sign>[×xX*·÷/+−-])\s*")
_DIGITS = late_pattern(r"\d[\d,]*(?:\.\d+)?")


def is_result(sentence: str, found: Sequence[Quantity], at: int) -> bool:
    """Return whether number `at` of those `found` in a sentence stands behind an equals sign, and is what stands before
    the sign. Whether the numbers there are right is another question."""
    if at < 2 or not _EQUALS.fullmatch(sentence, found[at - 1].span.end, found[at].span.start):
        return False
    first = at - 1
    signs: list[str] = []
    while first > 0 and (between := _OPERATOR.fullmatch(sentence, found[first - 1].span.end, found[first].span.start)):
        signs.insert(0, between["sign"])
        first -= 1
    values = [_value(sentence, one) for one in found[first:at]]
    terms = [values[0]]
    for sign, value in zip(signs, values[1:], strict=True):
        if sign in "×xX*·":
            terms[-1] *= value
        elif sign in "÷/":
            terms[-1] = terms[-1] / value if value else 0.0
        else:
            terms.append(value if sign == "+" else -value)
    return bool(signs) and near(found[at]._replace(bound="", value=_value(sentence, found[at])), sum(terms))


def _value(sentence: str, one: Quantity) -> float:
    """Return what a number counts for: a share as a part of one, a length of time in the unit that is written."""
    if one.kind == "percent":
        return one.value / 100
    digits = _DIGITS.search(sentence, one.span.start, one.span.end)
    return float(digits[0].replace(",", "")) if one.kind == "duration" and digits else one.value
