"""Names of tools as models write them."""

import pytest

from localllm.llm.tool_calling.arguments import Names, tidied
from tests.support.each import each

NAMES = Names(["read_file", "git_log", "get-x", "get_x"])


@each(
    "written",
    [
        "read_file",
        "Read_File",
        "readFile",
        "read-file",
        "read file",
        "functions.read_file",
        "functions.read_file:0",
        "tool.read_file",
        "default_api.read_file",
        "functions.functions.read_file",
        "call:read_file",
        "read_file()",
        "read_file.call",
        ' "read_file" ',
        "`read_file`",
    ],
)
def test_the_offered_name(written: str) -> None:
    assert NAMES.resolve(written) == "read_file"


@pytest.mark.parametrize("written", ["", "read", "read_files", "write_file", "GetX", "file", "functions."])
def test_no_name_or_more_than_one(written: str) -> None:
    assert NAMES.resolve(written) is None


def test_an_exact_name_is_itself_even_where_another_is_like_it() -> None:
    assert NAMES.resolve("get_x") == "get_x"
    assert NAMES.resolve("get-x") == "get-x"


def test_a_name_of_nobody_is_tidied() -> None:
    assert tidied(" functions.open_tab:2 ") == "open_tab"
