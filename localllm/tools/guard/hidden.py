"""Commands that stand in the arguments of others: texts a program may be told to run, and new names for programs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from localllm.base.patterns import late_pattern
from localllm.tools.guard.dangers import PRINTERS
from localllm.tools.guard.words import Word
from localllm.tools.guard.wrappers import program_of

_SAID = late_pattern(
    r"-[a-z]*m|-[tbk]|--(?:message|title|body|notes|grep|author|date|format|pretty|description|trailer|regexp?)"
)
"""Options whose value is text for people, or a pattern."""

_SED_RUNS = late_pattern(r"(?:^|[;{\n\d$/])\s*e(?:\s|$)|/[gpiI\d]*e[gpiI\d]*\s*(?:;|$)")
_PRINTER_RUNS = late_pattern(r"--pre(?:=|$)|--pager(?:=|$)|-P|\+.?!")
_COPIERS = frozenset({"cp", "ln", "mv", "install"})


def texts_in(words: Sequence[Word]) -> Iterator[str]:
    """Arguments of several words that the program may run: `rg --pre 'x y'`, `vim -c '!x y'`. Not messages, not what
    is only printed or searched for, not the programs of sed that run nothing."""
    name = program_of(words[0])
    for before, word in pairwise(words):
        option, given, _ = word.text.partition("=")
        runs = _PRINTER_RUNS.match(word.text) or _PRINTER_RUNS.match(before.text)
        if name in PRINTERS and not (runs and name in ("rg", "man", "less")):
            continue
        if len(word.text.split()) < 2 or _SAID.fullmatch(option if given and option[:1] == "-" else before.text):
            continue
        if name != "sed" or _SED_RUNS.search(word.text):
            yield re.sub(r"^(?:[\w-]+=|[!:+]+)", "", word.text)


def renamed_by(words: Sequence[Word]) -> dict[str, list[Word]]:
    """The names by which programs can be called once the command has run, with what they then stand for."""
    rest = [word for word in words[1:] if not word.text.startswith("-")]
    match program_of(words[0]):
        case "alias":
            pairs = [word.text.partition("=") for word in rest]
            return {name: [Word(part) for part in text.split()] for name, mark, text in pairs if mark and text}
        case "hash" if len(rest) > 1:
            return {rest[-1].text: [rest[0]]}
        case copier if copier in _COPIERS and len(rest) == 2 and _may_be_program(rest[0]):
            return {rest[1].text.rstrip("/").rpartition("/")[2]: [rest[0]]}
        case _:
            return {}


def _may_be_program(word: Word) -> bool:
    return word.computed or "/" in word.text
