"""Pictures on their way to a model: which ones it can see, and what stands in place of the others."""

from base64 import b64encode

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.messages import CompletionRequest, Image, Message, UserMessage
from localllm.llm.providers.base import ModelInfo

_LESS_COMMON = frozenset({"image/webp", "image/gif"})
"""What a server may be unable to decode that reads PNG and JPEG: llama.cpp reads no WebP."""


class Sight:
    """What the models behind one server can see: all pictures, until a model is told or found to be unable to.

    One that cannot is sent a line in place of each picture, so that a picture in the history is no end of the
    conversation.
    """

    def __init__(self) -> None:
        self._blind: set[str] = set()
        self._particular: set[str] = set()
        """Models whose server has failed to read a picture, and may read the more common ones."""

    def told(self, info: ModelInfo) -> ModelInfo:
        """`info`, taken note of where it says whether its model can see."""
        match info.abilities:
            case None:
                pass
            case abilities if "vision" in abilities:
                self._blind.discard(info.id)
            case _:
                self._blind.add(info.id)
        return info

    def learns(self, request: CompletionRequest, error: LLMConnectionError) -> bool:
        """Whether `error`, the answer to `request`, tells that its model cannot see a picture which `adapted` has left
        in it until now."""
        kinds = {image.media_type for message in self.adapted(request).messages for image in _pictures(message)}
        match error.key:
            case "llm_image_unreadable" if kinds & _LESS_COMMON:
                self._particular.add(request.model)
            case "llm_image_unreadable" | "llm_no_images" if kinds:
                self._blind.add(request.model)
            case _:
                return False
        return True

    def adapted(self, request: CompletionRequest) -> CompletionRequest:
        """`request` with a line in place of each picture its model cannot see."""
        if not any(map(_pictures, request.messages)):
            return request
        messages = tuple(self._adapted(message, request.model) for message in request.messages)
        return msgspec.structs.replace(request, messages=messages)

    def _adapted(self, message: Message, model: str) -> Message:
        seen = tuple(image for image in _pictures(message) if self._sees(image, model))
        if len(seen) == len(_pictures(message)):
            return message
        lines = [_line(image) for image in _pictures(message) if not self._sees(image, model)]
        return UserMessage("\n".join(filter(None, [message.text, *lines])), seen)

    def _sees(self, image: Image, model: str) -> bool:
        unreadable = model in self._particular and image.media_type in _LESS_COMMON
        return model not in self._blind and not unreadable


def base64_text(image: Image) -> str:
    """The picture as JSON carries it."""
    return b64encode(image.data).decode()


def _pictures(message: Message) -> tuple[Image, ...]:
    """The pictures that are sent: those of results are the user's by then (see normalising.py)."""
    return message.images if isinstance(message, UserMessage) else ()


def _line(image: Image) -> str:
    size = max(1, round(len(image.data) / 1000))
    return f"[a picture ({image.media_type}, {size} kB) that this model cannot see]"
