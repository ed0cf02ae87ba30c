"""Describe a collection by rule from its titles and frequent words, for a model to choose by."""

import re
from collections import Counter
from collections.abc import Iterable

from localllm.base.lazy_patterns import late_pattern
from localllm.rag.store import Payload
from localllm.text.sanitising import clean, shorten
from localllm.text.tokenising import terms

_MOST_TITLES = 5
_MOST_WORDS = 6
_LONGEST_TITLE = 40
"""Terminal cells."""
_TOO_COMMON = 0.12
"""Share of the passages: a more frequent word does not discriminate."""
_MOST_PASSAGES = 5_000
"""Passages examined: the first ones show the subject of a large collection."""

_LOOKED_AT = 60
_MOST_LISTED = 40
_FEWEST_NUMBERED = 3

_NUMBER = late_pattern(r"\d{1,6}")
_WORD = late_pattern(r"[A-Za-z][A-Za-z-]{4,}|[\u30a1-\u30fa\u30fc]{3,}|[\u4e00-\u9fff]{2,6}")
_PHRASE = late_pattern(r"[?？]|(?:[A-Za-z]+[ ,]+){3}[A-Za-z]|[\u3041-\u30fa\u30fc\u4e00-\u9fff]{10}")
"""Matches a value of some words."""


class Contents:
    """Count titles and words of the ingested passages."""

    def __init__(self) -> None:
        self._passages = 0
        self._titles: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """Whether no more passages are examined."""
        return self._passages >= _MOST_PASSAGES

    def note(self, payloads: Iterable[Payload]) -> None:
        """Count the titles and words of these passages."""
        for payload in payloads:
            if self.is_full:
                return
            self._passages += 1
            self._titles.update(_titles(payload))
            self._words.update({word.lower() for word in _WORD.findall(payload.text)})

    @property
    def titles(self) -> list[str]:
        """The most frequent titles; those that differ by a number are one."""
        named = (" ".join(clean(title, keep_newlines=False).split()) for title, _ in self._titles.most_common())
        folded = _folded(filter(None, named))[: 2 * _MOST_LISTED]
        return list(dict.fromkeys(shorten(title, _LONGEST_TITLE) for title in folded))[:_MOST_LISTED]

    @property
    def words(self) -> list[str]:
        """The words most passages share, without those in nearly all or hardly any."""
        least, most = min(2, self._passages // 4), max(3.0, self._passages * _TOO_COMMON)
        titled = " ".join(self.titles[:_MOST_TITLES]).lower()
        fitting = [(count, word) for word, count in self._words.items() if least <= count <= most]
        ranked = [word for _, word in sorted(fitting, key=lambda one: (-one[0], one[1])) if word not in titled]
        return [word for word in ranked[:_LOOKED_AT] if terms(word)]

    def described(self) -> str:
        """The titles and words in one line; "" if there are none."""
        titles = "; ".join(self.titles[:_MOST_TITLES])
        words = ", ".join(self.words[:_MOST_WORDS])
        return f"{titles} ({words})" if titles and words else titles or words

    def listed(self) -> str:
        """List more titles and words, as input for a model that writes the description."""
        titles = "\n".join(f"- {one}" for one in self.titles)
        return f"Titles:\n{titles}\nWords: {', '.join(self.words[:30])}"


def _titles(payload: Payload) -> tuple[str, ...]:
    """Return the first headings of a passage, else the file's name. A row is headed by its first value, which says
    nothing of the table if it is a name or a number, but does if it is a question."""
    if payload.kind == "row" and not any(_PHRASE.search(one) for one in payload.headings[bool(payload.sheet) :]):
        return (_plain_name(payload.file), *([payload.sheet] if payload.sheet else []))
    return payload.headings[:2] or (_plain_name(payload.file),)


def _folded(titles: Iterable[str]) -> list[str]:
    """Fold titles that differ only by their last number: “Note 0-17” tells as much, and leaves room for others."""
    series: dict[str, list[tuple[int, str]]] = {}
    for title in titles:
        numbers = list(_NUMBER.finditer(title))
        if numbers:
            start, end = numbers[-1].span()
            series.setdefault(f"{title[:start]}\0{title[end:]}", []).append((int(numbers[-1][0]), title))
        else:
            series.setdefault(title, []).append((0, title))
    folded: list[str] = []
    for form, members in series.items():
        if "\0" in form and len(members) >= _FEWEST_NUMBERED:
            first, *_, last = sorted(number for number, _title in members)
            folded.append(form.replace("\0", f"{first}-{last}"))
        else:
            folded += [title for _number, title in members]
    return folded


def _plain_name(file: str) -> str:
    """Return the file name without folders and extension."""
    return re.sub(r"\.\w+$", "", file.rpartition("/")[2])
