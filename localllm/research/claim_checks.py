"""Reject claims by rule, without a model: what these checks let pass is not yet supported.

A number, a name, a direction or a superlative that is in no passage rejects. Each rule stands in the order of its
certainty; a rule that rejects true claims is worth less than the lies it finds.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.claim_polarity import added_superlative, is_negated, is_negation_invented, is_reversed
from localllm.research.derived_quantities import is_derivable
from localllm.research.records import Evidence
from localllm.text.numerals import fold
from localllm.text.quantities import SOFT, Quantity, agrees, near, quantities
from localllm.text.sentences import split_sentences
from localllm.text.tokenising import terms


class Refusal(NamedTuple):
    """Why a claim cannot stand: a text to be translated and its parameters."""

    reason: str
    params: dict[str, Json]


def refuse(claim: str, passages: Sequence[str], *, today: str) -> Refusal | None:
    """The first reason by rule why the passages cannot support a claim; None where a model has to judge."""
    given = [one for one in passages if one.strip()]
    if not given:
        return Refusal(N_("There is no passage for it."), {})
    if missing := _missing_quantity(claim, given, today):
        return Refusal(N_("“{quantity}” is not in the passages cited."), {"quantity": missing})
    if missing := _missing_code(claim, given) or _missing_name(claim, given):
        return Refusal(N_("The passages cited do not mention “{name}”."), {"name": missing})
    if is_reversed(claim, _clauses_about(claim, given)):
        return Refusal(N_("The passages cited say the opposite direction."), {})
    if (is_negation_invented(claim, given) and not _is_remainder(claim)) or _is_negation_dropped(claim, given):
        return Refusal(N_("The passages cited and the claim differ in a “not”."), {})
    if added_superlative(claim, given):
        return Refusal(N_("The claim goes further than the passages cited (“first”, “only”, “all”, “largest”)."), {})
    if _is_unrelated(claim, given):
        return Refusal(N_("The passages cited are about something else."), {})
    return None


def _missing_quantity(claim: str, passages: Sequence[str], today: str) -> str:
    stated = [one for passage in passages for one in quantities(passage)]
    for one in quantities(claim):
        if _is_idle(one) or any(agrees(one, other) for other in stated):
            continue
        if _has_unit_left_out(one, stated) or is_derivable(claim, one, stated, today) or _is_enumerated(one, passages):
            continue
        return claim[one.span.start : one.span.end]
    return ""


def _has_unit_left_out(wanted: Quantity, stated: Sequence[Quantity]) -> bool:
    """Whether the unit stands with another number only: from 8,000 tonnes to under 500."""
    if wanted.kind in SOFT or not any(one.kind == wanted.kind and one.unit == wanted.unit for one in stated):
        return False
    bare = [one.value for one in stated if one.kind == "number"]
    return any(near(wanted, value * factor) for value in bare for factor in (1, 1e3, 1e6, 1e9))


def _is_idle(quantity: Quantity) -> bool:
    """Whether it says too little to be looked for: "one", "second"."""
    return (quantity.kind in SOFT and abs(quantity.value) <= 1) or (quantity.kind == "ordinal" and quantity.is_word)


_SEPARATORS = late_pattern(r",|、|・|と|\band\b|および|;")


def _is_enumerated(quantity: Quantity, passages: Sequence[str]) -> bool:
    """Whether a small number may be the count of what a passage lists."""
    if quantity.kind not in SOFT or not 2 <= quantity.value <= 10:
        return False
    return any(
        len(_SEPARATORS.findall(passage[start:end])) >= quantity.value - 1
        for passage in passages
        for start, end in split_sentences(passage)
    )


_CODE = late_pattern(r"(?<![A-Za-z\d])(?:[A-Za-z]+-?\d+(?:\.\d+)*|\d+(?:\.\d+){2,})(?![\d])")
_LATIN_NAME = late_pattern(r"(?<![\w'])[A-Z][A-Za-z\u00c0-\u024f]+(?:['-][A-Z]?[a-z]+)*")
_JAPANESE = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")
_LATIN = late_pattern(r"[A-Za-z]{3}")
_JA_NAME = late_pattern(
    r"[\u30a1-\u30fa\u30fc]{2,}(?:・[\u30a1-\u30fa\u30fc]+)+"
    r"|(?:[\u30a1-\u30fa\u30fc]{2,}|[\u4e00-\u9fff]{1,6})(?=大学|氏|さん|県|市(?!場|民|内)|州|府|島(?!民)|教授|首相|大統領|社長|自動車|銀行|製薬|電力)"
)
_GENERIC = frozenset(
    [
        "同",
        "当",
        "各",
        "両",
        "他",
        "自",
        "本",
        "全",
        "新",
        "旧",
        "元",
        "前",
        "現",
        "都",
        "大",
        "小",
        "同大",
        "国立",
        "私立",
        "地方",
        "都道",
        "政",
        "副",
        "名誉",
        "准",
        "海外",
        "中央",
        "民間",
        "電気",
    ]
)
_ORDINARY = frozenset(
    [
        "The",
        "A",
        "An",
        "It",
        "Its",
        "In",
        "On",
        "At",
        "He",
        "She",
        "They",
        "We",
        "This",
        "That",
        "These",
        "Those",
        "But",
        "And",
        "As",
        "His",
        "Her",
        "Their",
        "There",
        "Our",
        "By",
        "For",
        "From",
        "With",
        "To",
        "If",
        "After",
        "Before",
        "When",
        "While",
        "Since",
        "Both",
        "All",
        "Some",
        "Most",
        "Many",
        "More",
        "Less",
        "About",
        "Over",
        "Under",
        "Only",
        "Every",
        "Each",
        "No",
        "Not",
        "Nearly",
        "Almost",
        "Around",
        "Approximately",
        "Half",
        "One",
        "Two",
        "Three",
        "Four",
        "Five",
        "Six",
        "Seven",
        "Eight",
        "Nine",
        "Ten",
        "During",
        "According",
        "Under",
        "Unlike",
        "Because",
        "Although",
        "However",
        "Between",
        "Among",
        "Sales",
        "Prices",
        "People",
        "Workers",
        "Researchers",
        "Scientists",
        "Residents",
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "Jan",
        "Feb",
        "Mar",
        "Apr",
        "Jun",
        "Jul",
        "Aug",
        "Sept",
        "Oct",
        "Nov",
        "Dec",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "FY",
    ]
)


def _missing_code(claim: str, passages: Sequence[str]) -> str:
    """A name with digits or a version number, the same in every language, that is nowhere."""
    everything = _squeezed("\n".join(passages))
    for found in _CODE.finditer(fold(claim)):
        written = found[0]
        if quantities(written) or written[:2] in ("FY", "US", "Q1", "Q2", "Q3", "Q4"):
            continue
        if _squeezed(written) not in everything:
            return written
    return ""


def _squeezed(text: str) -> str:
    return fold(text).lower().replace("-", "").replace(" ", "").replace("‑", "")


def _missing_name(claim: str, passages: Sequence[str]) -> str:
    """A name of the claim that no passage has; between two languages only those that are written alike."""
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
    if name in _ORDINARY or (begins and name.lower().endswith(("s", "ing", "ed", "ly", "ion")) and name[1:].islower()):
        return True
    if begins and name[1:].islower() and not _LATIN_NAME.match(claim[start + len(name) + 1 : start + len(name) + 20]):
        return True  # a common word that begins the sentence, as far as one can see
    lowered = _squeezed(name.removesuffix("'s"))
    if lowered in plain or lowered[: max(4, len(lowered) - 3)] in plain:
        return True
    return name.isupper() and (len(name) <= 2 or _is_initials(name, everything))


def _is_initials(name: str, text: str) -> bool:
    initials = "".join(one[0] for one in _WORD_START.findall(text))
    return name in initials


_WORD_START = late_pattern(r"\b[A-Z]")


_CLAUSE = late_pattern(r";|；|、|,\s(?=while|but|whereas|against|and\b|compared)|\bwhile\b|\bagainst\b|\bwhereas\b")


def _clauses_about(claim: str, passages: Sequence[str]) -> list[str]:
    """The clauses that hold a number of the claim; without numbers those with most of its terms."""
    clauses = [
        part
        for passage in passages
        for start, end in split_sentences(passage)
        for part in _CLAUSE.split(passage[start:end])
    ]
    numbers = [one for one in quantities(claim) if not _is_idle(one) and one.kind not in ("date", "quarter")]
    if numbers:
        return [one for one in clauses if any(agrees(number, two) for number in numbers for two in quantities(one))]
    wanted = _term_set(claim)
    return [one for one in clauses if len(wanted & _term_set(one)) >= 0.5 * len(wanted)]


def _is_remainder(claim: str) -> bool:
    """Whether it may say what is left of a share: "20 % are not exported"."""
    return any(one.kind == "percent" for one in quantities(claim))


def _is_negation_dropped(claim: str, passages: Sequence[str]) -> bool:
    """Whether the one sentence that says nearly the same as a claim says that it is not so."""
    if is_negated(claim):
        return False
    wanted = _term_set(claim)
    if len(wanted) < 3:
        return False
    near: list[str] = []
    for passage in passages:
        for start, end in split_sentences(passage):
            if len(wanted & _term_set(passage[start:end])) >= 0.75 * len(wanted):
                near.append(passage[start:end])
    return bool(near) and all(is_negated(one) and len(_term_set(one)) < 2 * len(wanted) for one in near)


def _is_unrelated(claim: str, passages: Sequence[str]) -> bool:
    """Whether claim and passages are in one language and share no term."""
    everything = "\n".join(passages)
    if _is_japanese(claim) != _is_japanese(everything):
        return False
    wanted = _term_set(claim)
    shared = wanted & _term_set(everything)
    return len(wanted) >= 4 and len(shared) < 0.15 * len(wanted)


def _is_japanese(text: str) -> bool:
    return _share_of_latin(text) < 0.6


@lru_cache(maxsize=512)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def support_score(claim: str, passage: str) -> float:
    """How much of a claim a passage may hold, 0 to 1: terms, pieces of words and numbers. For ranking only."""
    wanted, given = _term_set(claim), _term_set(passage)
    numbers = [one for one in quantities(claim) if not _is_idle(one)]
    stated = quantities(passage)
    held = sum(any(agrees(one, other) for other in stated) for one in numbers)
    share = held / len(numbers) if numbers else 0.5
    if _is_japanese(claim) != _is_japanese(passage):
        latin = {one for one in wanted if one.isascii() and not one.isdigit()}
        common = len(latin & given) / len(latin) if latin else 0.3
        return 0.6 * share + 0.4 * common
    words = len(wanted & given) / max(1, len(wanted))
    ours, theirs = _pieces(claim), _pieces(passage)
    return 0.5 * words + 0.2 * len(ours & theirs) / max(1, len(ours)) + 0.3 * share


@lru_cache(maxsize=512)
def _pieces(text: str) -> frozenset[str]:
    plain = fold(text).lower()
    return frozenset(plain[at : at + 4] for at in range(len(plain) - 3))


def best_passages(claim: str, evidence: Sequence[Evidence], limit: int = 3) -> list[Evidence]:
    """The passages most likely to support a claim, best first; ties in the order given."""
    return sorted(evidence, key=lambda one: -support_score(claim, one.text))[:limit]
