"""Classify a question by its words, and extract its subject."""

import re
from collections.abc import Iterator
from itertools import filterfalse
from typing import Literal, cast

import msgspec

from localllm.lookup import vocabulary
from localllm.lookup.entities import NAME, folder_in, is_path, name_in, path_and_line, path_in, quoted_in
from localllm.lookup.terms import terms_of

Kind = Literal[
    "greeting", "thanks", "needs_model", "commits", "diff", "status", "message", "todo", "imports", "uses", "howto",
    "project", "path", "list", "count", "tests", "define", "explain", "value", "subclasses", "concept",
    "decided", "preferred", "before",
]  # fmt: skip

_WITHOUT_NAMES = frozenset(
    """
    greeting thanks needs_model commits diff status todo howto project decided preferred before
    """.split()
)
_OF_NAMES = frozenset({"define", "explain", "uses", "subclasses"})
_WORDS_BESIDE_A_NAME = 2


class Question(msgspec.Struct, frozen=True):
    """A question's kind and its subject: a name, a path, a quoted message, or "". `detail`: a line of that path, or the
    path that a name is in."""

    kind: Kind
    subject: str = ""
    detail: str = ""


def understand(text: str) -> Question:
    """Classify the question `text`."""
    asked = " ".join(text.split())
    kind = _kind(asked)
    if kind in _WITHOUT_NAMES:
        return Question(kind, path_in(asked))
    if message := _message(asked):
        return Question("message", message)
    path, line = path_and_line(asked)
    if path and kind in ("list", "count"):
        return Question(kind, path)
    if not path and (folder := folder_in(asked)) and kind in ("explain", "define", "concept", "list", "count"):
        return Question("path" if kind in ("explain", "define", "concept") else kind, folder)
    if path and kind in ("explain", "define", "concept", "value"):
        return _about_a_path(kind, asked, path, line)
    if kind in ("tests", "list", "count"):
        return Question(kind, name_in(asked) or _plain_name(kind, asked))
    if kind == "imports":
        return Question(kind, _imported(asked)) if _imported(asked) else Question("concept")
    return _about_a_name(kind, asked)


def _kind(asked: str) -> Kind:
    found = next((kind for kind, pattern in vocabulary.patterns("questions.txt") if pattern.search(asked)), "concept")
    return cast("Kind", found)


def _about_a_path(kind: Kind, asked: str, path: str, line: str) -> Question:
    """Classify a question with a path: about the file, a name in it, or something else."""
    rest = asked.replace(path, " ")
    if _firm_words(rest) >= _WORDS_BESIDE_A_NAME and not name_in(rest):
        return Question(kind if kind == "value" else "concept")
    return Question(kind, name, path) if (name := name_in(rest)) else Question("path", path, line)


def _about_a_name(kind: Kind, asked: str) -> Question:
    name = name_in(asked) or _plain_name(kind, asked)
    if not name:
        return Question("concept" if kind in _OF_NAMES else kind)
    if (kind == "concept" or not name_in(asked)) and _firm_words(asked) > _WORDS_BESIDE_A_NAME:
        return Question("concept")
    return Question("define" if kind == "concept" else kind, name)


def _firm_words(text: str) -> int:
    return sum(not term.soft for term in terms_of(text))


def _message(text: str) -> str:
    """Return a quoted text of several words, or one called an error or message."""
    for quoted in filterfalse(is_path, quoted_in(text)):
        several = len(re.findall(r"\w+", quoted)) > 1 or re.search(r"[ぁ-んァ-ヶ一-龠]{4}", quoted)
        if several and (" " in quoted or vocabulary.pattern("of errors").search(text.replace(quoted, " "))):
            return quoted
    return ""


_CALLED = (
    "(?:the |a |an )?(?:class|function|method|constant|variable|setting|module|decorator|struct|type|macro|enum"
    "|interface|command|fixture|exception)"
)


def _plain_name(kind: Kind, text: str) -> str:
    """Return a name that looks like a word, if the question marks it as a name: "the function slugify"."""
    others = vocabulary.stop() | vocabulary.named("not_names") | vocabulary.named("categories")
    patterns = (
        line
        for heading, line in vocabulary.sections("names.txt")
        if heading == (kind if kind != "concept" else "define")
    )
    for pattern in patterns:
        match = re.search(
            pattern.replace("NAME", f"({NAME})").replace("CALLED", _CALLED), text, re.IGNORECASE | re.ASCII
        )
        if match and match[1].lower() not in others:
            return match[1]
    return ""


def _imported(text: str) -> str:
    """Return the imported module: the first name quoted, after "import", or anywhere in the question."""
    others = vocabulary.named("not_names") | vocabulary.stop()
    return next((name for name in _modules(text) if name.lower() not in others), "")


def _modules(text: str) -> Iterator[str]:
    yield from quoted_in(text)
    importing = r"\b(?:imports?|includes?|requires?|depends? on|imported|importing)\s+(?:the )?[<\"'`]?"
    if after := re.search(rf"{importing}([@\w$./:#-]*[\w$])", text, re.ASCII):
        yield after[1]
    yield from re.findall(r"[@A-Za-z_][\w./-]*\w", text, re.ASCII)
