"""Compute the ids of items, and find an item by id, number or words."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.memory.entries import parse_task, plain
from localllm.memory.section_kinds import SectionKind
from localllm.text.sanitising import clean, display_width, shorten

_LETTERS = "bcdfghjkmnpqrstvwxz"
"""Alphabet of ids: no vowels (no words can result), no l and no digits (a number is a position in the list)."""
_SHORTEST, _WHOLE = 4, 12
_SHORTEST_CUT = 3  # letters of an id that suffice as an unambiguous prefix
_SURE = 3  # cells of a text's beginning that suffice to remove an item
_SHOWN = 5
_LONGEST_SHOWN = 60  # cells
_NEAR = 3
_ALIKE = 0.6  # of difflib: 急ぎのけん for 急ぎの件
_LEAST_COMPARED, _COMPARED, _MOST_COMPARED = 3, 60, 500  # characters of the input, and items


class Named(NamedTuple):
    """An item and its names. `number` is empty if it has none; `likely` ones are preferred."""

    id: str
    text: str
    number: str = ""
    likely: bool = True


def ids_of(kind: SectionKind, texts: Sequence[str]) -> list[str]:
    """Return an id for each text: the letter of its kind and at least four more, as needed to be unique.

    The same text has the same id in every file; duplicates get the suffixes -2, -3, …
    """
    whole = [kind[0] + _spelled(f"{kind}\n{plain(text)}") for text in texts]
    length = _SHORTEST + 1
    short = {name: name[:length] for name in whole}
    while len(taken := Counter(short.values())) < len(short) and length <= _WHOLE:
        length += 1
        short = {name: name[:length] if taken[cut] > 1 else cut for name, cut in short.items()}
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for name in whole:
        seen[name] += 1
        ids.append(short[name] if seen[name] == 1 else f"{short[name]}-{seen[name]}")
    return ids


def one_of(wanted: str, named: Sequence[Named]) -> int:
    """Return the index of an item by id or its prefix, number, beginning of its text, or line of a list.

    ToolExecutionError memory_unknown if there is none, memory_ambiguous if there are several.
    """
    asked = wanted.strip().removeprefix("#").lstrip()
    name = unicodedata.normalize("NFKC", asked).lower()
    for exact in ([one.id for one in named], [one.number for one in named]):
        if name and name in exact:
            return exact.index(name)
    texts = [plain(one.text) for one in named]
    found = _beginning_so(texts, asked) or [index for index, one in enumerate(named) if _is_cut_id(name, one.id)]
    if not found:
        found, is_sure = _on_copied_line(_copied(asked), named, texts)
        if len(found) == 1 and is_sure:
            return found[0]
    likely = [index for index in found if named[index].likely]
    match likely or found:
        case [index]:
            return index
        case []:
            near = names_of([named[index] for index in _near(asked, named, texts)])
            told = Phrase("Similar: {names}.", names=near) if near else ""
            raise ToolExecutionError("memory_unknown", wanted=_shown(asked), near=told)
        case several:
            names = names_of([named[index] for index in several])
            raise ToolExecutionError("memory_ambiguous", wanted=_shown(asked), names=names)


def refuse_vague(wanted: str, named: Named, others: Sequence[Named]) -> None:
    """Raise ToolExecutionError memory_vague if `wanted` is too short a prefix for deleting `named`.
    For items that cannot be restored by entering them again. `others` are all items."""
    beginning = plain(wanted.strip().removeprefix("#"))
    if beginning in (named.id, named.number, plain(named.text)) or display_width(beginning) >= _SURE:
        return
    alike = [one for one in others if plain(one.text).startswith(beginning)] or [named]
    raise ToolExecutionError("memory_vague", wanted=_shown(wanted), names=names_of(alike))


def names_of(named: Sequence[Named]) -> str:
    """Return the ids and texts of up to `_SHOWN` items."""
    more = f"; +{len(named) - _SHOWN}" if len(named) > _SHOWN else ""
    return "; ".join(f"{one.id} {_shown(one.text)}" for one in named[:_SHOWN]) + more


class _Copied(NamedTuple):
    """A parsed line of a list; missing parts are empty. `number`: its position in the list."""

    id: str
    number: str
    text: str


_FACT = "in progress|high|medium|low|進行中|高|中|低"
_ID = r"[tdps][bcdfghjkmnpqrstvwxz]{4,12}(?:-\d+)?"

_BEFORE = (
    re.compile(r"(?:[-*+・•]|>)\s+"),
    re.compile(r"(?:TODO|To do|In progress|Done|Dropped|予定|進行中|完了|中止)\s*[:：]\s*", re.IGNORECASE),
    re.compile(rf"[(（](?:{_FACT})(?:[,、]\s*(?:{_FACT}))*[)）]\s*"),
    re.compile(r"\d{4}-\d\d-\d\d\s+"),
)
_NUMBER = re.compile(r"#?(?P<number>\d{1,5})(?:[.)]|(?=\s))\s*")
_NAME = re.compile(rf"(?P<id>{_ID})(?:[:：]|(?=\s|$))\s*")
_FOUND = re.compile(rf"\[(?:todo|decision|preference|session)(?:\s[\d:T-]+)?\s(?P<id>{_ID})\]\s*")
"""An entry of search results: `[todo 2026-11-22 tbcdf] Text`."""

_CUT = re.compile(r"(?:…|\.\.\.)$")


def _copied(line: str) -> _Copied:
    """Strip what the program's lists and answers put around an item."""
    rest = unicodedata.normalize("NFC", " ".join(line.split()))
    found = {"id": "", "number": ""}
    while match := _before(rest, found):
        found |= {name: value for name, value in match.groupdict().items() if value}
        rest = rest[match.end() :]
    return _Copied(found["id"], found["number"], _CUT.sub("", parse_task(rest).text).strip())


