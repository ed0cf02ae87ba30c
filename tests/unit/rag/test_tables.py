"""The rows of tables, whatever stands between their cells; and texts that would take for ever, or end in an error."""

import time

import pytest

from localllm.rag.chunking import cut
from localllm.rag.structure import markdown_blocks, plain_blocks
from localllm.rag.tables import BadTableError, table_rows


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a,b\n1,2\n", {"a": "1", "b": "2"}),
        ("a;b\n1,5;2\n3,5;4\n", {"a": "1,5", "b": "2"}),
        ("a\tb\n1, 2\t3\n", {"a": "1, 2", "b": "3"}),
        ('name,text\n"x, y", "a; b"\n', {"name": "x, y", "text": "a; b"}),
        ("質問;回答\n休暇、有給;10日, 半年後\n", {"質問": "休暇、有給", "回答": "10日, 半年後"}),
    ],
)
def test_the_delimiter_is_found(text: str, first: dict[str, str]) -> None:
    assert table_rows("x.csv", text)[0] == (1, first)


def test_lists_nested_deep_are_left_out() -> None:
    nested = "[" * 900 + '"x"' + "]" * 900
    assert table_rows("x.jsonl", f'{{"a": {nested}, "b": ["c", ["d"]]}}\n') == [(1, {"b": "c d"})]
    with pytest.raises(BadTableError):
        table_rows("x.jsonl", '{"a": ')


@pytest.mark.parametrize("text", ['"\n' * 8_192, ',"' * 8_192, ",'\n" * 5_000])
def test_no_sample_takes_for_ever(text: str) -> None:
    begun = time.process_time()
    table_rows("x.csv", text)
    assert time.process_time() - begun < 2, "csv.Sniffer takes from 3 to 13 seconds"


@pytest.mark.parametrize("text", ["# " + "#" * 30_000 + "x", "# " + "[" * 60_000])
def test_no_line_that_begins_like_a_heading_does(text: str) -> None:
    begun = time.process_time()
    assert not next(markdown_blocks(text)).is_heading
    assert time.process_time() - begun < 2, "the patterns take more than 10 seconds"


def test_a_line_of_blanks_has_no_parts() -> None:
    chunks = cut(plain_blocks(" x" * 10 + " " * 60_000 + "y"), 400, 50)
    assert chunks[0].text.startswith("x x")
    assert chunks[-1].text.strip().endswith("y")
