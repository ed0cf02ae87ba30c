"""Images in requests: track which ones each model can see, and replace the others by text."""

from base64 import b64encode

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.messages import CompletionRequest, Image, Message, UserMessage
from localllm.llm.providers.base import ModelInfo

_LESS_COMMON = frozenset({"image/webp", "image/gif"})
"""Formats that a server which reads PNG and JPEG may not decode: llama.cpp reads no WebP."""


class Sight:
    """Tracks which images the models behind one server can see: all, until a model is described as blind or fails.

    Images a model cannot see are replaced by a line of text, so that an image in the history does not end the
    conversation.
    """

    def __init__(self) -> None:
        self._blind: set[str] = set()
        self._particular: set[str] = set()
        """Models whose server failed to decode an image, and may decode the common formats."""

    def told(self, info: ModelInfo) -> ModelInfo:
        """Record whether the model can see, if `info` says so, and return `info`."""
        match info.abilities:
            case None:
                pass
            case abilities if "vision" in abilities:
                self._blind.discard(info.id)
            case _:
                self._blind.add(info.id)
        return info

    def learns(self, request: CompletionRequest, error: LLMConnectionError) -> bool:
        """Return whether `error`, the response to `request`, shows that its model cannot see an image.
        Considered are the images `adapted` has so far kept."""
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
        """Return `request` with each image its model cannot see replaced by a line of text."""
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
    """Encode the image in base64."""
    return b64encode(image.data).decode()


def _pictures(message: Message) -> tuple[Image, ...]:
    """Return a user message's images; those of results have been moved there (see message_format.py)."""
    return message.images if isinstance(message, UserMessage) else ()


def _line(image: Image) -> str:
    size = max(1, round(len(image.data) / 1000))
    return f"[a picture ({image.media_type}, {size} kB) that this model cannot see]"
