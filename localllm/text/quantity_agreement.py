"""Decide whether two quantities agree, at the precision of the claimed one."""

from localllm.text.quantity import SOFT, Quantity


def agrees(claimed: Quantity, stated: Quantity) -> bool:
    """Return whether a claimed quantity agrees with the stated one, at the precision of the claim."""
    if (is_said := _of_other_words(claimed, stated)) is not None:
        return is_said
    if claimed.kind == "date" or stated.kind == "date":
        return _dates_agree(claimed, stated)
    if claimed.kind != stated.kind and not _same_kind(claimed, stated):
        return False
    if (
        claimed.kind == stated.kind == "count"
        and claimed.unit != stated.unit
        and not {claimed.unit, stated.unit} & _WIDE
    ):
        return False
    kinds = {claimed.kind, stated.kind}
    if kinds == {"kilo", "mass"}:
        factors = [0.001 if one.kind == "kilo" else 1.0 for one in (claimed, stated)]
        claimed = claimed._replace(value=claimed.value * factors[0], step=claimed.step * factors[0])
        return near(claimed, stated.value * factors[1])
    if claimed.kind == stated.kind == "duration" and claimed.unit != stated.unit:
        ours, theirs = (one.value * (_MONTH if one.unit == "month" else 1.0) for one in (claimed, stated))
        return abs(ours - theirs) <= (0.1 if claimed.bound == "about" else 0.03) * ours  # 52 weeks are a year
    if kinds == {"duration", "ordinal"}:  # e.g. 9日, on the 9th; 5年目, in the fifth year
        length, nth = (claimed, stated) if claimed.kind == "duration" else (stated, claimed)
        sizes = (12, 1) if length.unit == "month" else (86_400, 604_800, 3_600)
        return any(length.value / size == nth.value for size in sizes)
    if kinds == {"age", "duration"}:
        years = [one.value / 12 if one.unit == "month" else one.value for one in (claimed, stated)]
        return years[0] == years[1]
    if claimed.kind == stated.kind == "temperature" and "" in (claimed.unit, stated.unit):
        return near(claimed, stated.value)
    if claimed.kind == "time":
        return (claimed.value - stated.value) % 720 == 0
    if claimed.kind == stated.kind and claimed.unit != stated.unit and claimed.kind not in SOFT:
        units = {claimed.unit, stated.unit}
        return ("¢" in units or units in _CROWNS) and near(claimed, stated.value)
    return near(claimed, stated.value) or (stated.bound == "about" and near(stated, claimed.value))


