"""Translated texts for the user: gettext, with messages translated when they are shown.

English texts are in the code, Japanese ones in `locale/ja`. Texts of the screen are translated at once, by `_` and
`ngettext`. What both the model and the user read, a result or an error, is a `Phrase`: English for the one, translated
for the other when shown. The language is a setting of the process, as one program serves one user.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, overload

import msgspec

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from gettext import NullTranslations

LANGUAGES = ("en", "ja")

DOMAIN = "localllm"
LOCALE = Path(__file__).parent.parent / "locale"
"""The folder of `<language>/LC_MESSAGES/localllm.mo`. scripts/translations.py compiles it from the .po."""

_NO_BLANK_AFTER = ("。", "！", "？", "」", "）", "\n")

_COUNTED = late_pattern(r"\{(\w+):\?([^/}]*)/([^}]*)\}")


class Counted(msgspec.Struct, frozen=True):
    """A text with singular and plural; its parameter `count` decides."""

    singular: str
    plural: str


class _Current:
    language: str = "en"


def set_language(language: str) -> None:
    """Set the current language ("en" or "ja"); "auto" uses the locale variables."""
    _Current.language = language if language in LANGUAGES else language_of_locale()


def language() -> str:
    """Return the current language."""
    return _Current.language


def language_of_locale() -> str:
    """Return "ja" if LC_ALL, LC_MESSAGES or LANG (the first that is set) is Japanese, else "en"."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return "ja" if value.lower().startswith("ja") else "en"
    return "en"


@overload
def N_(text: str) -> str: ...
@overload
def N_(text: str, plural: str) -> Counted: ...
def N_(text: str, plural: str | None = None) -> str | Counted:  # noqa: N802
    """Mark a text for translation that is shown later."""
    return text if plural is None else Counted(text, plural)


def gettext(text: str) -> str:
    """Translate a text without parameters."""
    return text if _Current.language == "en" or not text else _catalogue(_Current.language).gettext(text)


def _(text: str | Counted, /, **params: object) -> str:
    """Translate a text and format its parameters."""
    return translated(_Current.language, text, **params)


def translated(language: str, text: str | Counted, /, **params: object) -> str:
    """Return the text in `language`, regardless of the current one, for documents with their own language.

    A path is one line, whatever its folders are called: a line end in it could begin a forged line.
    """
    params = {name: _one_line(value) if isinstance(value, PurePath) else value for name, value in params.items()}
    if language == "en" or not text:  # the empty text is the catalogue's header
        return _form(text, params).format(**params)
    catalogue = _catalogue(language)
    if isinstance(text, str):
        return catalogue.gettext(text).format(**params)
    return catalogue.ngettext(text.singular, text.plural, 1 if _is_one(params) else 2).format(**params)


def ngettext(singular: str, plural: str, count: object, /, **params: object) -> str:
    """Translate a text with a count; `count` is its parameter unless `params` overrides it."""
    return _(Counted(singular, plural), **({"count": count} | params))


def fill(text: str, params: Mapping[str, object]) -> str:
    """Format a text of a bilingual table: `{count} {count:?file/files}` becomes “2 files”."""
    return _form(text, params).format(**params)


def plural(count: object, singular: str, several: str) -> str:
    """Return the English singular or plural form."""
    return singular if str(count) == "1" else several


def sentences(*parts: object) -> str:
    """Join non-empty sentences with blanks, except after a Japanese sentence or a line end."""
    row = ""
    for part in filter(None, map(str, parts)):
        row += part if not row or row.endswith(_NO_BLANK_AFTER) else f" {part}"
    return row


class Phrase:
    """A text with parameters, for the model (`english`) and the user (`str`, translated when created)."""

    def __init__(self, text: str | Counted, /, **params: object) -> None:
        self.text = text
        self.params = params

    @property
    def english(self) -> str:
        """The text for the model."""
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
    """A sequence of phrases and plain texts."""

    def __init__(self, parts: Sequence[str | Phrase], between: str = " ") -> None:
        super().__init__("")
        self._parts = tuple(parts)
        self._between = between

    @property
    def each_english(self) -> list[str]:
        """Each part for the model."""
        return [for_model(part) for part in self._parts]

    @property
    def english(self) -> str:
        """The whole text for the model."""
        return self._joined(self.each_english)

    def __str__(self) -> str:
        return self._joined([str(part) for part in self._parts])

    def _joined(self, parts: Sequence[str]) -> str:
        return sentences(*parts) if self._between == " " else self._between.join(parts)


def for_model(text: str | Phrase) -> str:
    """Return the text for the model, in English."""
    return text if isinstance(text, str) else text.english


def in_english(value: object) -> object:
    """Return a parameter for the model."""
    return value.english if isinstance(value, Phrase) else value


def _form(text: str | Counted, params: Mapping[str, object]) -> str:
    """Return the English text with its counted words in the right form."""
    if not isinstance(text, str):
        return text.singular if _is_one(params) else text.plural
    if ":?" not in text:
        return text
    return _COUNTED.sub(lambda found: plural(params[found[1]], found[2], found[3]), text)


def _one_line(path: PurePath) -> str:
    return str(path).replace("\n", "␊")


def _is_one(params: Mapping[str, object]) -> bool:
    return str(params["count"]) == "1"


@cache
def _catalogue(language: str) -> "NullTranslations":
    from gettext import translation

    return translation(DOMAIN, LOCALE, [language])
