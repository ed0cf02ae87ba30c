"""Thinking is taken out of answers, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.answer_text import AnswerText, without_thinking
from localllm.llm.tool_calling.text_tool_calls.markers import THINKING

CALL = '<tool_call>{"name": "delete", "arguments": {"path": "/"}}</tool_call>'

THOUGHT = {
    "before the answer": ("<think>6 × 7 is\n42.</think>\n\nIt is 42.", "It is 42."),
    "in capitals": ("<THINK>hm</Think>It is 42.", "It is 42."),
    "empty": ("<think>\n\n</think>\n\nIt is 42.", "It is 42."),
    "behind blank lines": ("\n \n<think>hm</think>It is 42.", "It is 42."),
    "twice": ("<think>hm</think>\n<think>hm, hm</think>\nIt is 42.", "It is 42."),
    "between lines": ("Let me see.\n<think>hm</think>\nIt is 42.", "Let me see.\n\nIt is 42."),
    "its beginning left to the template": ("6 × 7 is 42.\n</think>\n\nIt is 42.", "It is 42."),
    "never closed": ("<think>6 × 7 is", ""),
    "in Magistral's form": ("[THINK]hm[/THINK]It is 42.", "It is 42."),
    "with code in it": ("<think>\n```\nx\n</think>\nIt is 42.", "It is 42."),
}

TEXT = {
    "plain": "It is 42.",
    "a tool call": CALL,
    "code about it": "Use this:\n```\n<think>\n</think>\n```\nIt strips it.",
    "code in tildes": "~~~xml\n<think>x</think>\n~~~",
    "in a sentence": "The tag <think> begins a thought, </think> ends it.",
    "a beginning in a line of its own that nothing ends": "The tag is\n<think>\nand nothing else.",
    "an end in code": "```\n</think>\n```\nends it.",
    "indented code first": "    x = 1\n    y = 2\n",
    "blank lines first": "\n\nIt is 42.",
}


@pytest.mark.parametrize("case", THOUGHT)
def test_thinking_is_taken_out(case: str) -> None:
    text, expected = THOUGHT[case]
    assert without_thinking(text) == (expected, True)


@pytest.mark.parametrize("case", TEXT)
def test_text_stays_as_it_is(case: str) -> None:
    assert without_thinking(TEXT[case]) == (TEXT[case], False)


@pytest.mark.parametrize("opener", THINKING)
def test_every_familys_form_is_known(opener: str) -> None:
    assert without_thinking(f"{opener}hm{THINKING[opener]}\nIt is 42.") == ("It is 42.", True)


PARTS = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "\n", "```", "~~~", "[think]", "[/THINK]", "<thi", "a", " ", "x = 1", "`", CALL]
    ),
    max_size=14,
)


@given(PARTS, st.data())
def test_however_it_arrives_the_same_is_shown(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    whole, reader = AnswerText(), AnswerText()
    expected = whole.feed(text) + whole.close()
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(map(reader.feed, pieces)) + reader.close() == expected
    assert reader.has_thought == whole.has_thought


def test_text_is_shown_as_soon_as_it_is_known_to_be_text() -> None:
    reader = AnswerText()
    assert [reader.feed(piece) for piece in ("<thi", "s is", " no tag\n", "<", "b> nor is this")] == [
        "",
        "<this is",
        " no tag\n",
        "",
        "<b> nor is this",
    ]
