"""The interface of the model for the stages: call it in a role, and detect an unusable answer."""

import re
from collections.abc import Mapping
from typing import Protocol, cast

from localllm.base.events import Json
from localllm.base.i18n import Counted, translated
from localllm.base.i18n import language as spoken
from localllm.base.lazy_patterns import late_pattern
from localllm.research.options import ResearchOptions
from localllm.research.records import Remark


class AskRole(Protocol):
    """The model in its roles."""

    @property
    def options(self) -> ResearchOptions: ...

    async def ask(
        self,
        role: str,
        values: Mapping[str, str],
        schema: dict[str, Json] | None,
        *,
        temperature: float,
        max_tokens: int,
    ) -> dict[str, Json] | str:
        """Return an object that fits the schema, or prose without one. Raises AnswerUnusable."""
        ...


class AnswerUnusable(Exception):  # noqa: N818 - the name by which the roles are spoken of
    """The model gave no answer in the requested form, even after a retry."""


def remark(text: str | Counted, **params: Json) -> Remark:
    """Create a remark from a text marked with `N_`."""
    if isinstance(text, Counted):
        return Remark(text.singular, params, text.plural)
    return Remark(text, params)


_FIELD = late_pattern(r"\{[a-z_]\w{0,40}(?::(?:,|g|,?\.\d[f%]|\?[^{}]{0,40}))?\}")
"""A placeholder in our texts: plain, with commas, rounded, or a choice of two words by number."""


def in_words(said: Remark, language: str = "") -> str:
    """Translate a remark to `language`, else the current one, in one line. A text that is not one of ours stays as it
    is, since anyone who can write to a queue or a work folder can insert one."""
    return " ".join(_translated(said, language).splitlines())


def _translated(said: Remark, language: str) -> str:
    if any(re.search("[{}]", _FIELD.sub("", text)) for text in (said.text, said.plural)):
        return said.text
    text = Counted(said.text, said.plural) if said.plural else said.text
    try:
        return translated(language or spoken(), text, **said.params)
    except (KeyError, ValueError, TypeError):  # no such value, or of the wrong type
        return said.text


def texts_of(answer: dict[str, Json] | str, name: str) -> list[str]:
    """Return the stripped texts of a list in an answer; empty if there is no such list."""
    given = answer.get(name) if isinstance(answer, dict) else None
    items = cast("list[Json]", given) if isinstance(given, list) else []
    return [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]


def object_schema(**properties: Json) -> dict[str, Json]:
    """The schema of an object whose properties are all required."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
