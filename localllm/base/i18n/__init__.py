"""Texts for people, in English and Japanese, from one catalogue.

`tr` and `error_text` answer in the current language. The language is a setting of the process: one program
speaks to one person. The texts are read when the first of them is to be said: a question that is answered without
a word of the program's own needs none of them.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LANGUAGES = ("en", "ja")

_COUNTED = re.compile(r"\{(\w+):\?([^/}]*)/([^}]*)\}")


class ErrorText(NamedTuple):
    """One error's public code and its text in one language."""

    code: str
    what: str
    why: str
    fix: str


class _Current:
    language: str = "en"


def set_language(language: str) -> None:
    """Speak `language` ("en" or "ja"); "auto" takes it from the locale variables."""
    _Current.language = language if language in LANGUAGES else language_of_locale()


def language() -> str:
    """The language spoken now."""
    return _Current.language


def language_of_locale() -> str:
    """ "ja" where LC_ALL, LC_MESSAGES or LANG (the first that is set) asks for Japanese, else "en"."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return "ja" if value.lower().startswith("ja") else "en"
    return "en"


def tr(key: str, /, **params: object) -> str:
    """The message `key` in the current language with `params` filled in."""
    from localllm.base.i18n.messages import MESSAGES

    english, japanese = MESSAGES[key]
    return fill(japanese if _Current.language == "ja" else english, params)


def english(key: str, /, **params: object) -> str:
    """The message `key` in English: what a model reads."""
    from localllm.base.i18n.messages import MESSAGES

    return fill(MESSAGES[key][0], in_english(params))


def for_model(text: "str | Phrase") -> str:
    """The text as a model reads it: a message in English."""
    return text if isinstance(text, str) else text.english


def in_english(params: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a text that is English whatever the language."""
    return {name: value.english if isinstance(value, Phrase) else value for name, value in params.items()}


def has_message(key: str) -> bool:
    """Whether the catalogue has the message `key`."""
    from localllm.base.i18n.messages import MESSAGES

    return key in MESSAGES


def fill(text: str, params: Mapping[str, object]) -> str:
    """A text of the catalogue with `params` filled in. `{count} {count:?file/files}` is “1 file” and “2 files”."""
    if ":?" in text:
        text = _COUNTED.sub(lambda found: found[2] if str(params[found[1]]) == "1" else found[3], text)
    return text.format(**params)


def error_text(key: str) -> ErrorText:
    """The text of the error `key` in the current language, parameters not yet filled in."""
    from localllm.base.i18n.errors import ERRORS

    code, english, japanese = ERRORS[key]
    return ErrorText(code, *(japanese if _Current.language == "ja" else english))


class Phrase:
    """A message of the catalogue that is translated when it is shown: as a parameter of an error or another message."""

    def __init__(self, key: str, /, **params: object) -> None:
        self.key = key
        self.params = params

    @property
    def english(self) -> str:
        """The message as a model reads it."""
        return english(self.key, **self.params)

    def __str__(self) -> str:
        return tr(self.key, **self.params)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        return f"Phrase({self.key!r}, {self.params!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and (self.key, self.params) == (other.key, other.params)

    def __hash__(self) -> int:
        return hash(self.key)


class ErrorWhat(Phrase):
    """What an error says has happened."""

    @property
    def english(self) -> str:
        from localllm.base.i18n.errors import ERRORS

        return fill(ERRORS[self.key][1][0], in_english(self.params))

    def __str__(self) -> str:
        return fill(error_text(self.key).what, self.params)


class Phrases(Phrase):
    """Messages and plain text in a row, translated when they are shown."""

    def __init__(self, parts: Sequence[str | Phrase], between: str = " ") -> None:
        super().__init__("")
        self._parts = tuple(parts)
        self._between = between

    @property
    def each_english(self) -> list[str]:
        """Each part as a model reads it."""
        return [part if isinstance(part, str) else part.english for part in self._parts]

    @property
    def english(self) -> str:
        """All of it as a model reads it."""
        return self._between.join(self.each_english)

    def __str__(self) -> str:
        return self._between.join(map(str, self._parts))
