"""One passage is replaced, exactly where it was meant; a miss changes nothing and says what to do."""

import json
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import set_language
from localllm.config.schema import SafetySettings
from localllm.safety.call_arguments import ArgumentsError
from localllm.safety.tool_definition import Risk
from localllm.tools.edit import edit_file
from localllm.tools.files import read_file, write_file
from localllm.tools.text_files import moved
from tests.support.agents import Answering, make_tools
from tests.support.tools import make_context, preview, put, use

pytestmark = pytest.mark.anyio

CODE = """import os


def add(a, b):
    return a - b


def double(x):
    return x * 2
"""


async def missed(root: Path, **arguments: object) -> ToolExecutionError:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(ToolExecutionError) as caught:
        await use(edit_file, make_context(root), **arguments)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    return caught.value


async def test_a_passage_is_replaced_and_shown_in_place(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    arguments = {"file_path": "a.py", "old_string": "return a - b", "new_string": "return a + b"}
    shown = preview(edit_file, context, **arguments)
    assert "-    return a - b\n+    return a + b\n" in shown.detail
    assert file.read_text() == CODE
    output = await use(edit_file, context, **arguments)
    assert file.read_text() == CODE.replace("a - b", "a + b")
    assert output.for_model.splitlines() == [
        "Edited a.py: 1 replaced (line 5).",
        "Lines 3-7 are now:",
        "",
        "def add(a, b):",
        "    return a + b",
        "",
    ]
    assert output.payload["replacements"] == 1
    assert output.payload["metadata"]["total_lines"] == 9
    assert edit_file.risk is Risk.HIGH
    assert edit_file.writes == ("file_path",)


async def test_a_function_that_an_edit_leaves_twice_is_named(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    old = "def double(x):\n    return x * 2\n"
    new = f"def double(x):\n    return x + x\n\n\n{old}"
    output = await use(edit_file, make_context(tmp_path), file_path="a.py", old_string=old, new_string=new)
    assert output.for_model.endswith("[double is defined twice now (lines 8, 12): the last one counts.]")


def test_an_edit_of_the_whole_file_is_looked_at_as_a_whole_file_write_is(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    arguments = {"file_path": "a.py", "old_string": CODE}
    assert preview(edit_file, context, **arguments, new_string="x = 1\n").danger
    assert not preview(edit_file, context, **arguments, new_string=CODE.replace("a - b", "a + b")).danger
    assert not preview(edit_file, context, **arguments, new_string="").danger


async def test_every_occurrence_on_request(tmp_path: Path) -> None:
    file = put(tmp_path / "a", "x = 1\ny = 2\nx = 1\n")
    output = await use(
        edit_file, make_context(tmp_path), file_path="a", old_str="x = 1", new_str="xx = 11", replace_all="true"
    )
    assert file.read_text() == "xx = 11\ny = 2\nxx = 11\n"
    assert output.for_model.startswith("Edited a: 2 replaced (line 1, 3).")


async def test_more_than_one_place_is_ambiguous(tmp_path: Path) -> None:
    put(tmp_path / "a", "x\ny\n" * 12)
    error = await missed(tmp_path, file_path="a", old_string="x\n", new_string="z\n")
    assert error.key == "edit_ambiguous"
    assert (error.params["count"], error.params["lines"]) == (12, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, …")
    put(tmp_path / "b", "aaa")
    assert (await missed(tmp_path, file_path="b", old_string="aa", new_string="b")).key == "edit_ambiguous"


async def test_of_many_places_those_that_were_read_are_shown(tmp_path: Path) -> None:
    put(tmp_path / "a.c", "".join(f"int f{n}(void)\n{{\n    return 0;\n}}\n\n" for n in range(300)))
    context = make_context(tmp_path)
    body = {"file_path": "a.c", "old_string": "    return 0;\n}\n", "new_string": "    return 1;\n}\n"}

    async def told() -> str:
        with pytest.raises(ToolExecutionError) as caught:
            await use(edit_file, context, **body)
        return caught.value.english

    assert "replace_all" not in (error := await told())
    assert "Lines 1-6:" in error
    await use(read_file, context, file_path="a.c", start_line=1, end_line=3)
    await use(read_file, context, file_path="a.c", start_line=1001, end_line=1005)
    error = await told()
    assert "(lines 1003, …)" in error
    assert error.count("return 0;") == 1
    assert "int f200(void)" in error
    assert "Begin old_string with line 1001, so that it is unique." in error
    body |= {"old_string": "int f200(void)\n{\n    return 0;\n}\n"}
    await use(edit_file, context, **body)


@pytest.mark.parametrize("how", ["edit", "several", "write"])
async def test_lines_that_were_read_are_found_again_after_an_edit_above_them(tmp_path: Path, how: str) -> None:
    text = "".join(f"int f{n}(void)\n{{\n    return 0;\n}}\n\n" for n in range(300))
    put(tmp_path / "a.c", text)
    context = make_context(tmp_path)
    await use(read_file, context, file_path="a.c", start_line=1, end_line=3)
    await use(read_file, context, file_path="a.c", start_line=1001, end_line=1005)
    header = {"old_string": "int f0(void)\n", "new_string": "int x;\n" * 10 + "int f0(void)\n"}
    body = {"old_string": "    return 0;\n}\n", "new_string": "    return 1;\n}\n"}
    edits = [header, body] if how == "several" else [body]
    if how == "edit":
        await use(edit_file, context, file_path="a.c", **header)
    elif how == "write":
        await use(write_file, context, file_path="a.c", content="int x;\n" * 10 + text)
    with pytest.raises(ToolExecutionError) as caught:
        await use(edit_file, context, file_path="a.c", edits=edits)
    told = caught.value.english
    assert ("Begin old_string" in told, "int f200(void)" in told) == (how != "write", how != "write")
    assert "with line 1011," in told or how == "write"


@pytest.mark.parametrize(
    ("old", "new", "lines", "expected"),
    [
        ("a\nb\nc", "a\nb\nc", range(2, 4), range(2, 4)),
        ("a\nb\nc", "x\ny\na\nb\nc", range(2, 4), range(4, 6)),
        ("a\nb\nc\nd", "d", range(4, 5), range(1, 2)),
        ("a\nb\nc\nd", "a\nx\ny\nd", range(1, 3), range(1, 4)),
        ("a\r\nb\r\nc\nd", "x\na\nb\nc\nd", range(2, 3), range(3, 4)),
    ],
)
def test_where_lines_are_after_an_edit(old: str, new: str, lines: range, expected: range) -> None:
    assert moved([lines], old, new) == [expected]


async def test_the_lines_of_a_notebooks_cells_are_not_those_of_its_file(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [cell | {"source": [f"a{n} = {n}\n", "x = 1\n", f"b{n} = {n}"]} for n in range(12)]
    put(tmp_path / "n.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1))
    context = make_context(tmp_path)
    assert "a11" in (await use(read_file, context, file_path="n.ipynb", start_line=40, end_line=48)).for_model
    with pytest.raises(ToolExecutionError) as caught:
        await use(edit_file, context, file_path="n.ipynb", old_string="x = 1", new_string="x = 2")
    assert "Begin old_string" not in caught.value.english


async def test_all_of_a_few_places_may_be_meant(tmp_path: Path) -> None:
    put(tmp_path / "a", "x = 1\n" * 3)
    assert "replace_all" in (await missed(tmp_path, file_path="a", old_string="x = 1", new_string="x = 2")).english


async def test_a_miss_shows_the_closest_lines_as_they_are(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(
        tmp_path, file_path="a.py", old_string="def add(a, c):\n    return a - c", new_string="def add(): pass"
    )
    assert error.key == "edit_no_match"
    assert "lines 4-5." in str(error)
    assert "The file's lines are:\ndef add(a, b):\n    return a - b\nCopy the text exactly" in str(error)


async def test_white_space_may_differ_and_the_indentation_is_adapted(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    arguments = {
        "old_string": "def add(a, b):\n  return a - b",
        "new_string": "def add(a, b):\n  c = a\n  return c + b",
    }
    output = await use(edit_file, context, file_path="a.py", **arguments)
    assert "def add(a, b):\n    c = a\n    return c + b\n" in file.read_text()
    assert "but for the indentation" in output.for_model.splitlines()[0]


@pytest.mark.parametrize("name", ["Makefile", "rules.mk", "notes.txt"])
async def test_the_tabs_of_recipes_are_kept_in_makefiles(tmp_path: Path, name: str) -> None:
    file = put(tmp_path / name, "all: report\n\nreport: data.txt\n    ./tool data.txt > report.txt\n")
    old = "report: data.txt\n\t./tool data.txt > report.txt"
    new = "report: tool data.txt\n\t./tool data.txt > report.txt\n\ntest: tool\n\ttest -s report.txt"
    await use(edit_file, make_context(tmp_path), file_path=name, old_string=old, new_string=new)
    indent = "    " if name == "notes.txt" else "\t"
    assert file.read_text() == "all: report\n\n" + new.replace("\t", indent) + "\n"


async def test_blanks_become_the_tabs_of_a_makefile(tmp_path: Path) -> None:
    file = put(tmp_path / "Makefile", "report: data.txt\n\t./tool data.txt\n")
    arguments = {
        "old_string": "report: data.txt\n    ./tool data.txt",
        "new_string": "report: data.txt\n    ./tool -v data.txt",
    }
    await use(edit_file, make_context(tmp_path), file_path="Makefile", **arguments)
    assert file.read_text() == "report: data.txt\n\t./tool -v data.txt\n"


async def test_a_new_rule_gets_tabs_beside_a_recipe_without_any(tmp_path: Path) -> None:
    file = put(tmp_path / "Makefile", "report: data.txt\n    ./tool\n\nclean:\n\trm -f tool\n")
    arguments = {"old_string": "clean:", "new_string": "lint:\n    gcc a.c\n\nclean:"}
    await use(edit_file, make_context(tmp_path), file_path="Makefile", **arguments)
    assert file.read_text() == "report: data.txt\n    ./tool\n\nlint:\n\tgcc a.c\n\nclean:\n\trm -f tool\n"


async def test_nothing_close_is_said(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(tmp_path, file_path="a.py", old_string="SELECT name FROM users", new_string="x")
    assert "Nothing in the file is similar to it" in str(error)


async def test_the_part_of_a_long_line_that_was_meant_is_shown(tmp_path: Path) -> None:
    put(tmp_path / "a.md", "# 仕様\n\n失敗した場合は担当者（営業二課）へメールで知らせ、再実行は手動で行います。\n" * 2)
    error = await missed(tmp_path, file_path="a.md", old_string="担当者（営業一課）へメール", new_string="x")
    assert "The closest text is within line 3. It reads:\n担当者（営業二課）へメール\nCopy the" in str(error)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("return a + b", "return a - b", 5),
        ("def add(a, b, c):\n    return a - b", "def add(a, b):\n    return a - b", 4),
        ("import os\nimport sys\n", "import os\n", 1),
    ],
)
async def test_an_edit_made_before_is_recognised(tmp_path: Path, old: str, new: str, line: int) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(tmp_path, file_path="a.py", old_string=old, new_string=new)
    assert (error.key, error.params["line"]) == ("edit_already_applied", line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return a - b", "    print(a)\n    return a - b"),
        ("def double(x):", "def half(x):\n    return x / 2\n\n\ndef double(x):"),
        ("  return a - b", "  return a - b\n\n\ndef half(x):\n  return x / 2"),
        ("import os", "import os, sys"),
        ("def double(x):\n  return x * 2", "def double(y):\n  z = y\n  return y * 2"),
        ("return  a - b", 'return a.b("c")'),
    ],
)
async def test_an_edit_that_is_repeated_is_not_made_twice(tmp_path: Path, old: str, new: str) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    await use(edit_file, context, file_path="a.py", old_string=old, new_string=new)
    once = file.read_text()
    with pytest.raises(ToolExecutionError) as refused:
        await use(edit_file, context, file_path="a.py", old_string=old, new_string=new)
    assert (refused.value.key, file.read_text()) == ("edit_already_applied", once)


@pytest.mark.parametrize(
    ("text", "old", "new", "becomes"),
    [
        ("f(a, bc)\n", "f(a", "f(a, b", "f(a, b, bc)\n"),  # what follows only begins like it
        ("call(a)\n", "(a)", "all(a)", "callall(a)\n"),
        ("{\n}\n}\n", "{\n}", "{\n}\n}", "{\n}\n}\n}\n"),  # a bracket that is missing once more
        ("a = 1\n\nb = 2\n", "a = 1\n", "a = 1\n\n", "a = 1\n\n\nb = 2\n"),
    ],
)
async def test_an_insertion_like_what_is_there_is_made(
    tmp_path: Path, text: str, old: str, new: str, becomes: str
) -> None:
    file = put(tmp_path / "a.txt", text)
    await use(edit_file, make_context(tmp_path), file_path="a.txt", old_string=old, new_string=new)
    assert file.read_text() == becomes


async def test_a_repeated_edit_that_was_only_like_the_file_is_recognised(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", "def test_coupon():\n    assert apply_discount(one) == yen(850)\n")
    context = make_context(tmp_path)
    arguments = {
        "file_path": "a.py",
        "old_string": 'assert apply_discount(one) == yen("850")',
        "new_string": 'assert apply_discount(one) == yen("855")',
    }
    await use(edit_file, context, **arguments)
    assert "yen(855)" in file.read_text()
    with pytest.raises(ToolExecutionError) as refused:
        await use(edit_file, context, **arguments)
    assert (refused.value.key, refused.value.params["line"]) == ("edit_already_applied", 2)


async def test_an_edit_that_was_undone_can_be_made_again(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    arguments = {"file_path": "a.py", "old_string": "    return  a - b", "new_string": "    return a + b"}
    await use(edit_file, context, **arguments)
    done = file.read_text()
    file.write_text(CODE)
    context.seen.note("a.py", CODE.encode())
    await use(edit_file, context, **arguments)
    assert file.read_text() == done


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def double(y):\n    return y * 2", "def double(x):\n    return x"),  # new is the beginning of what is there
        ("def triple(z):\n    return z * 3", ""),  # a removal leaves nothing to recognise
        ("something else entirely", "os"),  # too short to mean anything
    ],
)
async def test_an_edit_not_made_yet_is_not_taken_for_made(tmp_path: Path, old: str, new: str) -> None:
    put(tmp_path / "a.py", CODE)
    assert (await missed(tmp_path, file_path="a.py", old_string=old, new_string=new)).key == "edit_no_match"


async def test_what_makes_no_edit_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a", "x\n")
    put(tmp_path / "bin", b"\0x")
    assert (await missed(tmp_path, file_path="a", old_string="", new_string="y")).key == "edit_empty"
    assert (await missed(tmp_path, file_path="a", old_string="x", new_string="x")).key == "edit_no_change"
    assert (await missed(tmp_path, file_path="b", old_string="x", new_string="y")).key == "file_missing"
    assert (await missed(tmp_path, file_path="bin", old_string="x", new_string="y")).key == "file_not_text"
    put(tmp_path / ".git" / "config", "x")
    with pytest.raises(SafetyViolationError):
        await use(edit_file, make_context(tmp_path), file_path=".git/config", old_string="x", new_string="y")


async def test_windows_files_are_matched_and_kept(tmp_path: Path) -> None:
    file = put(tmp_path / "a", "one\r\ntwo\r\nthree\r\n")
    await use(edit_file, make_context(tmp_path), file_path="a", old_string="one\ntwo\n", new_string="1\n2\n2b\n")
    assert file.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


async def test_in_a_file_of_mixed_newlines_only_the_passage_changes(tmp_path: Path) -> None:
    file = put(tmp_path / "a", "one\r\ntwo\nthree\r\nfour\nfive")
    context = make_context(tmp_path)
    await use(edit_file, context, file_path="a", old_string="two\nthree\n", new_string="2\n3\n")
    assert file.read_bytes() == b"one\r\n2\n3\nfour\nfive"
    await use(edit_file, context, file_path="a", old_string="one", new_string="0\n1")
    assert file.read_bytes() == b"0\r\n1\r\n2\n3\nfour\nfive"
    await use(edit_file, context, file_path="a", old_string="five", new_string="5\n6")
    assert file.read_bytes() == b"0\r\n1\r\n2\n3\nfour\n5\n6"


async def test_a_european_file_keeps_its_encoding(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", "# Größe\r\nx = 1\r\n".encode("latin-1"))
    await use(
        edit_file, make_context(tmp_path), file_path="a.py", old_string="# Größe\nx = 1", new_string="# Maß\nx = 2"
    )
    assert file.read_bytes() == "# Maß\r\nx = 2\r\n".encode("latin-1")


async def test_a_japanese_file_keeps_its_encoding(tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", "一行目です\r\n二行目です\r\n".encode("cp932"))
    await use(edit_file, make_context(tmp_path), file_path="a.txt", old_string="二行目", new_string="最後の行")
    assert file.read_bytes() == "一行目です\r\n最後の行です\r\n".encode("cp932")


def test_what_its_encoding_cannot_hold_is_refused_before_the_user_is_asked(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "一行目です\n".encode("cp932"))
    with pytest.raises(ToolExecutionError) as raised:
        preview(edit_file, make_context(tmp_path), file_path="a.txt", old_string="一行目", new_string="✓")
    assert raised.value.key == "file_unwritable"
    assert "✓" in raised.value.what


async def test_a_file_whose_bytes_would_not_survive_is_left_alone(tmp_path: Path) -> None:
    # 0xEEF9 and 0x81CA are the same character in cp932; written back, one of them would become the other.
    put(tmp_path / "a.txt", "日本語の文章です\n".encode("cp932") + b"\xee\xf9\x81\xca")
    error = await missed(tmp_path, file_path="a.txt", old_string="日本語", new_string="英語")
    assert error.key == "file_unwritable"


async def test_of_a_long_passage_only_the_ends_are_shown(tmp_path: Path) -> None:
    put(tmp_path / "a", "begin\nX\nend\n")
    new = "\n".join(f"line {number}" for number in range(100))
    output = await use(edit_file, make_context(tmp_path), file_path="a", old_string="X", new_string=new)
    lines = output.for_model.splitlines()
    assert lines[1:4] == ["Lines 1-102 are now:", "begin", "line 0"]
    assert lines[-2:] == ["line 99", "end"]
    assert len(lines) < 20


async def test_several_edits_are_all_made_or_none(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    first = {"old_string": "import os", "new_string": "import sys"}
    output = await use(
        edit_file, context, file_path="a.py", edits=[first, {"old_string": "a - b", "new_string": "a + b"}]
    )
    assert file.read_text() == CODE.replace("import os", "import sys").replace("a - b", "a + b")
    assert output.payload["replacements"] == 2
    assert "line 1" in output.for_model
    assert "line 5" in output.for_model
    error = await missed(tmp_path, file_path="a.py", edits=[{"old_string": "x * 2", "new_string": "x * 3"}, {**first}])
    assert error.key == "edit_of_several"
    assert str(error).startswith("Edit 2 of 2 cannot be made, so none was")


async def test_of_several_edits_the_user_is_shown_one_line_and_the_model_the_lines_in_english(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    edits = [
        {"old_string": "import os", "new_string": "import sys"},
        {"old_string": "def triple(x):\n    return x * 3", "new_string": "def triple(x):\n    return 3 * x"},
    ]
    alone = await missed(tmp_path, file_path="a.py", **edits[1])
    error = await missed(tmp_path, file_path="a.py", edits=edits)
    assert error.what.splitlines() == [f"Edit 2 of 2 cannot be made, so none was: {alone.what}"]
    whole = f"Edit 2 of 2 cannot be made, so none was: {alone.english} Fix it and send all 2 again."
    assert error.english == whole
    set_language("ja")
    try:
        assert error.english == whole
    finally:
        set_language("en")


async def test_edits_after_a_first_one_given_as_usual(tmp_path: Path) -> None:
    file = put(tmp_path / "a", "one\ntwo\n")
    more = [{"old_string": "two", "new_string": "2"}]
    await use(edit_file, make_context(tmp_path), file_path="a", old_string="one", new_string="1", edits=more)
    assert file.read_text() == "1\n2\n"


async def test_edits_that_overlap_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "a", "one\ntwo\n")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "1\ntwo", "new_string": "x"}]
    assert "edit 1 of the same call" in str(await missed(tmp_path, file_path="a", edits=edits))


async def test_a_placeholder_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    new = "def double(x):\n    # ... existing code ..."
    error = await missed(tmp_path, file_path="a.py", old_string="def double(x):\n    return x * 2", new_string=new)
    assert error.key == "edit_placeholder"


async def test_a_file_changed_since_it_was_read_is_read_again_first(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    edit = {"file_path": "a.py", "old_string": "a - b", "new_string": "a + b"}
    await use(read_file, context, file_path="a.py")
    file.write_text("# mine\n" + CODE)
    for tool, arguments in ((edit_file, edit), (write_file, {"file_path": "a.py", "content": CODE})):
        with pytest.raises(ToolExecutionError) as caught:
            await use(tool, context, **arguments)
        assert caught.value.key == "file_changed_since"
    assert file.read_text() == "# mine\n" + CODE
    await use(read_file, context, file_path="a.py")
    await use(edit_file, context, **edit)
    await use(edit_file, context, file_path="a.py", old_string="a + b", new_string="a * b")  # its own version is known
    assert "a * b" in file.read_text()


async def test_new_syntax_errors_are_told(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    output = await use(edit_file, context, file_path="a.py", old_string="return a - b", new_string="return a - (*")
    assert "Syntax errors that were not there before, at line 5" in output.for_model
    output = await use(edit_file, context, file_path="a.py", old_string="import os", new_string="import re")
    assert "Syntax errors" not in output.for_model


async def test_a_name_that_nothing_defines_is_told(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    context = make_context(tmp_path)
    remark = "[Nothing in this file defines or imports settings: import it, or correct the name.]"
    output = await use(edit_file, context, file_path="a.py", old_string="return a - b", new_string="return settings.A")
    assert output.for_model.splitlines()[-1] == remark
    output = await use(edit_file, context, file_path="a.py", old_string="import os", new_string="import settings")
    assert remark not in output.for_model
    output = await use(write_file, context, file_path="b.py", content="print(settings.A)\n")
    assert output.for_model.splitlines()[-1] == remark


async def test_a_miss_says_what_differs_and_an_ambiguous_one_what_is_around(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(tmp_path, file_path="a.py", old_string="def double(y):\n    return y * 2", new_string="x")
    assert "- def double(y):\n-     return y * 2\n+ def double(x):\n+     return x * 2" in str(error)
    error = await missed(tmp_path, file_path="a.py", old_string="    return ", new_string="x")
    assert "def add(a, b):\n    return a - b" in str(error)
    assert "def double(x):\n    return x * 2" in str(error)


def test_what_the_model_is_told_stays_small() -> None:
    told = msgspec.json.encode(edit_file.spec.parameters)
    assert len(told) < 400
    assert "edits" not in edit_file.spec.parameters["properties"]  # understood all the same: see above
    assert edit_file.spec.parameters["required"] == ["file_path", "old_string", "new_string"]


LISTING = "export const a = 1;\n  const b = 2;\nexport const c = 3;\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "1: export const a = 1;\n2:   const b = 2;",
            "1: export const a = 10;\n2:   const b = 2;\n  const d = 4;",
            "export const a = 10;\n  const b = 2;\n  const d = 4;\nexport const c = 3;\n",
            id="a line without a number at the end",
        ),
        pytest.param(
            "1: export const a = 1;\n2:   const b = 2;",
            "1: export const a = 1;\n  const z = 0;\n2:   const b = 20;",
            "export const a = 1;\n  const z = 0;\n  const b = 20;\nexport const c = 3;\n",
            id="a line without a number between",
        ),
        pytest.param(
            "2\t  const b = 2;\n3\texport const c = 3;",
            "2\t  const b = 2;\n3\t  const n = 0;\nconst m = 1;\n4\texport const c = 3;",
            "export const a = 1;\n  const b = 2;\n  const n = 0;\nconst m = 1;\nexport const c = 3;\n",
            id="numbered on",
        ),
        pytest.param(
            "1: export const a = 1;",
            "export const a = {\n  7: 'x',\n};",
            "export const a = {\n  7: 'x',\n};\n  const b = 2;\nexport const c = 3;\n",
            id="a key that is a number stays",
        ),
    ],
)
async def test_numbers_of_a_listing_are_never_written(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = put(tmp_path / "a.js", LISTING)
    await use(edit_file, make_context(tmp_path), file_path="a.js", old_string=old, new_string=new)
    assert file.read_text() == expected


FUNCTION = """def head():
    return 0


def total(rows):
    result = 0
    for row in rows:
        result += row.price * row.count
    log(result)
    return result


def tail():
    return 1
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "def total(rows):\n    ...\n    return result",
            "def total(rows, tax):\n    ...\n    return result * tax",
            FUNCTION.replace("(rows)", "(rows, tax)").replace("return result", "return result * tax"),
            id="put back",
        ),
        pytest.param(
            "def total(rows):\n    # ... existing code ...\n    return result\n",
            "def total(rows):\n    return sum(row.price * row.count for row in rows)\n",
            FUNCTION[: FUNCTION.index("    result = 0")]
            + "    return sum(row.price * row.count for row in rows)\n\n\ndef tail():\n    return 1\n",
            id="taken with the rest",
        ),
        pytest.param(
            "def total(rows):\n  ...\n  return result",
            "def total(rows, tax):\n  ...\n  return result * tax",
            FUNCTION.replace("(rows)", "(rows, tax)").replace("return result", "return result * tax"),
            id="but for the indentation",
        ),
        pytest.param(
            "def total(rows):\n    result = 0\n    …",
            "def total(rows):\n    result = 1\n    …",
            FUNCTION.replace("result = 0", "result = 1"),
            id="left out at the end of both",
        ),
        pytest.param(
            "def total(rows):\n    ...\n        result += row.price * row.count\n    ...\n    return result",
            "def total(rows):\n    ...\n        result += row.price\n    ...\n    return -result",
            FUNCTION.replace("row.price * row.count", "row.price").replace("return result", "return -result"),
            id="twice",
        ),
    ],
)
async def test_lines_left_out_are_found_between_the_others(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = put(tmp_path / "a.py", FUNCTION)
    output = await use(edit_file, make_context(tmp_path), file_path="a.py", old_string=old, new_string=new)
    assert file.read_text() == expected
    assert output.payload["matched"] in (["elided"], ["exact"])


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("def total(rows):\n    ...\n    return total", "x", "edit_elided", "“return total” is not there"),
        ("    return result\n...\ndef total(rows):", "x", "edit_elided", "“def total(rows):” is at line 5"),
        ("def total(rows):\n    ...\n    return", "x", "edit_elided", "“return” is there 3 times"),
        (
            "def total(rows):\n    ...",
            "def total(rows):\n    return 0",
            "edit_elided",
            "“...” works only if the lines",
        ),
        ("def head():\n...\n    return 1", "def head():\n    return 1", "would_destroy", "total"),
    ],
)
async def test_lines_left_out_are_not_guessed(tmp_path: Path, old: str, new: str, key: str, told: str) -> None:
    put(tmp_path / "a.py", FUNCTION)
    error = await missed(tmp_path, file_path="a.py", old_string=old, new_string=new)
    assert error.key == key
    assert told in error.english


async def test_that_dots_stand_for_nothing_is_said_also_where_the_file_has_some(tmp_path: Path) -> None:
    put(tmp_path / "a.py", 'print("Loading...")\n' + FUNCTION)
    assert (await missed(tmp_path, file_path="a.py", old_string="def x():\n...\n", new_string="x")).key == "edit_elided"


async def test_dots_that_stand_in_the_file_are_text(tmp_path: Path) -> None:
    file = put(tmp_path / "a.pyi", "def f() -> int:\n    ...\ndef g() -> int:\n    ...\n")
    arguments = {"old_string": "def f() -> int:\n    ...", "new_string": "def f(a: int) -> int:\n    ..."}
    await use(edit_file, make_context(tmp_path), file_path="a.pyi", **arguments)
    assert file.read_text() == "def f(a: int) -> int:\n    ...\ndef g() -> int:\n    ...\n"
    error = await missed(tmp_path, file_path="a.pyi", old_string="def h() -> int:\n    ...", new_string="x")
    assert error.key == "edit_no_match"


async def test_of_a_long_miss_the_true_range_and_the_difference_are_told(tmp_path: Path) -> None:
    lines = [f"    value_{number} = compute({number})" for number in range(60)]
    put(tmp_path / "a.py", "\n".join(["import os", "", "def long():", *lines, "    return 0", ""]))
    wrong = "\n".join(["def long():", *lines[:30], "    value_30 = recompute(30)", *lines[31:], "    return 0"])
    error = await missed(tmp_path, file_path="a.py", old_string=wrong, new_string="def long():\n    return 0")
    text = error.english
    assert "The closest text is at lines 3-64." in text
    assert text.index("- ") < text.index("+     value_30 = compute(30)")
    assert "value_12" not in text  # what does not differ is not repeated


async def test_a_cut_of_what_is_shown_is_said(tmp_path: Path) -> None:
    lines = [f"    value_{number} = compute({number})" for number in range(60)]
    put(tmp_path / "a.py", "\n".join(["def long():", *lines, "    return 0", ""]))
    wrong = "\n".join(["def long():", *(line.replace("compute", "calc") for line in lines), "    return 0"])
    error = await missed(tmp_path, file_path="a.py", old_string=wrong, new_string="x")
    assert "lines 1-62." in error.english
    assert "The first 40 of these 62 lines:" in error.english
    assert "…" in error.english


async def test_an_edit_that_replaces_nothing_says_how_to_insert(tmp_path: Path) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(tmp_path, file_path="a.py", old_string="", new_string="x")
    assert error.key == "edit_empty"
    assert "write_file" in error.english
    assert "create_file" not in error.english


async def test_a_file_does_not_grow_beyond_what_can_be_read(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "a" * 10_000 + "b" * 10_000)
    growing = [
        {"old_string": "a", "new_string": "c" * 1_500},
        {"old_string": "b", "new_string": "d" * 1_500},
    ]
    error = await missed(tmp_path, file_path="a.txt", edits=growing, replace_all=True)
    assert "20,000,000" in error.english


REPLACES_NOTHING: dict[str, Json] = {"old_string": "", "new_string": "x = 1\n"}


class TestEmptyOldString:
    """Of a file that is not there, or holds nothing, an edit is a write, and judged as one."""

    @pytest.mark.parametrize("content", [None, ""])
    async def test_it_writes_the_file(self, tmp_path: Path, content: str | None) -> None:
        root = tmp_path / "project"
        root.mkdir()
        if content is not None:
            put(root / "src" / "a.py", content)
        person = Answering(approve=True)
        answer = await make_tools(root, confirmer=person).execute_tool(
            "edit_file", file_path="src/a.py", **REPLACES_NOTHING
        )
        assert answer["success"]
        assert (root / "src" / "a.py").read_text() == "x = 1\n"
        assert [asked.tool for asked in person.asked] == ["write_file"]

    async def test_a_rule_for_writing_holds(self, tmp_path: Path) -> None:
        root = tmp_path / "project"
        root.mkdir()
        safety = SafetySettings(deny=("write_file",), allow=("edit_file",))
        answer = await make_tools(root, safety=safety).execute_tool("edit_file", file_path="a.py", **REPLACES_NOTHING)
        assert not answer["success"]
        assert not (root / "a.py").exists()

    async def test_a_file_that_holds_something_is_not_replaced(self, tmp_path: Path) -> None:
        root = tmp_path / "project"
        put(root / "a.py", CODE)
        answer = await make_tools(root).execute_tool("edit_file", file_path="a.py", **REPLACES_NOTHING)
        assert answer["code"] == "E8024"
        assert (root / "a.py").read_text() == CODE


async def test_of_a_file_that_is_not_there_it_says_how_one_is_made(tmp_path: Path) -> None:
    put(tmp_path / "shop" / "prices.py")
    for path, hint in (("new.md", "Use list_files to see"), ("shop/price.py", "Did you mean: shop/prices.py?")):
        with pytest.raises(ToolExecutionError) as raised:
            await use(edit_file, make_context(tmp_path), file_path=path, old_string="a", new_string="b")
        assert raised.value.english.startswith(f"There is no file {path}. {hint}")
        assert raised.value.english.endswith(" To create it, use write_file.")


async def test_the_lines_of_a_notebook_are_edited_as_they_are_shown(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": ["rows = load()\n", "total = 1\n", "total"], "outputs": []}]
    file = tmp_path / "a.ipynb"
    file.write_text(json.dumps({"cells": cells}, indent=1) + "\n")
    output = await use(
        edit_file,
        make_context(tmp_path),
        file_path="a.ipynb",
        old_string="rows = load()\ntotal = 1",
        new_string='rows = load()\ntotal = rows[0]["amount"]',
    )
    cells[0]["source"] = ["rows = load()\n", 'total = rows[0]["amount"]\n', "total"]
    assert file.read_text() == json.dumps({"cells": cells}, indent=1) + "\n"
    assert "Syntax errors" not in output.for_model


def one_line_notebook(root: Path, *sources: str) -> Path:
    cells = [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []} for source in sources]
    return put(root / "a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))


def cell_sources(file: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"]]


async def test_the_cells_of_a_notebook_in_one_line_are_edited_and_added(tmp_path: Path) -> None:
    file = one_line_notebook(tmp_path, "rows = load()\nx = 1", "x = 1\nprint(x)")
    context = make_context(tmp_path)
    shown_old = "--- cell 2: code In[3] ---\nx = 1"
    detail = preview(edit_file, context, file_path="a.ipynb", old_string=shown_old, new_string="x = 2").detail
    assert " --- cell 2: code ---\n-x = 1\n+x = 2\n print(x)" in detail
    output = await use(edit_file, context, file_path="a.ipynb", old_string=shown_old, new_string="x = 2")
    assert output.for_model.endswith("Now:\n--- cell 2: code ---\nx = 2\nprint(x)")
    more = "print(x)\n--- cell 3: code ---\nfrom os import path"
    await use(edit_file, context, file_path="a.ipynb", old_string="  print(x)", new_string=more)
    assert cell_sources(file) == ["rows = load()\nx = 1", "x = 2\nprint(x)", "from os import path"]


async def test_both_edits_of_one_cell_are_made(tmp_path: Path) -> None:
    file = one_line_notebook(tmp_path, "a = 1\nb = 2\nc = 3")
    edits = [{"old_string": "a = 1", "new_string": "a = 10"}, {"old_string": "c = 3", "new_string": "c = 30"}]
    values = edit_file.fit({"file_path": "a.ipynb", "edits": edits}).values
    await use(edit_file, make_context(tmp_path), **values)
    assert cell_sources(file) == ["a = 10\nb = 2\nc = 30"]


async def test_the_python_of_a_cell_is_checked(tmp_path: Path) -> None:
    one_line_notebook(tmp_path, "%time f()\nx = 1", "y = 1")
    context = make_context(tmp_path)
    output = await use(edit_file, context, file_path="a.ipynb", old_string="x = 1", new_string="x = (1\ny = 2")
    assert "In cell 1: Syntax errors that were not there before" in output.for_model
    output = await use(edit_file, context, file_path="a.ipynb", old_string="x = (1", new_string="x = 1")
    assert "Syntax errors" not in output.for_model


async def test_the_json_of_a_notebook_can_still_be_edited(tmp_path: Path) -> None:
    file = one_line_notebook(tmp_path, "x = 1")
    await use(
        edit_file, make_context(tmp_path), file_path="a.ipynb", old_string='"nbformat": 4', new_string='"nbformat": 5'
    )
    assert json.loads(file.read_text())["nbformat"] == 5
    error = await missed(tmp_path, file_path="a.ipynb", old_string='"nbformat": 5', new_string='"nbformat": "5')
    assert error.key == "edit_no_match"


@pytest.mark.parametrize(
    "written",
    [
        r'[{"old_string": "a\n", "new_string": "b\n"}]',
        '[{"old_string": "a\n", "new_string": "b\n"}]',
        r'{"old": "a\n", "new": "b\n"}',
    ],
)
def test_several_edits_may_be_written_as_json_in_a_string(written: str) -> None:
    values = edit_file.fit({"file_path": "a.py", "edits": written}).values
    assert [(edit.old_string, edit.new_string) for edit in values["edits"]] == [("a\n", "b\n")]


@pytest.mark.parametrize("written", ["[a", '[{"old_string": "a", "new_string": "b'])
def test_a_list_that_is_no_json_or_broken_off_is_refused(written: str) -> None:
    with pytest.raises(ArgumentsError):
        edit_file.fit({"file_path": "a.py", "edits": written})


async def test_a_conflict_that_is_resolved_by_one_side_alone_is_said(tmp_path: Path) -> None:
    theirs = "=======\ntheirs\n>>>>>>> x\n"
    put(tmp_path / "a.txt", f"<<<<<<< HEAD\nours\n{theirs}z\n")
    context = make_context(tmp_path)
    await use(edit_file, context, file_path="a.txt", old_string="<<<<<<< HEAD\n", new_string="")
    output = await use(edit_file, context, file_path="a.txt", old_string=theirs, new_string="")
    assert "[One side of the conflict is gone: theirs. If both were to stay" in output.for_model
    put(tmp_path / "b.txt", f"<<<<<<< HEAD\nours\n{theirs}")
    await use(read_file, context, file_path="b.txt")
    output = await use(write_file, context, file_path="b.txt", content="theirs\n")
    assert "[One side of the conflict is gone: ours." in output.for_model


@pytest.mark.parametrize(
    ("old", "is_pattern"),
    [
        (r"(\d{2})/(\d{2})/(\d{4})", True),
        (r"return (\w)\+(\d)", True),
        ("print\\(.*\\)", True),
        ("[0-9]+ items", True),
        ("return c - d # wrong", False),
        ("text[0] + more", False),
    ],
)
async def test_a_pattern_in_place_of_the_text_is_told(tmp_path: Path, old: str, is_pattern: bool) -> None:
    put(tmp_path / "a.py", CODE)
    error = await missed(tmp_path, file_path="a.py", old_string=old, new_string="x")
    assert ("old_string is text, not a pattern" in error.details_phrase.english) == is_pattern
    put(tmp_path / "a.py", f"{CODE}\nDIGITS = re.search(r'[0-9]+\\d+', x)\n")
    error = await missed(tmp_path, file_path="a.py", old_string=old, new_string="x")
    assert "not a pattern" not in error.details_phrase.english
