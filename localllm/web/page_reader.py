"""What reads pages for research: politely, their main text extracted."""

from typing import Protocol

import msgspec


class ReadPage(msgspec.Struct, frozen=True):
    """A page that was read. `url` is where it was found in the end, `kind` html, pdf, text or browser, `accessed` when
    it was read (ISO 8601)."""

    url: str
    title: str
    text: str
    kind: str
    accessed: str


class PageReader(Protocol):
    """Reads pages, several at a time."""

    async def read(self, url: str) -> ReadPage:
        """Read the page at `url`. Raises LocalLLMError."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
