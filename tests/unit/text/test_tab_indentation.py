"""New lines in a file that is indented by tabs get tabs."""

from pathlib import Path

import pytest

from localllm.text.tab_indentation import with_tabs_of
from localllm.tools.edit import edit_file
from tests.support.each import each
from tests.support.tools import make_context, put, use

GO = "func D(i int) string {\n\treturn fmt.Sprint(i)\n}\n"
BLANKS = "func E(i int) int {\n    if i > 3 {\n        return i\n    }\n    return 0\n}\n\n"
TABS = BLANKS.replace("    ", "\t")


@each(
    ("content", "new", "written"),
    [
        (GO, BLANKS, TABS),
        (GO, BLANKS.replace("    ", "  "), TABS),
        (f"{GO}/*\n * D.\n */\n", BLANKS, TABS),
        ("all: a\n\ttest a\n", "lint:\n    gcc a.c\n", "lint:\n\tgcc a.c\n"),
        (GO, "/*\n * E.\n */\n", "/*\n * E.\n */\n"),
        (GO, BLANKS.replace("    ", "   "), BLANKS.replace("    ", "   ")),
        (GO, TABS, TABS),
        (GO.replace("\t", "    "), BLANKS, BLANKS),
        (f"{GO}A = a \\\n    b\n", BLANKS, BLANKS),
        ("func D(i int) string {\n}\n", BLANKS, BLANKS),
        ("", BLANKS, BLANKS),
    ],
)
def test_the_indentation_of_new_lines(content: str, new: str, written: str) -> None:
    assert with_tabs_of(content, new) == written


@pytest.mark.anyio
async def test_an_edit_beside_a_line_without_indentation_gets_the_tabs_of_the_file(tmp_path: Path) -> None:
    file = put(tmp_path / "d.go", GO)
    head = "func D(i int) string {"
    await use(edit_file, make_context(tmp_path), file_path="d.go", old_string=head, new_string=f"{BLANKS}{head}")
    assert file.read_text() == TABS + GO
