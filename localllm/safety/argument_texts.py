"""Find the texts in a command's arguments that the program may run."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.dangerous_commands import PRINTERS
from localllm.safety.nested_commands import INTERPRETERS, program_of, unpacking_quoted
from localllm.safety.shell_words import Word

_SAID = late_pattern(
    r"-[a-z]*m|-[tbk]|--(?:message|title|body|notes|grep|author|date|format|pretty|description|trailer|regexp?)"
)
"""Options whose value is text for readers, or a pattern."""

_SED_RUNS = late_pattern(r"(?:^|[;{\n\d$/!])\s*e(?:\s|$)|[^\w\s][gpiImM\d]*e[gpiImM\d]*\s*(?:[;}\n]|$)")
_SED_MARKS = late_pattern(r"[^\w\s.-]")
TOLD_TO_RUN = late_pattern(r"^(?:[\w-]+=|\\?!+|[:+]+!*|\.?(?:shell|system|spawn)\s+|(?:EXEC|SYSTEM):)", re.IGNORECASE)
"""Prefixes of command lines in languages of other programs: vim, psql, sqlite3, gdb, expect, socat."""

_PRINTER_RUNS = late_pattern(r"--pre(?:=|$)|--pager(?:=|$)|-P|\+.?!")


def texts_in(words: Sequence[Word]) -> Iterator[str]:
    """Yield arguments of several words that the program may run: `rg --pre 'x y'`, `vim -c '!x y'`. Not messages,
    printed text, search patterns, or sed programs that run nothing."""
    name = program_of(words[0])
    for before, word in pairwise(words):
        option, given, _ = word.text.partition("=")
        runs = _PRINTER_RUNS.match(word.text) or _PRINTER_RUNS.match(before.text)
        if name in PRINTERS and not (runs and name in ("rg", "man", "less")):
            continue
        if name == "sed":
            yield from (_of_sed(word.text) if _SED_RUNS.search(word.text) else ())
            continue
        text = TOLD_TO_RUN.sub("", word.text)
        is_told = text != word.text and not given
        is_text = len(word.text.split()) < 2 and not is_told
        if is_text or _SAID.fullmatch(option if given and option[:1] == "-" else before.text):
            continue
        yield unpacking_quoted(text) if name in INTERPRETERS else text


def _of_sed(program: str) -> Iterator[str]:
    yield re.sub(r"^[\w-]+=", "", program)
    yield _SED_MARKS.sub(" ; ", program)  # s/x/command/e
