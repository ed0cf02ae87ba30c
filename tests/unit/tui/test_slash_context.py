"""/context and /compact in the chat."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import Emit, Notice
from localllm.base.i18n import set_language
from localllm.context.usage import WindowUse
from localllm.text.sanitising import display_width
from localllm.tui.commands.context_window import in_cells
from tests.support.slash import said

pytestmark = pytest.mark.anyio

USE = WindowUse(
    8_192,
    False,
    1_229,
    {
        "system": 190,
        "tools": 640,
        "words": 25,
        "summary": 0,
        "files": 2_400,
        "commands": 800,
        "results": 3,
        "model": 350,
    },
)


class Chat:
    """A chat whose window is used like this; `wishes` are those it was told."""

    stand_in = None
    model = "qwen3-8b"

    def __init__(self, use: WindowUse = USE) -> None:
        self._use = use
        self.wishes: list[str] = []

    def window_use(self) -> WindowUse:
        return self._use

    async def compact(self, wish: str, emit: Emit) -> None:
        self.wishes.append(wish)
        emit(Notice(text="8,000 → 2,000"))


@pytest.fixture(params=["en", "ja"])
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    set_language(request.param)
    yield request.param
    set_language("en")


async def test_the_parts_and_a_bar_fit_80_columns_in_both_languages(language: str) -> None:
    lines = (await said(Chat(), "context")).splitlines()
    assert max(map(display_width, lines)) <= 80
    bar = lines[1].strip()
    assert len(bar) == 76
    assert "".join(dict.fromkeys(bar)) == "STYFCRM.="
    assert bar.count("F") == round(76 * 2_400 / 8_192)
    assert bar.count("R") == 1
    rows = [line.split() for line in lines[2:-2]]
    assert [row[0] for row in rows][:9] == list("STYFCRM.=")
    assert "2,400" in lines[5]
    assert "29 %" in lines[5]
    assert len({display_width(line) for line in lines[2:11]}) == 1, "the columns are one under the other"


async def test_a_guessed_window_is_called_one() -> None:
    guessed = WindowUse(8_192, True, 1_229, USE.parts)
    assert "guess" in await said(Chat(guessed), "context")
    assert "guess" not in await said(Chat(), "context")


@given(st.lists(st.integers(0, 10_000), min_size=3, max_size=10), st.integers(20, 80))
def test_a_bar_is_as_wide_as_it_should_be_and_shows_every_part(sizes: list[int], cells: int) -> None:
    shares = in_cells(sizes, cells)
    if any(sizes):
        assert sum(shares) == cells
    for size, share in zip(sizes, shares, strict=True):
        assert (share > 0) >= (size > 0)


async def test_compact_hands_on_what_to_keep_and_says_what_was_done() -> None:
    chat = Chat()
    text = await said(chat, "compact", " the names ")
    assert chat.wishes == ["the names"]
    assert "8,000 → 2,000" in text
