"""Files are cut along their structure, within the size, with titles and places that hold."""

from itertools import pairwise
from pathlib import Path

import pytest

from localllm.rag.chunking import Block, cut, token_count
from localllm.rag.records import Chunk, Hit, Place, Scores
from localllm.rag.structure import blocks_of, markdown_blocks, page_blocks
from localllm.rag.tables import BadTableError, NoTextColumnError, row_blocks, table_rows
from localllm.text.garbled import is_garbled

ROOT = Path(__file__).resolve().parents[3]
GUIDE = """# Pump

Intro line of some length, so that it fills most of what there is.

## Setup

Put it up.

```
# no heading
run --now
```

## Care

Wash it.
"""


@pytest.mark.parametrize("name", ["docs/web.md", "README.ja.md", "localllm/rag/ingest.py", "LICENSE"])
def test_no_line_is_lost_and_every_place_is_right(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    lines = text.split("\n")
    chunks = cut(blocks_of(name, text), 200, 30)
    assert max(token_count(chunk.text) for chunk in chunks) <= 230
    numbers = (number for chunk in chunks for number in range(chunk.place.first, chunk.place.last + 1))
    seen = {number for number in numbers if lines[number - 1].strip()}
    assert seen == {number for number, line in enumerate(lines, 1) if line.strip()}
    for chunk in chunks:
        assert chunk.text.split("\n")[0].strip() in lines[chunk.place.first - 1]
        assert chunk.text.split("\n")[-1].strip() in lines[chunk.place.last - 1]


def test_headings_begin_chunks_and_are_kept_as_titles() -> None:
    chunks = cut(blocks_of("guide.md", GUIDE), 25, 10)
    assert [chunk.headings for chunk in chunks] == [("Pump",), ("Pump", "Setup"), ("Pump", "Care")]
    assert chunks[1].text.startswith("## Setup\n\nPut it up.")
    assert "# no heading" in chunks[1].text
    assert [(chunk.place.first, chunk.place.last) for chunk in chunks] == [(1, 3), (5, 12), (14, 16)]
    small = cut(blocks_of("guide.md", GUIDE), 300, 10)
    assert [chunk.headings for chunk in small] == [("Pump",)]


def test_headings_in_a_row_fill_chunks_and_the_last_go_with_what_follows() -> None:
    chunks = cut(blocks_of("index.md", "# a\n" * 2_000 + "\nWhat follows.\n"), 100, 0)
    assert len(chunks) < 100
    assert sum(chunk.text.count("# a") for chunk in chunks) == 2_000
    assert chunks[-1].text.endswith("# a\n\nWhat follows.")
    for number in (49, 99, 120, 200):  # however full the chunk is that they end
        last = cut(blocks_of("index.md", "# a\n" * number + "\n" + "word " * 60 + "\n"), 100, 0)[-1]
        assert last.text.startswith("# a")


def test_a_section_that_goes_on_repeats_its_end() -> None:
    parts = [f"Sentence {number} is here to stay. And so is part {number}." for number in range(20)]
    text = "# T\n\n" + "\n\n".join(parts)
    chunks = cut(blocks_of("t.md", text), 60, 15)
    for before, after in pairwise(chunks):
        assert after.text.split("\n")[0] in before.text
        assert after.place.first <= before.place.last


def test_a_line_without_end_is_cut_at_sentences_else_anywhere() -> None:
    japanese = "加湿器の水は毎日入れ替えます。" * 40
    chunks = cut(blocks_of("a.txt", japanese), 50, 0)
    assert "".join(chunk.text for chunk in chunks) == japanese
    assert all(chunk.text.endswith("。") for chunk in chunks)
    endless = "x" * 5_000
    assert "".join(chunk.text for chunk in cut([Block(endless)], 100, 0)) == endless


def test_definitions_of_code_are_titles() -> None:
    run, stop = "    # how it runs\n    def run(self):\n        return 1\n", "    def stop(self):\n        return 2\n"
    code = f"import os\n\n\nclass Pump:\n{run}\n{stop}"
    chunks = cut(blocks_of("pump.py", code), 20, 4)
    assert [(chunk.headings, chunk.place.first) for chunk in chunks] == [
        ((), 1),
        (("Pump", "run"), 5),
        (("Pump", "stop"), 9),
    ]


def test_pages_and_titles_without_lines() -> None:
    pages = cut(page_blocks(["First page.\n\nMore.", "", "Third."]), 300, 0)
    assert [(chunk.place.kind, chunk.place.first, chunk.place.last) for chunk in pages] == [("page", 1, 3)]
    assert cut(markdown_blocks("# A\n\ntext", "heading"), 300, 0)[0].place == Place("heading")


def rows(name: str, text: str) -> list[Chunk]:
    return cut(row_blocks(table_rows(name, text)), 300, 0)


def test_each_row_with_text_is_a_passage() -> None:
    csv = 'id,question,answer,date\n7,How long?,"Two years, at most",2026-01-01\n8,,,\n9,Where?,Here.,\n'
    chunks = rows("faq.csv", csv)
    assert [(chunk.place, chunk.headings) for chunk in chunks] == [
        (Place("row", 1, 1), ("How long?",)),
        (Place("row", 3, 3), ("Where?",)),
    ]
    assert chunks[0].text == "question: How long?\nanswer: Two years, at most\ndate: 2026-01-01"
    assert rows("a.jsonl", '{"text": "only"}\n\n{"text": "two", "n": null}')[1].text == "two"
    assert [chunk.text for chunk in rows("b.tsv", "本文\tid\n水を替えます\t1\n")] == ["水を替えます"]


def test_what_is_no_table_with_text() -> None:
    with pytest.raises(NoTextColumnError):
        rows("a.csv", "a,b\n1,2\n3,4\n")
    with pytest.raises(BadTableError, match="2: "):
        rows("a.jsonl", '{"text": "fine"}\n{broken')


def test_garbled_text_is_told_from_writing() -> None:
    assert is_garbled("\x03\x04\x05 (cid:12)(cid:13)(cid:40) \ufffd\ufffd")
    assert not is_garbled((ROOT / "README.ja.md").read_text("utf-8"))
    assert not is_garbled("x = f(y)\tA\n" * 20)


def test_how_a_hit_is_cited() -> None:
    def cited(place: Place, *headings: str) -> str:
        return Hit(
            collection="c", path="/f", file="docs/f", text="", headings=headings, place=place, scores=Scores(1.0)
        ).reference

    assert cited(Place("lines", 3, 3)) == "docs/f:3"
    assert cited(Place("lines", 3, 9)) == "docs/f:3-9"
    assert cited(Place("page", 2, 2)) == "docs/f p.2"
    assert cited(Place("row", 7, 7)) == "docs/f row 7"
    assert cited(Place("row", 7, 9, "May sales")) == "docs/f § May sales rows 7-9"
    assert cited(Place("heading"), "A", "B") == "docs/f § B"
