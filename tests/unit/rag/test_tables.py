"""The rows of tables, whatever stands between their cells; and texts that would take for ever, or end in an error."""

import hashlib
import time
import tracemalloc
from contextlib import suppress

import pytest

from localllm.rag import tables
from localllm.rag.chunking import cut
from localllm.rag.structure import code_blocks, markdown_blocks, plain_blocks
from localllm.rag.tables import BadTableError, NoTextColumnError, row_blocks, table_rows


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
    assert next(table_rows("x.csv", text)) == (1, first)


def test_lists_nested_deep_are_left_out() -> None:
    nested = "[" * 900 + '"x"' + "]" * 900
    assert list(table_rows("x.jsonl", f'{{"a": {nested}, "b": ["c", ["d"]]}}\n')) == [(1, {"b": "c d"})]
    with pytest.raises(BadTableError):
        list(table_rows("x.jsonl", '{"a": '))


@pytest.mark.parametrize("text", ['"\n' * 8_192, ',"' * 8_192, ",'\n" * 5_000])
def test_no_sample_takes_for_ever(text: str) -> None:
    begun = time.process_time()
    with suppress(BadTableError):
        list(table_rows("x.csv", text))
    assert time.process_time() - begun < 2, "csv.Sniffer takes from 3 to 13 seconds"


def test_a_wide_table_takes_no_longer_than_its_size() -> None:
    names = ",".join(f"c{number}" for number in range(20_000))
    begun = time.process_time()
    assert list(table_rows("x.csv", f"{names}\n" + "a\n" * 20_000))[-1] == (20_000, {"c0": "a"})
    assert list(table_rows("x.csv", "a,b\n1\n1,2,3,4\n")) == [(1, {"a": "1"}), (2, {"a": "1", "b": "2", "": "3 4"})]
    named = ",".join(f'"n{number}": "words of a text of some length"' for number in range(20_000))
    blocks = row_blocks(table_rows("x.jsonl", f"{{{named}}}\n" + '{"a": 1}\n' * 20_000))
    assert len(list(blocks)) == 1
    assert time.process_time() - begun < 4, "each row was filled up with all names of the columns"


@pytest.mark.parametrize("line", ["{}\n", '{"a": 1}\n'])
def test_rows_without_text_are_not_held_in_memory(line: str) -> None:
    text = line * 100_000
    tracemalloc.start()
    try:
        with pytest.raises(NoTextColumnError):
            list(row_blocks(table_rows("x.jsonl", text)))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_rows_and_their_text_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_ROWS", 10)
    monkeypatch.setattr(tables, "_LONGEST_ROW", 100)
    monkeypatch.setattr(tables, "_MOST_TEXT", 1_000)
    assert len(list(table_rows("x.csv", "a\n" + "b\n" * 10))) == 10
    for name, text in (
        ("x.csv", "a\n" + "b\n" * 11),
        ("x.jsonl", "{}\n" * 11),
        ("x.csv", "a\nb\n" + '"\n",' * 30),
        ("x.jsonl", f'{{"a": "{"b" * 100}"}}'),
    ):
        with pytest.raises(BadTableError):
            list(table_rows(name, text))
    with pytest.raises(BadTableError):
        list(row_blocks([(1, {"text": "a", "n" * 2_000: "b"})]))


def test_definitions_on_each_line_behind_a_comment_are_told_apart() -> None:
    source = "/* one */\n" + "".join(f"/**/function f{number}(){{}}\n" for number in range(12_000))
    begun = time.process_time()
    blocks = list(code_blocks(source, "javascript"))
    assert time.process_time() - begun < 4
    assert [one.text for one in blocks[:2]] == ["/* one */\n/**/function f0(){}", "/**/function f1(){}"]


@pytest.mark.parametrize("text", ["# " + "#" * 30_000 + "x", "# " + "[" * 60_000])
def test_no_line_that_begins_like_a_heading_does(text: str) -> None:
    begun = time.process_time()
    assert not next(markdown_blocks(text)).is_heading
    assert time.process_time() - begun < 2, "the patterns take more than 10 seconds"


def test_a_line_of_blanks_has_no_parts() -> None:
    chunks = cut(plain_blocks(" x" * 10 + " " * 60_000 + "y"), 400, 50)
    assert chunks[0].text.startswith("x x")
    assert chunks[-1].text.strip().endswith("y")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sku,product,price\nA-100,Desk lamp,39.90\nB-7,Standing desk,489\n", "sku: A-100\nproduct: Desk lamp"),
        ("氏名,内線\n田中,412\n佐藤,413\n", "氏名: 田中\n内線: 412"),
        ("name,when\nMara,2026-11-02T08:00Z\nJonas,\n", "name: Mara\nwhen: 2026"),
        ("key,value\napple,3\npear,4\n", "key: apple\nvalue: 3"),
        ("ID,price\napple,3\npear,4\n", "ID: apple\nprice: 3"),
        ("id\nalpha\nbeta\n", "alpha"),
        ("url,views\nhttps://docs.example.com/pricing,3\nhttps://docs.example.com/team,4\n", "url: https://docs"),
        ("id,product\n7,Desk lamp\n8,Standing desk\n", "Desk lamp"),
        ("id,text\nalpha,One\nbeta,Two\n", "One"),
    ],
)
def test_rows_are_passages_where_a_column_names_them(text: str, first: str) -> None:
    assert next(row_blocks(table_rows("x.csv", text))).text.startswith(first)


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2\n3,4\n",
        "when,state\n" + "".join(f"2026-11-{day:02}T08:00Z,{'ok' if day % 3 else 'failed'}\n" for day in range(1, 20)),
        "hash,size\n" + "".join(f"{hashlib.sha256(b'%d' % n).hexdigest()},{n}\n" for n in range(19)),
        "digest,size\n" + "".join(f"{day * 7919:012x},{day}\n" for day in range(1, 20)),
    ],
)
def test_measurements_and_logs_are_no_passages(text: str) -> None:
    with pytest.raises(NoTextColumnError):
        list(row_blocks(table_rows("x.csv", text)))
