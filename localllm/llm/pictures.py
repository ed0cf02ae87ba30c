"""How many tokens a picture is, before a server has counted one."""

from collections.abc import Iterable, Iterator

from localllm.llm.messages import Image, Message, ToolMessage, UserMessage
from localllm.text.magic import HEAD, picture_in

PIXELS_PER_TOKEN = 28 * 28
"""Of the families that look at a picture in its own size (Qwen-VL, Pixtral): patches of 14 pixels, merged two by two
(https://arxiv.org/abs/2409.12191, section 2.1). No common family takes more tokens for a picture."""

LEAST_PICTURE = 256
"""What Gemma 3 takes for each, whatever its size (https://arxiv.org/abs/2503.19786, section 2.1)."""

MOST_PICTURE = 4_096
"""What llama.cpp, and Ollama with it, shrinks a larger one to for those families."""

UNKNOWN_PICTURE = 1_024
"""For one whose size its first bytes do not tell."""


def picture_tokens(image: Image) -> int:
    """The tokens of a picture by its width and height: rather too many, for some families take 256 for any."""
    picture = picture_in(image.data[:HEAD])
    if picture is None or not picture.width or not picture.height:
        return UNKNOWN_PICTURE
    return min(MOST_PICTURE, max(LEAST_PICTURE, -(-picture.width * picture.height // PIXELS_PER_TOKEN)))


def pictures_in(messages: Iterable[Message]) -> Iterator[Image]:
    """The pictures the messages carry."""
    for message in messages:
        if isinstance(message, UserMessage | ToolMessage):
            yield from message.images
