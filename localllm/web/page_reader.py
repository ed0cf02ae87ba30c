"""The interface for reading pages in research."""

from typing import Protocol

import msgspec

from localllm.base.errors import LocalLLMError


class ReadPage(msgspec.Struct, frozen=True):
    """A page that was read. `url` is the final address, `kind` html, pdf, text or browser, `accessed` the time of
    reading (ISO 8601). `failure` is why the reading was degraded, such as without a browser."""

    url: str
    title: str
    text: str
    kind: str
    accessed: str
    failure: LocalLLMError | None = None


class PageReader(Protocol):
    """Reads pages, several concurrently."""

    async def read(self, url: str) -> ReadPage:
        """Read the page at `url`. Raises LocalLLMError."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