def _before(rest: str, found: dict[str, str]) -> re.Match[str] | None:
    """Match one prefix of an item: only one id, and a number only before it."""
    patterns = [*_BEFORE, *((_FOUND, _NAME) if not found["id"] else ())]
    if not found["id"] and not found["number"]:
        patterns.append(_NUMBER)
    return next((match for pattern in patterns if (match := pattern.match(rest))), None)


def _is_cut_id(asked: str, name: str) -> bool:
    return len(asked) >= _SHORTEST_CUT and name.startswith(asked)


def _beginning_so(texts: Sequence[str], asked: str) -> list[int]:
    """Return the indices of the texts equal to this, else of those that begin with it."""
    beginning = plain(asked)
    same = [index for index, text in enumerate(texts) if text == beginning]
    return same or [index for index, text in enumerate(texts) if beginning and text.startswith(beginning)]


def _on_copied_line(line: _Copied, named: Sequence[Named], texts: Sequence[str]) -> tuple[list[int], bool]:
    """Return the items meant by a line copied from a list, and whether that is certain.
    If id or number belong to one item and the text to another, both are returned. An unknown text counts as changed."""
    by_text = _beginning_so(texts, line.text)
    by_id = [index for index, one in enumerate(named) if line.id and one.id == line.id]
    by_number = [index for index, one in enumerate(named) if line.number and one.number == line.number]
    first = by_id or (by_number if by_text else [])
    if not first:
        return by_text, False
    if not by_text or first[0] in by_text:
        return first, True
    return [*first, *by_text], False


def _near(asked: str, named: Sequence[Named], texts: Sequence[str]) -> list[int]:
    """Return the items that may have been meant by a misspelt name."""
    beginning = plain(asked)[:_COMPARED]
    if len(beginning) < _LEAST_COMPARED:
        return []
    inside = [index for index, text in enumerate(texts) if beginning in text]
    begins = [text[: len(beginning) + 1] for text in texts[:_MOST_COMPARED]]
    close = get_close_matches(beginning, [*begins, *(one.id for one in named[:_MOST_COMPARED])], n=_NEAR, cutoff=_ALIKE)
    alike = [index for index, begin in enumerate(begins) if begin in close or named[index].id in close]
    return list(dict.fromkeys([*inside, *alike]))[:_NEAR]


def _shown(text: str) -> str:
    return shorten(clean(text.strip(), keep_newlines=False), _LONGEST_SHOWN)


def _spelled(text: str) -> str:
    number = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    letters: list[str] = []
    for _ in range(_WHOLE):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
