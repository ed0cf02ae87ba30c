"""Read the options of programs that run another one: where the command begins that they run, and whether the options
change nothing but how it runs.

A table of options is a text of names, those of one letter and long ones. `:` follows a name that has a value, `?` one
that may have a value in the same word.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.shell_words import Word

ASSIGNMENT = late_pattern(r"\w+(?:\[.*\])?\+?=", re.DOTALL)


class Options(msgspec.Struct, frozen=True):
    """The options of a command. `given`: their names, each with its value or "". `rest`: the words after them.
    `are_harmless`: all are known to be, and none of the words up to `rest` is computed."""

    given: tuple[tuple[str, str], ...]
    rest: list[Word]
    are_harmless: bool


def read_options(words: Sequence[Word], harmless: str, others: str = "", *, assignments: bool = False) -> Options:
    """Read the options that `words` begins with, as getopt does: letters may be grouped, long names shortened.

    `harmless` and `others`: tables of options; one in neither is taken for one without a value. `assignments`: whether
    `NAME=value` may stand among them.
    """
    harmless_ones = _table(harmless)
    known = {**_table(others), **harmless_ones}
    given: list[tuple[str, str | None]] = []
    at, ends = 0, False
    while at < len(words) and not ends:
        text = words[at].text
        ends = text == "--"
        if not ends and text[:1] == "-" and text != "-":
            found = _long(text[2:], known) if text[1] == "-" else _grouped(text[1:], known)
            *before, (name, value) = found
            given += before
            if value is None and known.get(name) == ":":
                at += 1
                value = words[at].text if at < len(words) else ""
            given.append((name, value))
        elif not (ends or (assignments and ASSIGNMENT.match(text))):
            break
        at += 1
    are_harmless = all(name in harmless_ones for name, _ in given) and not any(word.computed for word in words[:at])
    return Options(tuple((name, value or "") for name, value in given), list(words[at:]), are_harmless)


@lru_cache(maxsize=64)
def _table(names: str) -> dict[str, str]:
    """Return the options of a table, with the sign behind each."""
    return {name.rstrip(":?"): name[len(name.rstrip(":?")) :] for name in names.split()}


def _long(text: str, known: Mapping[str, str]) -> list[tuple[str, str | None]]:
    name, mark, value = text.partition("=")
    longer = [one for one in known if len(one) > 1 and one.startswith(name)]
    name = longer[0] if len(longer) == 1 and name not in known else name
    return [(name, value if mark else None)]


def _grouped(letters: str, known: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Return the options in a group of letters, the last one with its value if that is in the same word."""
    at = next((at for at, letter in enumerate(letters) if known.get(letter)), len(letters) - 1)
    return [*((letter, "") for letter in letters[:at]), (letters[at], letters[at + 1 :] or None)]
