"""The native dialect: the server takes the tools and gives the calls. Where it misses some, they are taken out of the
text."""

from localllm.llm.dialects.base import DialectName, Reader
from localllm.llm.messages import CompletionRequest


class NativeDialect:
    """Requests go out as they are.

    `thinking_is_open`: the model's template begins its thinking, and the server does not take it out of the text:
    what comes before </think> is thinking. A reader that meets such an answer tells (`thinking_was_open`).
    """

    def __init__(self, *, thinking_is_open: bool = False) -> None:
        self._thinking_is_open = thinking_is_open

    @property
    def name(self) -> DialectName:
        return "native"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request itself."""
        return request

    def reader(self, request: CompletionRequest) -> Reader:
        """A reader that salvages calls which arrive as text."""
        # The tables of all families' markup take 20 ms to load, which the server can use to read the request.
        from localllm.llm.dialects.salvage.reader import SalvagingReader

        return SalvagingReader(request.tools, thinking_is_open=self._thinking_is_open)
