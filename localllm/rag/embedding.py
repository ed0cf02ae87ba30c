"""What turns texts into vectors, as the knowledge base uses it."""

from collections.abc import Sequence
from typing import Protocol

from localllm.rag.records import Embedder

Vector = tuple[float, ...]


class TextEmbedder(Protocol):
    """An embedding model that is at hand. The methods raise LLMConnectionError or KnowledgeBaseError."""

    @property
    def record(self) -> Embedder:
        """What a collection keeps of it."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text that is to be found."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector of what is looked for."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
