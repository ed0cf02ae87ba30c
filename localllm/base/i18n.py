"""Texts for people: gettext, with messages that are translated when they are shown.

English stands where it is used, its Japanese in `locale/ja`. A text of the screen is translated at once, by `_` and
`ngettext`. What both a model and a person read, a result or an error, is a `Phrase`: English for the one, translated
for the other when it is shown. The language is a setting of the process: one program speaks to one person.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, overload

import msgspec

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from gettext import NullTranslations

LANGUAGES = ("en", "ja")

DOMAIN = "localllm"
LOCALE = Path(__file__).parent.parent / "locale"
"""Where `<language>/LC_MESSAGES/localllm.mo` is, which scripts/translations.py compiles from the .po beside it."""

_NO_BLANK_AFTER = ("。", "！", "？", "」", "）", "\n")

_COUNTED = late_pattern(r"\{(\w+):\?([^/}]*)/([^}]*)\}")


class Counted(msgspec.Struct, frozen=True):
    """A text with a form for one and a form for several; its parameter `count` decides."""

    singular: str
    plural: str


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


@overload
def N_(text: str) -> str: ...
@overload
def N_(text: str, plural: str) -> Counted: ...
def N_(text: str, plural: str | None = None) -> str | Counted:  # noqa: N802
    """Mark a text for translation where it is not yet shown."""
    return text if plural is None else Counted(text, plural)


def gettext(text: str) -> str:
    """Translate a text without parameters."""
    return text if _Current.language == "en" or not text else _catalogue(_Current.language).gettext(text)


def _(text: str | Counted, /, **params: object) -> str:
    """Translate a text and fill in its parameters."""
    return translated(_Current.language, text, **params)


def translated(language: str, text: str | Counted, /, **params: object) -> str:
    """The text in `language`, whichever is spoken: for documents that have a language of their own."""
    if language == "en" or not text:  # what is empty would be the catalogue's own description
        return _form(text, params).format(**params)
    catalogue = _catalogue(language)
    if isinstance(text, str):
        return catalogue.gettext(text).format(**params)
    return catalogue.ngettext(text.singular, text.plural, 1 if _is_one(params) else 2).format(**params)


def ngettext(singular: str, plural: str, count: object, /, **params: object) -> str:
    """Translate a text that counts something; `count` is a parameter of it, unless given as one of another form."""
    return _(Counted(singular, plural), **({"count": count} | params))


def fill(text: str, params: Mapping[str, object]) -> str:
    """A text of a table that holds both languages, with its parameters: `{count} {count:?file/files}` is “2 files”."""
    return _form(text, params).format(**params)


def plural(count: object, singular: str, several: str) -> str:
    """The English word for one, or for several."""
    return singular if str(count) == "1" else several


def sentences(*parts: object) -> str:
    """Put sentences in a row, without those that are empty.

    A blank stands between two, but not after a Japanese one or the end of a line.
    """
    row = ""
    for part in filter(None, map(str, parts)):
        row += part if not row or row.endswith(_NO_BLANK_AFTER) else f" {part}"
    return row


class Phrase:
    """A text and its parameters, for a model (`english`) and for a person (`str`, translated when it is made)."""

    def __init__(self, text: str | Counted, /, **params: object) -> None:
        self.text = text
        self.params = params

    @property
    def english(self) -> str:
        """The message as a model reads it."""
        params = {name: in_english(value) for name, value in self.params.items()}
        return _form(self.text, params).format(**params)

    def __str__(self) -> str:
        return _(self.text, **self.params)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        return f"Phrase({self.text!r}, {self.params!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and (self.text, self.params) == (other.text, other.params)

    def __hash__(self) -> int:
        return hash(self.text)


class Phrases(Phrase):
    """Phrases and plain texts in a row."""

    def __init__(self, parts: Sequence[str | Phrase], between: str = " ") -> None:
        super().__init__("")
        self._parts = tuple(parts)
        self._between = between

    @property
    def each_english(self) -> list[str]:
        """Each part as a model reads it."""
        return [for_model(part) for part in self._parts]

    @property
    def english(self) -> str:
        """All of it as a model reads it."""
        return self._between.join(self.each_english)

    def __str__(self) -> str:
        return sentences(*self._parts) if self._between == " " else self._between.join(map(str, self._parts))


def for_model(text: str | Phrase) -> str:
    """The text as a model reads it: a message in English."""
    return text if isinstance(text, str) else text.english


def in_english(value: object) -> object:
    """A parameter as a model reads it."""
    return value.english if isinstance(value, Phrase) else value


def _form(text: str | Counted, params: Mapping[str, object]) -> str:
    """The English text with the words for what is counted, each in its form."""
    if not isinstance(text, str):
        return text.singular if _is_one(params) else text.plural
    if ":?" not in text:
        return text
    return _COUNTED.sub(lambda found: plural(params[found[1]], found[2], found[3]), text)


def _is_one(params: Mapping[str, object]) -> bool:
    return str(params["count"]) == "1"


@cache
def _catalogue(language: str) -> "NullTranslations":
    from gettext import translation

    return translation(DOMAIN, LOCALE, [language])
