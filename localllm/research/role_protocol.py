"""What the stages need of the model: to ask it in a role, and to know when an answer was of no use."""

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
        """The answer: an object that fits the schema, or prose where there is none. Raises AnswerUnusable."""
        ...


class AnswerUnusable(Exception):  # noqa: N818 - the name by which the roles are spoken of
    """The model gave no answer in the form that was asked for, asked once more too."""


def remark(text: str | Counted, **params: Json) -> Remark:
    """A remark of a text marked with `N_`."""
    if isinstance(text, Counted):
        return Remark(text.singular, params, text.plural)
    return Remark(text, params)


_FIELD = late_pattern(r"\{[a-z_]\w{0,40}(?::(?:,|g|,?\.\d[f%]|\?[^{}]{0,40}))?\}")
"""A place for a value in the texts of ours: as it is, with commas, rounded, or one word or the other for a number."""


def in_words(said: Remark, language: str = "") -> str:
    """A remark in `language`, else in the one spoken now. One of which the text is none of ours, for whoever can write
    to a queue or a work folder can make one, stays as it stands."""
    if any(re.search("[{}]", _FIELD.sub("", text)) for text in (said.text, said.plural)):
        return said.text
    text = Counted(said.text, said.plural) if said.plural else said.text
    try:
        return translated(language or spoken(), text, **said.params)
    except (KeyError, ValueError, TypeError):  # no such value, or one of another kind
        return said.text


def texts_of(answer: dict[str, Json] | str, name: str) -> list[str]:
    """The texts of a list in an answer, without white space around them; none where there is no such list."""
    given = answer.get(name) if isinstance(answer, dict) else None
    items = cast("list[Json]", given) if isinstance(given, list) else []
    return [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]


def object_schema(**properties: Json) -> dict[str, Json]:
    """The schema of an object in which every property has to be there."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
