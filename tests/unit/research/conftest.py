"""What other rooms give the stages, in small: quotes letter by letter, private data that is an e-mail address."""

import re

import pytest

from localllm.text import near_duplicates, privacy_mask, quotes
from localllm.text.privacy_mask import Masked
from localllm.text.quotes import Span

_MAIL = re.compile(r"\S+@\S+")


def _find(quote: str, text: str) -> Span | None:
    at = text.find(quote.strip())
    return Span(at, at + len(quote.strip())) if at >= 0 else None


def _whole(text: str, span: Span) -> Span:
    start = text.rfind(".", 0, span.start) + 1
    end = text.find(".", span.end - 1)
    return Span(start, len(text) if end < 0 else end + 1)


def _difference(quote: str, passage: str) -> str:
    return "" if re.findall(r"\d+", quote) == re.findall(r"\d+", passage) else "number"


def _mask(text: str) -> Masked:
    return Masked(_MAIL.sub("[EMAIL]", text), ("e-mail",) * len(_MAIL.findall(text)))


def _signature(text: str) -> tuple[int, ...]:
    return tuple(sorted({hash(word) for word in text.split()}))


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(set(one) & set(other)) > 0.8 * len(set(one) | set(other))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put them in place."""
    monkeypatch.setattr(quotes, "find_quote", _find)
    monkeypatch.setattr(quotes, "whole_sentences", _whole)
    monkeypatch.setattr(quotes, "difference", _difference)
    monkeypatch.setattr(privacy_mask, "mask", _mask)
    monkeypatch.setattr(near_duplicates, "signature", _signature)
    monkeypatch.setattr(near_duplicates, "is_near_duplicate", _is_near)
