"""The block structure: what an editor must not take for a heading or an item is none."""

import random

import pytest
from markdown_it import MarkdownIt

from localllm.memory.markdown_structure import (
    Block,
    conflict,
    content_column,
    goes_on,
    goes_on_text,
    item_marker,
    lines_of,
    scan,
    underlines,
)
from tests.support.each import each


def blocks(text: str) -> list[tuple[str, str]]:
    """Kind and text of the blocks, without blank ones."""
    lines = lines_of(text)
    return [(one.kind, "".join(lines[one.start : one.end])) for one in scan(lines) if one.kind != "blank"]


def headings(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in scan(lines_of(text)) if one.kind == "heading"]


@each(
    ("text", "found"),
    [
        ("# A #\n## B\n   ### C\t##  \n####### no\n#no\n    # code\n", [(1, "A"), (2, "B"), (3, "C")]),
        ("A\n===\nB\nover two\n---\n", [(1, "A"), (2, "B over two")]),
        ("A\n\n---\n", []),
        ("- A\n---\n", []),
        ("> A\n---\n", []),
        ("\ufeff# A", [(1, "A")]),
        ("#\n", [(1, "")]),
        ("a\r## B\rc\r\n## D\n", [(2, "B"), (2, "D")]),
        ("a\u2028## B\x0b## C\n", []),
        ("---\n# no\n---\n# A\n", [(1, "A")]),
        ("+++\n# no\n+++\n# A\n", [(1, "A")]),
        ("--- \nkey: 1\n# no\n--- \n# A\n", [(1, "A")]),
        ("---\n---\n# A\n", [(1, "A")]),
        ("---\nkey: 1\na sentence\n# A\n---\n", [(1, "A")]),
        ("+++\na sentence\n# no\n+++\n# A\n", [(1, "A")]),
        ("---\n# A\n", [(1, "A")]),
        ("---\n\n# A\n\n---\n", [(1, "A")]),
        ("```\n# no\n```\n# A\n", [(1, "A")]),
        ("````\n# no\n```\n# no\n````\n# A\n", [(1, "A")]),
        ("~~~ `x`\n# no\n~~~\n# A\n", [(1, "A")]),
        ("```a`b\n# A\n", [(1, "A")]),
        ("```\n# no\n", []),
        ("<!-- a\n# no\n\n# no\n--> b\n# A\n", [(1, "A")]),
        ("text <!--\n# A\n-->\n", [(1, "A")]),
        ("<pre>\n\n# no\n</pre>\n# A\n", [(1, "A")]),
        ("<div>\n# no\n\n# A\n", [(1, "A")]),
        ("- a\n\n  # no\n\n # A\n", [(1, "A")]),
        ("- ```\n  # no\n# A\n", [(1, "A")]),
        ("```\n   ``` \t\n# A\n", [(1, "A")]),
        ("```\n    ```\n# no\n", []),
        ("> a\n# A\n", [(1, "A")]),
    ],
)
def test_headings(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


@each(
    "item",
    [
        "- a\n",
        "- a\nlazy\n",
        "- a\n  - b\n    - c\n",
        "- a\n\n  b\n\n\n    c\n",
        "1. a\n   ```\n\n   - no\n   ```\n",
        "-\ta\n\n\tb\n",
        "-\n  a\n",
        "- a\r\n  b\r\n",
        " * a\n\n   b\n",
        "- a\n      deep\nlazy\n",
    ],
)
@each("after", ["- z\n", "2) z\n", "\n\n\nz\n", "# z\n", "---\n", "> z\n", "```\n", "<!-- z -->\n"])
def test_an_item_is_whole(item: str, after: str) -> None:
    assert blocks(item + after)[0] == ("item", item)


@each(
    ("line", "item", "text", "is_underline", "mark"),
    [
        ("more", True, True, False, ""),
        ("", False, False, False, ""),
        ("# head", False, False, False, ""),
        ("> quoted", False, False, False, ""),
        ("- item", False, False, False, ""),
        ("2. item", False, True, False, ""),
        ("    - deep", True, True, False, ""),
        ("    # deep", True, True, False, ""),
        ("<b>", True, True, False, ""),
        ("<div>", False, False, False, ""),
        ("===", True, True, True, ""),
        ("--", True, True, True, ""),
        ("<<<<<<< HEAD", False, False, False, "<"),
        ("=======", False, False, True, "="),
        (">>>>>>> other", False, False, False, ">"),
        ("||||||| base", False, False, False, "|"),
        ("<<<<<<<", True, True, False, ""),
    ],
)
def test_what_a_line_would_do_to_a_paragraph_above_it(
    line: str, item: bool, text: bool, is_underline: bool, mark: str
) -> None:
    assert (goes_on(line), goes_on_text(line), underlines(line), conflict(line)) == (item, text, is_underline, mark)


@pytest.mark.parametrize(("line", "marker"), [("- a", "- "), ("  10)  a", "  10)  "), ("a", ""), ("-", "-")])
def test_the_marker_of_an_item(line: str, marker: str) -> None:
    assert item_marker(line) == marker


@each(
    ("text", "first"),
    [
        ("- a\n  ---\nz\n", "- a\n  ---\n"),
        ("- a\n\n      code\nz\n", "- a\n\n      code\n"),
        ("- a\n  # b\nz\n", "- a\n  # b\n"),
        ("- > a\nz\n", "- > a\n"),
        ("-     code\nz\n", "-     code\n"),
        ("- - a\nz\n", "- - a\nz\n"),
        ("- ~~~\n  a\nz\n", "- ~~~\n  a\n"),
        ("- a\n  ~~~\n  b\n\n  c\n  ~~~\n  d\nz\n", "- a\n  ~~~\n  b\n\n  c\n  ~~~\n  d\nz\n"),
        ("-\n\n  a\n", "-\n"),
    ],
)
def test_a_line_that_is_not_indented_goes_on_with_a_paragraph_alone(text: str, first: str) -> None:
    assert blocks(text)[0] == ("item", first)


def test_front_matter_is_a_block() -> None:
    assert scan(lines_of("---\na: 1\n---\n# B\n")) == [Block("front", 0, 3), Block("heading", 3, 4, 1, "B")]
    assert scan(lines_of("---\na: 1\n...\n"))[0] == Block("front", 0, 3)
    assert scan(lines_of("+++\na\n...\n"))[0].kind == "text"


def test_not_closed_is_said() -> None:
    assert [one.closed for one in scan(lines_of("a\n\n```\nb\n"))][-1] is False
    assert [one.closed for one in scan(lines_of("<!--\nb\n"))] == [False]
    assert [one.closed for one in scan(lines_of("<div>\nb\n"))] == [True]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("- a", 2),
        ("1. a", 3),
        ("10)  a", 5),
        ("-\ta", 4),
        ("-", 2),
        ("-     a", 2),
        ("-    a", 5),
        ("  - a", 4),
        ("a", 0),
    ],
)
def test_where_nested_lines_stand(line: str, column: int) -> None:
    assert content_column(line) == column


