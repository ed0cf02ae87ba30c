"""What the lists of LOCALLLM.md have in common: ids made from the text, finding an item by what a person types."""

import hashlib
import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.memory.sections import SectionKind
from localllm.text.cleaning import clean

_LETTERS = "bcdfghjkmnpqrstvwxz"
"""Of ids: no vowels (no words come about), no l and no digits (a number means a place in the list)."""
_SHORTEST, _WHOLE = 4, 12
_SHOWN = 5
_LONGEST_FOLDED = 2_000  # characters: bringing long runs of accents into order takes the square of their number


class Named(NamedTuple):
    """An item as it may be called. `number` is "" where it has none; `likely` ones are meant before the others."""

    id: str
    text: str
    number: str = ""
    likely: bool = True


def ids_of(kind: SectionKind, texts: Sequence[str]) -> list[str]:
    """An id for each text: the letter of its kind and four more, or as many as it takes to be the only one.

    The same text has the same id in every file; further items of the same text get -2, -3, …
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
    """The index of the item meant by its id, its number, or the beginning of its text.

    ToolExecutionError memory_unknown where there is none, memory_ambiguous where there are several.
    """
    asked = wanted.strip().removeprefix("#")
    for exact in ([one.id for one in named], [one.number for one in named]):
        if asked and asked.lower() in exact:
            return exact.index(asked.lower())
    beginning = plain(asked)
    texts = [plain(one.text) for one in named]
    found = [index for index, text in enumerate(texts) if text == beginning]
    found = found or [index for index, text in enumerate(texts) if beginning and text.startswith(beginning)]
    found = found or [index for index, one in enumerate(named) if _is_cut_id(asked, one.id)]
    likely = [index for index in found if named[index].likely]
    match likely or found:
        case [index]:
            return index
        case []:
            raise ToolExecutionError("memory_unknown", wanted=clean(asked, keep_newlines=False))
        case several:
            names = "; ".join(f"{named[index].id} {named[index].text}" for index in several[:_SHOWN])
            raise ToolExecutionError("memory_ambiguous", wanted=clean(asked, keep_newlines=False), names=names)


def tidy(text: str) -> list[str]:
    """The lines of a text to be kept as an item: nothing invisible in it, no blank ones around, the first one flush.

    ToolExecutionError memory_text_empty where there is no letter or digit on the first line.
    """
    lines = clean(re.sub(r"\r\n?", "\n", text)).strip().split("\n")
    title = " ".join(lines[0].split("\t")).strip()
    if not any(character.isalnum() for character in title):
        raise ToolExecutionError("memory_text_empty")
    rest = textwrap.dedent("\n".join(lines[1:])).split("\n") if len(lines) > 1 else []
    return [title, *(line.rstrip() for line in rest)]


def on_one_line(text: str) -> str:
    """A text to be kept on one line. Errors as `tidy`."""
    return " ".join(" ".join(tidy(text)).split())


def plain(text: str) -> str:
    """A text to compare: width, case and white space make no difference, in a very long one white space alone."""
    if len(text) > _LONGEST_FOLDED:
        return " ".join(text.split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_cut_id(asked: str, name: str) -> bool:
    return len(asked) > _SHORTEST and name.startswith(asked.lower())


def _spelled(text: str) -> str:
    number = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    letters: list[str] = []
    for _ in range(_WHOLE):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
