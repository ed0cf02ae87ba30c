"""Outlines of texts nobody would write: an answer or a refusal for each, in bounded time, and no crash."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localllm.code.grammars import GRAMMARS
from localllm.code.outline import NotParsedError, count_lines, outline

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PIECES = (
    *(b"( ) { } [ ] < > $( ` \" ' if function class def = ; : /* */ // # @ \\ ? -> => a 1 <?php %w( <<A".split(b" ")),
    b" ",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    "語".encode(),
)


@pytest.mark.parametrize("language", GRAMMARS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=60), times=st.sampled_from((1, 10, 300)))
def test_any_text_is_answered(language: str, pieces: list[bytes], times: int) -> None:
    text = b"".join(pieces) * times
    try:
        found = outline(text, language)
    except NotParsedError:
        return
    assert found.lines == count_lines(text)
    assert all(1 <= d.line <= d.end_line <= found.lines for d in found.definitions)
    assert all(1 <= line <= max(1, found.lines) for line in found.error_lines)


@pytest.mark.parametrize("language", GRAMMARS)
@pytest.mark.parametrize("piece", PIECES)
def test_endless_repetition_is_answered(language: str, piece: bytes) -> None:
    text = piece * 100_000
    try:
        assert outline(text, language).lines == count_lines(text)
    except NotParsedError as refused:
        assert refused.kind  # noqa: PT017 - either is right
