"""/map in the chat."""

import pytest

from localllm.repo_map.index import FileRecord
from localllm.repo_map.request import RepoMapText
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project with this map; `asked` is what it was asked for."""

    def __init__(self, drawn: RepoMapText) -> None:
        self.drawn = drawn
        self.asked: list[str] = []

    async def draw_map(self, words: str, lines: int) -> RepoMapText:
        assert lines > 0
        self.asked.append(words)
        return self.drawn


async def test_the_map_is_shown_with_what_there_is_in_all() -> None:
    text = "a.py\n⋮\n12 class A:\n40   def run(self): \x1b[31m"
    records = {"a.py": FileRecord((1, 1, 1), b"", "python"), "b.py": FileRecord((1, 1, 1), b"")}
    chat = Chat(RepoMapText(text, 1, 2, records, left_out=3))
    lines = (await said(chat, "map", " the words ")).splitlines()
    assert chat.asked == ["the words"]
    assert lines[:4] == ["  a.py", "  ⋮", "      12 class A:", "      40   def run(self): ␛[31m"]
    assert "definitions: 2 of 0, source files: 1" in lines[4]
    assert "3 files have not been read yet" in lines[5]


async def test_words_that_nothing_has_to_do_with_are_said_to_be_so() -> None:
    chat = Chat(RepoMapText("a.py\n12 class A:", 1, 1, {}, unmatched=True))
    assert (await said(chat, "map", "x\x1b[1m")).startswith("  Nothing here has a name like “x␛[1m”")
    assert "Nothing here" not in await said(chat, "map")  # the words were those of the conversation


async def test_a_project_without_source_has_no_map() -> None:
    assert "There is no source code" in await said(Chat(RepoMapText("", 0, 0, {})), "map")
