"""The stem of an English word, so that `connected` and `connection` are found by `connect`.

Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two later corrections of its author (`bli`
and `logi`) that his published vocabulary follows.
"""

import re
from functools import cache

_STEP_2 = (
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize "
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log"
)
_STEP_3 = "icate>ic ative> alize>al iciti>ic ical>ic ful> ness>"
_STEP_4 = "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> sion>s tion>t ou> ism> ate> iti> ous> ive> ize>"


def stem(word: str) -> str:
    """The stem of `word`, which has to be lower-case ASCII letters; one of up to two letters stays as it is."""
    if len(word) <= 2:
        return word
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, 0)
    word = _replaced(word, _STEP_3, 0)
    word = _replaced(word, _STEP_4, 1)
    return _without_last_letter(word)


def _shape(word: str) -> str:
    """`word` with "c" for a consonant and "v" for a vowel; a y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _measure(word: str) -> int:
    """How often consonants follow vowels: the m of the paper, [C](VC)^m[V]."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, and the last is not w, x or y: the *o of the paper."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return word[-1:] == word[-2:-1] and _shape(word).endswith("c")


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    kept = word.removesuffix(ending)
    if not ending or "v" not in _shape(kept):
        return word
    if kept.endswith(("at", "bl", "iz")) or (_measure(kept) == 1 and _ends_short(kept)):
        return kept + "e"
    return kept[:-1] if _ends_double(kept) and kept[-1] not in "lsz" else kept


@cache
def _rules(written: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """The endings of a step, and what stands for each."""
    rules = dict(rule.split(">") for rule in written.split())
    return re.compile(f"(?:{'|'.join(rules)})$"), rules


def _replaced(word: str, step: str, least: int) -> str:
    """`word` with its longest ending of the step replaced, if what is before it has a measure over `least`."""
    endings, rules = _rules(step)
    if not (found := endings.search(word)):  # the leftmost match is the longest ending
        return word
    changed = word[: found.start()] + rules[found[0]]
    measured = changed if found[0].endswith("ion") and step == _STEP_4 else word[: found.start()]
    return changed if _measure(measured) > least else word


def _without_last_letter(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
