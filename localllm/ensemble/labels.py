"""Label answers neutrally for the reviewer, and replace the labels in its reply by names.

A reviewer that knows who wrote an answer judges the name too. Labels are letters that never occur alone in the question
and the answers, so that a letter in the review is a label and not a choice, a variable or a language.
"""

import random
import re
import unicodedata
from collections.abc import Mapping, Sequence

from localllm.base.lazy_patterns import late_pattern

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without I and O, which look like a pronoun and a zero."""

_LAST_NUMBER = 999  # of a label
_ATTEMPTS = 100  # on average, for texts that contain all labels

_ALONE = late_pattern(r"[A-Z](?<![A-Za-z0-9].)(?![A-Za-z0-9])")
_ARTICLE = late_pattern(r"A(?<![A-Za-z0-9].)(?=\s+[a-z])")  # the lookbehind comes last, for speed
_LABEL = late_pattern(
    r"(?P<word>(?:\b(?i:answers?|responses?|workers?|agents?|models?|candidates?|assistants?|solutions?|replies|reply|outputs?"
    r"|submissions?|options?)|(?:回答|応答|解答|答え|答|ワーカー|エージェント|モデル|候補|案)(?:者|案)?)"
    r"(?P<open>[\s:：#_*`\"'“‘(（\[【「『<]{0,6}))?"
    r"(?<![A-Za-z0-9_Ａ-Ｚ])(?P<label>[A-ZＡ-Ｚ][0-9]{0,3})(?![A-Za-z0-9_Ａ-Ｚ])"
)
_SYMBOL_BEFORE = late_pattern(r"(?:[.°$&#@/\\\-]|[\d=+]\s?)\Z")
_SYMBOL_BEHIND = late_pattern(r"[+#=\-]")
_BETWEEN = late_pattern(
    r"[*_`)）\]】」』]{0,4}\s{0,3}(?:[,、/・&＆]|and|or|vs\.?|versus|nor|と|や|および|及び|または|より)"
    r"\s{0,3}(?:and\s|or\s)?[*_`(（\[【「『]{0,4}"
)
_BEHIND_A = late_pattern(
    r"\s{0,3}(?:[^\w\s]|\Z|\n|[ぁ-んァ-ヶー一-龠])"
    r"|\s(?:is|are|was|were|has|have|had|does|did|gives?|gave|says?|said|states?|stated|claims?|claimed|gets?|got|makes?|made"
    r"|misse[sd]|lacks?|adds?|added|uses?|used|fails?|failed|agrees?|provides?|provided|contains?|seems?|shows?|omits?|omitted"
    r"|correctly|incorrectly|wrongly|also|alone|and|or|vs|both)\b"
)
_CODE = late_pattern(r"(```.*?(?:```|\Z)|`[^`\n]{3,}`)", re.DOTALL)


def choose_labels(count: int, texts: Sequence[str], rng: random.Random) -> list[str]:
    """Choose `count` letters that do not occur alone in `texts`, consecutive if possible; if there are too few,
    numbered labels that occur nowhere in them, chosen by `rng`."""
    plain = [unicodedata.normalize("NFKC", text) for text in texts]
    taken: set[str] = set()
    for text in plain:
        taken.update(_ALONE.findall(_ARTICLE.sub("", text)))
    runs = (ALPHABET[at : at + count] for at in range(len(ALPHABET) - count + 1))
    free = [letter for letter in ALPHABET if letter not in taken]
    letters = next((run for run in runs if taken.isdisjoint(run)), free[:count])
    return list(letters) if len(letters) == count else _numbered_labels(count, plain, rng)


def _numbered_labels(count: int, texts: Sequence[str], rng: random.Random) -> list[str]:
    """Choose unpredictable labels: an answer must not be able to contain scores for them that the reviewer would
    quote."""
    while True:
        letter, first = rng.choice(ALPHABET), rng.randint(100, max(100, _LAST_NUMBER - count))
        labels = [f"{letter}{number}" for number in range(first, first + count)]
        if not any(label in text for label in labels for text in texts) or not rng.randrange(_ATTEMPTS):
            return labels


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Replace the labels in a reviewer's text by names.

    A label is replaced after a word such as "Answer" or 回答 (along with the word), and alone; but not within words, in
    code, in formulas, and not an A that is the article.
    """
    parts = _CODE.split(text) if names else [text]
    parts[::2] = [_replaced(part, names) for part in parts[::2]]
    return "".join(parts)


def _replaced(text: str, names: Mapping[str, str]) -> str:
    pieces: list[str] = []
    at = 0
    for found in _LABEL.finditer(text):
        name = names.get(unicodedata.normalize("NFKC", found["label"]))
        if name is None:
            continue
        follows_label = bool(pieces) and _BETWEEN.fullmatch(text, at, found.start("label")) is not None
        if found["word"] or follows_label or _stands_alone(found):
            start = found.start() if found["word"] else found.start("label")
            marks = (found["open"] or "").lstrip(
                " :：#\n"
            )  # the asterisks of "Answer **A**", which are closed after it
            pieces += [text[at:start], marks, name]
            at = found.end()
    return "".join([*pieces, text[at:]])


def _stands_alone(found: re.Match[str]) -> bool:
    """Whether a letter without such a word before it is a label."""
    text, start, end = found.string, found.start("label"), found.end("label")
    if _SYMBOL_BEFORE.search(text, max(0, start - 2), start) or _SYMBOL_BEHIND.match(text, end):
        return False
    return unicodedata.normalize("NFKC", found["label"]) != "A" or _BEHIND_A.match(text, end) is not None
