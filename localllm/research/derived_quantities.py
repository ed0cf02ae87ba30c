"""Tell whether a claim's number can be reckoned from the numbers of its passages.

Only what the claim's own words announce is tried: among twenty numbers some sum or quotient is near to anything.
"""

from collections.abc import Sequence
from itertools import permutations

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quantities import SOFT, Quantity, near

_MOST = 24  # numbers of the passages that are combined

_SUM = late_pattern(
    r"(?i)\b(?:total|combined|together|altogether|overall|sum|in all)\b|合計|合わせて|あわせて|総計|計|合算|総額|総数"
)
_DIFFERENCE = late_pattern(
    r"(?i)\b(?:more|less|fewer|higher|lower|longer|shorter|older|younger|difference|gap|by|increase|decrease|rose|fell"
    r"|later|earlier|after|before|remaining|left|lead|margin)\b|差|増|減|多|少な|上回|下回|高|低|長|短|残|後|前|伸"
)
_RATIO = late_pattern(
    r"(?i)\b(?:times|doubl|tripl|quadrupl|halv|half|fold|twice|ratio|per|average)\w*|倍|半|平均|当たり|あたり"
)
_SHARE = late_pattern(
    r"(?i)%|\b(?:percent|per cent|share|third|thirds|quarter|quarters|half|fifth|fifths|tenth|majority|rose|fell|grew"
    r"|increase\w*|decrease\w*|drop\w*|cut)\b|割|分の|半|パーセント|ポイント"
)
_REST = late_pattern(r"(?i)\b(?:not|rest|remaining|remainder|other|others|without|no)\b|残|以外|ない|なかっ|ほか|他")


def is_derivable(claim: str, wanted: Quantity, stated: Sequence[Quantity], today: str) -> bool:
    """Whether a quantity of a claim follows from those of its passages in a way that the claim's words announce."""
    if wanted.kind in ("duration", "age") or (wanted.kind in SOFT and _DIFFERENCE.search(claim)):
        years = [one.value // 10_000 for one in stated if one.kind == "date" and one.value >= 10_000_000]
        if _is_between(wanted, years, today):
            return True
        numbers = [one.value for one in stated if one.kind in SOFT or one.kind == "age"][:_MOST]
        said = wanted.value / 12 if wanted.unit == "month" else wanted.value
        if wanted.kind in ("duration", "age") and any(a - b == said for a, b in permutations(numbers, 2)):
            return True
    if wanted.kind in ("date", "time", "quarter", "century", "decade", "ordinal"):
        return wanted.kind == "decade" and any(
            one.kind == "date" and wanted.value <= one.value // 10_000 < wanted.value + 10 for one in stated
        )
    if wanted.kind in ("percent", "points", "ratio"):
        return _is_rate(claim, wanted, stated)
    same = [one.value for one in stated if one.kind == wanted.kind and one.unit == wanted.unit]
    if wanted.kind in SOFT:
        same = [one.value for one in stated if one.kind in SOFT]
    return _is_combined(claim, wanted, same[:_MOST])


def _is_between(wanted: Quantity, years: list[float], today: str) -> bool:
    """Whether it is an age or a time between two years; a birthday may be still to come."""
    said = wanted.value / 12 if wanted.unit == "month" else wanted.value
    known = [*years, float(today[:4])] if today[:4].isdigit() else years
    slack = max(1.0, 0.1 * said) if wanted.bound else 1.0
    return any(one - other > 0 and abs(one - other - said) <= slack for one, other in permutations(known, 2))


def _is_rate(claim: str, wanted: Quantity, stated: Sequence[Quantity]) -> bool:
    """Whether it is a share, a change in percent, a difference of percentages or a multiple."""
    percents = [one.value for one in stated if one.kind in ("percent", "points")][:_MOST]
    if wanted.kind != "ratio" and (
        (_REST.search(claim) and any(near(wanted, 100 - one) for one in percents))
        or _is_combined(claim, wanted, percents)
    ):
        return True
    points = [one.value for one in stated if one.kind == "points"][:_MOST]
    if wanted.kind == "percent" and any(near(wanted, a + b) or near(wanted, a - b) for a in percents for b in points):
        return True
    factor = {"percent": 100.0, "points": 100.0}.get(wanted.kind, 1.0)
    words = _RATIO if wanted.kind == "ratio" else _SHARE
    if not words.search(claim):
        return False
    if wanted.kind == "ratio" and any(near(wanted, (100 + one) / 100) for one in percents):
        return True
    if wanted.kind == "percent" and any(
        one.kind == "ratio" and (near(wanted, one.value * 100) or near(wanted, abs(one.value - 1) * 100))
        for one in stated
    ):
        return True
    return any(
        near(wanted, one / other * factor) or (factor > 1 and near(wanted, abs(one - other) / other * factor))
        for kind in {
            (one.kind, one.unit)
            for one in stated
            if one.kind not in ("date", "time", "ordinal") and (one.kind != "percent" or wanted.kind == "ratio")
        }
        for one, other in permutations([one.value for one in stated if (one.kind, one.unit) == kind][:_MOST], 2)
        if other > 0 and one > 0
    )


def _is_combined(claim: str, wanted: Quantity, values: list[float]) -> bool:
    if _SUM.search(claim) and (
        near(wanted, sum(values)) or any(near(wanted, a + b) for a, b in permutations(values, 2))
    ):
        return True
    if _DIFFERENCE.search(claim) and any(near(wanted, a - b) for a, b in permutations(values, 2) if a > b):
        return True
    return bool(_RATIO.search(claim)) and any(near(wanted, a / b) for a, b in permutations(values, 2) if b > 0)
