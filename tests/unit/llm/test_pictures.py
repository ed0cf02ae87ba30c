"""How many tokens a picture is taken for."""

import pytest

from localllm.llm.messages import AssistantMessage, Image, SystemMessage, ToolMessage, UserMessage
from localllm.llm.tokens import LEAST_PICTURE, MOST_PICTURE, UNKNOWN_PICTURE, picture_tokens, pictures_in


def png(width: int, height: int) -> Image:
    return Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4))


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1, 1, LEAST_PICTURE), (1280, 720, 1_176), (1920, 1080, 2_645), (8000, 6000, MOST_PICTURE)],
)
def test_one_by_its_size(width: int, height: int, tokens: int) -> None:
    assert picture_tokens(png(width, height)) == tokens


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0" + bytes(50)])
def test_one_whose_size_is_not_told(data: bytes) -> None:
    assert picture_tokens(Image("image/png", data)) == UNKNOWN_PICTURE


def test_they_are_in_what_the_person_and_the_tools_give() -> None:
    one, other = png(1, 1), png(2, 2)
    messages = (
        SystemMessage("s"),
        UserMessage("u", (one,)),
        AssistantMessage("a"),
        ToolMessage("c", "t", "r", (other,)),
    )
    assert list(pictures_in(messages)) == [one, other]