def test_an_empty_text_has_no_blocks() -> None:
    assert scan([]) == []
    assert scan(["a"]) == [Block("text", 0, 1)]


LINES = (
    *(
        "",
        "   ",
        "text",
        "    indented",
        "\ttab",
        "# one",
        "## two ##",
        "  ### three",
        "#\ttab",
        "##",
        "===",
        "---",
        "- - -",
    ),
    *(
        "```",
        "```python",
        "~~~~",
        "  ```",
        "<!--",
        "<!-- a -->",
        "-->",
        "<div>",
        "</div>",
        "<pre>",
        "</pre>",
        "<b>",
        "<b> a",
    ),
    *(
        "- [ ] one",
        "* two",
        "+ three",
        "1. four",
        "7) five",
        "  2. six",
        "-",
        "- [ ]",
        "-     code",
        "-\ttab",
        "> quoted",
    ),
    *(
        "  - nested",
        "    - [ ] deep",
        "  nested text",
        "   para",
        "  ## TODO",
        " - right",
        "> - [ ] quoted",
        "[a]: b",
        "[a]",
    ),
)


def reference(text: str) -> list[tuple[str, int]]:
    """Where another reader of CommonMark sees outermost headings and items begin."""
    kinds = {("heading_open", 0): "heading", ("list_item_open", 1): "item"}
    tokens = MarkdownIt("commonmark").parse(text)
    return [(kinds[one.type, one.level], one.map[0]) for one in tokens if one.map and (one.type, one.level) in kinds]


def test_the_structure_is_that_of_commonmark() -> None:
    chance = random.Random(1)
    for _ in range(1500):
        text = "".join(f"{chance.choice(LINES)}\n" for _ in range(chance.randint(1, 9)))
        if not text.startswith("---"):  # which may be front matter, and is none in CommonMark
            ours = [(one.kind, one.start) for one in scan(lines_of(text)) if one.kind in ("heading", "item")]
            assert ours == reference(text), text
