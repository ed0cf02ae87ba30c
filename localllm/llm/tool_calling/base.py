"""What a dialect is: how tools are offered to a model, and how its calls are read. The agent never knows which one
is spoken."""

from typing import Literal, Protocol

from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk

DialectName = Literal["native", "structured", "text"]
"""native: the server's own tool calls. structured: every step is one JSON object, held to a schema by the server.
text: Thought, Action, Action Input and Final Answer as plain text."""


class Reader(Protocol):
    """Reads one answer: chunks as the server sends them go in, chunks for the agent come out.

    However the answer is cut into chunks, what comes out is the same when joined. Nothing that is markup of a call
    comes out as text, not even for a moment: what may yet become markup is held back.
    """

    @property
    def thinking_was_open(self) -> bool:
        """Whether the answer began in the middle of its thinking."""
        ...

    @property
    def strayed(self) -> bool | None:
        """Whether the answer has not the form its server was told to hold it to; None where there is no such form."""
        ...

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What can be told of the answer with this chunk."""
        ...

    def close(self) -> list[Chunk]:
        """What was held back, at the end of the answer. A call that is not whole is given as it is, its arguments
        left as the model wrote them, so that the tools can say what is wrong with it."""
        ...


class Dialect(Protocol):
    """One way to speak of tools. Pure: what is sent depends on nothing but the request."""

    @property
    def name(self) -> DialectName: ...

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request as it is sent. The messages of a longer conversation begin with those of a shorter one."""
        ...

    def reader(self, request: CompletionRequest) -> Reader:
        """A reader for the answer to `request` (as it was before `encode`)."""
        ...
