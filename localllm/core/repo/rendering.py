"""The map of a project as text: its most important files, and in them the lines of the definitions that matter."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from localllm.syntax.symbols import Symbol

_GAP = "⋮"
_USUAL_LINE = 60


class Rendered(msgspec.Struct, frozen=True):
    """The text, and how much of what could be shown is in it."""

    text: str
    files: int = 0
    definitions: int = 0


class Ranked(NamedTuple):
    """A definition in a file, numbered as in the order of the file."""

    path: str
    number: int


def render(
    ranked: Sequence[Ranked],
    definitions: Callable[[str], Sequence[Symbol]],
    room: int,
    measure: Callable[[str], int],
) -> Rendered:
    """As many of the `ranked` definitions, best first, as `measure` finds to fit `room`.

    A file stands where the first of its definitions does:

        core/index.py
        12 class Index:
        ⋮
        40     def refresh(self) -> None:

    The numbers are those of the lines; `⋮` stands for definitions that are left out.
    """
    fitting, beyond, best = 0, len(ranked) + 1, Rendered("")
    count = min(len(ranked), max(1, room // _USUAL_LINE))
    while beyond - fitting > 1:
        shown = _rendered(ranked[:count], definitions)
        if measure(shown.text) <= room:
            fitting, best = count, shown
        else:
            beyond = count
        count = min(2 * fitting + 1, (fitting + beyond) // 2)
    return best


def _rendered(ranked: Sequence[Ranked], definitions: Callable[[str], Sequence[Symbol]]) -> Rendered:
    chosen: dict[str, set[int]] = {}
    for path, number in ranked:
        chosen.setdefault(path, set()).add(number)
    lines = [line for path, numbers in chosen.items() for line in _file(path, numbers, definitions(path))]
    return Rendered("\n".join(lines), files=len(chosen), definitions=len(ranked))


def _file(path: str, numbers: set[int], definitions: Sequence[Symbol]) -> Iterator[str]:
    yield path
    numbers = _with_what_is_around(numbers, definitions)
    left_out = False
    for number, definition in enumerate(definitions):
        if number not in numbers:
            left_out = True
            continue
        if left_out:
            yield _GAP
            left_out = False
        depth = definition.parent.count(".") + 1 if definition.parent else 0
        yield f"{definition.line} {'  ' * depth}{definition.signature}"
    if left_out:
        yield _GAP


def _with_what_is_around(numbers: set[int], definitions: Sequence[Symbol]) -> set[int]:
    """The numbers with those of the classes around them: a method's line alone does not tell whose it is."""
    if not any(definitions[number].parent for number in numbers):
        return numbers
    owners = {definition.full_name: number for number, definition in enumerate(definitions)}
    whole = set(numbers)
    for number in numbers:
        parent = definitions[number].parent
        while parent and (owner := owners.get(parent)) is not None and owner not in whole:
            whole.add(owner)
            parent = definitions[owner].parent
    return whole
