"""Decoding of streams: any chunking of the bytes gives the same events."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.llm.http.sse import LONGEST, NDJSONDecoder, ServerSentEvent, SSEDecoder

STREAM = (
    "\ufeff: a comment\n"
    'data: {"a": 1}\n\n'
    "event: error\ndata: first\ndata: second\n\n"
    "id: 7\r\ndata:日本語\r\n\r\n"
    "data: old mac\r\r"
    "data:\n\n"
    "data: \ndata\n\n"
    "data: [DONE]\n\n"
).encode()

EVENTS = [
    ServerSentEvent('{"a": 1}'),
    ServerSentEvent("first\nsecond", "error"),
    ServerSentEvent("日本語"),
    ServerSentEvent("old mac"),
    ServerSentEvent("[DONE]"),
]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@given(st.lists(st.integers(min_value=0)))
def test_events_do_not_depend_on_how_the_bytes_arrive(cuts: list[int]) -> None:
    decoder = SSEDecoder()
    events = [event for piece in pieces(STREAM, cuts) for event in decoder.feed(piece)]
    assert events + decoder.close() == EVENTS


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: x\n") == []
    assert decoder.feed(b"\n") == [ServerSentEvent("x")]


def test_a_last_event_without_its_empty_line_is_not_lost() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: cut") == []
    assert decoder.close() == [ServerSentEvent("cut")]
    assert decoder.close() == []


@given(st.lists(st.integers(min_value=0)))
def test_json_lines_do_not_depend_on_how_the_bytes_arrive(cuts: list[int]) -> None:
    data = '{"a": "ä"}\n\n{"b": 2}\r\n{"c": 3}'.encode()
    decoder = NDJSONDecoder()
    lines = [line for piece in pieces(data, cuts) for line in decoder.feed(piece)]
    assert lines + decoder.close() == ['{"a": "ä"}'.encode(), b'{"b": 2}', b'{"c": 3}']


def test_returns_alone_end_lines_at_once_and_half_of_one_that_came_late_is_no_line() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: x\r\r") == [ServerSentEvent("x")]
    assert decoder.feed(b"\ndata: y\r") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\r") == [ServerSentEvent("y")]


def test_a_line_that_does_not_end_is_not_kept_for_ever() -> None:
    decoder, piece = NDJSONDecoder(), bytes(LONGEST // 4)
    for _ in range(4):
        assert decoder.feed(piece) == []
    with pytest.raises(ValueError, match="does not end"):
        decoder.feed(b"x")


def test_an_event_that_does_not_end_is_not_kept_for_ever() -> None:
    decoder, piece = SSEDecoder(), b"data: x\n" * 100_000
    with pytest.raises(ValueError, match="does not end"):
        assert not any(decoder.feed(piece) for _ in range(LONGEST // (64 * 100_000) + 1))
