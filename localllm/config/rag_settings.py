"""Settings of the knowledge base."""

from typing import Annotated

from msgspec import Meta

from localllm.config.registry import PROVIDERS
from localllm.config.section import Section


class RagSettings(Section, frozen=True):
    """The knowledge base: collections of your documents, searched by words and by meaning.

    path: the folder of the collections, outside your projects; a relative path is below your data folder; empty uses
        `collections` there.
    qdrant_url: the address of a Qdrant server that stores them instead; its key comes from QDRANT_API_KEY.
    qdrant_api_key: always empty in a file.
    collection: the one to use if none is named; empty searches all.
    embedding_provider: whose server computes embeddings; minilm is the embedded model, none uses no embeddings; auto
        uses llm.provider's server if it offers an embedding model and is in your network, else minilm if installed.
    embedding_model: its name on the server; empty uses the first embedding model that it offers.
    top_k: how many passages are found.
    floor: the share of a query that a passage has to cover, from 0 to 1; below it nothing is found.
    dense_weight: the weight of meaning against words, from 0 (words only) to 1.
    chunk_tokens: the length of a passage in tokens.
    overlap: tokens that a passage repeats from the one before.
    rerank: let the chat model reorder the best passages; costs one request per search.
    """

    path: str = ""
    qdrant_url: str = ""
    qdrant_api_key: str = ""
    collection: str = ""
    embedding_provider: Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("auto", "minilm", "none")})] = "auto"
    embedding_model: str = ""
    top_k: Annotated[int, Meta(ge=1, le=50)] = 5
    floor: Annotated[float, Meta(ge=0, le=1)] = 0.5
    dense_weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    chunk_tokens: Annotated[int, Meta(ge=50, le=4000)] = 300
    overlap: Annotated[int, Meta(ge=0, le=1000)] = 45
    rerank: bool = False
