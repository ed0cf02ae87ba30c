"""The dialect of whoever always says its calls as calls: nothing is added to a request, nothing is read into an answer.

What the embedded engine quotes may be anything, markup of calls included; read as a call, a file could give orders.
"""

from typing import Literal

from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk


class ExactDialect:
    """Calls are the server's own calls, text is text."""

    name: Literal["native"] = "native"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request as it is."""
        return request

    def reader(self, request: CompletionRequest) -> "ExactReader":
        """A reader that changes nothing."""
        del request
        return ExactReader()


class ExactReader:
    """What comes is what was meant."""

    thinking_was_open = False
    strayed: bool | None = None

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """The chunk."""
        return [chunk]

    def close(self) -> list[Chunk]:
        """Nothing was held back."""
        return []
