"""Pieces put together: which of them belong to one call."""

import pytest

from localllm.llm.providers.base import MessageAssembler, ToolCallChunk


def assembled(*pieces: ToolCallChunk) -> list[tuple[str, str]]:
    assembler = MessageAssembler()
    for piece in pieces:
        assembler.add(piece)
    return [(call.name, call.arguments) for call in assembler.message().tool_calls]


def test_calls_without_ids_that_share_an_index_stay_apart() -> None:
    assert assembled(
        ToolCallChunk(0, name="one", arguments='{"a":'),
        ToolCallChunk(0, arguments="1}"),
        ToolCallChunk(0, name="two", arguments='{"a":1}'),
    ) == [("one", '{"a":1}'), ("two", '{"a":1}')]


def test_a_name_repeated_with_every_piece_begins_no_new_call() -> None:
    pieces = [ToolCallChunk(0, name="one", arguments=part) for part in ('{"a"', ":1", "}")]
    assert assembled(*pieces) == [("one", '{"a":1}')]
    pieces = [ToolCallChunk(0, id="x", name="one", arguments=part) for part in ('{"a":1}', "")]
    assert assembled(*pieces) == [("one", '{"a":1}')]


@pytest.mark.parametrize(
    ("first", "is_whole"),
    [
        ('{"a":1}', True),
        (' {"a":"}\\"{"} \n', True),
        ('{"a":[{}]}', True),
        ("", False),
        ('{"a":"}', False),
        ('{"a":"\\"}', False),
        ('{"a":{}', False),
        ('{"a":1}x', False),
        ("{}{}", False),
        ("[]", False),
        ('"{}"', False),
    ],
)
def test_a_named_piece_without_an_id_begins_a_call_where_the_one_before_is_whole(first: str, is_whole: bool) -> None:
    for size in (1, 3, 100):
        pieces = [ToolCallChunk(0, name="one")]
        pieces += [ToolCallChunk(0, arguments=first[at : at + size]) for at in range(0, len(first), size)]
        pieces.append(ToolCallChunk(0, name="two", arguments="{}"))
        assert len(assembled(*pieces)) == 1 + is_whole


def test_a_name_with_every_piece_is_read_once() -> None:
    """With each piece of these, all before it used to be read again: the test would not end."""
    pieces = [
        ToolCallChunk(0, name="one", arguments='{"a":"'),
        *[ToolCallChunk(0, name="one", arguments="}" * 20)] * 50_000,
    ]
    assert len(assembled(*pieces)) == 1


def test_many_calls_of_one_id() -> None:
    pieces = [ToolCallChunk(number, id="same", name="one", arguments="{}") for number in range(20_000)]
    assert len(assembled(*pieces)) == 20_000
