"""Remarks of the research: a text with its values, translated where it is shown."""

import re

from localllm.base.events import Json
from localllm.base.i18n import Counted, translated
from localllm.base.i18n import language as spoken
from localllm.base.lazy_patterns import late_pattern
from localllm.research.records import Remark


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
    params, into = dict(said.params), language or spoken()
    if isinstance(reason := params.get("reason"), str) and not re.search("[{}]", reason):
        params["reason"] = translated(into, reason)  # some of them are texts of ours, kept in English
    try:
        return translated(into, text, **params)
    except (KeyError, ValueError, TypeError):  # no such value, or of the wrong type
        return said.text
