"""Lines that stand for what was not written are found, and what only resembles them is not."""

from pathlib import Path

import pytest

import localllm
from localllm.safety.unwritten_lines import remark_on, unwritten_lines
from tests.support.each import each


@each(
    "line",
    [
        "[Add usage section here]",
        "[Add usage examples]",
        "- [Insert a table of all options here]",
        "Text.\n[TODO: describe the API section here]",
        "TODO: the rest of the guide goes here...",
        "TODO: remaining sections go here",
        "<!-- Add your own text here -->",
        "    # ... existing code ...",
        "// ... rest of the code ...",
        "... existing code ...",
        "... (rest of the file) ...",
        "# Add your logic here",
        "    // TODO: implement your parser here",
        "（ここに使い方を記載）",
        "［ここに手順を追加してください］",
        "TODO: 残りの節はここに書く",
        "... 残りは同様に続く",
        "-- ... (残り98件も同様)",
        "-- 以下同様",
        "# 残りのテストも同様に追加",
        "（残りも同様）",
        "    // （省略）",
        "# ... and so on",
        "# ... etc.",
        "-- ... 98 more rows",
        "-- (98 more rows)",
        "// ... more items ...",
        "# Repeat for the remaining users",
        "-- repeat up to user 100",
        "# rest of the data ...",
        "... (97 more)",
        "<!-- ... other sections ... -->",
        "-- ...",
        "    # ...",
        "-- and so on",
        "-- 3人目以降も同じ形式で追加",
        "-- TODO: add remaining users",
        "(残り98件)",
        "# 以下、同じ形式で続く",
        "# (continue for all 100 users)",
    ],
)
def test_a_line_that_stands_for_others_is_found(line: str) -> None:
    text = f"# Guide\n\nIt is here.\n{line}\nMore.\n"
    number = 3 + len(line.split("\n"))
    assert unwritten_lines("docs/guide.md", text) == [number]
    assert unwritten_lines("docs/guide.md", text, line) == []
    assert unwritten_lines("templates/guide.md", text) == unwritten_lines("guide.md.j2", text) == []
    assert unwritten_lines("docs/guide.md", f"```\n{line}\n```\n") == []


@each(
    "line",
    [
        "TODO: add retries",
        "# TODO: handle errors here",
        "- [ ] TODO: write the docs",
        "- [x] Add tests here",
        "[Usage](#usage)",
        "[Add a page here](docs/new.md)",
        "A line such as `[Add usage section here]` is a placeholder.",
        "Write `TODO: the rest goes here` where something is missing.",
        "...rest",
        "    ...",
        "# Other methods",
        "# The rest of the arguments is passed on.",
        "The rest of the code is here.",
        "[see below]",
        "(add 5 and 6)",
        "[yyyy] [name of copyright owner]",
        "残りは明日ここに集まる。",
        "ここにファイルを追加すると読み込まれます。",
        "# Add the user to the group",
        "...and so on.",
        "# ... and then the value is returned",
        "# Repeat until the queue is empty",
        "# more than one user",
        "# The remaining arguments",
        "- 残りは同じ手順で進めます。",
        "（以下「本社」という）",
        "# 他と同じ",
        "# 残りは同じ",
        "# 残りも同様に処理する",
        "# 以下の通り",
        "- 5 more minutes",
        "# and so the loop ends",
        "# TODO: add the other direction of the mapping later, when it is known what for, and by whom",
        "# Continue with the next user",
        "# 以下の関数も同じ値を返す",
        "# 同じ形式で書く",
        "- 残り 3 件",
    ],
)
def test_what_only_resembles_it_is_none(line: str) -> None:
    assert unwritten_lines("docs/guide.md", f"Text.\n{line}\n") == []


def test_the_lines_are_named() -> None:
    line = "[Add usage section here]"
    assert remark_on("a.md", "A.\n") == []
    assert remark_on("a.md", line) == [
        "[Line 1 looks like a placeholder: write what belongs there, or say that it is missing.]"
    ]
    assert remark_on("a.md", f"{line}\n" * 7)[0].startswith("[Lines 1, 2, 3, 4, 5 and others look like placeholders: ")


@pytest.mark.parametrize("folder", ["localllm", "docs"])
def test_of_our_own_files_none_is_named(folder: str) -> None:
    root = Path(localllm.__file__).parents[1]
    files = [file for file in (root / folder).rglob("*") if file.suffix in (".py", ".md", ".toml", ".js")]
    assert len(files) > 20
    found = [str(file) for file in files if unwritten_lines(str(file.relative_to(root)), file.read_text("utf-8"))]
    assert found == []


def test_it_takes_time_that_grows_with_the_text() -> None:
    for text in (
        "[Add" + " a" * 200_000,
        "[Add " * 90_000,
        "(" * 400_000,
        "# ... " * 60_000,
        "`" * 400_000,
        "…" * 160 + "\n",
    ):
        assert unwritten_lines("a.md", text) == []


@each(
    "text",
    [
        "# Notes\\n\\n- one\\n- two\\n",
        "test:\\n\\tpython3 -m pytest\\n",
        '#!/bin/sh\\nset -e\\necho "done"\\n',
        "def f():\\n    return 1\\n",
        "# Notes\\n\\nIt's a list\\n",
    ],
)
def test_line_breaks_that_were_escaped_twice_are_told(text: str) -> None:
    assert "escaped once" in "".join(remark_on("a.txt", text))


@each(
    "text",
    [
        "# Notes\n\n- one\n",
        'print("a\\nb\\nc")',
        "printf 'a\\nb\\n'",
        '{"text": "a\\nb\\nc"}',
        "Use \\n for a line break.",
        "const LINES = /\\r?\\n\\n/g;",
        "Write `\\n`, not `\\r\\n`.",
        "",
    ],
)
def test_letters_of_line_breaks_that_are_meant_are_not(text: str) -> None:
    assert remark_on("a.txt", text) == []
