"""Pieces put together: which of them belong to one call."""

from localllm.llm.assembling import MessageAssembler
from localllm.llm.providers.base import ToolCallChunk


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
