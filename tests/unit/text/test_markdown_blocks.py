"""Markdown is cut into blocks that stand on their own, the same ones however the text arrives."""

from hypothesis import given
from hypothesis import strategies as st

from localllm.text.markdown_blocks import Block, BlockSplitter
from tests.support.each import each


def split(*pieces: str) -> list[Block]:
    splitter = BlockSplitter()
    blocks = [block for piece in pieces for block in splitter.feed(piece)]
    return blocks + splitter.finish()


def outline(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in split(text) if block.kind != "blank"]


@each(
    ("text", "blocks"),
    [
        ("one\ntwo\n\nthree", [("paragraph", "one\ntwo\n"), ("paragraph", "three")]),
        ("# Head\ntext\n", [("heading", "# Head\n"), ("paragraph", "text\n")]),
        ("Title\n=====\ntext\n", [("paragraph", "Title\n=====\n"), ("paragraph", "text\n")]),
        ("a\n\n---\nb\n", [("paragraph", "a\n"), ("rule", "---\n"), ("paragraph", "b\n")]),
        ("text:\n- a\n- b\n", [("paragraph", "text:\n"), ("item", "- a\n"), ("item", "- b\n")]),
        ("- a\n  - nested\n\n  more\n- b\n", [("item", "- a\n  - nested\n\n  more\n"), ("item", "- b\n")]),
        ("1. a\n\n   ```py\n- x\n   ```\n2. b\n", [("item", "1. a\n\n   ```py\n- x\n   ```\n"), ("item", "2. b\n")]),
        ("1. a\n```\ncode\n```\n", [("item", "1. a\n"), ("fence", "```\ncode\n```\n")]),
        ("In\n1986. A year.\n", [("paragraph", "In\n1986. A year.\n")]),
        (
            "```py\n# no head\n\n- no item\n```\nend",
            [("fence", "```py\n# no head\n\n- no item\n```\n"), ("paragraph", "end")],
        ),
        ("````\n```\n````\n", [("fence", "````\n```\n````\n")]),
        ("~~~\n```\n~~~\n", [("fence", "~~~\n```\n~~~\n")]),
        ("```\n    ```\n```\n", [("fence", "```\n    ```\n```\n")]),
        ("```\nnever closed\n\nat all", [("fence", "```\nnever closed\n\nat all")]),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
            [("paragraph", "| a | b |\n|---|---|\n| 1 | 2 |\n"), ("paragraph", "end")],
        ),
        ("text\n> quote\n> more\n", [("paragraph", "text\n"), ("paragraph", "> quote\n> more\n")]),
        ("**bold** is no item\n", [("paragraph", "**bold** is no item\n")]),
    ],
)
def test_blocks(text: str, blocks: list[tuple[str, str]]) -> None:
    assert outline(text) == blocks


LINES = """\
text
日本語
# h
- a
  - b
* c
1. x
10) y
```
```py
   ```
~~~

---
===
> q
| a | b |
|---|---|
    code
<b>
***
-
2.
\t- t
""".splitlines()
MARKDOWN = st.lists(st.sampled_from(LINES)).map("\n".join)


@given(MARKDOWN, st.data())
def test_pieces_do_not_matter(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert split(*pieces) == split(text)


@given(MARKDOWN)
def test_nothing_is_lost(text: str) -> None:
    assert "".join(block.text for block in split(text)) == text


@given(MARKDOWN)
def test_blocks_and_tail_are_what_was_fed(text: str) -> None:
    splitter = BlockSplitter()
    done = "".join(block.text for block in splitter.feed(text))
    assert done + "".join(splitter.lines) + splitter.partial == text


def test_a_block_is_given_as_soon_as_its_end_is_certain() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("# Head\n") == [Block("heading", "# Head\n")]
    assert splitter.feed("- one\n- t") == []
    assert splitter.feed("wo\n") == [Block("item", "- one\n")]
    assert (splitter.lines, splitter.partial) == (["- two\n"], "")