def _of_other_words(claimed: Quantity, stated: Quantity) -> bool | None:
    """Compare quantities of certain different kinds: a century and a year, a half and 半額; None for all others."""
    kinds = {claimed.kind, stated.kind}
    if "century" in (claimed.kind, stated.kind) and claimed.kind != stated.kind:
        return _is_of_century(claimed, stated)
    if {claimed.kind, stated.kind} == {"date", "quarter"}:
        date, quarter = (claimed, stated) if claimed.kind == "date" else (stated, claimed)
        return 0 < date.value < 10_000 and (date.value // 100 + 2) // 3 == quarter.value  # 4~6月期, the second quarter
    if claimed.kind in SOFT and stated.kind == "length" and claimed.value >= 100_000:
        return near(claimed, stated.value * 1e6)  # e.g. 7.77m patients
    if "tens" in (claimed.unit, stated.unit):  # e.g. 80代, who is 84
        decade, one = (claimed, stated) if claimed.unit == "tens" else (stated, claimed)
        years = one.value / 12 if one.unit == "month" else one.value
        return decade.value <= years < decade.value + 10
    if kinds == {"percent", "ratio"}:  # e.g. 半額, half of the fare
        return all(one.value < 1 for one in (claimed, stated) if one.kind == "ratio") and near(
            claimed, stated.value * (100 if stated.kind == "ratio" else 0.01)
        )
    if kinds in ({"money", "mass"}, {"money", "kilo"}):
        return _pounds_agree(claimed, stated)
    if any(one.kind == "temperature" and not one.unit for one in (claimed, stated)) and len(kinds) == 2:
        return claimed.value == stated.value if _same_kind(claimed, stated) else None  # e.g. 2度, twice
    return None


def _is_of_century(claimed: Quantity, stated: Quantity) -> bool:
    """Return whether a century contains a year or decade, or centuries equal a number of years."""
    century, other = (claimed, stated) if claimed.kind == "century" else (stated, claimed)
    if other.kind == "decade":
        return (other.value // 100 + 1 == century.value) and (other.value % 100 == 0 or claimed is century)
    if other.kind == "duration":
        return other.unit == "month" and other.value == 1_200 * century.value
    return other.kind == "date" and claimed is century and (other.value // 10_000 + 99) // 100 == century.value


def _pounds_agree(claimed: Quantity, stated: Quantity) -> bool:
    """Return whether pounds parsed as money agree with a mass: 30 pounds, 14 kg."""
    pounds, mass = (claimed, stated) if claimed.kind == "money" else (stated, claimed)
    if pounds.unit != "GBP":
        return False
    kilograms = pounds.value * 0.4536
    said = mass.value / 1_000 if mass.kind == "kilo" else mass.value
    return abs(kilograms - said) <= 0.05 * said


_CROWNS = ({"crowns", "kronor"}, {"crowns", "koruna"})
"""Currencies called crowns in English."""
_MONTH = 2_629_800.0  # seconds, a twelfth of a year
_WIDE = frozenset({"thing", "vehicle"})
"""Vague counters (件, 台, "units"), for which another sentence may use another word."""


def _same_kind(claimed: Quantity, stated: Quantity) -> bool:
    kinds = {claimed.kind, stated.kind}
    if kinds <= SOFT:
        return True
    if kinds in (
        {"percent", "points"},
        {"number", "points"},
        {"number", "ratio"},
        {"number", "age"},
        {"ratio", "count"},
        {"count", "points"},
        {"age", "duration"},
        {"duration", "ordinal"},
        {"temperature", "ratio"},
        {"temperature", "count"},
        {"temperature", "number"},
        {"temperature", "ordinal"},
        {"kilo", "length"},
        {"kilo", "mass"},
    ):
        return True
    if kinds == {"number", "money"}:  # a currency missing from the table
        return claimed.kind == "number" and claimed.value >= 1_000
    return kinds == {"number", "percent"} and 0 < min(claimed.value, stated.value) < 1


def _dates_agree(claimed: Quantity, stated: Quantity) -> bool:
    if claimed.kind != stated.kind:
        other = stated if claimed.kind == "date" else claimed
        dated = claimed if claimed.kind == "date" else stated
        if other.kind in SOFT:
            is_day = other.kind == "ordinal" and other.value == dated.value % 100
            return is_day or dated.value == other.value * 10_000
        if other.kind == "duration" and other.unit == "month":  # e.g. 23年, the year 2023
            return other.value >= 12 and other.value / 12 == dated.value // 10_000 % 100
        if other.kind == "duration":  # e.g. 9日, possibly a day of a month
            return other.value == dated.value % 100 * 86_400
        return (
            other.kind == "decade"
            and claimed.kind == "decade"
            and other.value <= dated.value // 10_000 < other.value + 10
        )
    ours, theirs = date_parts(claimed.value), date_parts(stated.value)
    if any(one and two and one != two for one, two in zip(ours, theirs, strict=True)):
        return False
    return any(one and two for one, two in zip(ours, theirs, strict=True))


def date_parts(value: float) -> tuple[int, int, int]:
    """Return year, month and day of a date's value, 0 for a part that was not said."""
    number = int(value)
    return number // 10_000, number // 100 % 100, number % 100


def near(claimed: Quantity, value: float) -> bool:
    """Return whether a value is within a quantity's rounding, or its bound ("about", "more than")."""
    said, size = claimed.value, abs(claimed.value)
    slack = min(claimed.step / 2, 0.05 * size) + 1e-9 * max(size, 1e-9)
    if claimed.kind == "percent" and claimed.step == 0.0 and said != 50.0 and claimed.is_word:
        slack = max(slack, 0.5)
    if abs(value - said) <= slack:
        return True
    match claimed.bound:
        case "about":
            return abs(value - said) <= 0.1 * size
        case "more":
            return said <= value <= 2 * said
        case "less":
            return said / 2 <= value <= said
        case _:
            return False
